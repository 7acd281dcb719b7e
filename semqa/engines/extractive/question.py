"""A question: its content words, and the kinds of answers it asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from semqa.engines.extractive.languages import language_of
from semqa.engines.extractive.lexicon import MEASURED, STOPWORDS, stem
from semqa.engines.extractive.measures import units_asked

__all__ = ["KINDS", "Question", "read_question"]

KINDS = (
    *("when", "who", "where", "quantity", "why", "how", "material", "definition", "whether"),
    *("which", "expansion"),
)
"""Kinds of answers; ``which`` is also the kind of a question that shows no other."""

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
        r"\bwhere\b|\b(what|which) (country|city|state|county|town|island|place|continent|location)\b",
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
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")


@dataclass(frozen=True, slots=True)
class Question:
    """What the engine keeps of a question.

    Attributes:
        kind: one of `KINDS`.
        parts: the two parts of a question such as "who built it, and when did it fall": of each the
            kind and the stems; empty for any other question.
        units: the units of the measure asked for; empty where any number does.
        stems: the distinct stems of its content words, in order; one empty stem, which matches
            nothing, where there is no word.
        words: all its words, lower-cased.
    """

    kind: str
    stems: tuple[str, ...]
    words: frozenset[str]
    parts: tuple[tuple[str, frozenset[str]], ...] = ()
    units: frozenset[str] = frozenset()


def read_question(text: str) -> Question:
    """Read a question.

    Example:
        >>> question = read_question("When was the song released?")
        >>> question.kind, question.stems
        ('when', ('song', 'releas'))
    """
    words = [m.group().lower() for m in _WORD.finditer(text)]
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
    units = units_asked(text) if "quantity" in kinds else frozenset()
    if units:
        # "Tall" stands for its units, which are looked for by themselves.
        content = [w for w in content if w not in MEASURED] or content
    stems = tuple(dict.fromkeys(stem(w) for w in content))
    return Question(parts[0][0] if parts else kind, stems, frozenset(words), parts, units)


def _kind_of(text: str, patterns: tuple[tuple[str, re.Pattern[str]], ...]) -> str:
    lowered = text.lower()
    return next((kind for kind, pattern in patterns if pattern.search(lowered)), "which")


def _parts(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return kind and stems of what stands before and after "and when", "and who" and the like."""
    rest = _SECOND.search(text)
    if rest is None:
        return ()
    return tuple(
        (
            _kind_of(part, _PATTERNS),
            frozenset(
                stem(m.group()) for m in _WORD.finditer(part.lower()) if m.group() not in STOPWORDS
            ),
        )
        for part in (text[: rest.start()], rest[0])
    )
