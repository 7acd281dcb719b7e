"""Sources, and the parts of an answer: quotes, and the free text between them.

All offsets are Unicode code points, 0-based, end exclusive.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

Field = Literal["title", "body"]
"""The two quotable parts of a source; a quote never crosses from one to the other."""

FIELDS: tuple[Field, ...] = ("body", "title")
"""Both fields, in search order."""


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that an answer may quote.

    Sources are numbered from 1, in the order given.

    Attributes:
        text: the quotable body of the passage.
        title: the title, a separate quotable field; may be empty.
        url: the address of the whole document, if known.
        context: lines that introduce the passage in its document, outermost first: headings, the
            lead-in of a list, the header of a table. Models read them but cannot quote them.
    """

    text: str
    title: str = ""
    url: str | None = None
    context: str = ""

    def field(self, name: Field) -> str:
        """Return the text of one field.

        Example:
            >>> Source("Released in 1943.", title="White Christmas").field("title")
            'White Christmas'
        """
        return self.title if name == "title" else self.text


class Status(StrEnum):
    """The result of comparing a quote with the sources."""

    VERIFIED = "verified"
    """The named source contains the text, character for character."""
    MISATTRIBUTED = "misattributed"
    """The named source does not contain the text, but another source does."""
    FABRICATED = "fabricated"
    """No source contains the text."""
    MALFORMED = "malformed"
    """The mark cannot be parsed as a quote."""


class Verdict(StrEnum):
    """The result of checking a whole answer: the first that applies, in this order."""

    ABSTAINED = "abstained"
    """The answer is the abstention sentence and nothing else."""
    UNVERIFIED = "unverified"
    """A mark is misattributed, fabricated or malformed, or lost its brackets in a repair."""
    UNQUOTED = "unquoted"
    """Nothing is quoted, or words outside quotes make claims."""
    QUOTED = "quoted"
    """Every claim is in a quote, and every quote is verified."""


class Occurrence(NamedTuple):
    """A place in a source: ``source.field(field)[start:end]``."""

    field: Field
    start: int
    end: int


class Repair(NamedTuple):
    """The original form of a quote that a repair made verbatim (`semqa.quotes.repair`).

    Attributes:
        distance: inserted and deleted characters, divided by the length of both texts: from 0 to 1.
            It is 0 if only the source number was changed.
    """

    source: int
    text: str
    distance: float

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-ready object."""
        return {"source": self.source, "text": self.text, "distance": round(self.distance, 4)}


class Dropped(NamedTuple):
    """A mark that lost its brackets because it could not be repaired; its words are free text.

    Attributes:
        text: its words; empty if it had none.
    """

    source: int
    text: str
    reason: str
    answer_start: int
    answer_end: int
    plain_start: int
    plain_end: int


class Claim(NamedTuple):
    """Words outside quotes that are neither glue nor words of the question."""

    answer_start: int
    answer_end: int
    plain_start: int
    plain_end: int
    text: str


@dataclass(frozen=True, slots=True)
class FreeText:
    """A run of text outside quotes, which is not checked.

    Attributes:
        text: the characters, the same in the marked and the plain answer.
    """

    text: str
    answer_start: int
    answer_end: int
    plain_start: int
    plain_end: int


@dataclass(frozen=True, slots=True)
class Quote:
    """A bracketed span of the answer, and the result of checking it.

    Attributes:
        source: the number of the named source, from 1, as written; 0 if it has too many digits.
        text: the quoted span; for a malformed quote, the whole mark as written.
        field, source_start, source_end: the place of a verified quote in its source:
            ``source.field(field)[source_start:source_end] == text``. None unless verified.
        occurrences: every place of ``text`` in the named source, body first, in order; at most
            `semqa.quotes.locate.MAX_OCCURRENCES`.
        found_in: for a misattributed quote, the numbers of the sources that contain the text.
        reason: why the quote is not verified, for readers; empty if it is.
        cut: whether every occurrence of a verified quote begins or ends inside a word or number of
            its source.
        repaired: the original, if the quote was repaired. Ignored by equality.
        relevance: probability that a person would quote it to answer the question, from 0 to 1;
            None if not estimated. Ignored by equality.
    """

    source: int
    text: str
    status: Status
    answer_start: int
    answer_end: int
    plain_start: int
    plain_end: int
    field: Field | None = None
    source_start: int | None = None
    source_end: int | None = None
    occurrences: tuple[Occurrence, ...] = ()
    found_in: tuple[int, ...] = ()
    reason: str = ""
    cut: bool = False
    repaired: Repair | None = dataclasses.field(default=None, compare=False)
    relevance: float | None = dataclasses.field(default=None, compare=False)

    @property
    def verified(self) -> bool:
        """Whether the named source contains the text, character for character."""
        return self.status is Status.VERIFIED

    @property
    def note(self) -> str:
        """A short remark for readers if the quote was repaired or is cut; else empty."""
        notes = []
        if self.repaired is not None:
            moved = self.repaired.source != self.source
            notes.append(f"was [{self.repaired.source}]" if moved else "repaired")
        if self.cut:
            notes.append("cut")
        return ", ".join(notes)

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-ready record with the offsets in the answer and in the source."""
        return {
            "source": self.source,
            "text": self.text,
            "status": self.status.value,
            "reason": self.reason,
            "answer_start": self.answer_start,
            "answer_end": self.answer_end,
            "plain_start": self.plain_start,
            "plain_end": self.plain_end,
            "field": self.field,
            "source_start": self.source_start,
            "source_end": self.source_end,
            "occurrences": [place._asdict() for place in self.occurrences],
            "found_in": list(self.found_in),
            "cut": self.cut,
            "repaired": None if self.repaired is None else self.repaired.to_dict(),
            "relevance": None if self.relevance is None else round(self.relevance, 3),
        }


Segment = FreeText | Quote
