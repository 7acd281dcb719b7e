"""The examples of a report: each question with its sources, what people wrote, and what runs wrote."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semqa.bench.plan import HUMAN
from semqa.errors import InputError
from semqa.quotes import FreeText, QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.bench.report.runs import FinishedRun
    from semqa.data.quotesum import Question
    from semqa.quotes import Quote

__all__ = ["Answer", "Example", "Part", "SourceView", "make_examples"]


MOST_SIGNS = 4
"""Signs that stand after a quoted text; of more, how many there are."""


@dataclass(frozen=True, slots=True)
class Part:
    """A run of text.

    Attributes:
        text: the characters.
        source: the number that a quote names; None for free text.
        status: of the quote; empty for free text.
        why: why it is not verified.
        by: in a source, the signs of those who quote it here.
    """

    text: str
    source: int | None = None
    status: str = ""
    why: str = ""
    by: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """What stands after the text for those who quote it: their signs, or how many they are.

        Nothing after a text without a letter or digit, such as the blank between two quotes.

        Example:
            >>> Part("Ann", by=("h1", "A")).mark, Part("Ann", by=("h1", "h2", "A", "B", "C")).mark
            ('h1 A', '2 people, 3 runs')
        """
        if not any(character.isalnum() for character in self.text):
            return ""
        if len(self.by) <= MOST_SIGNS:
            return " ".join(self.by)
        people = sum(sign.startswith("h") for sign in self.by)
        runs = len(self.by) - people
        told = ((people, "person", "people"), (runs, "run", "runs"))
        return ", ".join(
            f"{count} {one if count == 1 else many}" for count, one, many in told if count
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: whose, its text in parts, and its score.

    Attributes:
        sign: a letter or two that stands for who wrote it, also in the sources.
        name: of the run; for a reference, its id.
        parts: the text.
        semqa: its score; None where it has none.
        error: why there is no answer.
    """

    sign: str
    name: str
    parts: tuple[Part, ...]
    semqa: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source, cut at the borders of all quotes.

    Attributes:
        number: of it, from 1.
        title: its title in parts, each with who quotes it.
        body: its text, likewise.
    """

    number: int
    title: tuple[Part, ...]
    body: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """One question.

    Attributes:
        qid: names it.
        question: in words.
        spread: points of SEMQA between the best and the worst run.
        references: what people wrote.
        answers: what runs wrote.
        sources: those that are there.
    """

    qid: str
    question: str
    spread: float
    references: tuple[Answer, ...]
    answers: tuple[Answer, ...]
    sources: tuple[SourceView, ...]


def make_examples(runs: Sequence[FinishedRun], most: int) -> tuple[list[Example], int]:
    """Return the questions, those first where runs differ most in SEMQA, ties by the data's order.

    Args:
        runs: those whose data is there count; the human row is there as references.
        most: how many are kept.

    Returns:
        The examples, and how many there would be.
    """
    questions: dict[tuple[str, str], Question] = {}
    rows: dict[tuple[str, str], list[tuple[FinishedRun, int]]] = {}
    for run in runs:
        if run.items is None or run.identity.get("engine") == HUMAN:
            continue
        digest = str(run.identity.get("data_sha256"))
        for at, item in enumerate(run.items):
            questions.setdefault((digest, item.question.qid), item.question)
            rows.setdefault((digest, item.question.qid), []).append((run, at))
    spreads = {
        key: _spread(run.scores[at].semqa for run, at in asked) for key, asked in rows.items()
    }
    order = sorted(rows, key=lambda key: -spreads[key])
    signs = {run.label: _sign(place) for place, run in enumerate(runs)}
    return [_example(questions[key], rows[key], spreads[key], signs) for key in order[:most]], len(
        order
    )


def _spread(values: Iterable[float | None]) -> float:
    scored = [value for value in values if value is not None]
    return max(scored) - min(scored) if scored else 0.0


def _sign(place: int) -> str:
    """Return A, B and so on to Z, then AA."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _example(
    question: Question,
    rows: Sequence[tuple[FinishedRun, int]],
    spread: float,
    signs: dict[str, str],
) -> Example:
    read: list[tuple[str, QuotedAnswer]] = []
    references, answers = [], []
    for place, reference in enumerate(question.references, 1):
        sign = f"h{place}"
        parsed = _parse(reference.text, question)
        read.append((sign, parsed))
        references.append(Answer(sign, reference.unique_id, _parts(parsed)))
    for run, at in rows:
        record = run.records[at]
        parsed = _parse(record.prediction, question)
        sign = signs[run.label]
        read.append((sign, parsed))
        answers.append(Answer(sign, run.label, _parts(parsed), run.scores[at].semqa, record.error))
    sources = [
        SourceView(
            number,
            _highlighted(question.sources[number - 1].title, "title", number, read),
            _highlighted(question.sources[number - 1].text, "body", number, read),
        )
        for number in question.numbers
    ]
    return Example(
        question.qid, question.question, spread, tuple(references), tuple(answers), tuple(sources)
    )


def _parse(text: str, question: Question) -> QuotedAnswer:
    try:
        return QuotedAnswer.parse(text, question.sources)
    except InputError:  # more marks than can be checked: shown as it is
        return QuotedAnswer((FreeText(text, 0, len(text), 0, len(text)),), question.sources)


def _parts(answer: QuotedAnswer) -> tuple[Part, ...]:
    return tuple(
        Part(segment.text)
        if isinstance(segment, FreeText)
        else Part(segment.text, segment.source, segment.status.value, segment.reason)
        for segment in answer.segments
    )


def _highlighted(
    text: str, field: str, number: int, read: Sequence[tuple[str, QuotedAnswer]]
) -> tuple[Part, ...]:
    """Cut a field at the borders of all quotes of it; each part says who quotes it."""
    begins: dict[int, list[str]] = {}
    ends: dict[int, list[str]] = {}
    for sign, answer in read:
        for quote in answer.quotes:
            place = _place(quote, number, field)
            if place is not None and place[0] < place[1]:
                begins.setdefault(place[0], []).append(sign)
                ends.setdefault(place[1], []).append(sign)
    borders = sorted({0, len(text), *begins, *ends})
    covering: list[str] = []
    order = {sign: at for at, (sign, _) in enumerate(read)}
    parts = []
    for start, end in itertools.pairwise(borders):
        for sign in ends.get(start, ()):
            covering.remove(sign)
        covering += begins.get(start, ())
        by = tuple(sorted(set(covering), key=order.__getitem__))
        parts.append(Part(text[start:end], by=by))
    return tuple(parts)


def _place(quote: Quote, number: int, field: str) -> tuple[int, int] | None:
    if not quote.verified or quote.source != number or quote.field != field:
        return None
    if quote.source_start is None or quote.source_end is None:
        return None
    return quote.source_start, quote.source_end
