"""Rows of a table that answer by their numbers, ticks or values, or by a band such as "111 to 185"."""

from __future__ import annotations

import math
import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from semqa.engines.extractive.lexicon import stem
from semqa.engines.extractive.matching import TIME, cells_of, question_terms, stems_of
from semqa.engines.extractive.passage import split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from semqa.engines.extractive.matching import Match

LEAST_ROWS = 3
"""Minimum number of rows of a table to choose one of them by its number."""

MOST_PRICES = 2
"""Maximum number of rows of prices, if each product has a column."""

LEAST_TERMS, MOST_ROWS = 2, 12
"""Minimum number of words of a question that names values, and maximum number of rows with them."""

MOST_OTHERS = 2
"""Maximum number of words of a question that are not in the column name, such as "machine"."""

_WHICH = re.compile(r"\W*(?:(?:at|for|from|in|of|on|to|with) )?(?:which|what|who)\b", re.IGNORECASE)
_NEGATED = re.compile(r"n['’]t\b|\b(?:no|not|without|lacks?|cannot|never)\b", re.IGNORECASE)
_UNCLEAR = re.compile(
    r"\b(?:most|least) (?:accurate|affordable|econom\w+|effective|efficient|exact|precise|recent|reliable|sensitive)\b",
    re.IGNORECASE,
)
"""Superlatives for which a lower number may be better, such as an accuracy of "0.1%"."""
_ORDINAL = re.compile(r"\b(?:second|third|next|two|three|four|five|\d+)\b", re.IGNORECASE)
_MOST = re.compile(
    r"\b(?:most expensive|best|biggest|costliest|dearest|greatest|heaviest|highest|largest|longest|"
    r"loudest|(?<!at )most|tallest)\b",
    re.IGNORECASE,
)
_LEAST = re.compile(
    r"\b(?:least expensive|cheapest|fastest|fewest|(?<!at )least|lightest|lowest|quickest|quietest|shortest|"
    r"smallest)\b",
    re.IGNORECASE,
)


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(stem, words.split()))


_NEEDED = {
    **dict.fromkeys(
        ("cheapest", "costliest", "dearest", "expensive"), _stems("price cost fee fare charge")
    ),
    "best": _stems("score rating point mark grade"),
    **dict.fromkeys(("heaviest", "lightest"), _stems("weight mass")),
    "tallest": _stems("height"),
    **dict.fromkeys(("loudest", "quietest"), _stems("noise sound volume")),
}
"""For each superlative, words of which its column must have one: the best price is not the highest."""

_RANKS = _stems("rank place position")
"""Words of columns in which 1 is the best."""

