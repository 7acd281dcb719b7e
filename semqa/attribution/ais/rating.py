"""What one annotator says of one output, and files of such ratings.

A line is ``{"item", "system", "annotator", "flagged"?, "interpretable"?, "attributable"?,
"justification"?, "seconds"?, "task"?, "design"?, "sentence"?, "output"?}``; other fields are
ignored. Each answer is there exactly where its question was asked: interpretability of what is not
flagged, attribution of what is interpretable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semqa.data.jsonl import Row, describe, read_rows, shown, write_jsonl
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Rating", "read_ratings", "write_ratings"]


@dataclass(frozen=True, slots=True)
class Rating:
    """One annotator's judgement of one output, or of one sentence of it.

    Attributes:
        item: what the output answers; with `system`, the output.
        system: what wrote it.
        annotator: who judged it.
        flagged: whether the task itself is malformed, so that nothing can be said.
        interpretable: whether it can be understood with the source hidden; None where flagged.
        attributable: whether, according to the source, all of it is so; None unless interpretable.
        justification: in the annotator's words.
        seconds: from first sight to the last answer; None where not measured.
        task: such as ``qrecc``.
        design: how the annotator was asked, such as ``two-step``.
        sentence: which sentence of the output, from 1; None for the whole.
        output: the text that was rated, where it is kept.

    Raises:
        ValueError: an answer is there without its question, or is missing.
    """

    item: str
    system: str
    annotator: str
    flagged: bool = False
    interpretable: bool | None = None
    attributable: bool | None = None
    justification: str = ""
    seconds: float | None = None
    task: str = ""
    design: str = ""
    sentence: int | None = None
    output: str = ""

    def __post_init__(self) -> None:
        if (self.interpretable is None) is not self.flagged:
            raise ValueError("interpretable is true or false, or null exactly where flagged")
        if (self.attributable is None) is (self.interpretable is True):
            raise ValueError("attributable is true or false exactly where interpretable is true")

    @property
    def unit(self) -> tuple[str, str, str, str, int | None]:
        """What tells the rated from other things rated: task, design, item, system, sentence."""
        return self.task, self.design, self.item, self.system, self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return the line of a file, without what is empty."""
        row: dict[str, Any] = {
            "item": self.item,
            "system": self.system,
            "annotator": self.annotator,
            "flagged": self.flagged,
        }
        optional = {
            "interpretable": self.interpretable,
            "attributable": self.attributable,
            "justification": self.justification or None,
            "seconds": self.seconds,
            "task": self.task or None,
            "design": self.design or None,
            "sentence": self.sentence,
            "output": self.output or None,
        }
        return row | {name: value for name, value in optional.items() if value is not None}


def read_ratings(path: Path | str) -> list[Rating]:
    """Read a file of ratings.

    Args:
        path: JSON lines; ``-`` is standard input.

    Raises:
        InputError: a line is not usable, or an annotator rated the same twice; the message names
            file and line.
    """
    ratings: list[Rating] = []
    places: dict[tuple[object, ...], str] = {}
    for row in read_rows(path):
        rating = _rating(row)
        key = (*rating.unit, rating.annotator)
        if key in places:
            raise InputError(
                f"{row.where}: rated twice: got {shown(rating.annotator)} on item "
                f"{shown(rating.item)} of {shown(rating.system)} as at {places[key]}, expected one "
                "rating an annotator; drop one of the lines"
            )
        places[key] = row.where
        ratings.append(rating)
    return ratings


def write_ratings(path: Path | str, ratings: Iterable[Rating]) -> None:
    """Write a file of ratings.

    Raises:
        InputError: the path cannot be written.
        UnavailableError: the disk failed or is full.
    """
    write_jsonl(path, (rating.to_dict() for rating in ratings))


def _rating(row: Row) -> Rating:
    try:
        return Rating(
            row.text("item"),
            row.text("system"),
            row.text("annotator"),
            flagged=_answer(row, "flagged") or False,
            interpretable=_answer(row, "interpretable"),
            attributable=_answer(row, "attributable"),
            justification=_text(row, "justification"),
            seconds=_seconds(row),
            task=_text(row, "task"),
            design=_text(row, "design"),
            sentence=_sentence(row),
            output=_text(row, "output"),
        )
    except ValueError as error:
        got = ", ".join(
            f"{name} {describe(row.fields.get(name))}"
            for name in ("flagged", "interpretable", "attributable")
        )
        raise InputError(
            f"{row.where}: answers that do not go together: got {got}, expected {error}; correct "
            "the line"
        ) from error


def _text(row: Row, name: str) -> str:
    return "" if row.fields.get(name) is None else row.text(name)


def _answer(row: Row, name: str) -> bool | None:
    value = row.fields.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise _wrong(row, name, value, "true, false or null")


def _seconds(row: Row) -> float | None:
    value = row.fields.get("seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(row, "seconds", value, "a number")
    if not (value >= 0 and math.isfinite(value)):
        raise _wrong(row, "seconds", value, "0 or more")
    return float(value)


def _sentence(row: Row) -> int | None:
    value = row.fields.get("sentence")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _wrong(row, "sentence", value, "a whole number from 1")
    return value


def _wrong(row: Row, name: str, value: object, rule: str) -> InputError:
    return InputError(
        f"{row.where}: wrong value in field {name!r}: got {describe(value)}, expected {rule}; "
        "correct it"
    )
