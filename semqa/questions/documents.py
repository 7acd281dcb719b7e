"""Questions proposed from a user's own documents, for a person to check.

1. A judge asks for each name, date and number of a passage a question that it answers.
2. A search finds passages of other documents that speak to the question.
3. A judge answers the question from each; what it answers becomes a further answer.

The lexical judge is simple: it puts a question word in the place of the answer ("The bridge opened in
which year?") and answers by the words around a gap. It finds questions that several documents of one
make answer, such as the notice periods of two contracts, and much that is none. So every question is
``"checked": false`` until a person has seen it.

Source: ours. The paper took its questions from PAQ and AmbigQA.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from semqa.attribution.judges import Reading
from semqa.attribution.q2.spans import RuleSpans
from semqa.data.jsonl import encode_row
from semqa.documents import split
from semqa.metrics.text import normalise_answer
from semqa.questions.records import Answered, Collected, made_id, with_mark
from semqa.questions.run import Piece

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.attribution.judges import AnsweringJudge, AskingJudge
    from semqa.documents import Document
    from semqa.retrieval.passages import Collection

PER_PASSAGE = 5
"""Answers of a passage that are asked for."""

FOUND = 8
"""Passages that a search returns."""

LEAST_WORDS = 4
"""Fewest words of a question: "who said?" asks nothing."""

MOST_WORDS = 30
"""A question of more words is a sentence with a gap that only its own passage fills."""

_TELLING = re.compile(r"\d|^[^\W\d_]*[A-Z]")


def propose(
    collection: Collection, asking: AskingJudge, answering: AnsweringJudge, place: Any
) -> Iterator[Piece]:
    """Give questions that several documents of a collection seem to answer.

    Args:
        collection: the documents.
        asking: asks the questions.
        answering: answers them from other documents.
        place: documents that are done.

    Raises:
        UnavailableError: a model or the collection failed.
    """
    done = place or 0
    for info in collection.documents()[done:]:
        document = collection.document(info.id)
        counts: Counter[str] = Counter(lines=1)
        lines = []
        for question, answers in _asked(document, asking):
            counts["proposed"] += 1
            others = _elsewhere(collection, info.name, question, answering)
            counts["several.questions"] += bool(others)
            counts["several.answers"] += len(others) + 1 if others else 0
            if others:
                made = Collected(made_id("DOC", question), with_mark(question), (answers, *others))
                lines.append((0, encode_row(made.to_dict())))
        done += 1
        yield Piece(done, lines, counts, done)


def _asked(document: Document, asking: AskingJudge) -> Iterator[tuple[str, Answered]]:
    """Give the questions of a document, each once, with the answer and its passage."""
    finder = RuleSpans()
    title = document.title or document.name
    readings, where = [], []
    for passage in split(document):
        text = " ".join(document.text[passage.start : passage.end].split())
        telling = [span.text for span in finder.spans(text) if _TELLING.search(span.text)]
        for answer in list(dict.fromkeys(telling))[:PER_PASSAGE]:
            readings.append((answer, text))
            where.append(Answered(answer, title, text))
    seen: set[str] = set()
    for questions, source in zip(asking.ask(readings, count=1), where, strict=True):
        for question in questions:
            if LEAST_WORDS <= len(question.split()) <= MOST_WORDS and question not in seen:
                seen.add(question)
                yield question, source


def _elsewhere(
    collection: Collection, name: str, question: str, answering: AnsweringJudge
) -> list[Answered]:
    """Return what passages of other documents answer, one answer a passage."""
    found = [each for each in collection.search(question, FOUND) if each.name != name]
    texts = [" ".join(each.source.text.split()) for each in found]
    spans = answering.answer([Reading(question, text) for text in texts])
    return [
        Answered(span.text, each.source.title or each.name, text)
        for each, text, span in zip(found, texts, spans, strict=True)
        if span is not None and normalise_answer(span.text)
    ]