_FAST = ("fastest", "quickest")
_NUMBER = re.compile(
    r"([£$€]?)\s?(\d[\d,]*(?:\.\d+)?)(?:\s?(?:[-–]|to)\s?\d[\d,.]*)?\s*"
    r"(?:(?:business|calendar|full|working) )?([a-z]*)",
    re.IGNORECASE,
)
_GROUPED = re.compile(r"[1-9]\d{0,2}\.\d{3}")
"""A number that may mean 1250 or 1.25."""
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+")
_GOES_ON = re.compile(r"\s*(?:['’]|and )?\d")
"""More of a number, such as the rest of "10 000" or "1 h 30 min"."""
_DAYS = {"day": 1.0, "week": 7.0, "month": 365 / 12, "year": 365.0}
_SECONDS = {
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("min", "minute"), 60.0),
    **dict.fromkeys(("h", "hr", "hour"), 3600.0),
    **{unit: 86_400 * days for unit, days in _DAYS.items()},
}
_UNITS = {
    name: unit
    for unit, names in {
        "lb": "pound pounds lbs",
        "kg": "kgs kilo kilos kilogram kilograms kilogrammes",
        "g": "gram grams grammes",
        "km": "kilometre kilometres kilometer kilometers",
        "m": "metre metres meter meters",
        "cm": "centimetre centimetres centimeter centimeters",
        "l": "litre litres liter liters",
        "mi": "mile miles",
        "h": "hour hours hr hrs",
        "min": "minute minutes mins",
    }.items()
    for name in names.split()
}
_MEASURES = {
    **{unit: ("time", seconds) for unit, seconds in _SECONDS.items()},
    "g": ("mass", 1.0),
    "kg": ("mass", 1000.0),
    "oz": ("mass", 28.349523125),
    "lb": ("mass", 453.59237),
    "mm": ("length", 0.001),
    "cm": ("length", 0.01),
    "m": ("length", 1.0),
    "km": ("length", 1000.0),
    "mi": ("length", 1609.344),
    "ml": ("volume", 0.001),
    "l": ("volume", 1.0),
    "mb": ("data", 1.0),
    "gb": ("data", 1000.0),
    "tb": ("data", 1_000_000.0),
    "thousand": ("", 1e3),
    "million": ("", 1e6),
    "billion": ("", 1e9),
}
"""For each unit, the quantity that it measures, and its factor to a common unit."""
_YES, _NO = frozenset(("✅", "✓", "✔", "☑", "yes")), frozenset(("❌", "✗", "✘", "✖", "no"))
_BLANK = frozenset(("", "-", "–", "—", "n/a", "none"))
_YES_OR_NO = _YES | _NO | _BLANK


def column_rows(found: Match) -> list[int]:
    """Return the rows that answer by one column of a table; none if several columns might.

    "Which is the cheapest?" is answered by the row with the lowest price (or the row of prices, if
    there is one), and "Which ones have a grinder?" by all rows that say yes. A question with
    other words of the table, such as "the cheapest with a grinder", is not answered this way.
    """
    if not _WHICH.match(found.question):
        return []
    most, least = _MOST.search(found.question), _LEAST.search(found.question)
    if superlative := most or least:
        if (most and least) or _ORDINAL.search(found.question):
            return []
        return _extreme_rows(found, superlative[0].lower().split()[-1], max if most else min)
    ticked = _NO if _NEGATED.search(found.question) else _YES
    terms = set(question_terms(_NEGATED.sub("", found.question)))
    columns = [each for each in _columns(found, terms) if _YES_OR_NO.issuperset(each.values())]
    if len(columns) == 1:
        return [row for row, cell in columns[0].items() if cell in ticked]
    return _rows_with_values(found)


def _extreme_rows(
    found: Match, word: str, extreme: Callable[[Iterable[float]], float]
) -> list[int]:
    """Return the row with the highest or lowest number; `word` is the superlative.

    If the numbers cannot be compared, all rows are returned, so that the reader can compare them.
    """
    terms = set(question_terms(found.question)) - {stem(word), stem("most"), stem("least")}
    needed = _NEEDED.get(word, frozenset())
    columns = [
        column
        for column in _columns(found, terms, needed)
        if len(column) >= LEAST_ROWS and all(map(_NUMBER.match, column.values()))
    ]
    if not columns:
        return _row_of_numbers(found, needed or terms)
    numbers = [each for column in columns if (each := _numbers(column, timed=word in _FAST))]
    if len(numbers) == 1 and not _UNCLEAR.search(found.question):
        best = extreme(numbers[0].values())
        rows = [row for row, value in numbers[0].items() if value == best]
        return rows if len(rows) == 1 else []
    return list(columns[0]) if len(columns) == 1 and len(columns[0]) <= MOST_ROWS else []


def _row_of_numbers(found: Match, words: AbstractSet[str]) -> list[int]:
    """Return the row with most of the words, if its cells are numbers and no column is only numbers.

    In a comparison with one column per product, this row says which is the cheapest. There may be
    two such rows, for example with a price and a fee.
    """
    shared: dict[int, int] = {}
    for _, rows in _tables(found):
        cells = [each[1:] for each in rows.values()]
        if not any(all(map(_NUMBER.match, column)) for column in zip(*cells, strict=True)):
            for row, (name, *values) in rows.items():
                said = len(words & set(stems_of(name)))
                if said and len(values) >= LEAST_ROWS and all(map(_NUMBER.match, values)):
                    shared[row] = said
    most = max(shared.values(), default=0)
    rows_with_most = [row for row, said in shared.items() if said == most]
    return rows_with_most if len(rows_with_most) <= MOST_PRICES else []


