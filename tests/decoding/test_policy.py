"""Accept and reject: the language and each rule of the policy, as tables of whole answers."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from semqa import InputError, QuotedAnswer, Source
from semqa.data import read_quotesum
from semqa.decoding import CopyConstraint, QuotePolicy
from semqa.decoding.naive import NaiveConstraint
from tests.decoding.oracle import is_answer
from tests.decoding.vocabularies import byte_vocabulary

ROOT = Path(__file__).resolve().parents[2]

SOURCES = (
    Source("Bing Crosby sang “White Christmas” in 1942. It sold.", title="White Christmas (song)"),
    Source("The é came. 日本語の文。 end ", title="12 [sic] men"),
    Source(""),
)
QUESTION = "who sang über in 1942, İan?"

LANGUAGE = [
    ("", True),
    ("Free text, with ] no", False),
    ("by [ 1 Bing Crosby ].", True),
    ("by[ 1 Bing Crosby ]and[ 2 The ]", True),
    ("[ 1 Bing Crosby ][ 1 Bing ]", True),
    ("[ 1  Bing ]", False),
    ("[ 1 Bing  ]", False),
    ("[ 1 Bing]", False),
    ("[1 Bing ]", False),
    ("[ 01 Bing ]", False),
    ("[ 0 Bing ]", False),
    ("[ 4 Bing ]", False),
    ("[ 3 Bing ]", False),
    ("[ 1 ]", False),
    ("[ 1  ]", False),
    ("[ 1 Bin ]", False),
    ("[ 1 osby ]", False),
    ("[ 1 “White ]", True),
    ("[ 1 White ]", True),
    ("[ 1 White Christmas (song) ]", True),
    ("[ 1 (song) Bing ]", False),
    ("[ 1 (song)Bing ]", False),
    ("[ 1 Crosby  sang ]", False),
    ("[ 1 bing ]", False),
    ("[ 2 12 ]", True),
    ("[ 2 sic ]", True),
    ("[ 2 [sic] ]", False),
    ("[ 2 men ]", True),
    ("[ 2 é ]", True),
    ("[ 2 e ]", False),
    ("[ 2 日本語の文 ]", True),
    ("[ 2 日本 ]", False),
    ("[ 2 end ]", True),
    ("[ 2 12", False),
    ("[", False),
    ("\u3000[ 2 12 ]\u3000\n", True),
]

RULES: list[tuple[QuotePolicy, str, bool]] = [
    (QuotePolicy(boundary="char"), "[ 1 osby sa ]", True),
    (QuotePolicy(boundary="char"), "[ 1 osby  ]", False),
    (QuotePolicy(boundary="char"), "[ 2 本 ]", True),
    (QuotePolicy(sources=(2,)), "[ 2 12 ]", True),
    (QuotePolicy(sources=(2,)), "[ 1 Bing ]", False),
    (QuotePolicy(max_words=3), "a [ 1 Bing ] b", True),
    (QuotePolicy(max_words=3), "a [ 1 Bing Crosby ] b", False),
    (QuotePolicy(max_words=3), "a . , – [ 1 Bing ] b !", True),
    (QuotePolicy(max_words=3), "a-b c.d e\u00a0f", False),
    (QuotePolicy(max_words=3), "a-b c.d e_f", True),
    (QuotePolicy(max_words=2), "by[ 1 Bing ]s", False),
    (QuotePolicy(max_free_words=1), "a[ 1 Bing Crosby sang ]b [ 1 Bing ] c", True),
    (QuotePolicy(max_free_words=1), "a b", False),
    (QuotePolicy(max_free_words=0), "[ 1 Bing ], – [ 1 sang ].", True),
    (QuotePolicy(max_free_words=0), "[ 1 Bing ] 1", False),
    (QuotePolicy(max_span_words=2), "a b c [ 1 Bing Crosby ]", True),
    (QuotePolicy(max_span_words=2), "[ 1 Bing Crosby sang ]", False),
    (QuotePolicy(max_span_words=1), "[ 1 “White Christmas” ]", False),
    (QuotePolicy(min_quotes=1), "", False),
    (QuotePolicy(min_quotes=1), "[ 1 Bing ]", True),
    (QuotePolicy(min_quotes=2), "[ 1 Bing ] and", False),
    (QuotePolicy(numbers="quoted"), "in 1942[ 2 12 ]", True),
    (QuotePolicy(numbers="quoted"), "in 194", False),
    (QuotePolicy(numbers="quoted"), "in 19421", False),
    (QuotePolicy(numbers="quoted"), "in 1942nd", True),
    (QuotePolicy(numbers="quoted"), "in 1942.1942", True),
    (QuotePolicy(numbers="quoted"), "x²", False),
    (QuotePolicy(numbers="quoted"), "19[ 1 Bing ]42", False),
    (QuotePolicy(numbers="quoted"), "½ of it", True),
    (QuotePolicy(names="quoted"), "It was so", True),
    (QuotePolicy(names="quoted"), "it Was so", False),
    (QuotePolicy(names="quoted"), "it was so. Then", True),
    (QuotePolicy(names="quoted"), "it was so.Then", False),
    (QuotePolicy(names="quoted"), "it was so.) \nThen", True),
    (QuotePolicy(names="quoted"), "it was so. , Then", True),
    (QuotePolicy(names="quoted"), "it was so\nThen", True),
    (QuotePolicy(names="quoted"), "so. a Then", False),
    (QuotePolicy(names="quoted"), "e.g. Then", True),
    (QuotePolicy(names="quoted"), "it was Who", True),
    (QuotePolicy(names="quoted"), "it was WHO", True),
    (QuotePolicy(names="quoted"), "it was WHOM", False),
    (QuotePolicy(names="quoted"), "it was ÜBER", True),
    (QuotePolicy(names="quoted"), "it was Uber", False),
    (QuotePolicy(names="quoted"), "it was mcDonald", True),
    (QuotePolicy(names="quoted"), "it was o'Brien", False),
    (QuotePolicy(names="quoted"), "it was İAN", True),
    (QuotePolicy(names="quoted"), "it was Ian", False),
    (QuotePolicy(names="quoted"), "it was Wh[ 1 Bing ]o", False),
    (QuotePolicy(names="quoted"), "[ 1 Bing ] Sang", True),
    (QuotePolicy(names="quoted"), "[ 1 Bing ] Was", False),
    (QuotePolicy(names="quoted"), "[ 1 It sold. ] Was", True),
    (QuotePolicy(names="quoted"), "[ 1 It sold. ]Was", False),
    (QuotePolicy(names="quoted"), "[ 1 It sold. ]” Was", True),
    (QuotePolicy(names="quoted"), "[ 1 “White Christmas” ] Was", False),
    (QuotePolicy(names="quoted"), "[ 2 日本語の文。 ]\u3000Was", True),
    (QuotePolicy(names="quoted"), "日本。 Was", True),
    (QuotePolicy(names="quoted"), "日本。Was", False),
]
TABLE = [*((QuotePolicy(), text, right) for text, right in LANGUAGE), *RULES]


@cache
def made(impl: Any, policy: QuotePolicy) -> Any:
    return impl(byte_vocabulary(), SOURCES, policy, question=QUESTION)


def replay(constraint: Any, text: str) -> bool:
    """Write a text byte by byte; at each step mask, ids and advancing have to agree."""
    state = constraint.start()
    for byte in text.encode():
        allowed = byte in constraint.allowed(state)
        assert allowed == bool(constraint.mask(state)[byte // 32] >> (byte % 32) & 1)
        try:
            state = constraint.advance(state, byte)
        except InputError:
            assert not allowed
            return False
        assert allowed
    return bool(constraint.is_accepting(state))


@pytest.mark.parametrize("impl", ["oracle", NaiveConstraint, CopyConstraint])
@pytest.mark.parametrize(("policy", "text", "right"), TABLE)
def test_the_tables(impl: Any, policy: QuotePolicy, text: str, right: bool) -> None:
    if impl == "oracle":
        assert is_answer(text, SOURCES, policy, QUESTION) == right
    else:
        assert replay(made(impl, policy), text) == right
    if right:
        answer = QuotedAnswer.parse(text, SOURCES)
        assert all(quote.verified for quote in answer.quotes)
        assert len(answer.quotes) == text.count("[")


def run_shares(*arguments: str) -> str:
    script = ROOT / "scripts" / "policy_shares.py"
    command = [sys.executable, "-P", str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="session")
def dev_a_shares(shared: Path) -> dict[str, Any]:
    file = shared / "data" / "quotesum" / "dev_a.jsonl"
    found: dict[str, Any] = json.loads(run_shares(str(file), "--json"))
    return found


def test_shares_of_human_answers_are_those_of_the_oracle(
    shared: Path, dev_a_shares: dict[str, Any]
) -> None:
    questions = read_quotesum(shared / "data" / "quotesum" / "dev_a.jsonl")
    settings = {row["setting"]: QuotePolicy(**row["policy"]) for row in dev_a_shares["settings"]}
    wanted = dict.fromkeys(settings, 0)
    for question in questions:
        for reference in question.references:
            for name, policy in settings.items():
                wanted[name] += is_answer(
                    reference.text, question.sources, policy, question.question
                )
    got = {row["setting"]: row["admitted"] for row in dev_a_shares["settings"]}
    assert got == wanted
    assert dev_a_shares["answers"] == sum(len(question.references) for question in questions) == 129


def test_the_page_shows_the_shares_of_dev_a(dev_a_shares: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "constraint.md").read_text(encoding="utf-8")
    for row in dev_a_shares["settings"]:
        keeping, admitted = (
            "" if n is None else f"{n} ({n / 129:.1%})" for n in (row["keeping"], row["admitted"])
        )
        assert f"\n| {row['setting']} | {keeping} | {admitted} |\n" in page


def test_the_table_is_printed(shared: Path, tmp_path: Path) -> None:
    lines = (shared / "data" / "quotesum" / "dev_a.jsonl").read_text("utf-8").splitlines()
    file = tmp_path / "some.jsonl"
    file.write_text(lines[0] + "\n", "utf-8")
    head, _, first, *_ = run_shares(str(file)).splitlines()
    assert head == "| setting | of 1 answers keep the rule | and are admitted |"
    assert first == '| `boundary="char"` |  | 1 (100.0%) |'


def test_shares_count_rules_apart_from_quotes(tmp_path: Path) -> None:
    """A span that is in no source is no breach of another rule; odd marks are never admitted."""
    row = {
        "qid": "q", "unique_id": "q_0", "question": "when?", "title1": "t", "source1": "It came in 1942.",
        "summary": "",
    }  # fmt: skip
    summaries = [
        "In [ 1 1942 ]",
        "In 1943 [ 1 came ]",
        "[ 1 It never came ]",
        "[1 came ]",
        "[ 1 came",
    ]
    lines = [
        json.dumps(row | {"summary": text, "unique_id": f"q_{at}"})
        for at, text in enumerate(summaries)
    ]
    file = tmp_path / "some.jsonl"
    file.write_text("\n".join(lines))
    found = json.loads(run_shares(str(file), "--json"))
    counts = {item["setting"]: (item["keeping"], item["admitted"]) for item in found["settings"]}
    assert (found["answers"], found["odd_marks"]) == (5, 1)
    assert counts['`boundary="char"`'] == (None, 2)
    assert counts['`numbers="quoted"`'] == (3, 1)
    assert counts["`min_quotes=1`"] == (4, 2)
