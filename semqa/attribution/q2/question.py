"""One question about a response: what became of it, and what its answers are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from semqa.attribution.judges.base import Entailment
from semqa.attribution.q2.answers import compared, needs_entailment, overlap_of_answers
from semqa.data.jsonl import describe
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.data.jsonl import Row

__all__ = [
    "ANOTHER_ANSWER",
    "PERSONAL",
    "TOO_LONG",
    "UNANSWERED",
    "Found",
    "Question",
    "read_entailment",
]

PERSONAL: Final = "personal"
UNANSWERED: Final = "not answered by the response"
ANOTHER_ANSWER: Final = "answered otherwise by the response"
TOO_LONG: Final = "too long for the judge"


class Found(NamedTuple):
    """What the knowledge answers.

    Attributes:
        text: the answer.
        start: where it stands in the knowledge, in code points; None where that is not known.
        end: where it ends; None likewise.
        score: how sure the judge was, in [0, 1]; None likewise.
    """

    text: str
    start: int | None = None
    end: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question that was generated for a span of a response.

    Attributes:
        text: the question; empty where its span was too long to ask about.
        span: what it was asked for, in the response.
        own_answer: what the response answers to it; None where it was not asked, or has no answer.
        rejected: why it does not count: `PERSONAL`, `UNANSWERED`, `ANOTHER_ANSWER` or `TOO_LONG`;
            None where it counts.
        answer: what the knowledge answers to it; None where it was not asked, or has no answer.
        entailment: how the response's answer stands to the knowledge's; None where nobody asked.
        stated: the overlap of the answers where a file stated it; None where it is computed.
    """

    text: str
    span: str
    own_answer: str | None = None
    rejected: str | None = None
    answer: Found | None = None
    entailment: Entailment | None = None
    stated: float | None = None

    @property
    def valid(self) -> bool:
        """Whether it counts."""
        return self.rejected is None

    def overlap(self, *, official: bool = False) -> float:
        """Return what the answers are worth by their words alone; no answer is worth 0."""
        if self.stated is not None:
            return self.stated
        if self.answer is None:
            return 0.0
        return overlap_of_answers(self.span, self.answer.text, official=official)

    def needs_entailment(self, *, official: bool = False) -> bool:
        """Return whether entailment has a say in what it is worth."""
        if not self.valid or self.answer is None:
            return False
        overlap = self.overlap(official=official)
        return needs_entailment(self.span, self.answer.text, overlap, official=official)

    def worth(self, *, official: bool = False) -> float | None:
        """Return what the answers are worth with entailment; None where it was needed and not asked."""
        overlap = self.overlap(official=official)
        if not self.needs_entailment(official=official):
            return overlap if official or self.answer is None else 1.0
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
            **({} if self.stated is None else {"stated": self.stated}),
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
            _found(row),
            read_entailment(row, "entailment"),
            _stated(row),
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


def _found(row: Row) -> Found | None:
    value = row.fields.get("knowledge_answer")
    if value is None:
        return None
    if isinstance(value, dict):
        text, start, end = value.get("text"), value.get("start"), value.get("end")
        score = value.get("score")
        if (
            isinstance(text, str)
            and isinstance(start, int | None)
            and isinstance(end, int | None)
            and isinstance(score, int | float | None)
        ):
            return Found(text, start, end, score)
    raise InputError(
        f"{row.where}: not a row of a record: got {describe(value)} in 'knowledge_answer', expected "
        "text, start, end and score; make the record again"
    )


def _stated(row: Row) -> float | None:
    value = row.fields.get("stated")
    if value is None or (isinstance(value, int | float) and 0 <= value <= 1):
        return value
    raise InputError(
        f"{row.where}: not a row of a record: got {describe(value)} in 'stated', expected a number "
        "from 0 to 1; make the record again"
    )
