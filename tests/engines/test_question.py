"""What kind of answer a question asks for."""

from __future__ import annotations

import pytest

from semqa.engines.extractive.question import KINDS, read_question


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did it open?", "when"),
        ("In what year did it open?", "when"),
        ("who opened it", "who"),
        ("Where is it?", "where"),
        ("Which country is it in?", "where"),
        ("How many towers are there?", "quantity"),
        ("How long is it?", "quantity"),
        ("Why did it fall?", "why"),
        ("What was the reason it fell?", "why"),
        ("How was it built?", "how"),
        ("What does NATO stand for?", "expansion"),
        ("Name a tower.", "which"),
        ("من بنى البرج؟", "which"),
        ("", "which"),
    ],
)
def test_kinds(question: str, kind: str) -> None:
    assert read_question(question).kind == kind
    assert kind in KINDS


def test_there_is_always_a_stem() -> None:
    assert read_question("?").stems == ("",)
    assert read_question("who is it").stems == ("who", "is", "it")
