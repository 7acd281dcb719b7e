"""QuoteSum: questions with numbered sources and human quoted answers, in JSON lines.

Each row is one human answer. Rows with the same ``qid`` have the same question and sources, and form
one `Question`. The columns are ``qid``, ``unique_id``, ``question``, ``summary`` (the answer, with
marks), ``covered_short_answers``, ``title1``…``title8``, ``source1``…``source8``,
``short_ans_1``…``short_ans_8`` and ``disambig_questions``.

A file of predictions has ``{"qid": …, "prediction": …}`` per line. Other fields are ignored, so
``examples.jsonl`` of a benchmark is also valid.

Source: Schuster et al., SEMQA (NAACL 2024), section 3; github.com/google-research-datasets/QuoteSum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Literal, TypeVar

from semqa.data.files import display_name
from semqa.data.jsonl import Row, decode_row, read_lines, read_rows, shown, write_jsonl
from semqa.errors import InputError
from semqa.quotes.marks import canonical_mark
from semqa.quotes.quote import Source

MAX_NUMBER = 8
"""The release has columns for at most eight sources."""

Origin = Literal["PAQ", "AmbigQA", "other"]
"""The dataset that a question comes from."""

_T = TypeVar("_T")
_NUMBERS = range(1, MAX_NUMBER + 1)
_URLS = tuple(f"url{k}" for k in _NUMBERS)
_COLUMNS = (
    "qid",
    "unique_id",
    "question",
    "summary",
    "covered_short_answers",
    *(name for k in _NUMBERS for name in (f"title{k}", f"source{k}", f"short_ans_{k}")),
    "disambig_questions",
)
_TOO_HIGH = tuple(f"{stem}{MAX_NUMBER + 1}" for stem in ("title", "source", "short_ans_"))


@dataclass(frozen=True, slots=True)
class Reference:
    """A human answer to a question.

    Attributes:
        text: the answer with marks (column ``summary``).
        short_answers: the short answers that the text covers, as marks (``[ 1 x ] [ 2 y ]``).
        source_answers: the short answer of source *k* at *k* - 1 (``short_ans_k``), or "".
        disambiguation: the row's ``disambig_questions``, as released.
    """

    unique_id: str
    text: str
    short_answers: str = ""
    source_answers: tuple[str, ...] = ()
    disambiguation: str = ""
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        # Drop empty columns at the end, so that equal references compare equal.
        object.__setattr__(self, "source_answers", _without_tail(self.source_answers, ""))


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its numbered sources and its human answers.

    Source *k* is ``sources[k - 1]``. A gap in the numbers is an empty `Source`, which `numbers`
    leaves out.

    Attributes:
        sources: the sources up to the highest number present.
        references: the human answers, in file order, at least one.
    """

    qid: str
    question: str
    sources: tuple[Source, ...]
    references: tuple[Reference, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", _without_tail(self.sources, Source("")))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the sources with a text.

        Example:
            >>> Question("q1", "Who sang?", (Source("Bing."), Source(""), Source("Kay.")), ()).numbers
            (1, 3)
        """
        return tuple(k for k, source in enumerate(self.sources, 1) if source.text)

    @property
    def origin(self) -> Origin:
        """The dataset that the question comes from, by the prefix of its `qid`."""
        if self.qid.startswith("PAQ_"):
            return "PAQ"
        return "AmbigQA" if self.qid.startswith("AMBIG_") else "other"

    @property
    def texts(self) -> tuple[str, ...]:
        """The marked text of each reference."""
        return tuple(reference.text for reference in self.references)

    @property
    def short_answers(self) -> tuple[str, ...]:
        """The covered short answers of each reference, as marks; all of them if it has no text."""
        return tuple(map(_short_answers, self.references))


def _short_answers(reference: Reference) -> str:
    if reference.short_answers or reference.text.strip():
        return reference.short_answers
    numbered = enumerate(reference.source_answers, 1)
    return " ".join(canonical_mark(number, answer) for number, answer in numbered if answer)


def _without_tail(items: Sequence[_T], empty: _T) -> tuple[_T, ...]:
    end = len(items)
    while end and items[end - 1] == empty:
        end -= 1
    return tuple(items[:end])


class _Groups:
    """Groups rows into questions and checks that they are consistent."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[str, Question]] = {}
        self._references: dict[str, list[Reference]] = {}
        self._ids: dict[str, str] = {}

    def add(self, row: Row) -> None:
        question, reference = _parse(row)
        seen_at = self._ids.get(reference.unique_id)
        if seen_at is not None:
            raise InputError(
                f"{shown(reference.unique_id)} is already used at {seen_at}.",
                field="unique_id",
                where=row.where,
            )
        where, first = self._first.setdefault(question.qid, (row.where, question))
        _check_same(row.where, question, where, first)
        self._ids[reference.unique_id] = row.where
        self._references.setdefault(question.qid, []).append(reference)

    def questions(self) -> list[Question]:
        return [
            Question(first.qid, first.question, first.sources, tuple(self._references[qid]))
            for qid, (_, first) in self._first.items()
        ]


def _parse(row: Row) -> tuple[Question, Reference]:
    question = Question(
        row.text("qid"), row.text("question"), tuple(_source(row, k) for k in _NUMBERS), ()
    )
    reference = Reference(
        row.text("unique_id"),
        row.text("summary"),
        row.text("covered_short_answers", ""),
        tuple(row.text(f"short_ans_{k}", "") for k in _NUMBERS),
        row.text("disambig_questions", ""),
        {k: v for k, v in row.fields.items() if k not in _COLUMNS and k not in _URLS},
    )
    for name in ("qid", "unique_id", "question"):
        if not row.text(name).strip():
            raise InputError("is empty.", field=name, where=row.where)
    _check_numbers(row, question)
    return question, reference


def _source(row: Row, k: int) -> Source:
    return Source(
        row.text(f"source{k}", ""), row.text(f"title{k}", ""), row.text(f"url{k}", "") or None
    )


def _check_numbers(row: Row, question: Question) -> None:
    for name in _TOO_HIGH:
        if row.fields.get(name):
            raise InputError(
                f"exceeds the limit of {MAX_NUMBER} sources.", field=name, where=row.where
            )
    if not any(source.text.strip() for source in question.sources):
        raise InputError(f"No sources: source1 to source{MAX_NUMBER} are empty.", where=row.where)


def _check_same(where: str, question: Question, first_where: str, first: Question) -> None:
    pairs = [("question", question.question, first.question)]
    both = zip_longest(question.sources, first.sources, fillvalue=Source(""))
    for k, (new, old) in enumerate(both, 1):
        pairs += [
            (f"title{k}", new.title, old.title),
            (f"source{k}", new.text, old.text),
            (f"url{k}", new.url or "", old.url or ""),
        ]
    for name, got, expected in pairs:
        if got != expected:
            raise InputError(
                f"differs from {first_where}, which has the same qid {shown(question.qid)}.",
                field=name,
                where=where,
            )


def read_quotesum(path: Path | str) -> list[Question]:
    """Read the questions of a QuoteSum file, in the order of their first rows.

    Only ``qid``, ``unique_id``, ``question`` and ``summary`` are required. The optional columns
    ``url1``…``url8``, which are not in the release, have the sources' URLs.
    """
    groups = _Groups()
    for line in read_lines(path):
        groups.add(decode_row(line))
    return groups.questions()


def read_questions(path: Path | str) -> list[Question]:
    """Read the questions of a QuoteSum file whose rows may have no answers.

    A missing ``summary`` is empty. A missing ``unique_id`` is derived from the row's number.
    """
    groups = _Groups()
    for number, line in enumerate(read_lines(path), 1):
        row = decode_row(line)
        row.fields.setdefault("summary", "")
        row.fields.setdefault("unique_id", f"{row.text('qid')} {number}")
        groups.add(row)
    return groups.questions()


MAX_ERRORS = 20
"""Errors that `check_quotesum` lists; it counts the others."""


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The result of checking a QuoteSum file."""

    questions: tuple[Question, ...]
    errors: tuple[str, ...]
    more_errors: int


def check_quotesum(path: Path | str) -> FileCheck:
    """Check all rows of a QuoteSum file; `read_quotesum` stops at the first invalid one."""
    groups = _Groups()
    errors: list[str] = []
    count = 0
    for line in read_lines(path):
        try:
            groups.add(decode_row(line))
        except InputError as err:
            count += 1
            if count <= MAX_ERRORS:
                errors.append(str(err))
    return FileCheck(tuple(groups.questions()), tuple(errors), count - len(errors))


def write_quotesum(path: Path | str, questions: Iterable[Question]) -> None:
    """Write a QuoteSum file atomically: the columns of the release in its order, then extra ones.

    Questions from `read_quotesum` are read back equal.
    """
    # Check the rows like a reader, so that the file can be read.
    groups = _Groups()
    rows: list[Mapping[str, object]] = []
    qids: set[str] = set()
    for question in questions:
        if question.qid in qids or not question.references:
            wrong = "occurs twice" if question.qid in qids else "has no reference"
            raise InputError(f"Question {shown(question.qid)} {wrong}.", where=display_name(path))
        qids.add(question.qid)
        for fields in question_rows(question):
            groups.add(Row(f"{display_name(path)}: row {len(rows) + 1}", fields))
            rows.append(fields)
    write_jsonl(path, rows)


def question_rows(question: Question) -> Iterator[dict[str, object]]:
    """Yield the rows of a question, one per reference, with the columns of the release."""
    sources = question.sources
    for reference in question.references:
        answers = reference.source_answers
        if len(sources) > MAX_NUMBER or len(answers) > MAX_NUMBER:
            raise InputError(f"Question {shown(question.qid)} has more than {MAX_NUMBER} sources.")
        row: dict[str, object] = dict.fromkeys(_COLUMNS, "")
        row |= {
            "qid": question.qid,
            "unique_id": reference.unique_id,
            "question": question.question,
            "summary": reference.text,
            "covered_short_answers": reference.short_answers,
            "disambig_questions": reference.disambiguation,
        }
        row |= {f"short_ans_{k}": answer for k, answer in enumerate(answers, 1)}
        for k, source in enumerate(sources, 1):
            row |= {f"title{k}": source.title, f"source{k}": source.text}
            if source.url is not None:
                row[f"url{k}"] = source.url
        clash = sorted(reference.extra.keys() & {*_COLUMNS, *_URLS})
        if clash:
            raise InputError(
                f"The extra column {shown(clash[0])} of question {shown(question.qid)} has the name "
                "of a QuoteSum column."
            )
        yield row | dict(reference.extra)


_LISTED = 5


def read_predictions(path: Path | str) -> dict[str, str]:
    """Read a file of predictions: the answer to each question id, in file order."""
    predictions: dict[str, str] = {}
    places: dict[str, str] = {}
    for row in read_rows(path):
        qid, text = row.text("qid"), row.text("prediction")
        if qid in places:
            raise InputError(
                f"{shown(qid)} already has a prediction at {places[qid]}.",
                field="qid",
                where=row.where,
            )
        places[qid] = row.where
        predictions[qid] = text
    return predictions


def match_predictions(
    questions: Sequence[Question],
    predictions: Mapping[str, str],
    *,
    allow_missing: bool = False,
    name: str = "predictions",
) -> list[str]:
    """Return the prediction for each question, in the order of the questions.

    Args:
        allow_missing: whether to count a missing prediction as an empty answer.
        name: the name of the file, for errors.

    Example:
        >>> from semqa.data.quotesum import Question
        >>> from semqa.quotes.quote import Source
        >>> match_predictions([Question("q1", "Who?", (Source("Bing."),), ())], {"q1": "[ 1 Bing ]"})
        ['[ 1 Bing ]']
    """
    known = {question.qid for question in questions}
    unknown = [qid for qid in predictions if qid not in known]
    if unknown:
        raise InputError(
            f"{shown(unknown[0])}{_more(len(unknown) - 1)} is not among the {len(known)} questions.",
            field="qid",
            where=name,
            hint=_advice(unknown[0], known),
        )
    missing = [question.qid for question in questions if question.qid not in predictions]
    if missing and not allow_missing:
        listed = ", ".join(shown(qid) for qid in missing[:_LISTED])
        raise InputError(
            f"{len(missing)} of {len(questions)} questions have no prediction: "
            f"{listed}{_more(len(missing) - _LISTED)}.",
            where=name,
            hint="Add them, or give --allow-missing.",
        )
    return [predictions.get(question.qid, "") for question in questions]


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def _advice(qid: str, known: set[str]) -> str:
    from rapidfuzz import process

    # Sorted, so that the advice does not depend on the order of the set.
    best = process.extractOne(qid, sorted(known), score_cutoff=60)
    if best is None:
        return "Check that predictions and references belong together."
    return f"Did you mean {shown(best[0])}?"
