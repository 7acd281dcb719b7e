"""Small hand-written cases of many kinds.

Each case in ``cases.json`` lists what the answer must and must not contain, and which sources it must
or must not quote, by text or by title.
"""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from semqa import Source
from semqa.engines.extractive import ExtractiveEngine

if TYPE_CHECKING:
    from semqa.quotes import QuotedAnswer

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("cases.json").read_text("utf-8"))

CONNECTORS = ("Also", "Later", "Earlier", "It stands for")


def answered(case: dict[str, Any], **options: Any) -> QuotedAnswer:
    sources = [Source(s["text"], title=s["title"]) for s in case["sources"]]
    return ExtractiveEngine(**options).answer(case["question"], sources)


def complaints(case: dict[str, Any], answer: QuotedAnswer) -> list[str]:
    """Return descriptions of everything that is wrong with an answer."""
    quoted = {quote.source for quote in answer.quotes}
    titles = [source["title"] for source in case["sources"]]
    titled = {q.source for q in answer.quotes if q.text == titles[q.source - 1]}
    found = [
        f"lacks {t!r}" for t in case["contains"] if not any(t in q.text for q in answer.quotes)
    ]
    found += [f"has {text!r}" for text in case.get("lacks", []) if text in answer.plain]
    found += [f"does not quote {k}" for k in case.get("quoted", []) if k not in quoted]
    found += [f"quotes {k}" for k in case.get("unquoted", []) if k in quoted]
    found += [f"no title of {k}" for k in case.get("titled", []) if k not in titled]
    found += [f"the title of {k}" for k in case.get("untitled", []) if k in titled]
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    answer = answered(case)
    assert not complaints(case, answer), answer.marked


def glue(answer: QuotedAnswer) -> list[str]:
    """Return the free text before, between and after the quotes."""
    pieces, at = [], 0
    for quote in answer.quotes:
        pieces.append(answer.plain[at : quote.plain_start])
        at = quote.plain_end
    return [*pieces, answer.plain[at:]]


@pytest.mark.parametrize("coverage", [0.0, 0.45, 1.0])
def test_any_answer_reads_well(coverage: float) -> None:
    for case, max_words in product(CASES, (12, 40, 100)):
        answer = answered(case, coverage=coverage, max_words=max_words)
        said = answer.marked
        assert len(answer.plain.split()) <= max_words, said
        pieces = glue(answer)
        free = "\n".join(pieces)
        assert not re.search(r"\d", free), said
        words = re.sub("|".join(CONNECTORS), "", free)
        assert not re.search(r"[A-Z]", words), said
        for connector in CONNECTORS:
            assert len(re.findall(rf"\b{connector}\b", free)) <= 1, said
        assert not re.search(r"[.。!?…][\"”’)]*[.,。]", answer.plain), said
        for before, quote in zip(pieces, answer.quotes, strict=False):
            if re.search(r"[A-Za-z], $", before):
                opener = re.split(r"\W", quote.text, maxsplit=1)[0]
                assert opener not in {"The", "A", "In", "It", "This", "He", "She", "By", "On"}, said


@pytest.mark.parametrize(
    ("years", "glue"),
    [((1900, 1910), "Later, "), ((1910, 1900), "Earlier, "), ((1900, 1900), "Also, ")],
)
def test_connectors_between_sources_match_their_dates(years: tuple[int, int], glue: str) -> None:
    sources = [
        {"title": "", "text": f"{town} saw its bridge opened in {year} by the mayor of {town}."}
        for town, year in zip(("Oslo", "Bergen"), years, strict=True)
    ]
    answer = answered({"question": "When was the bridge opened?", "sources": sources})
    assert f" {glue}[ 2 " in answer.marked
