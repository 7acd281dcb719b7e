"""Replies of language models, as they come."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.attrscore.examples import FAMILIES, RELATIONS
from semqa.attribution.judges.replies import (
    read_consistency,
    read_questions,
    read_rating,
    read_relation,
    read_span,
)

REPLIES: list[dict[str, Any]] = json.loads(
    Path(__file__).parents[1].joinpath("replies.json").read_text(encoding="utf-8")
)
"""What was asked for, the reply, and what a reader takes from it; ``read``, if the parser takes nothing."""


def test_a_reply_says_what_a_reader_takes_from_it() -> None:
    readers: dict[str, Callable[[str], object]] = {"label": read_relation}
    for row in REPLIES:
        found = readers.get(row["asked"], read_consistency)(row["reply"])
        assert found == row.get("read", row["means"]), row
        assert row.get("read") is None  # unparsed rather than wrong


@pytest.mark.parametrize("family", FAMILIES)
def test_label_words_are_understood_however_they_are_set(family: str) -> None:
    for word, label in FAMILIES[family].words.items():
        for form in (
            "{}", "{}.", "**{}**", "`{}`", "# {}", "> {}", "「{}」", "{}。", "«{}»", "{}\n\nBecause.",
            "Label: {}", '{{"label": "{}"}}', "```\n{}\n```", "<answer>{}</answer>", "The label is {}.",
        ):  # fmt: skip
            for spelled in (word, word.lower(), word.upper(), word.replace(" ", "-")):
                assert read_relation(form.format(spelled)) == RELATIONS[label], form.format(spelled)


@pytest.mark.parametrize("family", ["attribution", "fact-checking"])
def test_a_denied_label_is_never_the_label(family: str) -> None:
    for word, label in FAMILIES[family].words.items():
        if word == "Not Enough Information":
            continue
        for form in ("Not {}", "It is not {}.", "This isn't {}", "The claim cannot be {}", "un{}"):
            assert read_relation(form.format(word.lower())) != RELATIONS[label]


WORDS = st.sampled_from(
    [
        *("attributable", "contradictory", "supported", "not", "un", "or", "and", "yes", "No", "1"),
        *("but", "the", "claim", "is", "label", "Answer", "therefore", "because", "consistent"),
        *(":", ".", ",", "?", "{", "}", "[", '"', "\n", "<answer>", " "),
    ]
)


@given(st.text(max_size=300) | st.lists(WORDS, max_size=25).map(" ".join))
def test_any_reply_is_read(reply: str) -> None:
    assert read_relation(reply) in ("entailment", "neutral", "contradiction", None)
    assert read_consistency(reply) in (True, False, None)
    assert read_rating(reply) in (None, 1, 2, 3, 4, 5)


def test_a_long_reply_is_read_at_its_ends() -> None:
    filler = "The reference tells of bridges. " * 20_000
    assert read_relation(filler + "Verdict: Contradictory") == "contradiction"
    assert read_relation("Verdict: Contradictory\n" + filler) == "contradiction"
    assert read_relation("{" * 100_000) is None
    assert read_relation("attributable or contradictory or " * 20_000) is None


@pytest.mark.parametrize(
    ("reply", "text", "understood"),
    [
        ("Ann Lee", "Ann Lee", True),
        ("Answer: “ann  lee”.", "Ann Lee", True),
        ("Ann Lee\nbecause it says so", "Ann Lee", True),
        ("NONE", None, True),
        ("None.", None, True),
        ("No answer", None, True),
        ("Carl", None, False),
        ("", None, False),
        ("(Ann", "(Ann", True),
    ],
)
def test_spans(reply: str, text: str | None, understood: bool) -> None:
    passage = "It was Ann Lee, they say (Ann of old)."
    span, read = read_span(reply, passage)
    assert read is understood
    assert (span.text if span else None) == text
    assert span is None or passage[span.start : span.end] == span.text


def test_questions() -> None:
    reply = "Here they are:\n1. Who built it?\n- When?\n* **Where?**\nQ4: Why?\nWhen?\nIt is so."
    assert read_questions(reply) == ["Who built it?", "When?", "Where?", "Why?"]


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("4", 4), ("**5**", 5), ("Score: 3/5", 3), ("2 out of 5", 2), ("Rating: 4. It has 2 parts.", 4),
        ("Relevance is 1", 1), ("", None), ("0", None), ("10", None), ("4.5", None), ("7/10", None),
        ("3 or 4", None), ("4/10", None),
    ],
)  # fmt: skip
def test_ratings(reply: str, rating: int | None) -> None:
    assert read_rating(reply) == rating
