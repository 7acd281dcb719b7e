"""Tables of bands, such as "111 to 185 | £118", of amounts or of weekdays: the row that is asked about."""

from __future__ import annotations

import math
import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from semqa.engines.extractive.matching import TIME, stems_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semqa.engines.extractive.matching import Match

__all__ = ["bands"]

_NUMBER = r"([£$€]?)(\d[\d,]*(?:\.\d+)?)"
_UNIT = r"(?:[- ]?(?!(?:and|or|to)\b)([a-z%°]+)(?:/\w+)?)?"
_ASKED = re.compile(rf"(?<![\w.,-]){_NUMBER}(?:[- ]?([a-z%°]+))?", re.IGNORECASE)
_WORD = re.compile(
    r"\b(?:(one)|(two)|(three)|(four)|(five)|(six)|(seven)|(eight)|(nine)|(ten)|(eleven)|(twelve))\b",
    re.IGNORECASE,
)
_BAND = re.compile(
    r"(?:(over|above|more than|at least|from|under|below|less than|up to|between) )?"
    rf"{_NUMBER}{_UNIT}(?:(?: ?[–-] ?| to | and ){_NUMBER}{_UNIT})?"
    r"(?: (?:before|in advance|prior)(?: (?:to )?the [a-z]+)?)?"
    r"( ?\+| (?:or|and) (?:more|over|above|older|earlier|less|under|below|fewer|younger|later))?"
    r"(?: of age| old)?(?: \([^()]*\))?",
    re.IGNORECASE,
)
_DAYS = {"day": 1.0, "week": 7.0, "month": 365 / 12, "year": 365.0}
_SAME = {
    **dict.fromkeys(("pound", "pounds", "lbs"), "lb"),
    **dict.fromkeys(("kgs", "kilo", "kilos", "kilogram", "kilograms", "kilogrammes"), "kg"),
    **dict.fromkeys(("gram", "grams", "grammes"), "g"),
    **dict.fromkeys(("kilometre", "kilometres", "kilometer", "kilometers"), "km"),
    **dict.fromkeys(("metre", "metres", "meter", "meters"), "m"),
    **dict.fromkeys(("centimetre", "centimetres", "centimeter", "centimeters"), "cm"),
    **dict.fromkeys(("litre", "litres", "liter", "liters"), "l"),
    **dict.fromkeys(("mile", "miles"), "mi"),
    **dict.fromkeys(("hour", "hours", "hr", "hrs"), "h"),
    **dict.fromkeys(("minute", "minutes", "mins"), "min"),
}
"""Units by other names for them."""
_UPWARDS = ("over", "above", "more than", "at least", "from", "+", "more", "older", "earlier")
_DOWNWARDS = ("under", "below", "less than", "up to", "less", "fewer", "younger", "later")
_BEYOND = ("over", "above", "more than", "under", "below", "less than")
"""Words before a number that is in the next band."""

_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:days?)?"
_WEEKDAY_RANGE = re.compile(rf"\b({_WEEKDAY})\b(?:\.? ?(?:[–-]|to|until|till) ?({_WEEKDAY})\b)?")

MOST_NUMBERS = 20
"""Numbers of a question that are looked at."""


class _Amount(NamedTuple):
    """A number with its currency sign and the word after it, both possibly empty."""

    sign: str
    number: float
    word: str

    @property
    def days(self) -> float | None:
        """The number in days if it is a time; None otherwise."""
        unit = _DAYS.get(self.word.removesuffix("s"))
        return None if unit is None else unit * self.number


class _Band(NamedTuple):
    """The least and most number of a row, in days if it is a time, with its currency sign and unit."""

    least: float
    most: float
    sign: str
    unit: str


