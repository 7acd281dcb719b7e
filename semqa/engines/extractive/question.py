"""Questions: content words, the kind of answer, and splitting a text into several questions.

"Who kept the light, and what did it cost?" is two questions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from semqa.engines.extractive.lexicon import MEASURED, STOPWORDS, language_of, stem
from semqa.engines.extractive.passage import split_words

_KINDS = (
    ("expansion", r"\bstands? for\b|\babbreviation\b|\bacronym\b|\bshort for\b"),
    ("when", r"\bwhen\b|\b(what|which) (year|date|day|month|time|century|season)\b"),
    (
        "quantity",
        r"\bhow (many|much|long|old|far|often|big|tall|high|large|deep|fast|wide|thick|broad|heavy|hot|cold|warm|expensive)\b"
        r"|\bwhat (percent|number|age)|\b(what|which) (is|was|are|were) the (average |total |maximum |top )?"
        r"(length|duration|distance|height|depth|width|size|area|weight|age|speed|temperature|population|price|cost|number)\b",
    ),
    (
        "material",
        r"\bwhat (is|are|was|were) .*\b(made|built|composed|constructed) (of|from|out)\b|\bwhat materials?\b|\bwhat does .* consist",
    ),
    (
        "where",
        r"\bwhere\b|\b(what|which) "
        r"(countr(y|ies)|cit(y|ies)|(state|town|island|place|continent|location)s?|count(y|ies))\b",
    ),
    (
        "why",
        r"\bwhy\b|\bwhat (is|was|are|were) the (reason|cause|purpose|point)|\bhow come\b|\bwhat caused\b",
    ),
    ("who", r"\bwho\b|\bwhom\b|\bwhose\b"),
    ("how", r"\bhow\b"),
    ("definition", r"^\W*what (is|are) (an? )?[^\W_]+( [^\W_]+)?\W*$"),
    (
        "whether",
        r"^\W*(is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must)\b",
    ),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
_SECOND = re.compile(r"\band (when|where|who|why|how)\b.*", re.IGNORECASE)


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

UNITS = {
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
"""Units of what a question may ask for, separated by blanks."""

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
_MEASURES = tuple((name, re.compile(rf"\b(?:{p})" if p.isascii() else p)) for name, p in _ASKED)


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A parsed question.

    Attributes:
        parts: kind and stems of each half of a two-part question such as "who built it, and when
            did it fall"; empty for any other question.
        units: accepted units if the question asks for a measure; empty if any number will do.
        context: the stems that occur only in the context.
        stems: the distinct stems of its content words, in order. Without any word, a single empty
            stem that matches nothing.
    """

    kind: str
    stems: tuple[str, ...]
    words: frozenset[str]
    parts: tuple[tuple[str, frozenset[str]], ...] = ()
    units: frozenset[str] = frozenset()
    context: frozenset[str] = frozenset()


def read_inquiry(text: str, context: str = "") -> Inquiry:
    """Parse a question.

    Args:
        context: earlier questions on the same topic; their words count less.

    Example:
        >>> inquiry = read_inquiry("When was the song released?")
        >>> inquiry.kind, inquiry.stems
        ('when', ('song', 'releas'))
    """
    words = split_words(text)
    language = language_of(text)
    stopwords = language.stopwords if language else STOPWORDS
    content = [w for w in words if w not in stopwords] or words or [""]
    if any(w in ("come", "came") for w in words) and "out" in words:
        content.append("released")
    if "take" in words and "place" in words:
        content = [w for w in content if w != "place"] or content
    kind, parts = _kind_of(text, language.kinds if language else _PATTERNS), _parts(text)
    if language or len({kind for kind, _ in parts}) < 2:
        parts = ()
    kinds = {kind, *(part for part, _ in parts)}
    units = _units_asked(text) if "quantity" in kinds else frozenset()
    if units:
        # "Tall" is replaced by its units, which are matched separately.
        content = [w for w in content if w not in MEASURED] or content
    own = dict.fromkeys(stem(w) for w in content)
    context_words = [w for w in split_words(context) if w not in stopwords]
    if context_words and not any(w not in STOPWORDS and any(map(str.isalnum, w)) for w in own):
        own = {}
    stems = tuple(dict.fromkeys((*own, *map(stem, context_words))))
    return Inquiry(
        kind=parts[0][0] if parts else kind,
        stems=stems,
        words=frozenset((*words, *context_words)),
        parts=parts,
        units=units,
        context=frozenset(stems) - own.keys() if own else frozenset(),
    )


def _kind_of(text: str, patterns: tuple[tuple[str, re.Pattern[str]], ...]) -> str:
    lowered = text.lower()
    return next((kind for kind, pattern in patterns if pattern.search(lowered)), "which")


def _parts(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return kind and stems of the parts before and after "and when", "and who" and so on."""
    second = _SECOND.search(text)
    if second is None:
        return ()
    return tuple(
        (
            _kind_of(part, _PATTERNS),
            frozenset(stem(word) for word in split_words(part) if word not in STOPWORDS),
        )
        for part in (text[: second.start()], second[0])
    )


_NEXT = re.compile(r"[,;]?\s+and\s+(?=(?:what|which)\b)", re.IGNORECASE)


def questions_in(text: str, context: str = "") -> list[tuple[str, str]]:
    """Split a text into its questions, in order, each with its context.

    Example:
        >>> questions_in("Who kept the light, and what did the lamp cost?")[1]
        ('what did the lamp cost?', 'Who kept the light')
    """
    if language_of(text):
        return [(text, context)]
    cut = _NEXT.search(text)
    parts = [text[: cut.start()], text[cut.end() :]] if cut else [text]
    if not all(any(word not in STOPWORDS for word in split_words(part)) for part in parts):
        parts = [text]
    return [
        (parts[0], context),
        *((part, f"{parts[0]} {context}".rstrip()) for part in parts[1:]),
    ]


def _units_asked(question: str) -> frozenset[str]:
    lowered = question.lower()
    names = (name for name, pattern in _MEASURES if pattern.search(lowered))
    return frozenset(UNITS.get(next(names, ""), "").split())
