"""The rules of the language, as tables of whole answers."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from semqa import InputError, QuotedAnswer, Source
from semqa.decoding import CopyConstraint, QuotePolicy, find_breach
from semqa.quotes import ABSTENTION
from tests.decoding.oracle import accepts, is_answer_bytes
from tests.decoding.vocabularies import byte_vocabulary

ROOT = Path(__file__).resolve().parents[2]

SOURCES = (
    Source("Bing Crosby sang “White Christmas” in 1942. It sold.", title="White Christmas (song)"),
    Source("The é came. 日本語の文。 end of it, end ", title="12 [sic] men"),
    Source(""),
)
QUESTION = "who's the singer of Über in 1942, O’Brady?"

ANY, CHAR = QuotePolicy(free="any"), QuotePolicy(boundary="char")

QUOTES = [
    ("", False),
    ("[ 1 Bing Crosby ]", True),
    ("Free text, with ] no [ 1 Bing ]", False),
    ("alas[ 1 Bing Crosby ]and[ 2 The é ]", True),
    ("[ 1 Bing ][ 1 Crosby ]", True),
    ("[ 1  Bing ]", False),
    ("[ 1 Bing]", False),
    ("[1 Bing ]", False),
    ("[ 0 Bing ]", False),
    ("[ 4 Bing ]", False),
    ("[ 1 ]", False),
    ("[ 1 Bin ]", False),
    ("[ 1 “White ]", True),
    ("[ 1 White Christmas (song) ]", True),
    ("[ 1 (song) Bing ]", False),
    ("[ 1 Crosby  sang ]", False),
    ("[ 2 12 ]", True),
    ("[ 2 [sic] ]", False),
    ("[ 2 é ]", True),
    ("[ 2 日本語の文 ]", True),
    ("[ 2 日本 ]", True),
    ("[ 2 12 ] [", False),
    ("\u3000[ 2 12 ]\u3000\n", True),
    # A quote has a content word.
    ("[ 2 The ]", False),
    ("[ 2 。 ]", False),
    ("[ 1 in 1942 ]", True),
    ("[ 1 It sold ]", True),
    # Nothing is quoted twice.
    ("[ 1 Bing ] [ 1 Bing ]", False),
    ("[ 1 Bing Crosby ] [ 1 Crosby sang ]", False),
    ("[ 1 White ] [ 1 White ]", False),
    ("[ 1 White ] [ 1 Christmas ]", True),
    ("[ 1 “White ] [ 1 White ]", True),
    ("[ 2 end of ] [ 2 end ]", True),
    # Only the abstention has no quote.
    (ABSTENTION, True),
    (f" {ABSTENTION}", True),
    (ABSTENTION[:-1], False),
    (f"{ABSTENTION} ", False),
    (f"{ABSTENTION} [ 1 Bing ]", True),
]

GLUE = [
    ("It was [ 1 Bing Crosby ].", True),
    ("it Was [ 1 Bing ]", True),
    ("alas [ 1 Bing ]", False),
    ("it's [ 1 Bing ]", True),
    ("it’s [ 1 Bing ]", False),
    ("wa [ 1 Bing ]", False),
    ("1942 [ 1 Bing ]", True),
    ("O'Brady [ 1 Bing ]", True),
    ("über Über singers [ 1 Bing ]", True),
    ("ÜBER [ 1 Bing ]", True),
    # Spacing.
    ("it[ 1 Bing ]", False),
    ("[ 1 Bing ][ 2 12 ]", False),
    ("[ 1 Bing ] [ 2 12 ]", True),
    ("[ 1 Bing ]-[ 2 12 ]", True),
    ("[ 1 Bing ],[ 2 12 ]", False),
    ("[ 1 Bing ],\n[ 2 12 ]", True),
    ("[ 1 Bing ]  [ 2 12 ]", False),
    ("[ 1 Bing ]\t[ 2 12 ]", False),
    (" [ 1 Bing ]\n", True),
    ("it.was [ 1 Bing ]", False),
    ("it/was [ 1 Bing ]", True),
    ('("it-was"/ [ 1 Bing ])', False),
    ("it – [ 1 Bing ]", False),
    # At most ten words and three marks in a run.
    ("it is each of the other that there also are [ 1 Bing ]", True),
    ("it is each of the other that there also are in [ 1 Bing ]", False),
    ("it is each of the other [ 1 Bing ] that there also are in [ 2 12 ]", True),
    ("... [ 1 Bing ]", True),
    (".... [ 1 Bing ]", False),
    # A run shares at most its first three words with an earlier one.
    ("it is in [ 1 Bing ] it is in [ 2 12 ]", True),
    ("it is in [ 1 Bing ] it is in the [ 2 12 ]", False),
    ("It is in the [ 1 Bing ] it, is in [ 2 12 ]", True),
    ("it is [ 1 Bing ] it is in the [ 2 12 ]", True),
    ("it is in [ 1 Bing ] and [ 2 12 ] It is in - that", False),
]

TABLE = [
    *((ANY, text, right) for text, right in QUOTES),
    *((QuotePolicy(), text, right) for text, right in GLUE),
    (CHAR, "[ 1 osby sa ]", True),
    (CHAR, "[ 1 osby  ]", False),
    (CHAR, "[ 2 本 ]", True),
    (CHAR, "[ 2 h ]", False),
    (CHAR, "[ 1 ing ] [ 1 B ]", True),
    (QuotePolicy(quote_from=(2,)), "[ 2 12 ]", True),
    (QuotePolicy(quote_from=(2,)), "[ 1 Bing ]", False),
    (QuotePolicy(quote_from=(3,)), ABSTENTION, True),
    (QuotePolicy(quote_from=(3,)), "it", False),
]


PARTS = Source("It can't cost 40,000 or 3.5 cafe\u0301s, Ann's.")


@pytest.mark.parametrize(
    ("span", "right"),
    [
        ("40,000", True),
        ("40", False),
        ("000", False),
        ("40,", False),
        ("3.5", True),
        ("5", False),
        ("can't", True),
        ("can", False),
        ("t cost", False),
        ("cost", True),
        ("cafe", False),
        ("cafe\u0301s", True),
        ("Ann", True),
    ],
)
def test_a_span_cuts_no_word_number_or_character(span: str, right: bool) -> None:
    constraint = CopyConstraint(byte_vocabulary(), [PARTS], ANY)
    assert accepts(constraint, f"[ 1 {span} ]".encode()) == right
    answer = QuotedAnswer.parse(f"[ 1 {span} ]", [PARTS])
    assert answer.quotes[0].cut != right


@cache
def constraint_of(policy: QuotePolicy) -> CopyConstraint:
    return CopyConstraint(byte_vocabulary(), SOURCES, policy, question=QUESTION)


@pytest.mark.parametrize(("policy", "text", "right"), TABLE)
def test_the_tables(policy: QuotePolicy, text: str, right: bool) -> None:
    assert accepts(constraint_of(policy), text.encode()) == right
    assert is_answer_bytes(text.encode(), SOURCES, policy, QUESTION) == right
    assert (find_breach(text, SOURCES, policy, QUESTION) is None) == right
    if right:
        answer = QuotedAnswer.parse(text, SOURCES)
        assert len(answer.quotes) == answer.counts["verified"] == text.count("[")


def test_numbers_of_sources_are_checked() -> None:
    assert QuotePolicy(quote_from=(3, 1, 3)).quote_from == (1, 3)
    with pytest.raises(InputError, match="source 4, but there are 3"):
        CopyConstraint(byte_vocabulary(), SOURCES, QuotePolicy(quote_from=(4,)))


@pytest.mark.parametrize(
    "settings",
    [
        {"free": "quoted"},
        {"boundary": "token"},
        {"quote_from": "x"},
        {"quote_from": (0,)},
        {"quote_from": (True,)},
        {"quote_bias": float("nan")},
        {"quote_bias": 60_001},
        {"quote_bias": "4"},
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        QuotePolicy(**settings)


def test_the_page_shows_the_shares_of_human_answers(shared: Path) -> None:
    page = (ROOT / "docs" / "constraint.md").read_text(encoding="utf-8")
    data = shared / "data" / "quotesum" / "dev_a.jsonl"
    command = [sys.executable, "-P", str(ROOT / "scripts" / "policy_shares.py"), str(data)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown in page
