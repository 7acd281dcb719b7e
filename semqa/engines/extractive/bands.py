"""Tables of bands, such as "111 to 185 | £118": the row of the number that a question asks about."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from semqa.engines.extractive.matching import TIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semqa.engines.extractive.matching import Match

__all__ = ["bands"]

_NUMBER = r"[£$€]?(\d[\d,]*(?:\.\d+)?)(?:[- ]?(day|week|month|year)s?\b)?"
_UNIT = r"(?: ?(?!(?:and|or|to)\b)[a-z%°/²³]{1,8})?"
_ASKED = re.compile(rf"(?<![\w.,-]){_NUMBER}", re.IGNORECASE)
_BAND = re.compile(
    r"(?:(over|above|more than|at least|from|under|below|less than|up to|between) )?"
    rf"{_NUMBER}{_UNIT}(?:(?: ?[–-] ?| to | and ){_NUMBER}{_UNIT})?"
    r"( ?\+| (?:or|and) (?:more|over|above|older|less|under|below|fewer|younger))?"
    r"(?: of age| old)?(?: \([^()]*\))?",
    re.IGNORECASE,
)
_DAYS = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.0}
_UPWARDS = ("over", "above", "more than", "at least", "from", "+", "more", "older")
_BEYOND = ("over", "above", "more than", "under", "below", "less than")
"""Words before a number that is in the next band."""
_DOWNWARDS = ("under", "below", "less than", "up to", "less", "fewer", "younger")


def bands(found: Match, rows: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield the row whose band has the number asked about, and the rows of the other bands.

    Args:
        found: the units, compared with the question.
        rows: rows that would be quoted; only their tables are looked at.
    """
    asked = [(number[1], number[2]) for number in _ASKED.finditer(found.question)]
    tables = {place for place in (_table(found, row) for row in rows) if asked and place}
    for table in sorted(tables):
        members = [row for row in range(len(found.places)) if _table(found, row) == table]
        limits = {row: band for row in members if (band := _limits(found, row))}
        fitting = {
            row
            for row, (least, most, timed) in limits.items()
            if any(least <= value <= most for value in _comparable(asked, timed=timed))
        }
        if len(limits) > 1 and len(fitting) == 1:
            (row,) = fitting
            yield row, [other for other in limits if other != row]


def _comparable(asked: Sequence[tuple[str, str | None]], *, timed: bool) -> list[float]:
    """Return the numbers to compare with times, in days, or with others.

    The latter are those without a unit of time or, if there are none, all: "my 7 year old".
    """
    if timed:
        return [_value(number, unit) for number, unit in asked if unit]
    plain = [number for number, unit in asked if not unit] or [number for number, _ in asked]
    return [_value(number) for number in plain]


def _table(found: Match, row: int) -> tuple[int, int] | None:
    s, u = found.places[row]
    unit = found.sources[s].structure.units[u]
    return (s, unit.group) if unit.kind == "row" else None


def _limits(found: Match, row: int) -> tuple[float, float, bool] | None:
    """Return the least and most number of a row's first cell, and whether they are times, in days."""
    s, u = found.places[row]
    cell = found.sources[s].structure.of(u).strip("| \t").split("|")[0].strip()
    band = _BAND.fullmatch(cell)
    if band is None or TIME.search(cell):
        return None
    before, first, unit, second, last_unit, after = band.groups()
    before, words = (before or "").lower(), f"{before or ''} {after or ''}".lower()
    timed = unit is not None or last_unit is not None
    low = _value(first, unit or last_unit)
    if second:
        high = _value(second, last_unit)
        return (low, high, timed) if low <= high and (last_unit or not unit) else None
    if any(word in words for word in _UPWARDS):
        return (math.nextafter(low, math.inf) if before in _BEYOND else low), math.inf, timed
    if any(word in words for word in _DOWNWARDS):
        return -math.inf, (math.nextafter(low, -math.inf) if before in _BEYOND else low), timed
    return None


def _value(number: str, unit: str | None = None) -> float:
    return float(number.replace(",", "")) * _DAYS.get((unit or "").lower(), 1.0)