def _rows_with_values(found: Match) -> list[int]:
    """Return the rows that have all values that a question names: "Which dogs are reserved?".

    All words of the question must be in whole cells or column names, and from more than one column:
    "reserved" does not match the cell "not reserved". Values of one column are alternatives.
    """
    asked = frozenset(map(stem, split_words(found.question)))
    terms = set(question_terms(found.question))
    if _NEGATED.search(found.question) or len(terms) < LEAST_TERMS:
        return []
    fitting: list[list[int]] = []
    for header, rows in _tables(found):
        named = [at for at, name in enumerate(header) if not terms.isdisjoint(stems_of(name))]
        left = terms.difference(*(stems_of(header[at]) for at in named))
        columns: dict[int, set[int]] = {}
        for row, cells in rows.items():
            for at, cell in enumerate(cells):
                said = set(map(stem, split_words(cell)))
                if said and said <= asked and said & terms and not cell.isdecimal():
                    columns.setdefault(at, set()).add(row)
                    left -= said
        chosen = set(rows).intersection(*columns.values()) if columns else set()
        chosen = {row for row in chosen if all(rows[row][at] not in _BLANK for at in named)}
        several = len(named) + len(columns) > 1
        if several and not left and 0 < len(chosen) <= min(MOST_ROWS, len(rows) - 1):
            fitting.append(sorted(chosen))
    return fitting[0] if len(fitting) == 1 else []


def _numbers(column: Mapping[int, str], *, timed: bool) -> dict[int, float]:
    """Return the number at the start of each cell, in a common unit.

    Empty if the numbers cannot be compared: they have different currencies or measure different
    quantities, some are not times although `timed`, or one is ambiguous, such as "1.250", or "1,250"
    next to "1,5".
    """
    out: dict[int, float] = {}
    measured, signs, commas = set(), set(), set()
    for row, cell in column.items():
        number = _NUMBER.match(cell)
        if number is None or _GROUPED.fullmatch(number[2]) or _GOES_ON.match(cell, number.end()):
            return {}
        unit = number[3] if number[3] in _MEASURES else number[3].removesuffix("s")
        unit = _UNITS.get(unit, unit)
        measure, factor = _MEASURES.get(unit, (unit, 1.0))
        out[row] = _value(number[2]) * factor
        measured.add(measure)
        signs.add(number[1])
        if "," in number[2]:
            commas.add(_has_decimal_comma(number[2]))
    if len(measured) > 1 or len(signs - {""}) > 1 or len(commas) > 1:
        return {}
    return out if not timed or "time" in measured else {}


def _has_decimal_comma(number: str) -> bool:
    single = number.count(",") == 1 and "." not in number
    return single and _THOUSANDS.fullmatch(number) is None


def _value(number: str) -> float:
    """Parse a number whose commas separate thousands, or decimals as in "1,5"."""
    return float(number.replace(",", "." if _has_decimal_comma(number) else ""))


def _columns(
    found: Match, terms: AbstractSet[str], needed: AbstractSet[str] = frozenset()
) -> list[dict[int, str]]:
    """Return the columns whose names share most words with a question: lower-case cells by row.

    Columns are left out if another column or a cell of their table has further words of the question,
    or if their names have none of the `needed` words.
    """
    columns: list[tuple[int, dict[int, str]]] = []
    for header, rows in _tables(found):
        names = [set(stems_of(name)) for name in header]
        said = {word for row in rows.values() for cell in row for word in stems_of(cell)}
        for at, name in enumerate(names):
            others = said.union(*names[1:at], *names[at + 1 :])
            shared = len(name & (terms | needed))
            rest = terms - name
            wrong = (needed and name.isdisjoint(needed)) or name & _RANKS
            if at and shared and not wrong and len(rest) <= MOST_OTHERS and rest.isdisjoint(others):
                columns.append((shared, {row: cells[at].lower() for row, cells in rows.items()}))
    most = max((shared for shared, _ in columns), default=0)
    return [column for shared, column in columns if shared == most]


