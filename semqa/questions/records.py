"""A collected question with its answers and passages, and how it is written.

Between the steps a line is ``{"qid", "question", "answers": [{"answer", "title", "text", …}]}``. The
result is a QuoteSum file without summaries: source *k* is the passage of answer *k*.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from semqa.data.jsonl import describe
from semqa.data.quotesum import Question, Reference
from semqa.errors import InputError
from semqa.quotes import Source

if TYPE_CHECKING:
    from semqa.data.jsonl import Row

QUESTION_WORDS = ("who", "whom", "whose", "what", "which", "when", "where", "why", "how")
_WORD = re.compile(rf"\b({'|'.join(QUESTION_WORDS)})\b", re.IGNORECASE)


class Answered(NamedTuple):
    """An answer and the passage that holds it.

    Attributes:
        score: how surely the passage answers the question, in [0, 1]; 0 if not scored yet.
        url: address of the page; empty if unknown.
    """

    answer: str
    title: str
    text: str
    score: float = 0.0
    url: str = ""


@dataclass(frozen=True, slots=True)
class Collected:
    """A question with its answers.

    Attributes:
        qid: names the question; its prefix tells where it is from.
        answers: in the order found; after `filters`, the best first.
        disambiguation: AmbigQA's more precise questions, `` | `` between them.
    """

    qid: str
    question: str
    answers: tuple[Answered, ...]
    disambiguation: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return the question as a line between the steps holds it."""
        answers = [each._asdict() for each in self.answers]
        made: dict[str, object] = {"qid": self.qid, "question": self.question, "answers": answers}
        return made | ({"disambiguation": self.disambiguation} if self.disambiguation else {})

    @classmethod
    def read(cls, row: Row) -> Self:
        """Read a line as `to_dict` made it."""
        found: Any = row.fields.get("answers")
        try:
            answers = tuple(Answered(**each) for each in found)
        except TypeError as error:
            raise InputError(
                f"must be a list of answers, got {describe(found)}.",
                field="answers",
                where=row.where,
            ) from error
        return cls(row.text("qid"), row.text("question"), answers, row.text("disambiguation", ""))

    def to_question(self, *, checked: bool | None = None) -> Question:
        """Return the question as QuoteSum has it, with an empty summary.

        Args:
            checked: whether a person saw it; None leaves the column out.
        """
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
    """Return what two spellings of the same question share: case, blanks and the mark do not count.

    Example:
        >>> question_key("Who sang  it?") == question_key("who sang it")
        True
    """
    return " ".join(question.casefold().split()).rstrip(" ?")


def with_mark(question: str) -> str:
    """Return a question that ends with a question mark, as QuoteSum's do; PAQ's have none."""
    clean = " ".join(question.split())
    return clean if clean.endswith("?") else f"{clean}?"


def made_id(prefix: str, question: str) -> str:
    """Return a name for a question that is the same in every run.

    Example:
        >>> made_id("PAQ", "who sang it") == made_id("PAQ", "Who sang it?")
        True
    """
    digest = hashlib.blake2b(question_key(question).encode(), digest_size=6)
    return f"{prefix}_{digest.hexdigest()}"


def question_word(question: str) -> str:
    """Return the first question word in lower case; ``other`` without one.

    Example:
        >>> question_word("In which year did it open?"), question_word("Name two rivers.")
        ('which', 'other')
    """
    found = _WORD.search(question)
    return found[1].lower() if found else "other"
