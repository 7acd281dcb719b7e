"""Answers to score: ALCE runs, ASQA predictions and quoted answers; sub-questions of QuoteSum."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from semqa.attribution.citations.reading import (
    CitedAnswer,
    cited_sentences,
    official_output,
    read_cited,
    remove_citations,
    remove_citations_officially,
)
from semqa.attribution.records import invalid_field
from semqa.checks import check_choice
from semqa.data.files import ByteBudget, InputFile, open_input
from semqa.data.jsonl import (
    Row,
    as_row,
    decode_json,
    decode_row,
    describe,
    lines_of,
    read_json,
    shown,
)
from semqa.data.quotesum import Question
from semqa.data.sources import answers_of
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer
from semqa.quotes.citations import sentence_citations
from semqa.quotes.quote import Source


class ShortAnswers(NamedTuple):
    """A question, which may be empty, and alternative short answers to it."""

    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerExample:
    """An answer with the data that its scores need.

    The text has citations; a quoted answer is rendered with one group of citations per sentence.
    """

    key: str
    question: str
    text: str
    passages: tuple[Source, ...] = ()
    references: tuple[str, ...] = ()
    short_answers: tuple[ShortAnswers, ...] = ()
    quoted: QuotedAnswer | None = None

    @classmethod
    def of_quoted(
        cls, key: str, question: str, answer: QuotedAnswer, references: Sequence[str] = ()
    ) -> AnswerExample:
        text = sentence_citations(answer, only_verified=False)
        return cls(key, question, text, answer.sources, tuple(references), quoted=answer)

    def cited(self, *, official: bool = False) -> CitedAnswer:
        if self.quoted is not None and not official:
            return CitedAnswer(cited_sentences(self.quoted), self.passages)
        return read_cited(self.text, self.passages, official=official)

    def plain(self, *, official: bool = False) -> str:
        if official:
            return remove_citations_officially(official_output(self.text))
        return remove_citations(self.text).strip()


def read_examples(path: Path | str) -> list[AnswerExample]:
    """Read an ALCE run (see `read_alce`), or answers with their sources."""
    value, raw, name = _try(path)
    if _is_alce(value):
        return _alce(value, name)
    return [
        AnswerExample.of_quoted(one.key, one.question, QuotedAnswer.parse(one.text, one.sources))
        for one in answers_of(raw, name)
    ]


def read_alce(path: Path | str) -> list[AnswerExample]:
    """Read an ALCE run: a JSON object whose ``data`` is an array of outputs, or that array.

    An output has ``question``, ``output`` and ``docs``, each with ``title`` and ``text``, or
    ``sent`` (an extract that replaces the text). Optional are ``qa_pairs``, and reference answers
    as ``annotations`` or ``answer``.
    """
    value, name = read_json(path)
    if not _is_alce(value):
        raise InputError(
            f"Not an ALCE run: expected an object whose data is an array of objects with output, got {describe(value)}.",
            where=name,
        )
    return _alce(value, name)


def _alce(value: Any, name: str) -> list[AnswerExample]:
    data: list[object] = value["data"] if isinstance(value, dict) else value
    found = []
    for number, item in enumerate(data, 1):
        row = as_row(item, f"{name}: item {number}")
        ids = [each for n in ("sample_id", "qid", "id") if (each := row.fields.get(n)) is not None]
        found.append(
            AnswerExample(
                str((*ids, number)[0]),
                row.text("question", ""),
                row.text("output"),
                tuple(map(_passage, _rows(row, "docs"))),
                _references(row),
                _short_answers(row),
            )
        )
    return found


def read_asqa(path: Path | str, predictions: Path | str, split: str = "dev") -> list[AnswerExample]:
    """Read ASQA.json, or a JSON object that maps keys to instances, and predictions for it.

    Predictions are a JSON object that maps keys to answers, or JSON lines with ``qid`` and
    ``prediction``.
    """
    value, name = read_json(path)
    instances = as_row(value, name).fields
    if not any(isinstance(each, dict) and "qa_pairs" in each for each in instances.values()):
        check_choice("split", split, tuple(instances))
        instances = as_row(instances[split], name).fields
    answers = _answers(predictions)
    for some, others, problem in (
        (answers, instances, "predictions are for unknown keys"),
        (instances, answers, "instances have no answer"),
    ):
        if odd := [key for key in some if key not in others]:
            message = f"{len(odd)} of {len(some)} {problem}, such as {shown(odd[0])}."
            raise InputError(message, where=str(predictions))
    found = []
    for key, instance in instances.items():
        row = as_row(instance, f"{name}: {shown(key)}")
        question = row.text("ambiguous_question", "")
        found.append(
            AnswerExample(key, question, answers[key], (), _references(row), _short_answers(row))
        )
    return found


def _is_alce(value: object) -> bool:
    data = value.get("data") if isinstance(value, dict) else value
    return (
        isinstance(data, list) and bool(data) and isinstance(data[0], dict) and "output" in data[0]
    )


def _answers(path: Path | str) -> dict[str, str]:
    value, raw, name = _try(path)
    if isinstance(value, dict) and not {"qid", "prediction"} <= value.keys():
        row = Row(name, value)
        return {key: row.text(key) for key in value}
    rows = map(decode_row, lines_of(InputFile(name, BytesIO(raw), ByteBudget())))
    return {row.text("qid"): row.text("prediction") for row in rows}


def _try(path: Path | str) -> tuple[object, bytes, str]:
    """Return the value of a JSON file, or None for JSON lines; its bytes; and its name."""
    with open_input(path) as file:
        raw = file.read_all()
    value = None
    with suppress(InputError):
        value = decode_json(raw, file.name)
    return value, raw, file.name


def _rows(row: Row, field: str) -> list[Row]:
    value = row.fields.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        raise invalid_field(row, field, "an array")
    return [as_row(each, f"{row.where}: {field} {number}") for number, each in enumerate(value, 1)]


def _passage(doc: Row) -> Source:
    text = doc.text("sent") if doc.fields.get("sent") is not None else doc.text("text")
    title = doc.fields.get("title")
    return Source(text, "" if title is None else doc.text("title"))


def _references(row: Row) -> tuple[str, ...]:
    annotated = [each.text("long_answer") for each in _rows(row, "annotations")]
    if annotated:
        return tuple(annotated)
    return (row.text("answer"),) if row.fields.get("answer") is not None else ()


def _short_answers(row: Row) -> tuple[ShortAnswers, ...]:
    found = []
    for pair in _rows(row, "qa_pairs"):
        answers = pair.fields.get("short_answers")
        if not isinstance(answers, list) or not all(isinstance(each, str) for each in answers):
            raise invalid_field(pair, "short_answers", "an array of strings")
        found.append(ShortAnswers(pair.text("question", ""), tuple(answers)))
    return tuple(found)


_SEPARATOR = re.compile(r"\s+\|\s+")

NO_SUB_QUESTIONS = "the question has no sub-questions"


class SubQuestions(NamedTuple):
    """Sub-questions with their short answers, or the reason why they are missing."""

    pairs: tuple[ShortAnswers, ...]
    unscored: str | None = None


def sub_questions(question: Question) -> SubQuestions:
    """Return the sub-questions of an ambiguous question, with the short answers of their sources.

    They come from the columns ``disambig_questions`` and ``short_ans_k`` of its references. If
    several sources answer the same sub-question, any of their short answers counts. Of alternative
    wordings, the first is used. Sub-questions that cannot be assigned to sources are left out.

    Source: the question-answer pairs of Stelmakh et al. 2022, ASQA, section 4.

    Example:
        >>> from semqa.data.quotesum import Question, Reference
        >>> row = Reference("r", "", "", ("1942", "1943"), "When in the US? | When in the UK?")
        >>> sub_questions(Question("q", "When?", (), (row,))).pairs[1]
        ShortAnswers(question='When in the UK?', answers=('1943',))
    """
    answers: dict[int, list[str]] = {}
    for reference in question.references:
        for number, answer in enumerate(reference.source_answers, 1):
            if answer.strip() and answer not in answers.setdefault(number, []):
                answers[number].append(answer)
    numbers = [number for number in sorted(answers) if answers[number]]
    lists = [each.disambiguation for each in question.references if each.disambiguation.strip()]
    if not lists:
        return SubQuestions((), NO_SUB_QUESTIONS)
    wordings = [part.split("|") for part in _SEPARATOR.split(lists[0].strip())]
    wordings_used = [next((each.strip() for each in part if each.strip()), "") for part in wordings]
    if len(wordings_used) != len(numbers):
        numbers = list(question.numbers)  # one sub-question per source, even without a short answer
    if len(wordings_used) != len(numbers):
        return SubQuestions(
            (), "the numbers of sub-questions and of sources with short answers differ"
        )
    merged: dict[str, tuple[str, list[str]]] = {}
    for part, number in zip(wordings_used, numbers, strict=True):
        if part and answers.get(number):
            _, alternatives = merged.setdefault(" ".join(part.casefold().split()), (part, []))
            alternatives += [answer for answer in answers[number] if answer not in alternatives]
    pairs = tuple(ShortAnswers(part, tuple(alternatives)) for part, alternatives in merged.values())
    return SubQuestions(pairs, None if pairs else NO_SUB_QUESTIONS)
