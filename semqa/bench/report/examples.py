"""The examples of a report: each question with its sources, human answers, and answers of runs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from semqa.bench.plan import HUMAN
from semqa.errors import InputError
from semqa.quotes import FreeText, QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.bench.report.runs import FinishedRun
    from semqa.data.quotesum import Question

MOST_SIGNS = 4  # shown after a quoted text; beyond that, their number


class Part(NamedTuple):
    """A run of text.

    Attributes:
        source: number that a quote names; None for free text.
        status: of the quote; empty for free text.
        by: in a source, the signs of the answers that quote it here.
    """

    text: str
    source: int | None = None
    status: str = ""
    why: str = ""
    by: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """The signs to show after the text, or their number; empty for text without letters.

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


class Answer(NamedTuple):
    """One answer.

    Attributes:
        sign: short name, also used in the sources: h1, h2 for people, A, B for runs.
        name: of the run; for a reference, its id.
    """

    sign: str
    name: str
    parts: tuple[Part, ...]
    semqa: float | None = None
    error: str | None = None


class SourceView(NamedTuple):
    """A source, cut at the borders of all quotes."""

    number: int
    title: tuple[Part, ...]
    body: tuple[Part, ...]


class Example(NamedTuple):
    """One question; `spread` is the points of SEMQA between the best and the worst run."""

    qid: str
    question: str
    spread: float
    references: tuple[Answer, ...]
    answers: tuple[Answer, ...]
    sources: tuple[SourceView, ...]


def make_examples(runs: Sequence[FinishedRun], most: int) -> tuple[list[Example], int]:
    """Return the questions on which runs differ most in SEMQA, ties in the order of the data.

    Args:
        most: how many questions to return.
    """
    questions: dict[tuple[str, str], Question] = {}
    rows: dict[tuple[str, str], list[tuple[FinishedRun, int]]] = {}
    for run in runs:
        if run.identity.get("engine") == HUMAN:
            continue
        for at, item in enumerate(run.items):
            key = str(run.identity.get("data_sha256")), item.question.qid
            questions.setdefault(key, item.question)
            rows.setdefault(key, []).append((run, at))
    spreads = {
        key: _spread(run.scores[at].semqa for run, at in asked) for key, asked in rows.items()
    }
    order = sorted(rows, key=lambda key: -spreads[key])
    signs = {run.label: _sign(place) for place, run in enumerate(runs)}
    shown = [_example(questions[key], rows[key], spreads[key], signs) for key in order[:most]]
    return shown, len(order)


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

    def parts(sign: str, text: str) -> tuple[Part, ...]:
        try:
            answer = QuotedAnswer.parse(text, question.sources)
        except InputError:  # more marks than can be checked: shown as it is
            answer = QuotedAnswer((FreeText(text, 0, len(text), 0, len(text)),), question.sources)
        read.append((sign, answer))
        return tuple(
            Part(segment.text)
            if isinstance(segment, FreeText)
            else Part(segment.text, segment.source, segment.status.value, segment.reason)
            for segment in answer.segments
        )

    references = [
        Answer(f"h{place}", reference.unique_id, parts(f"h{place}", reference.text))
        for place, reference in enumerate(question.references, 1)
    ]
    answers = []
    for run, at in rows:
        record, sign = run.records[at], signs[run.label]
        told = parts(sign, record.prediction)
        answers.append(Answer(sign, run.label, told, run.scores[at].semqa, record.error))
    sources = []
    for number in question.numbers:
        source = question.sources[number - 1]
        title = _highlighted(source.title, "title", number, read)
        sources.append(SourceView(number, title, _highlighted(source.text, "body", number, read)))
    return Example(
        question.qid, question.question, spread, tuple(references), tuple(answers), tuple(sources)
    )


def _highlighted(
    text: str, field: str, number: int, read: Sequence[tuple[str, QuotedAnswer]]
) -> tuple[Part, ...]:
    """Cut a field at the borders of all quotes of it; each part lists the answers that quote it."""
    begins: dict[int, list[str]] = {}
    ends: dict[int, list[str]] = {}
    for sign, answer in read:
        for quote in answer.quotes:
            start, end = quote.source_start, quote.source_end
            here = quote.verified and quote.source == number and quote.field == field
            if here and start is not None and end is not None and start < end:
                begins.setdefault(start, []).append(sign)
                ends.setdefault(end, []).append(sign)
    covering: list[str] = []
    order = {sign: at for at, (sign, _) in enumerate(read)}
    parts = []
    for start, end in itertools.pairwise(sorted({0, len(text), *begins, *ends})):
        for sign in ends.get(start, ()):
            covering.remove(sign)
        covering += begins.get(start, ())
        parts.append(Part(text[start:end], by=tuple(sorted(set(covering), key=order.__getitem__))))
    return tuple(parts)
