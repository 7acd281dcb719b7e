"""Parsing a question: kind of answer, stems, parts and units."""

from __future__ import annotations

import pytest

from semqa.engines.extractive.question import KINDS, read_inquiry


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did it open?", "when"),
        ("In what year did it open?", "when"),
        ("Where is it?", "where"),
        ("Which country is it in?", "where"),
        ("How many towers are there?", "quantity"),
        ("How long is it?", "quantity"),
        ("Why did it fall?", "why"),
        ("How was it built?", "how"),
        ("What does NATO stand for?", "expansion"),
        ("What is the tower made of?", "material"),
        ("What is a tower?", "definition"),
        ("What is the height of the tower?", "quantity"),
        ("Name a tower.", "which"),
        ("Wann wurde der Turm gebaut?", "when"),
        ("¿Quién construyó la torre?", "who"),
        ("这座塔有多高？", "quantity"),
        ("When was Michelle Wie born?", "when"),
        ("من بنى البرج؟", "which"),
        ("", "which"),
    ],
)
def test_kinds(question: str, kind: str) -> None:
    assert read_inquiry(question).kind == kind
    assert kind in KINDS


def test_every_question_has_a_stem() -> None:
    assert read_inquiry("?").stems == ("",)
    assert read_inquiry("who is it").stems == ("who", "is", "it")


def test_the_two_parts_of_a_question() -> None:
    question = read_inquiry("Who built the tower and when did it fall?")
    assert question.parts == (("who", frozenset({"build", "tower"})), ("when", frozenset({"fall"})))
    assert read_inquiry("Who built the tower and the wall?").parts == ()
    assert read_inquiry("Who built it and who paid?").parts == ()


def test_function_words_of_other_languages_are_ignored() -> None:
    assert read_inquiry("Wie lang ist die Brücke?").stems == ("brücke",)
    assert "die" in read_inquiry("When did the king die?").stems


def test_units_of_a_measure() -> None:
    assert "metres" in read_inquiry("How tall is the tower?").units
    assert read_inquiry("How tall is the tower?").stems == ("tower",)
    assert {"weeks", "metres"} <= read_inquiry("How long is it?").units
    assert read_inquiry("How many towers are there?").units == frozenset()