def bands(found: Match, rows: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield the row with the number or weekday asked about, and the rows beside it.

    Args:
        found: the units, compared with the question.
        rows: rows that would be quoted; only their tables are looked at.
    """
    question = _WORD.sub(lambda word: str(word.lastindex), found.question)
    numbers = islice(_ASKED.finditer(question), MOST_NUMBERS)
    asked = [_amount(*number.groups()) for number in numbers]
    weekdays = _weekdays(found.question)
    tables = {
        place for place in (_table(found, row) for row in rows) if (asked or weekdays) and place
    }
    for table in sorted(tables):
        members = [row for row in range(len(found.places)) if _table(found, row) == table]
        named = {row: _weekdays(_first_cell(found, *found.places[row])) for row in members}
        of_day = [row for row in members if weekdays & named[row]]
        if all(named.values()) and len(of_day) == 1:
            yield of_day[0], [row for row in members if row not in of_day]
            continue
        limits = {row: band for row in members if (band := _limits(found, row))}
        header = _header_words(found, members[0])
        fitting = {
            row
            for row, band in limits.items()
            if any(band.least <= value <= band.most for value in _comparable(asked, band, header))
        }
        if len(limits) > 1 and len(fitting) == 1:
            (row,) = fitting
            yield row, [other for other in limits if other != row]


def _weekdays(text: str) -> set[int]:
    """Return the days of the week that a text names: 0 to 4 for "Mon–Fri"."""
    days: set[int] = set()
    for first, last in _WEEKDAY_RANGE.findall(text.lower()):
        begin = _WEEK.index(first[:3])
        end = _WEEK.index(last[:3]) if last else begin
        days |= {day % 7 for day in range(begin, end + (7 if end < begin else 0) + 1)}
    return days


def _comparable(asked: Sequence[_Amount], band: _Band, header: set[str]) -> Iterator[float]:
    """Yield the numbers that a band may be for: of its unit or of a word in the header of its column."""
    for amount in asked:
        if band.unit in _DAYS:
            if amount.days is not None:
                yield amount.days
        elif amount.sign == band.sign and (
            amount.word == band.unit
            if band.unit
            else header & {amount.word, *stems_of(amount.word)}
        ):
            yield amount.number


def _table(found: Match, row: int) -> tuple[int, int] | None:
    s, u = found.places[row]
    unit = found.sources[s].structure.units[u]
    return (s, unit.group) if unit.kind == "row" else None


def _first_cell(found: Match, s: int, u: int) -> str:
    return found.sources[s].structure.of(u).strip("| \t").split("|")[0].strip()


def _header_words(found: Match, row: int) -> set[str]:
    s, u = found.places[row]
    over = found.sources[s].structure.units[u].over
    if over is None:
        return set()
    words = re.findall(r"\w+", _first_cell(found, s, over).lower())
    return {*stems_of(" ".join(words)), *(_SAME.get(word, word) for word in words)}


def _limits(found: Match, row: int) -> _Band | None:
    cell = _first_cell(found, *found.places[row])
    band = _BAND.fullmatch(cell)
    if band is None or TIME.search(cell):
        return None
    before, sign, first, unit, last_sign, second, last_unit, after = (
        (part or "").lower() for part in band.groups()
    )
    low = _amount(sign or last_sign, first, unit or last_unit)
    least = low.number if low.days is None else low.days
    kind = low.word if low.days is None else low.word.removesuffix("s")
    words = f"{before} {after}"
    if second:
        high = _amount(sign or last_sign, second, last_unit or unit)
        most = high.number if high.days is None else high.days
        if low.days is not None and high.days is not None:  # "8 weeks to 15 days before"
            return _Band(min(least, most), max(least, most), "", kind)
        alike = high.word == low.word
        return _Band(least, most, low.sign, kind) if least <= most and alike else None
    if any(word in words for word in _UPWARDS):
        least = math.nextafter(least, math.inf) if before in _BEYOND else least
        return _Band(least, math.inf, low.sign, kind)
    if any(word in words for word in _DOWNWARDS):
        most = math.nextafter(least, -math.inf) if before in _BEYOND else least
        return _Band(-math.inf, most, low.sign, kind)
    return _Band(least, least, low.sign, kind)


def _amount(sign: str, number: str, word: str | None) -> _Amount:
    unit = (word or "").lower()
    return _Amount(sign, float(number.replace(",", "")), _SAME.get(unit, unit))
