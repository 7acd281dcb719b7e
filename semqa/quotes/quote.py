"""One quote of an answer, and the free text between quotes.

All offsets are Unicode code points, 0-based, end exclusive.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from semqa.quotes.source import Field  # noqa: TC001 - a NamedTuple resolves it at run time


class Status(StrEnum):
    """What comparing a quote with the sources showed."""

    VERIFIED = "verified"
    """The text stands, character for character, in the source that the quote names."""
    MISATTRIBUTED = "misattributed"
    """The text is verbatim, but in another source than the one named."""
    FABRICATED = "fabricated"
    """The text stands in no source."""
    MALFORMED = "malformed"
    """The mark cannot be read as a quote."""


class Verdict(StrEnum):
    """What checking a whole answer showed; the first that holds, in this order."""

    ABSTAINED = "abstained"
    """The answer is the abstention sentence and nothing else."""
    UNVERIFIED = "unverified"
    """A mark is misattributed, fabricated or malformed, or lost its brackets in a repair."""
    UNQUOTED = "unquoted"
    """Nothing is quoted, or words outside of quotes make claims."""
    QUOTED = "quoted"
    """Every claim is in a quote, and every quote is verified."""


class Occurrence(NamedTuple):
    """A place in a source: ``source.field(field)[start:end]``."""

    field: Field
    start: int
    end: int


class Repair(NamedTuple):
    """How a quote was written before it was made verbatim (`semqa.quotes.repair`).

    Attributes:
        distance: insertions and deletions of characters from that to the quote, to the characters
            of both: from 0 to 1. It is 0 where the number alone was changed.
    """

    source: int
    text: str
    distance: float

    def to_dict(self) -> dict[str, object]:
        """Return it as a JSON-ready object."""
        return {"source": self.source, "text": self.text, "distance": round(self.distance, 4)}


class Dropped(NamedTuple):
    """A mark that lost its brackets, for no source says what it held; its words are free text.

    Attributes:
        text: its words, empty for a mark that held none.
    """

    source: int
    text: str
    reason: str
    answer_start: int
    answer_end: int
    plain_start: int
    plain_end: int


class Claim(NamedTuple):
    """Words outside of quotes that are neither glue nor words of the question."""

    answer_start: int
    answer_end: int
    plain_start: int
    plain_end: int
    text: str


@dataclass(frozen=True, slots=True)
class FreeText:
    """A run of the answer outside of any quote: written, not checked.

    Attributes:
        text: the characters, which are the same in the marked and in the plain answer.
    """

    text: str
    answer_start: int
    answer_end: int
    plain_start: int
    plain_end: int


@dataclass(frozen=True, slots=True)
class Quote:
    """A bracketed span of the answer, and what became of checking it.

    Attributes:
        source: the number of the source it names, from 1, as written (0 for an absurd number).
        text: the quoted span; for a malformed quote, the characters as written with their bracket.
        field, source_start, source_end: where a verified quote stands in its source:
            ``source.field(field)[source_start:source_end] == text``. None unless verified.
        occurrences: every place of ``text`` in the source it names, body first, in order. Lists
            are cut at `semqa.quotes.locate.MAX_OCCURRENCES`.
        found_in: for a misattributed quote, the numbers of the sources that do hold the text.
        reason: why the quote is not verified, in words for a reader; empty for a verified one.
        cut: whether a verified quote begins or ends inside a word or number of its source, wherever
            it stands there.
        repaired: how it was written, if it was made verbatim afterwards; without effect on equality.
        relevance: chance that a person would quote it to answer the question, from 0 to 1; None if
            nobody estimated it. Without effect on equality.
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
        """Whether the text stands, character for character, in the source it names."""
        return self.status is Status.VERIFIED

    @property
    def note(self) -> str:
        """What a reader is told of a repaired or cut quote, in a few words; else empty."""
        notes = []
        if self.repaired is not None:
            moved = self.repaired.source != self.source
            notes.append(f"was [{self.repaired.source}]" if moved else "repaired")
        if self.cut:
            notes.append("cut")
        return ", ".join(notes)

    def to_dict(self) -> dict[str, object]:
        """Return the quote as one JSON-ready record, offsets on both sides included."""
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
