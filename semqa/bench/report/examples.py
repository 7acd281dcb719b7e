"""Examples in a report: a question, its sources, and the answers of people and runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from semqa.bench.plan import HUMAN
from semqa.bench.report.runs import FinishedRun
from semqa.data.quotesum import Question
from semqa.errors import InputError
from semqa.quotes import Field, FreeText, QuotedAnswer
from semqa.quotes.render.common import quotes_in, split_at

MAX_SIGNS = 4  # shown after a quoted text; more than this are not shown


class Part(NamedTuple):
    """A segment of text.

    Attributes:
        source: source number of a quote; None for free text.
        status: verification status of a quote; empty for free text.
        by: in a source, signs of the answers that quote this part.
    """

    text: str
    source: int | None = None
    status: str = ""
    why: str = ""
    by: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """Signs to show after the text; empty if there are too many, or the text is only punctuation.

        Example:
            >>> Part("Ann", by=("h1", "A")).mark, Part("Ann", by=("h1", "h2", "A", "B", "C")).mark
            ('h1 A', '')
        """
        shown = len(self.by) <= MAX_SIGNS and any(map(str.isalnum, self.text))
        return " ".join(self.by) if shown else ""


class Answer(NamedTuple):
    """One answer.

    Attributes:
        sign: short name, also used in the sources: h1, h2, … for people; A, B, … for runs.
        name: name of the run, or id of the reference.
    """

    sign: str
    name: str
    parts: tuple[Part, ...]
    semqa: float | None = None
    error: str | None = None


class SourceView(NamedTuple):
    """A source, split at the boundaries of all quotes."""

    number: int
    title: tuple[Part, ...]
    body: tuple[Part, ...]


class Example(NamedTuple):
    """One question; `spread` is the difference in SEMQA between the best and the worst run."""

    qid: str
    question: str
    spread: float
    references: tuple[Answer, ...]
    answers: tuple[Answer, ...]
    sources: tuple[SourceView, ...]


def make_examples(runs: Sequence[FinishedRun], most: int) -> tuple[list[Example], int]:
    """Return the questions on which runs differ most in SEMQA, and the number of all questions.

    Ties are in the order of the data.
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
    signs = {run.label: _sign(index) for index, run in enumerate(runs)}
    shown = [_example(questions[key], rows[key], spreads[key], signs) for key in order[:most]]
    return shown, len(order)


def _spread(values: Iterable[float | None]) -> float:
    scored = [value for value in values if value is not None]
    return max(scored) - min(scored) if scored else 0.0


def _sign(index: int) -> str:
    """Return A to Z, then AA, AB and so on."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _example(
    question: Question,
    rows: Sequence[tuple[FinishedRun, int]],
    spread: float,
    signs: dict[str, str],
) -> Example:
    parsed: list[tuple[str, QuotedAnswer]] = []

    def parts(sign: str, text: str) -> tuple[Part, ...]:
        try:
            answer = QuotedAnswer.parse(text, question.sources)
        except InputError:  # too many marks to verify: show the raw text
            answer = QuotedAnswer((FreeText(text, 0, len(text), 0, len(text)),), question.sources)
        parsed.append((sign, answer))
        return tuple(
            Part(segment.text)
            if isinstance(segment, FreeText)
            else Part(segment.text, segment.source, segment.status.value, segment.reason)
            for segment in answer.segments
        )

    references = [
        Answer(f"h{number}", reference.unique_id, parts(f"h{number}", reference.text))
        for number, reference in enumerate(question.references, 1)
    ]
    answers = []
    for run, at in rows:
        record, sign = run.records[at], signs[run.label]
        segments = parts(sign, record.prediction)
        answers.append(Answer(sign, run.label, segments, run.scores[at].semqa, record.error))
    sources = []
    for number in question.numbers:
        source = question.sources[number - 1]
        title = _highlighted(source.title, "title", number, parsed)
        sources.append(SourceView(number, title, _highlighted(source.text, "body", number, parsed)))
    return Example(
        question.qid, question.question, spread, tuple(references), tuple(answers), tuple(sources)
    )


def _highlighted(
    text: str, field: Field, number: int, answers: Sequence[tuple[str, QuotedAnswer]]
) -> tuple[Part, ...]:
    """Split a field at the boundaries of its quotes; each part lists the answers quoting it."""
    spans = [
        (start, end, sign)
        for sign, answer in answers
        for start, end, _ in quotes_in(answer, number, field)
    ]
    return tuple(
        Part(piece, by=tuple(dict.fromkeys(signs))) for piece, signs in split_at(text, spans)
    )
