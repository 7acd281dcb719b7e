"""The verdict on an answer: never positive without a quote or with a claim outside quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import QuotedAnswer, Source
from semqa.quotes import ABSTENTION, FreeText, Verdict
from semqa.quotes.repair import repair
from semqa.quotes.words import has_content, leaks
from tests.strategies import answers

SOURCES = [Source("Colin O'Brady crossed Antarctica in 2018."), Source("The drug is safe.")]
QUESTION = "Who crossed Antarctica alone?"


def verdict(text: str, question: str = QUESTION) -> str:
    return QuotedAnswer.parse(text, SOURCES).verdict(question).value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[ 1 Colin O'Brady ] crossed Antarctica in [ 1 2018 ].", "quoted"),
        ("According to the source, it was [ 1 Colin O'Brady ].", "quoted"),
        ("Antarctica was crossed. That was [ 1 Colin O'Brady ].", "unquoted"),
        ("[ 1 Colin O'Brady ]. He crossed Antarctica alone.", "unquoted"),
        ("That was in the past. [ 1 Colin O'Brady ] crossed Antarctica.", "quoted"),
        ("[ 1 Colin O'Brady ] is a British meteorologist.", "unquoted"),
        ("It was someone who crossed Antarctica alone.", "unquoted"),  # glue, but no quote
        ("", "unquoted"),
        ("[ 2 Colin O'Brady ]", "unverified"),
        ("[ 1 Ranulph Fiennes ]", "unverified"),
        ("[ 1 Colin O'Brady ] and [1]", "unverified"),
        (ABSTENTION, "abstained"),
        (f"\n{ABSTENTION}  ", "abstained"),
        (f"{ABSTENTION} [ 1 Colin O'Brady ]", "unquoted"),
        (f"[ 1 {ABSTENTION} ]", "unverified"),
    ],
)
def test_verdicts(text: str, expected: str) -> None:
    assert verdict(text) == expected
    answer = QuotedAnswer.parse(text, SOURCES)
    record = answer.to_dict(QUESTION)
    assert (record["verdict"], record["verified"]) == (expected, expected == "quoted")
    assert bool(record["claims"]) <= (expected in ("unquoted", "unverified"))


def test_a_mark_that_lost_its_brackets_counts() -> None:
    answer = repair("The [ 1 drug is not safe ].", [Source("The drug is safe.")])
    assert (answer.plain, answer.quotes) == ("The drug is not safe.", ())
    assert answer.verdict("Is the drug safe?") is Verdict.UNVERIFIED
    record = answer.to_dict("Is the drug safe?")
    assert (record["verdict"], record["verified"]) == ("unverified", False)
    assert [mark.text for mark in answer.dropped] == ["drug is not safe"]
    assert not answer.verified


def test_claims_are_runs_of_words_with_their_places() -> None:
    text = "It was [ 1 Colin O'Brady ], a British meteorologist, and a friend of NASA."
    answer = QuotedAnswer.parse(text, SOURCES)
    found = answer.claims(QUESTION)
    assert [claim.text for claim in found] == ["British meteorologist", "friend", "NASA"]
    for claim in found:
        assert answer.marked[claim.answer_start : claim.answer_end] == claim.text
        assert answer.plain[claim.plain_start : claim.plain_end] == claim.text


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("1. [ 1 Colin ]\n2. [ 1 O'Brady ]", []),
        ("So:\n1) [ 1 Colin ]\n   1. a\n   2. it\n2) [ 1 O'Brady ]", []),
        ("1. [ 1 Colin ]\n2. Ann\n\n1. [ 1 O'Brady ]", ["Ann", "1"]),
        ("1. [ 1 Colin ]", ["1"]),
        ("1986. [ 1 Colin ]\n1987. [ 1 O'Brady ]", ["1986", "1987"]),
        ("[ 1 Colin ] 1. 2. [ 1 O'Brady ]", ["1. 2"]),
        ("2. [ 1 Colin ]\n3. [ 1 O'Brady ]", ["2", "3"]),
    ],
)
def test_numbers_of_a_list_are_no_claims(text: str, claims: list[str]) -> None:
    answer = QuotedAnswer.parse(text, SOURCES)
    assert [claim.text for claim in answer.claims(QUESTION)] == claims
    assert (answer.verdict(QUESTION) is Verdict.QUOTED) == (not claims)


@given(answers(), st.sampled_from(["", QUESTION, "Wer war das?"]))
def test_the_verdict_follows_its_definition(drawn: tuple[str, list[Source]], question: str) -> None:
    text, sources = drawn
    answer = QuotedAnswer.parse(text, sources)
    found = answer.verdict(question)
    leaked = [
        segment.text[a:b]
        for segment in answer.segments
        if isinstance(segment, FreeText)
        for a, b in leaks(segment.text, question)
    ]
    telling = any(has_content(quote.text, question) for quote in answer.quotes)
    assert (found is Verdict.QUOTED) == (answer.verified and telling and not leaked)
    assert (found is Verdict.UNVERIFIED) == any(not quote.verified for quote in answer.quotes)
    shown = answer.claims(question)
    assert sum(len(leaks(claim.text, question)) for claim in shown) == len(leaked)
    assert answer.verified <= bool(answer.quotes)


@pytest.mark.parametrize(
    ("quote", "question", "expected"),
    [
        ("May", "In which month?", "quoted"),
        ("one", "How many?", "quoted"),
        ("WHO", "Which agency?", "quoted"),
        ("not", "Was it approved?", "unquoted"),
        ("The", "Which one?", "unquoted"),
    ],
)
def test_a_quote_needs_a_content_word(quote: str, question: str, expected: str) -> None:
    answer = QuotedAnswer.parse(f"[ 1 {quote} ]", [Source(f"x {quote} y")])
    assert answer.verdict(question).value == expected


def test_parts_of_a_number_are_different_numbers() -> None:
    answer = QuotedAnswer.parse("It was 12 [ 1 pounds ].", [Source("12,500 pounds")])
    assert answer.verdict("Was it 12,500 pounds?").value == "unquoted"
    assert answer.verdict("Was it 12 pounds?").value == "quoted"
