"""Questions proposed from a user's own documents, for a person to check.

1. A judge asks for each name, date and number of a sentence a question that it answers.
2. A search finds passages of other documents that speak to the question.
3. A judge answers the question from each; what it answers becomes a further answer, if it is a number
   where the first one is, or a name where that is.

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
from semqa.attribution.sentences import split_sentences
from semqa.data.jsonl import encode_row
from semqa.documents import split
from semqa.questions.records import Answered, Collected, made_id, with_mark
from semqa.questions.run import Piece

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.attribution.judges import AnsweringJudge, AskingJudge
    from semqa.documents import Document
    from semqa.retrieval.passages import Collection

PER_SENTENCE = 3
"""Answers of a sentence that are asked for."""

FOUND = 8
"""Passages that a search returns."""

LEAST_WORDS, MOST_WORDS = 5, 30
"""Words of a sentence that is asked about: a longer one with a gap is filled by itself alone."""

_SENTENCE = re.compile(r"(?:[#>*-]+ +)?(?:\(?[0-9]+(?:\.[0-9]+)*[.)]? +)?([A-Z][^|#]*[.!?])")


def propose(
    collection: Collection, asking: AskingJudge, answering: AnsweringJudge, place: Any
) -> Iterator[Piece]:
    """Give questions that several documents of a collection seem to answer."""
    done = place or 0
    for info in collection.documents()[done:]:
        document = collection.document(info.id)
        counts: Counter[str] = Counter(lines=1)
        lines = []
        for question, answer in _asked(document, asking):
            counts["proposed"] += 1
            others = _elsewhere(collection, info.name, question, answer, answering)
            counts["several.questions"] += bool(others)
            counts["several.answers"] += len(others) + 1 if others else 0
            if others:
                made = Collected(made_id("DOC", question), with_mark(question), (answer, *others))
                lines.append((0, encode_row(made.to_dict())))
        done += 1
        yield Piece(done, lines, counts, done)


def _asked(document: Document, asking: AskingJudge) -> Iterator[tuple[str, Answered]]:
    """Give the questions of a document, each once, with the answer and its passage."""
    finder = RuleSpans()
    title = document.title or document.name
    readings, where = [], []
    for passage in split(document):
        text = document.text[passage.start : passage.end]
        for sentence in filter(None, map(whole_sentence, split_sentences(text))):
            spans = [span for span in finder.spans(sentence) if kind_of(span.text)]
            # A capital at the beginning of a sentence makes no name.
            telling = [span.text for span in spans if span.start or kind_of(span.text) == "number"]
            for answer in list(dict.fromkeys(telling))[:PER_SENTENCE]:
                readings.append((answer, sentence))
                where.append(Answered(answer, title, " ".join(text.split())))
    seen: set[str] = set()
    for questions, source in zip(asking.ask(readings, count=1), where, strict=True):
        for question in questions:
            if len(question.split()) >= LEAST_WORDS and question not in seen:
                seen.add(question)
                yield question, source


def whole_sentence(text: str) -> str | None:
    """Return a sentence without the number of its clause; None for headings, rows and the like.

    Example:
        >>> whole_sentence("8.1 The notice period is 30 days."), whole_sentence("## First use")
        ('The notice period is 30 days.', None)
    """
    found = _SENTENCE.fullmatch(" ".join(text.split()))
    if found is None or not LEAST_WORDS <= len(found[1].split()) <= MOST_WORDS:
        return None
    return found[1]


def kind_of(answer: str) -> str:
    """Return whether an answer is a ``number``, dates included, or a ``name``; empty if neither.

    Example:
        >>> kind_of("30 days"), kind_of("Ann Lee"), kind_of("the bridge")
        ('number', 'name', '')
    """
    if any(character.isdigit() for character in answer):
        return "number"
    return "name" if any(word[:1].isupper() for word in answer.split()) else ""


def _elsewhere(
    collection: Collection, name: str, question: str, answer: Answered, answering: AnsweringJudge
) -> list[Answered]:
    """Return what passages of other documents answer, one answer of the same kind a passage."""
    found = [each for each in collection.search(question, FOUND) if each.name != name]
    texts = [" ".join(each.source.text.split()) for each in found]
    spans = answering.answer([Reading(question, text) for text in texts])
    return [
        Answered(span.text, each.source.title or each.name, text)
        for each, text, span in zip(found, texts, spans, strict=True)
        if span is not None and kind_of(span.text) == kind_of(answer.answer)
    ]
