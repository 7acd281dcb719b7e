"""Proposes questions about a user's own documents, for a person to check.

1. A judge generates a question for each name, date and number in a sentence.
2. A search finds passages of other documents for the question.
3. A judge answers the question from each passage. The answer is accepted if it is of the same kind
   as the first answer: a number or a name.

The lexical judge is simple: it replaces the answer with a question word ("The bridge opened in
which year?") and answers by the words around the gap. It finds questions that several similar
documents answer, such as the notice periods of two contracts, but also many bad questions. So every
question is ``"checked": false`` until a person has checked it.

Source: ours. The paper took its questions from PAQ and AmbigQA.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from sqlite3 import Connection

from semqa.attribution.judges import Judge, Reading
from semqa.attribution.q2.spans import RuleSpans
from semqa.attribution.sentences import split_sentences
from semqa.documents import Document, split
from semqa.questions.paq import insert_candidate
from semqa.questions.records import CollectedQuestion, PassageAnswer, stable_id, with_question_mark
from semqa.questions.run import Done
from semqa.retrieval.passages import Collection

MAX_ANSWERS_PER_SENTENCE = 3
"""Maximum number of questions per sentence."""

SEARCH_RESULTS = 8
"""Number of passages per search."""

MIN_WORDS, MAX_WORDS = 5, 30
"""Length of sentences to ask about, in words. A longer one is only answered by itself."""

_SENTENCE = re.compile(r"(?:[#>*-]+ +)?(?:\(?[0-9]+(?:\.[0-9]+)*[.)]? +)?([A-Z][^|#]*[.!?])")


def propose(
    database: Connection, collection: Collection, asking: Judge, answering: Judge, place: int | None
) -> Iterator[Done]:
    """Write the questions that several documents seem to answer to the table ``candidate``."""
    done = place or 0
    for info in collection.documents()[done:]:
        counts: Counter[str] = Counter()
        for question, answer in _ask(collection.document(info.id), asking):
            counts["proposed"] += 1
            others = _answers_elsewhere(collection, info.name, question, answer, answering)
            if others:
                counts["several.questions"] += 1
                counts["several.answers"] += len(others) + 1
                qid, answers = stable_id("DOC", question), (answer, *others)
                proposed = CollectedQuestion(qid, with_question_mark(question), answers)
                insert_candidate(database, proposed.to_dict())
        done += 1
        yield Done(done, counts, done)


def _ask(document: Document, asking: Judge) -> Iterator[tuple[str, PassageAnswer]]:
    """Yield the distinct questions of a document, each with the answer and its passage."""
    finder = RuleSpans()
    title = document.title or document.name
    readings, where = [], []
    for passage in split(document):
        text = document.text[passage.start : passage.end]
        for sentence in filter(None, map(whole_sentence, split_sentences(text))):
            spans = [span for span in finder.spans(sentence) if kind_of(span.text)]
            # A capitalised first word is not necessarily a name.
            answers = [span.text for span in spans if span.start or kind_of(span.text) == "number"]
            for answer in list(dict.fromkeys(answers))[:MAX_ANSWERS_PER_SENTENCE]:
                readings.append((answer, sentence))
                where.append(PassageAnswer(answer, title, " ".join(text.split())))
    seen: set[str] = set()
    for questions, source in zip(asking.ask(readings, count=1), where, strict=True):
        for question in questions:
            if len(question.split()) >= MIN_WORDS and question not in seen:
                seen.add(question)
                yield question, source


def whole_sentence(text: str) -> str | None:
    """Return a sentence without its clause number; None for headings, table rows and the like.

    Example:
        >>> whole_sentence("8.1 The notice period is 30 days."), whole_sentence("## First use")
        ('The notice period is 30 days.', None)
    """
    found = _SENTENCE.fullmatch(" ".join(text.split()))
    if found is None or not MIN_WORDS <= len(found[1].split()) <= MAX_WORDS:
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


def _answers_elsewhere(
    collection: Collection, name: str, question: str, answer: PassageAnswer, answering: Judge
) -> list[PassageAnswer]:
    """Return answers of the same kind from passages of other documents."""
    found = [each for each in collection.search(question, SEARCH_RESULTS) if each.name != name]
    texts = [" ".join(each.source.text.split()) for each in found]
    spans = answering.answer([Reading(question, text) for text in texts])
    return [
        PassageAnswer(span.text, each.source.title or each.name, text)
        for each, text, span in zip(found, texts, spans, strict=True)
        if span is not None and kind_of(span.text) == kind_of(answer.answer)
    ]
