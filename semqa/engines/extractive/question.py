"""A question: its content words, and the kind of answer it asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from semqa.engines.extractive.lexicon import STOPWORDS, stem

__all__ = ["KINDS", "Question", "read_question"]

KINDS = ("when", "who", "where", "quantity", "why", "how", "which", "expansion")
"""Kinds of answers; ``which`` is also the kind of a question that shows no other."""

_KINDS = (
    ("expansion", r"\bstands? for\b|\babbreviation\b|\bacronym\b|\bshort for\b"),
    ("when", r"\bwhen\b|\b(what|which) (year|date|day|month|time|century|season)\b"),
    (
        "quantity",
        r"\bhow (many|much|long|old|far|often|big|tall|high|large|deep|fast|wide|hot|cold)\b|\bwhat (percent|number|age)",
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
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")


@dataclass(frozen=True, slots=True)
class Question:
    """What the engine keeps of a question.

    Attributes:
        kind: one of `KINDS`.
        stems: the distinct stems of its content words, in order; one empty stem, which matches
            nothing, where there is no word.
        words: all its words, lower-cased.
    """

    kind: str
    stems: tuple[str, ...]
    words: frozenset[str]


def read_question(text: str) -> Question:
    """Read a question.

    Example:
        >>> question = read_question("When was the song released?")
        >>> question.kind, question.stems
        ('when', ('song', 'releas'))
    """
    words = [m.group().lower() for m in _WORD.finditer(text)]
    kind = next((kind for kind, pattern in _PATTERNS if pattern.search(text)), "which")
    content = [w for w in words if w not in STOPWORDS] or words or [""]
    if any(w in ("come", "came") for w in words) and "out" in words:
        content.append("released")
    if "take" in words and "place" in words:
        content = [w for w in content if w != "place"] or content
    stems = tuple(dict.fromkeys(stem(w) for w in content))
    return Question(kind, stems, frozenset(words))
