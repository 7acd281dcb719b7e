"""Measures: which units answer "how long", "how heavy" and the like, and where a text gives one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.lexicon import DATE_WORDS, MEASURED, MONTHS, NUMBER_WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semqa.engines.extractive.passage import Passage

    Array = NDArray[np.float64]

__all__ = ["measures", "units_asked"]

_FAR = "km kilometre kilometres kilometer kilometers mile miles kilómetros kilomètres 公 里 "
_NEAR = (
    "metre metres meter meters feet foot "
    "ft inch inches yard yards cm centimetre centimetres centimeter centimeters mm m fathoms "
    "metros mètres 米 厘"
)
_LENGTH = _FAR + _NEAR
_TIME = (
    "year years month months week weeks day days hour hours minute minutes second seconds decade "
    "decades century centuries night nights jahre monate wochen tage stunden minuten años meses "
    "semanas días horas minutos ans mois semaines jours heures 年 天 个 小 分 月 周"
)
_AREA = "square acre acres hectare hectares hektar quadratkilometer 平"
_MASS = (
    "kg kilogram kilograms kilogramme kilogrammes gram grams g tonne tonnes ton tons lb lbs pound "
    "pounds ounce ounces kilo kilos tonnen 吨 克"
)
_SPEED = "km kilometre kilometres kilometer kilometers mile miles mph kmh knots metres meters"
_HEAT = "degree degrees celsius fahrenheit kelvin grad grados degrés 度"
_MONEY = (
    "dollar dollars euro euros pound pounds cent cents yen yuan francs crowns rupees percent "
    "million billion thousand 元"
)
_PEOPLE = "people inhabitants residents members seats spectators visitors guests 人"

_UNITS = {
    "long": _LENGTH + " " + _TIME,
    "far": _LENGTH,
    "size": _LENGTH + " " + _AREA + " " + _PEOPLE,
    "deep": _LENGTH,
    "tall": _NEAR,
    "heavy": _MASS,
    "old": _TIME,
    "fast": _SPEED,
    "hot": _HEAT,
    "much": _MONEY + " " + _MASS + " litre litres liter liters",
    "people": _PEOPLE,
}
_ASKED = (
    (
        "long",
        r"how long|(what|which) (is|was) the (length|duration)|wie lang|combien de temps|多长",
    ),
    ("far", r"how far|(what|which) (is|was) the distance|wie weit|多远"),
    (
        "tall",
        r"how (tall|high|deep|wide|thick|broad)|the (height|depth|width)|wie (hoch|tief|breit)",
    ),
    ("tall", r"多(高|深|宽)"),
    ("size", r"how (big|large)|the (size|area)|wie groß|多大"),
    ("heavy", r"how heavy|the weight|much .*\bweighs?\b|wie schwer|多重"),
    ("old", r"how old|the age|wie alt"),
    ("fast", r"how fast|the (top |maximum )?speed|wie schnell|多快"),
    ("hot", r"how (hot|cold|warm)|the temperature|wie (heiß|kalt|warm)"),
    ("people", r"the population"),
    ("much", r"how (much|expensive)|the (price|cost)|was kostet|cuánto cuesta|多少钱"),
)
_PATTERNS = tuple((name, re.compile(rf"\b(?:{p})" if p.isascii() else p)) for name, p in _ASKED)
_POINTS = frozenset(["later", "ago", "earlier", "before", "after", "später", "zuvor"])
"""Words that turn a span of time into a point of time."""

_YEAR = re.compile(r"(1[0-9]|20)\d\d$")


def units_asked(question: str) -> frozenset[str]:
    """Return the units that answer a question; empty where it asks for no measure.

    Example:
        >>> "metres" in units_asked("How tall is the tower?"), units_asked("Who built it?")
        (True, frozenset())
    """
    lowered = question.lower()
    for name, pattern in _PATTERNS:
        if pattern.search(lowered):
            return frozenset(_UNITS[name].split())
    return frozenset()


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in NUMBER_WORDS


def _is_date(passage: Passage, first: int, last: int) -> bool:
    """Say whether the number at words ``first <= i < last`` is a year or a day of a month."""
    words = passage.words
    beside = {*words[max(first - 1, 0) : first], *words[last : last + 1]}
    if beside & (MONTHS | DATE_WORDS) - {"may", "second", "sun"}:
        return True
    return last - first == 1 and _YEAR.match(words[first]) is not None


def measures(passage: Passage, units: frozenset[str]) -> Array:
    """Return how much each word looks like part of the number asked for; shape [words].

    With units, a number before one of them weighs 0.8 with it, and 1 where a word such as "long"
    stands beside; any other number 0.3. Without, any number weighs 1 and a unit after it 0.7. A
    date weighs 0.2.

    Args:
        passage: the body.
        units: what may follow the number; empty for a question of how many.
    """
    words = passage.words
    out = np.zeros(len(words))
    i = 0
    while i < len(words):
        if not _is_number(words[i]):
            i += 1
            continue
        j = i + 1
        while j < len(words) and _is_number(words[j]) and len(passage.gaps[j]) <= 1:
            j += 1
        end = j
        unit = next((k for k in range(j, min(j + 2, len(words))) if words[k] in units), -1)
        symbol = bool(units & {"dollars", "degrees"}) and _symbol(passage, i, j, units)
        if (unit >= 0 and not _stops(passage, j, unit + 1)) or symbol:
            end = max(unit + 1, j)
            beside = {*words[max(i - 4, 0) : i], *words[end : end + 3]}
            weight = 1.0 if beside & MEASURED or symbol else 0.8
            if words[end : end + 1] and words[end] in _POINTS:
                weight = 0.3
        elif _is_date(passage, i, j):
            weight = 0.2
        else:
            weight = 0.3 if units else 1.0
            if not units and j < len(words) and not _stops(passage, j, j + 1):
                out[j] = 0.7 if words[j] in _EVERY else 0.0
        out[i:end] = weight
        i = max(end, i + 1)
    return out


def _symbol(passage: Passage, first: int, last: int, units: frozenset[str]) -> bool:
    """Say whether a sign of money or degrees stands at the number."""
    before, after = passage.gaps[first][-1:], passage.gaps[last][:1]
    if "dollars" in units:
        return before in tuple("$€£¥") or after in tuple("$€£¥%")
    return after == "°"


def _stops(passage: Passage, first: int, last: int) -> bool:
    """Say whether a comma or a stop stands before one of the words."""
    return any(c in gap for gap in passage.gaps[first:last] for c in ".,;:()。，")


_EVERY = frozenset(" ".join(_UNITS.values()).split())