def _tables(found: Match) -> Iterator[tuple[list[str], dict[int, list[str]]]]:
    """Yield the header and the rows of each table, all with the same number of cells."""
    tables: dict[tuple[int, int], list[int]] = {}
    for row, (s, _) in enumerate(found.places):
        unit = found.unit(row)
        if unit.kind == "row" and unit.over is not None:
            tables.setdefault((s, unit.over), []).append(row)
    for (s, over), members in tables.items():
        structure = found.sources[s].structure
        header = cells_of(structure.of(over))
        rows = {row: cells_of(structure.of(found.places[row][1])) for row in members}
        if structure.units[over].kind == "header" and all(
            len(row) == len(header) for row in rows.values()
        ):
            yield header, rows


# Bands: rows for a range of numbers or weekdays.

_NUMBERED = r"([£$€]?)(\d[\d,]*(?:\.\d+)?)"
_MEASURED = r"(?:[- ]?(?!(?:and|or|to)\b)([a-z%°]+)(?:/\w+)?)?"
_ASKED = re.compile(rf"(?<![\w.,-]){_NUMBERED}(?:[- ]?([a-z%°]+))?", re.IGNORECASE)
_NUMBER_WORDS = (
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)
_BAND = re.compile(
    r"(?:(over|above|more than|at least|from|under|below|less than|up to|between) )?"
    rf"{_NUMBERED}{_MEASURED}(?:(?: ?[–-] ?| to | and ){_NUMBERED}{_MEASURED})?"
    r"(?: (?:before|in advance|prior)(?: (?:to )?the [a-z]+)?)?"
    r"( ?\+| (?:or|and) (?:more|over|above|older|earlier|less|under|below|fewer|younger|later))?"
    r"(?: of age| old)?(?: \([^()]*\))?",
    re.IGNORECASE,
)
_UPWARDS = ("over", "above", "more than", "at least", "from", "+", "more", "older", "earlier")
_DOWNWARDS = ("under", "below", "less than", "up to", "less", "fewer", "younger", "later")
_BEYOND = ("over", "above", "more than", "under", "below", "less than")
"""Words after which the number itself is in the next band."""

_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:days?)?"
_HOLIDAY = "".join(
    rf"(?<!\b{name} )" for name in ("ash", "black", "easter", "good", "palm", "whit")
)
"""Names before a weekday that make it a holiday, such as Good Friday."""
_WEEKDAY_RANGE = re.compile(
    rf"\b{_HOLIDAY}({_WEEKDAY})\b(?:\.? ?(?:[–-]|to|until|till) ?({_WEEKDAY})\b)?"
)

MOST_NUMBERS = 20
"""Maximum number of numbers to read in a question."""


class _Amount(NamedTuple):
    """A number with its currency sign and unit, both possibly empty; times are in days."""

    sign: str
    number: float
    unit: str
    word: str

    @classmethod
    def of(cls, sign: str, number: str, word: str | None) -> _Amount:
        """Parse an amount; `word` is the unit as written."""
        word = (word or "").lower()
        value = _value(number)
        if days := _DAYS.get(word.removesuffix("s")):
            return cls(sign, days * value, "day", word)
        word = _UNITS.get(word, word)
        return cls(sign, value, word, word)


class _Band(NamedTuple):
    """The lowest and highest number of a row, with its currency sign and unit."""

    least: float
    most: float
    sign: str
    unit: str


