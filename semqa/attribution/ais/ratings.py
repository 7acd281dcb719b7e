"""Annotators' ratings, and their consensus on an output.

Each line of a ratings file is ``{"item", "system", "annotator", "flagged"?, "interpretable"?,
"attributable"?, "justification"?, "seconds"?, "task"?, "design"?, "output"?,
"interpretable_level"?, "attributable_level"?}``; other fields are ignored. An answer is present if
and only if its question was asked: interpretability for outputs that are not flagged, attribution
for interpretable outputs. The design ``attribution-only`` asks about attribution for every output
that is not flagged, and never about interpretability.

The consensus on each question is the majority of the annotators who were asked; a tie counts as no.
Five annotators can only tie if some of them were not asked, as in the released files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from annotated_types import Interval

from semqa.data.jsonl import Row, read_as, read_rows, shown
from semqa.errors import InputError

CLEAR = "Yes, I understand it."
UNCLEAR = "No, the response is unclear."
ATTRIBUTABLE = "Yes, fully attributable."
NOT_ATTRIBUTABLE = "No, not fully attributable."
"""The answers to the two questions, as worded in the released files."""


ATTRIBUTION_ONLY = "attribution-only"
"""The design that does not ask whether an output is interpretable."""

LEVELS = 5
"""Number of levels in the design that asks for degrees instead of yes or no."""

Level = Annotated[int, Interval(ge=1, le=LEVELS)]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The consensus on one output, which `item` and `system` identify.

    Each question depends on the previous one: a flagged output is not judged, and an output that is
    not interpretable is not compared with its source (except in the design `ATTRIBUTION_ONLY`).

    Attributes:
        flagged: whether the task itself was malformed.
        interpretable: whether the output can be understood without the source; None if not judged.
        attributable: whether the source supports all of the output; None if not compared.
        agree_int, agree_ais: number of annotators in the majority; None if unknown.
        design: how annotators were asked.
        doc_url_hash: SHA-1 of the source's URL.
    """

    item: str
    system: str
    output: str
    flagged: bool
    interpretable: bool | None
    attributable: bool | None
    agree_int: int | None = None
    agree_ais: int | None = None
    task: str = ""
    design: str = ""
    doc_url: str = ""
    doc_url_hash: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity of the verdict: task, design, item and system."""
        return self.task, self.design, self.item, self.system

    @property
    def output_key(self) -> tuple[str, str, str]:
        """The identity of the output in any design: task, item and system."""
        return self.task, self.item, self.system


@dataclass(frozen=True, slots=True)
class Rating:
    """One annotator's judgement of one output; an answer is None if its question was not asked.

    `seconds` is the time from the first view to the last answer. The levels are answers from 1 to 5,
    in a design that asks for levels.

    Raises:
        ValueError: an answer is missing, or present although its question was not asked.
    """

    item: str
    system: str
    annotator: str
    flagged: bool = False
    interpretable: bool | None = None
    attributable: bool | None = None
    justification: str = ""
    seconds: Annotated[float, Interval(ge=0)] | None = None
    task: str = ""
    design: str = ""
    output: str = ""
    interpretable_level: Level | None = None
    attributable_level: Level | None = None

    def __post_init__(self) -> None:
        if self.interpretability_asked:
            if (self.interpretable is None) is not self.flagged:
                raise ValueError("interpretable must be true or false, or null if flagged")
            if (self.attributable is None) is (self.interpretable is True):
                raise ValueError(
                    "attributable must be true or false if interpretable is true, otherwise null"
                )
        elif self.interpretable is not None or (self.attributable is None) is not self.flagged:
            raise ValueError(
                f"in the design {ATTRIBUTION_ONLY}, interpretable must be null, and attributable "
                "must be true or false, or null if flagged"
            )

    @property
    def interpretability_asked(self) -> bool:
        """Whether the design asks about interpretability."""
        return self.design != ATTRIBUTION_ONLY

    @property
    def unit(self) -> tuple[str, str, str, str]:
        """The identity of the output: task, design, item and system."""
        return self.task, self.design, self.item, self.system

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of a line in a ratings file, without empty ones."""
        named = ("item", "system", "annotator")
        row = asdict(self).items()
        return {name: v for name, v in row if v not in (None, "") or name in named}


def read_ratings(path: Path | str) -> list[Rating]:
    """Read a ratings file; ``-`` is standard input."""
    ratings: list[Rating] = []
    places: dict[tuple[object, ...], str] = {}
    for row in read_rows(path):
        given = {name: value for name, value in row.fields.items() if value is not None}
        rating = read_as(Rating, Row(row.where, given))
        key = (*rating.unit, rating.annotator)
        if key in places:
            raise InputError(
                f"{shown(rating.annotator)} already rated item {shown(rating.item)} of {shown(rating.system)}, at {places[key]}.",
                where=row.where,
            )
        places[key] = row.where
        ratings.append(rating)
    return ratings


class RatedUnit(NamedTuple):
    """One output: its ratings, their consensus, and the questions with a tie."""

    ratings: tuple[Rating, ...]
    verdict: Verdict
    tied: tuple[str, ...] = ()


def consensus(ratings: Iterable[Rating]) -> list[RatedUnit]:
    """Return the consensus on each output, in order of appearance.

    Example:
        >>> answers = [Rating("1", "m", name, False, True, name != "c") for name in "abc"]
        >>> consensus(answers)[0].verdict.attributable
        True
    """
    groups: dict[tuple[object, ...], list[Rating]] = defaultdict(list)
    for rating in ratings:
        groups[rating.unit].append(rating)
    return [_unit(group) for group in groups.values()]


def _unit(group: Sequence[Rating]) -> RatedUnit:
    first = group[0]
    flagged = 2 * sum(rating.flagged for rating in group) > len(group)
    interpretable, agree_int, attributable, agree_ais = None, None, None, None
    tied: list[str] = []
    if not flagged and first.interpretability_asked:
        answers = [r.interpretable for r in group if r.interpretable is not None]
        interpretable, agree_int = _vote("int", answers, tied)
    if not flagged and (interpretable or not first.interpretability_asked):
        answers = [r.attributable for r in group if r.attributable is not None]
        attributable, agree_ais = _vote("ais", answers, tied)
    answers_and_counts = (flagged, interpretable, attributable, agree_int, agree_ais)
    verdict = Verdict(
        first.item, first.system, first.output, *answers_and_counts, first.task, first.design
    )
    return RatedUnit(tuple(group), verdict, tuple(tied))


def _vote(question: str, answers: Sequence[bool], tied: list[str]) -> tuple[bool, int]:
    """Return the majority answer and its size; a tie counts as no."""
    yes = 2 * sum(answers) > len(answers)
    if 2 * sum(answers) == len(answers):
        tied.append(question)
    return yes, answers.count(yes)
