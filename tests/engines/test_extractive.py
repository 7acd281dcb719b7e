"""The guarantees of the extractive engine."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from semqa import Source
from semqa.engines.extractive import ExtractiveEngine
from semqa.errors import InputError

BRIDGE = Source("It rained all day. The bridge was opened in 1932 by the mayor, who was ill.")
FERRY = Source("The ferry sank. The old bridge was opened in 1875 for trains.", title="Old Bridge")
CAKE = Source("Cakes are baked in an oven.")


def answered(question: str, *given_sources: Source, coverage: float = 0.45) -> str:
    return ExtractiveEngine(coverage=coverage).answer(question, given_sources).marked


def test_it_quotes_the_answer_and_nothing_irrelevant() -> None:
    text = answered("When was the bridge opened?", BRIDGE, CAKE, FERRY)
    assert "1932" in text
    assert "1875" in text
    assert "oven" not in text


def test_coverage_keeps_more_sources() -> None:
    weak = Source("A bridge stands here.")
    question = "When was the bridge opened?"
    assert "[ 2 " not in answered(question, BRIDGE, weak, coverage=0.0)
    assert "[ 2 " in answered(question, BRIDGE, weak, coverage=1.0)
    assert "[ 2 " not in answered(question, BRIDGE, CAKE, coverage=1.0)


def test_the_same_words_are_quoted_once() -> None:
    answer = ExtractiveEngine().answer("When was the bridge opened?", [BRIDGE, BRIDGE, BRIDGE])
    assert [quote.source for quote in answer.quotes] == [1]


def test_abbreviations_are_listed() -> None:
    text = answered(
        "What does NSFL stand for?",
        Source("The North Sea Ferry Line (NSFL) sails daily."),
        CAKE,
        Source("He joined the National Salmon and Fish Lab (NSFL) in May."),
    )
    expected = "[ 1 North Sea Ferry Line ] or [ 3 National Salmon and Fish Lab ]"
    assert text == f"It stands for {expected}."


def test_a_truncated_body_ends_in_an_ellipsis() -> None:
    assert answered("When was it opened?", Source("It was opened in 1932 by")).endswith("…")


def test_a_source_without_a_body_can_be_quoted_by_its_title() -> None:
    assert answered("Who is Ann?", Source("", title="Ann")) == "[ 1 Ann ]."


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("She was a pilot. In 1932 she opened the bridge.", True),
        ("It rained. It was opened by her, the bridge, in 1932.", True),
        ("It rained. Ann Aas opened the bridge in 1932 when she was old.", False),
    ],
)
def test_the_title_resolves_a_pronoun_for_a_person(body: str, named: bool) -> None:
    source = Source(body, title="Ann Aas")
    answer = ExtractiveEngine().answer("When was the bridge opened?", [source])
    assert ("Ann Aas" in [quote.text for quote in answer.quotes]) is named


def test_titles_with_brackets_are_not_quoted() -> None:
    assert answered("Who is Ann?", Source("", title="A[nn]"), CAKE).startswith("[ 2 ")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("Work began in 1930 and it was opened in 1932.", True),
        ("Praised by all, it was opened in 1932.", True),
        ("The Elbe Bridge shone when it was opened in 1932.", False),
        ("In Oslo they opened the bridge in 1932.", True),
        ("It is said that a bridge was opened in 1932.", True),
    ],
)
def test_the_title_resolves_a_pronoun_for_a_thing(body: str, named: bool) -> None:
    answer = ExtractiveEngine().answer("When was it opened?", [Source(body, title="Elbe Bridge")])
    assert ("Elbe Bridge" in [quote.text for quote in answer.quotes]) is named


def test_a_title_never_becomes_the_wrong_subject() -> None:
    source = Source("It rained. Bob Lie, who was ill, opened the bridge in 1932.", title="Ann Aas")
    quotes = ExtractiveEngine().answer("Who opened the bridge?", [source]).quotes
    assert not quotes[-1].text.startswith("opened") or quotes[0].text != "Ann Aas"


def test_a_file_name_is_not_quoted_and_the_previous_sentence_is() -> None:
    source = Source("The old bridge crosses the Elbe. It is 620 metres long.", title="notes")
    answer = ExtractiveEngine().answer("How long is the bridge?", [source])
    assert [quote.text for quote in answer.quotes] == [source.text]


def test_a_source_without_the_measure_asked_for_is_weaker_than_one_with_it() -> None:
    text = answered(
        "How long is the tunnel?",
        Source("The tunnel of the railway is a tunnel.", title="A tunnel"),
        Source("The tunnel leads to Oslo. It is 900 metres long.", title="Oslo Tunnel"),
    )
    assert text == "[ 2 Oslo Tunnel ]: [ 2 It is 900 metres long. ]"


def test_both_parts_of_a_question_are_answered() -> None:
    source = Source("The paper was founded by Jo Ek in 1850. It rained. It was closed in 1903.")
    text = answered("Who founded the paper, and when was it closed?", source)
    assert text == "[ 1 The paper was founded by Jo Ek in 1850. ] [ 1 It was closed in 1903. ]"


@pytest.mark.parametrize(
    "body",
    ["word " * 100_000, "fox, " * 100_000, "x" * 500_000, "フ" * 150_000, "\n" * 100_000 + "a"],
    ids=["no stops", "only commas", "one word", "no spaces", "line breaks"],
)
def test_huge_sources(body: str) -> None:
    answer = ExtractiveEngine().answer("Where is the fox?", [Source(body), BRIDGE])
    assert {quote.status.value for quote in answer.quotes} == {"verified"}


@pytest.mark.parametrize("max_words", [0, -1, True, 2.5, "9"])
def test_max_words_is_a_whole_number_from_one(max_words: int) -> None:
    with pytest.raises(InputError, match=r"^max_words "):
        ExtractiveEngine(max_words=max_words)


@pytest.mark.parametrize("coverage", [-0.1, 1.1, float("nan"), True, "1"])
def test_coverage_is_from_0_to_1(coverage: float) -> None:
    with pytest.raises(InputError, match=r"^coverage "):
        ExtractiveEngine(coverage=coverage)


def test_sources_without_text_are_rejected() -> None:
    with pytest.raises(InputError, match=r"^No source has any text"):
        ExtractiveEngine().answer("Who?", [Source(" "), Source("...")])


def test_the_answer_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "from semqa import Source; from semqa.engines.extractive import ExtractiveEngine;"
        "print(ascii(ExtractiveEngine().write('What does ABC or CBA stand for in Oslo?',"
        "[Source('Alpha Beta Corps and Civil Base Academy met in Oslo. Abc is a city.')])))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            encoding="utf-8",
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
