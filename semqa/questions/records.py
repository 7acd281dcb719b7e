"""Collected questions with their answers and passages, and their file formats.

Files between steps have lines ``{"qid", "question", "answers": [{"answer", "title", "text", …}]}``.
The result is a QuoteSum file without summaries: source *k* is the passage of answer *k*.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import NamedTuple

from semqa.data.quotesum import Question, Reference
from semqa.quotes import Source

QUESTION_WORDS = ("who", "whom", "whose", "what", "which", "when", "where", "why", "how")
_WORD = re.compile(rf"\b({'|'.join(QUESTION_WORDS)})\b", re.IGNORECASE)


class PassageAnswer(NamedTuple):
    """An answer and the passage that contains it, with the title and the URL of its page."""

    answer: str  # as spelled in the passage
    title: str
    text: str
    score: float = 0.0  # confidence of the QA model, in [0, 1]
    url: str = ""


@dataclass(frozen=True, slots=True)
class CollectedQuestion:
    """A question with its answers."""

    qid: str  # its prefix names the origin
    question: str
    answers: tuple[PassageAnswer, ...]  # in the order found; after filtering, best first
    disambiguation: str = ""  # AmbigQA's more precise questions, separated by " | "

    def to_dict(self) -> dict[str, object]:
        """Return the question as an object of the files between steps; `read_as` reads it."""
        answers = [each._asdict() for each in self.answers]
        fields: dict[str, object] = {"qid": self.qid, "question": self.question, "answers": answers}
        return fields | ({"disambiguation": self.disambiguation} if self.disambiguation else {})

    def to_question(self, *, checked: bool | None = None) -> Question:
        """Convert to a QuoteSum question with an empty summary; None omits the column ``checked``."""
        extra: dict[str, object] = {} if checked is None else {"checked": checked}
        sources = tuple(Source(each.text, each.title, each.url or None) for each in self.answers)
        reference = Reference(
            unique_id=f"{self.qid}_0",
            text="",
            source_answers=tuple(each.answer for each in self.answers),
            disambiguation=self.disambiguation,
            extra=extra,
        )
        return Question(self.qid, self.question, sources, (reference,))


def question_key(question: str) -> str:
    """Normalise a question: ignore case, whitespace and the question mark.

    Example:
        >>> question_key("Who sang  it?") == question_key("who sang it")
        True
    """
    return " ".join(question.casefold().split()).rstrip(" ?")


def with_question_mark(question: str) -> str:
    """Append a question mark if it is missing, as in PAQ."""
    clean = " ".join(question.split())
    return clean if clean.endswith("?") else f"{clean}?"


def stable_id(prefix: str, question: str) -> str:
    """Return an id for a question that is the same in every run.

    Example:
        >>> stable_id("PAQ", "who sang it") == stable_id("PAQ", "Who sang it?")
        True
    """
    digest = hashlib.blake2b(question_key(question).encode(), digest_size=6)
    return f"{prefix}_{digest.hexdigest()}"


def question_word(question: str) -> str:
    """Return the first question word in lower case, or ``other``.

    Example:
        >>> question_word("In which year did it open?"), question_word("Name two rivers.")
        ('which', 'other')
    """
    found = _WORD.search(question)
    return found[1].lower() if found else "other"
