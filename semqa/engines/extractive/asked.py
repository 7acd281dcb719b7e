"""What a text asks: its questions one by one, and the earlier questions that say what they are about.

"Who kept the light, and what did it cost?" asks twice. "What did it cost? (Who kept the light?)" asks
once; what stands in parentheses at the end, itself a question, is what was asked before.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from semqa.engines.extractive.languages import language_of
from semqa.engines.extractive.lexicon import STOPWORDS
from semqa.engines.extractive.passage import split_words

__all__ = ["Asked", "questions_in"]

_NEXT = re.compile(r"[,;]?\s+and\s+(?=(?:what|which)\b)", re.IGNORECASE)


class Asked(NamedTuple):
    """One question.

    Attributes:
        text: the question itself.
        context: earlier questions, or the others of the same text; may be empty.
    """

    text: str
    context: str


def questions_in(text: str) -> list[Asked]:
    """Return the questions of a text, in order; one that cannot be taken apart is one.

    Example:
        >>> questions_in("Who kept the light, and what did the lamp cost?")[1]
        Asked(text='what did the lamp cost?', context='Who kept the light')
        >>> questions_in("What did it cost? (Who kept the light?)")
        [Asked(text='What did it cost?', context='Who kept the light?')]
    """
    asked, context = _split_context(text)
    if language_of(asked):
        return [Asked(asked, context)]
    cut = _NEXT.search(asked)
    parts = [asked[: cut.start()], asked[cut.end() :]] if cut else [asked]
    if not all(any(word not in STOPWORDS for word in split_words(part)) for part in parts):
        parts = [asked]
    first = Asked(parts[0], context)
    return [first, *(Asked(part, f"{parts[0]} {context}".rstrip()) for part in parts[1:])]


def _split_context(text: str) -> tuple[str, str]:
    stripped = text.strip()
    if not stripped.endswith(")"):
        return text, ""
    depth = 0
    for at in range(len(stripped) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(stripped[at], 0)
        if not depth:
            context = stripped[at + 1 : -1]
            return (stripped[:at].strip(), context) if "?" in context else (text, "")
    return text, ""
