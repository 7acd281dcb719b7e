"""The user study of SEMQA (Schuster et al. 2024, appendix B): four statements about an answer.

Raters see the question, the sources and one answer, but not which system wrote it. Quotes have the
colour of their source (design ``quotes``), or sentences end in citations (``citations``).

Inputs are QuoteSum files with the questions and sources, and the answers to rate: files of
predictions (``{"qid", "prediction"}`` per line) or folders of benchmark runs, given as
``NAME=PATH`` or named after the file or folder. If a QuoteSum file has a name
(``human=dev.jsonl``), one human answer per question is rated too. A file of gold items has
``{"qid", "prediction", "expected"}`` per line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from semqa.data.jsonl import read_rows
from semqa.data.quotesum import Question as QuoteSumQuestion
from semqa.data.quotesum import read_quotesum
from semqa.errors import InputError
from semqa.quotes import Quote, QuotedAnswer, Source
from semqa.quotes.citations import sentence_citations
from semqa.quotes.quote import Status
from semqa.studies.analysis import scales_report
from semqa.studies.kind import (
    Figures,
    Input,
    Item,
    Kind,
    Part,
    Question,
    Rated,
    Stage,
    Studies,
    Study,
    expected_of,
    levels,
)
from semqa.studies.writing import count_words

LEVELS = levels("Strongly disagree", "Disagree", "Neither", "Agree", "Strongly agree")

STATEMENTS = {
    "fluency": "The answer reads smoothly, like something a careful person wrote.",
    "comprehensiveness": "The answer covers everything in the sources that answers the question.",
    "correctness": "What the answer says is correct according to the sources.",
    "attribution": "The marks help me see which source each part of the answer comes from.",
}
"""The criteria are those of the paper; the wording is ours."""

_CITATION = re.compile(r"\[\s*([1-9][0-9]?)\s*\]")


class Answers(Kind):
    """Rating of fluency, comprehensiveness, correctness and attribution."""

    name = "semqa"
    title = "How good is this answer?"
    designs = ("quotes", "citations")
    columns = (
        "qid", "system", "rater", *STATEMENTS, "seconds", "words", "design", "comment",
    )  # fmt: skip

    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        questions: dict[str, QuoteSumQuestion] = {}
        answers: list[tuple[str, str, str, Any, str]] = []
        for each in inputs:
            path = each.path / "examples.jsonl" if each.path.is_dir() else each.path
            rows = list(read_rows(path))
            if rows and "source1" in rows[0].fields:
                for question in read_quotesum(path):
                    questions[question.qid] = question
                    if each.name:
                        text = question.references[0].text
                        answers.append((question.qid, each.name, text, None, str(path)))
                continue
            name = each.name or each.path.name.removesuffix(".jsonl")
            answers += [
                (
                    row.text("qid"),
                    row.text("system", name),
                    row.text("prediction"),
                    expected_of(row, gold=each.gold),
                    row.where,
                )
                for row in rows
                if not row.fields.get("error")  # a failed row of a benchmark run has no answer
            ]
        if not answers:
            raise InputError(
                "There are no answers to rate.",
                hint="Add a file of predictions, or human=FILE to rate the answers of a QuoteSum "
                "file.",
            )
        return [_item(questions, *answer) for answer in answers]

    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        sources = [Source(each["text"], title=each.get("title")) for each in item.data["sources"]]
        answer = QuotedAnswer.parse(item.data["answer"], sources)
        parts: tuple[Part, ...] = (
            {"kind": "text", "label": "Question", "text": item.data["question"], "main": True},
            {"kind": "answer", "label": "Answer", "pieces": _pieces(answer, design)},
            {"kind": "sources", "label": "Sources", "sources": _sources(answer, item, design)},
        )
        asked = tuple(Question(name, text, "scale", LEVELS) for name, text in STATEMENTS.items())
        comment = Question("comment", "Comment (optional)", "text", required=False)
        return (Stage("Read and rate the answer", parts, (*asked, comment)),)

    def rows(self, study: Study, rated: Rated) -> Iterable[Mapping[str, Any]]:
        row = {
            "qid": rated.item.item,
            "system": rated.item.system,
            "rater": rated.rater,
            **{name: rated.values[name] for name in STATEMENTS},
            "seconds": round(rated.seconds, 1),
            "words": _words(rated.item),
            "design": study.settings.design,
            "comment": rated.values.get("comment", ""),
        }
        return [row]

    def report(self, studies: Studies) -> Figures:
        """Return means, agreement, comparisons of systems, and times."""
        return scales_report(studies, tuple(STATEMENTS), _words)


def _item(
    questions: dict[str, QuoteSumQuestion],
    qid: str,
    system: str,
    text: str,
    expected: Any,
    where: str,
) -> Item:
    if qid not in questions:
        raise InputError(f"Question {qid!r} is not in the QuoteSum files.", where=where)
    question = questions[qid]
    sources = [{"text": each.text, "title": each.title or ""} for each in question.sources]
    data = {"question": question.question, "answer": text, "sources": sources}
    return Item(qid, system, data, expected)


def _pieces(answer: QuotedAnswer, design: str) -> list[dict[str, Any]]:
    """Split an answer into text, quotes with their source, and citations."""
    quotes = any(quote.status is not Status.MALFORMED for quote in answer.quotes)
    if design == "citations" and quotes:
        return _cited(sentence_citations(answer, only_verified=False))
    pieces: list[dict[str, Any]] = []
    for segment in answer.segments:
        # A citation such as [1] parses as a malformed quote.
        if isinstance(segment, Quote) and segment.status is not Status.MALFORMED:
            pieces.append({"text": segment.text, "source": segment.source})
        else:
            pieces += _cited(segment.text)
    return pieces


def _cited(text: str) -> list[dict[str, Any]]:
    pieces: list[dict[str, Any]] = []
    at = 0
    for match in _CITATION.finditer(text):
        pieces += [{"text": text[at : match.start()]}, {"cite": int(match[1])}]
        at = match.end()
    pieces.append({"text": text[at:]})
    return [piece for piece in pieces if piece.get("text") != ""]


def _sources(answer: QuotedAnswer, item: Item, design: str) -> list[dict[str, Any]]:
    found = []
    for number, source in enumerate(item.data["sources"], 1):
        if not source["text"]:
            continue
        places: dict[str, list[list[int]]] = {"body": [], "title": []}
        for quote in answer.quotes if design == "quotes" else ():
            if quote.source == number and quote.field is not None:
                places[quote.field].append([quote.source_start or 0, quote.source_end or 0])
        found.append(
            {"number": number, **source, "marks": places["body"], "title_marks": places["title"]}
        )
    return found


def _words(item: Item) -> int:
    """Count the words of the answer, without quote marks and citations."""
    sources = [Source(each["text"]) for each in item.data["sources"]]
    plain = QuotedAnswer.parse(item.data["answer"], sources).plain
    return count_words(_CITATION.sub(" ", plain))