def bands(found: Match, rows: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield the row with the number or weekday asked about, and the rows beside it.

    Only the tables that contain `rows`, which would be quoted, are searched.
    """
    question = _NUMBER_WORD.sub(
        lambda word: str(1 + _NUMBER_WORDS.index(word[0].lower())), found.question
    )
    numbers = islice(_ASKED.finditer(question), MOST_NUMBERS)
    asked = [_Amount.of(*number.groups()) for number in numbers]
    weekdays = _weekdays(found.question)
    if not (asked or weekdays):
        return
    for table in sorted({place for row in rows if (place := _table(found, row))}):
        members = [row for row in range(len(found.places)) if _table(found, row) == table]
        named = {row: _weekdays(_first_cell(found, *found.places[row])) for row in members}
        of_day = [row for row in members if weekdays & named[row]]
        if all(named.values()) and len(of_day) == 1:
            yield of_day[0], [row for row in members if row not in of_day]
            continue
        limits = {row: band for row in members if (band := _limits(found, row))}
        header = _header_words(found, members[0])
        fitting = [
            row
            for row, band in limits.items()
            if any(
                band.least <= amount.number <= band.most and _is_comparable(amount, band, header)
                for amount in asked
            )
        ]
        if len(limits) > 1 and len(fitting) == 1:
            yield fitting[0], [row for row in limits if row not in fitting]


def _weekdays(text: str) -> set[int]:
    """Return the days of the week that a text names: 0 to 4 for "Mon–Fri"."""
    days: set[int] = set()
    for first, last in _WEEKDAY_RANGE.findall(text.lower()):
        begin = _WEEK.index(first[:3])
        end = _WEEK.index(last[:3]) if last else begin
        days |= {day % 7 for day in range(begin, end + (7 if end < begin else 0) + 1)}
    return days


def _is_comparable(amount: _Amount, band: _Band, header: set[str]) -> bool:
    """Whether a number has the unit of a band, or a unit named in the header of its column."""
    if band.unit == "day":
        return amount.unit == "day"
    if amount.sign != band.sign:
        return False
    if band.unit:
        return amount.word == band.unit
    return not header.isdisjoint((amount.word, *stems_of(amount.word)))


def _table(found: Match, row: int) -> tuple[int, int] | None:
    unit = found.unit(row)
    return (found.places[row][0], unit.group) if unit.kind == "row" else None


def _first_cell(found: Match, s: int, u: int) -> str:
    return found.sources[s].structure.of(u).strip("| \t").split("|")[0].strip()


def _header_words(found: Match, row: int) -> set[str]:
    s, u = found.places[row]
    over = found.sources[s].structure.units[u].over
    if over is None:
        return set()
    words = re.findall(r"\w+", _first_cell(found, s, over).lower())
    return {*stems_of(" ".join(words)), *(_UNITS.get(word, word) for word in words)}


def _limits(found: Match, row: int) -> _Band | None:
    cell = _first_cell(found, *found.places[row])
    band = _BAND.fullmatch(cell)
    if band is None or TIME.search(cell):
        return None
    before, sign, first, unit, last_sign, second, last_unit, after = (
        (part or "").lower() for part in band.groups()
    )
    low = _Amount.of(sign or last_sign, first, unit or last_unit)
    least = most = low.number
    words = f"{before} {after}"
    if second:
        high = _Amount.of(sign or last_sign, second, last_unit or unit)
        most = high.number
        if low.unit == high.unit == "day":  # "8 weeks to 15 days before"
            least, most = sorted((least, most))
        elif least > most or low.unit != high.unit:
            return None
    elif any(word in words for word in _UPWARDS):
        least = math.nextafter(least, math.inf) if before in _BEYOND else least
        most = math.inf
    elif any(word in words for word in _DOWNWARDS):
        most = math.nextafter(most, -math.inf) if before in _BEYOND else most
        least = -math.inf
    return _Band(least, most, low.sign, low.unit)
