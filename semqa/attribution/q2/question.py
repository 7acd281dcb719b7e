"""One question about a response: what became of it, and what its answers are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from semqa.attribution.judges.base import Entailment, Span
from semqa.attribution.q2.answers import compared, needs_entailment, overlap_of_answers
from semqa.data.jsonl import describe
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.data.jsonl import Row

__all__ = ["ANOTHER_ANSWER", "PERSONAL", "UNANSWERED", "Question"]

PERSONAL: Final = "personal"
UNANSWERED: Final = "not answered by the response"
ANOTHER_ANSWER: Final = "answered otherwise by the response"


@dataclass(frozen=True, slots=True)
class Question:
    """A question that was generated for a span of a response.

    Attributes:
        text: the question.
        span: what it was asked for, in the response.
        own_answer: what the response answers to it; None where it was not asked, or has no answer.
        rejected: why it does not count: `PERSONAL`, `UNANSWERED` or `ANOTHER_ANSWER`; None where it
            counts.
        answer: what the knowledge answers to it; None where it was not asked, or has no answer.
        entailment: how the response's answer stands to the knowledge's; None where nobody asked.
    """

    text: str
    span: str
    own_answer: str | None = None
    rejected: str | None = None
    answer: Span | None = None
    entailment: Entailment | None = None

    @property
    def valid(self) -> bool:
        """Whether it counts."""
        return self.rejected is None

    def overlap(self, *, official: bool = False) -> float:
        """Return what the answers are worth by their words alone; no answer is worth 0."""
        if self.answer is None:
            return 0.0
        return overlap_of_answers(self.span, self.answer.text, official=official)

    def worth(self, *, official: bool = False) -> float | None:
        """Return what the answers are worth with entailment; None where it was needed and not asked."""
        overlap = self.overlap(official=official)
        if self.answer is None:
            return overlap
        if not needs_entailment(self.span, self.answer.text, overlap, official=official):
            return overlap if official else 1.0
        return None if self.entailment is None else compared(overlap, self.entailment)

    def to_dict(self, *, official: bool = False) -> dict[str, Any]:
        """Return it with what it is worth, for a record."""
        row: dict[str, Any] = {
            "question": self.text,
            "span": self.span,
            "own_answer": self.own_answer,
            "rejected": self.rejected,
        }
        if not self.valid:
            return row
        answer = None if self.answer is None else self.answer._asdict()
        entailment = None if self.entailment is None else self.entailment._asdict()
        return row | {
            "knowledge_answer": answer,
            "entailment": entailment,
            "q2": self.worth(official=official),
            "q2_no_nli": self.overlap(official=official),
        }

    @classmethod
    def read(cls, row: Row) -> Question:
        """Read it from a record; what it is worth is computed anew.

        Raises:
            InputError: a field is missing or of the wrong type.
        """
        return cls(
            row.text("question"),
            row.text("span"),
            _optional(row, "own_answer"),
            _optional(row, "rejected"),
            _span(row),
            read_entailment(row, "entailment"),
        )


def read_entailment(row: Row, name: str) -> Entailment | None:
    """Read the probabilities of a field of a record; None where there are none.

    Raises:
        InputError: they are no probabilities.
    """
    value = row.fields.get(name)
    if value is None:
        return None
    numbers = [value.get(each) for each in Entailment._fields] if isinstance(value, dict) else []
    found = [float(n) for n in numbers if isinstance(n, int | float) and 0 <= n <= 1]
    if len(found) != len(Entailment._fields):
        raise InputError(
            f"{row.where}: not a row of a record: got {describe(value)} in {name!r}, expected the "
            f"probabilities {', '.join(Entailment._fields)}; make the record again"
        )
    return Entailment(*found)


def _optional(row: Row, name: str) -> str | None:
    return None if row.fields.get(name) is None else row.text(name)


def _span(row: Row) -> Span | None:
    value = row.fields.get("knowledge_answer")
    if value is None:
        return None
    if isinstance(value, dict):
        text, start, end = value.get("text"), value.get("start"), value.get("end")
        score = value.get("score")
        if (
            isinstance(text, str)
            and isinstance(start, int)
            and isinstance(end, int)
            and isinstance(score, int | float)
        ):
            return Span(text, start, end, float(score))
    raise InputError(
        f"{row.where}: not a row of a record: got {describe(value)} in 'knowledge_answer', expected "
        "text, start, end and score; make the record again"
    )
