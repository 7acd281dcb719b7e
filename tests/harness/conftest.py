"""A small QuoteSum file, answers to it good and bad, and what `semqa score` says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from semqa.data.quotesum import Question, Reference, read_quotesum, write_quotesum
from semqa.metrics import Example, Report, score
from semqa.quotes import Source

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = (
    "Ada Holm opened the bridge on 4 May 1911.",
    "A new bridge was opened in 1954 after a flood.",
    "The ferry stopped in 1912.",
)


def question(number: int, *, shorts: bool = True) -> Question:
    asked = ("who opened the bridge", "when was it opened", "why a new one", "what stopped")[number]
    references = tuple(
        Reference(f"u{number}-{k}", text, "[ 1 Ada Holm ] [ 2 1954 ]" if shorts and k else "")
        for k, text in enumerate(
            (
                f"It was [ 1 Ada Holm ] , number {number} .",
                "[ 1 Ada Holm opened the bridge ] and [ 2 a new bridge was opened in 1954 ] .",
            )
        )
    )
    sources = tuple(Source(text, f"Title {k}") for k, text in enumerate(TEXTS, 1))
    return Question(f"PAQ_{number}", asked, sources, references)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four questions; one without any short answer, which has no recall."""
    path = tmp_path_factory.mktemp("harness") / "data.jsonl"
    write_quotesum(path, [question(number, shorts=number != 2) for number in range(4)])
    return path


@pytest.fixture(scope="session")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three solved questions, of which one is asked, too."""
    path = tmp_path_factory.mktemp("harness-train") / "train.jsonl"
    solved = [question(0)]
    for name in ("a", "b"):
        source = Source(f"The {name} tower fell.")
        reference = Reference(f"t-{name}", f"[ 1 The {name} tower ] fell .")
        solved.append(Question(f"T_{name}", f"which tower {name}", (source,), (reference,)))
    write_quotesum(path, solved)
    return path


@pytest.fixture(scope="session")
def answers(data: Path) -> dict[str, str]:
    """By qid: a reference, a mistake over two lines, nothing, and sloppy marks."""
    texts = (
        "[ 1 Ada Holm opened the bridge ] and [ 2 a new bridge was opened in 1954 ] .",
        " Perhaps [ 3 in 1912 ] ,\nor [ 2 in 1954 ] .",
        "",
        "[1 Ada Holm] did, [ 2 opened in 1954 ]",
    )
    return {each.qid: text for each, text in zip(read_quotesum(data), texts, strict=True)}


@pytest.fixture(scope="session")
def expected(data: Path, answers: dict[str, str]) -> Report:
    """What `semqa score` does with the same answers."""
    return score(
        [
            Example(each.qid, answers[each.qid], each.texts, each.short_answers, each.numbers)
            for each in read_quotesum(data)
        ],
        resamples=0,
    )
