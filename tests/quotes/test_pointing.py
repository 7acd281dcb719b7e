"""Pointers to clauses become verbatim quotes, whatever the model writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import QuotedAnswer, Source
from semqa.quotes.pointing import Pointing
from semqa.quotes.quote import FreeText
from semqa.quotes.words import leaks

SOURCES = [
    Source(
        "Børge Ousland is a polar explorer. On 18 January 1997 he crossed Antarctica alone, "
        "after 64 days on skis [citation needed]. He used a sail.",
        title="Børge Ousland",
    ),
    Source("Felicity Aston skied across it; she led others, too."),
]
QUESTION = "Who crossed Antarctica alone?"


def read(*parts: Any, **more: Any) -> str | None:
    return Pointing(SOURCES, QUESTION).read(json.dumps({"parts": parts, **more}))


def part(first: str, last: str = "", say: str = "", words: str = "") -> dict[str, str]:
    return {"say": say, "from": first, "to": last or first, "words": words}


def test_clauses_are_numbered_and_end_at_punctuation() -> None:
    assert Pointing(SOURCES, QUESTION).listing.splitlines() == [
        "Source 1",
        "1.0 Børge Ousland",
        "1.1 Børge Ousland is a polar explorer.",
        "1.2 On 18 January 1997 he crossed Antarctica alone,",
        "1.3 after 64 days on skis",
        "1.4 citation needed",
        "1.5 He used a sail.",
        "",
        "Source 2",
        "2.1 Felicity Aston skied across it;",
        "2.2 she led others, too.",
    ]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([part("1.2")], "[ 1 On 18 January 1997 he crossed Antarctica alone ]."),
        (
            [part("1.1", say="It was", words="børge  ousland"), part("2.1", say="and")],
            "It was [ 1 Børge Ousland ], and [ 2 Felicity Aston skied across it ].",
        ),
        (
            [part("1.2", "1.3")],
            "[ 1 On 18 January 1997 he crossed Antarctica alone, after 64 days on skis ].",
        ),
        # Claims, words not in the clause, and repeated quotes are left out.
        ([part("2.2", say="In 1911, Amundsen", words="never said")], "[ 2 she led others, too ]."),
        ([part("1.5"), part("1.5"), part("1.5", words="a sail")], "[ 1 He used a sail ]."),
        # Backwards, into another source or across a bracket: only the first clause.
        ([part("1.5", "1.1")], "[ 1 He used a sail ]."),
        ([part("1.5", "2.1")], "[ 1 He used a sail ]."),
        ([part("1.3", "1.5")], "[ 1 after 64 days on skis ]."),
        ([part("9.9"), part("1.9"), {}, 3, {"from": 1}], ""),
        ([], ""),
    ],
)
def test_pointers_become_quotes(parts: list[Any], text: str) -> None:
    assert read(*parts) == text


def test_truncated_or_wrapped_replies() -> None:
    pointing = Pointing(SOURCES, QUESTION)
    whole = json.dumps({"parts": [part("1.5"), part("2.1", words="Felicity Aston")]})
    assert pointing.read(f"```json\n{whole}\n```") == pointing.read(whole)
    assert pointing.read(whole[:-20]) == (
        "[ 1 He used a sail ], [ 2 Felicity Aston skied across it ]."
    )
    assert pointing.read('{"parts": [{"say": "It') == ""
    assert pointing.read("It was Ousland.") is None
    assert pointing.read("[1, 2]") is None
    assert pointing.read('{"answer": 1}') is None


def test_the_schema_names_the_clauses_unless_there_are_too_many() -> None:
    schema: Any = Pointing(SOURCES, QUESTION).schema()
    clause = schema["properties"]["parts"]["items"]["properties"]["from"]
    assert clause["enum"][0] == "1.0"
    many: Any = Pointing([Source("Such a long story. " * 500)], QUESTION).schema()
    assert "enum" not in many["properties"]["parts"]["items"]["properties"]["from"]


IDS = st.sampled_from(["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "2.1", "2.2", "3.1", ""])
WORDS = st.sampled_from(["", "alone", "He used", "[ 2 x ]", "skis [", "x", "64", "the"])
SAID = st.sampled_from(["", "and", "It was", "[ 1 x ]", "In 1911", "British", ",", '"'])


@given(st.lists(st.builds(part, IDS, IDS, SAID, WORDS), max_size=6))
def test_any_reply_gives_verbatim_quotes_and_no_claims(parts: list[Any]) -> None:
    text = read(*parts)
    assert text is not None
    answer = QuotedAnswer.parse(text, SOURCES)
    assert not text or (answer.quotes and answer.verified)
    for segment in answer.segments:
        assert not isinstance(segment, FreeText) or not leaks(segment.text, QUESTION)
