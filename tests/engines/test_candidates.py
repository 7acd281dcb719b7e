"""Where quotes may begin and end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from semqa.engines.extractive.compose import span_text
from semqa.engines.extractive.evidence import evidence, expansions
from semqa.engines.extractive.passage import read_passage
from semqa.engines.extractive.question import read_inquiry
from semqa.engines.extractive.spans import Cut, find_candidates
from tests.strategies import texts


def spans(text: str, question: str = "What?") -> set[str]:
    p = read_passage(text)
    c = find_candidates(p, evidence(p, read_inquiry(question)))
    return {span_text(p, int(a), int(b)) for a, b in zip(c.first, c.last, strict=True)}


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("The song, which was loved, was released in 1999.", "The song"),
        ("The song was released in 1999 by a label.", "was released in 1999"),
        ("He left Oslo because it rained.", "because it rained."),
        ("The old (and tall) tower fell, and it was rebuilt.", "The old (and tall) tower fell"),
        ('It is called "The Long Way" in Oslo.', 'It is called "The Long Way"'),
    ],
)
def test_candidates_include(text: str, there: str) -> None:
    assert there in spans(text)


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("They met Ann, Bob, and Eve in Oslo.", "They met Ann"),
        ("It opened on May 4, 1990 in Oslo.", "It opened on May 4"),
        ("The tower (tall, in Oslo) fell.", "The tower (tall"),
        ("He lived in the house on the hill.", "He lived in"),
        ("She was able to leave and was glad to go home.", "She was able"),
    ],
)
def test_candidates_exclude(text: str, absent: str) -> None:
    assert absent not in spans(text)


def test_whole_sentences_are_always_candidates() -> None:
    assert {"One ran.", "Two sat!"} <= spans("One ran. Two sat!")


@given(texts)
def test_spans_are_verbatim_without_brackets_and_inside_one_sentence(text: str) -> None:
    p = read_passage(text)
    c = find_candidates(p, np.ones(len(p.words)))
    for first, last, sentence, before, after in zip(
        c.first, c.last, c.sentence, c.before, c.after, strict=True
    ):
        home = p.sentences[sentence]
        assert home.first <= first < last <= home.last
        assert before != Cut.NONE
        assert after != Cut.NONE
        quote = span_text(p, int(first), int(last))
        assert quote
        assert quote in text
        assert quote == quote.strip()
        assert not set("[]") & set(quote)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The North Sea Ferry Line (NSFL) sails.", "North Sea Ferry Line"),
        ("the National Salmon and Fish Lab", "National Salmon and Fish Lab"),
        ("no such thing. Nor Such. Far Lane", None),
    ],
)
def test_abbreviations_are_spelled_out(text: str, expected: str | None) -> None:
    p = read_passage(text)
    found = expansions(p, read_inquiry("What does NSFL stand for?"))
    assert [span_text(p, *range_) for range_ in found] == ([expected] if expected else [])
