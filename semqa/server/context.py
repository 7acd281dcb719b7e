"""A question in its conversation: what a follow-up is about stands in what was asked before."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Turn", "in_context", "stands_alone"]

LOOKED_BACK = 2
"""Questions before this one that a follow-up is read with."""

MOST_BEFORE = 500
"""Characters that are taken of them."""

_WORD = re.compile(r"\w+(?:['’]\w+)?")

_REFERRING = frozenset(
    word
    for words in (
        "he she it they him her hers them his its their theirs himself herself itself themselves",
        "this that these those there then one ones such same else another other others former latter",
        # German, French, Spanish and Italian, but for what is an everyday word of another of these
        "er ihn ihm ihr ihre ihren seine seiner seinen dieser diese dieses dort damals",
        "il elle ils elles lui leur leurs celui celle cela cette",
        "él ella ellos ellas esto eso ese esa aquel allí",
        "lei loro questo questa quello quella",
    )
    for word in words.split()
)
_OPENING = re.compile(
    r"(?:and|but|so|also|or|why|how come|what about|how about|what else|und|aber|et|mais|y|pero|e)\b",
    re.IGNORECASE,
)
_SMALL = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "from",
        "by",
        "with",
        "about",
        "as",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "do",
        "does",
        "did",
        "has",
        "have",
        "had",
        "can",
        "could",
        "will",
        "would",
        "may",
        "might",
        "must",
        "shall",
        "should",
        "who",
        "whom",
        "whose",
        "what",
        "which",
        "when",
        "where",
        "why",
        "how",
        "and",
        "or",
        "but",
        "not",
        "no",
        "so",
        "also",
        "more",
        "much",
        "many",
        "any",
        "some",
        "me",
        "you",
        "i",
        "we",
        "us",
        "tell",
        "please",
        "explain",
        "name",
        "list",
        "give",
        "show",
        "exactly",
        "really",
    ]
)
FEWEST = 2
"""Words that say something, below which a question does not stand alone."""


class Turn(NamedTuple):
    """One message of a conversation.

    Attributes:
        role: ``user`` or ``assistant``.
        text: what was said, without marks.
    """

    role: str
    text: str


def stands_alone(question: str) -> bool:
    """Whether a question says itself what it is about.

    Example:
        >>> stands_alone("When was the Sydney Harbour Bridge opened?")
        True
        >>> stands_alone("When was it opened?"), stands_alone("And the second?")
        (False, False)
    """
    if _OPENING.match(question.strip()):
        return False
    words = [word.casefold() for word in _WORD.findall(question)]
    if any(word in _REFERRING for word in words):
        return False
    return sum(word not in _SMALL for word in words) >= FEWEST


def in_context(question: str, history: Sequence[Turn]) -> str:
    """Return a question with what it refers to.

    A question that does not stand alone is followed by those before it, back to the last one that
    does, at most `LOOKED_BACK`. Answers are left out: they are what is to be checked.

    Example:
        >>> in_context("When was it opened?", [Turn("user", "Who built the Harbour Bridge?")])
        'When was it opened? (Who built the Harbour Bridge?)'
    """
    before: list[str] = []
    if not stands_alone(question):
        for turn in reversed(history):
            if turn.role != "user" or not turn.text.strip():
                continue
            earlier = " ".join(turn.text.split())[:MOST_BEFORE]
            before.insert(0, earlier if earlier.endswith(("?", ".", "!")) else f"{earlier}?")
            if len(before) == LOOKED_BACK or stands_alone(turn.text):
                break
    return f"{question} ({' '.join(before)})" if before else question
