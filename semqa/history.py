"""Conversation history: which earlier questions a follow-up question refers to.

"When was it opened?" cannot be answered on its own. Engines that compare words get the earlier
questions as well (`in_context`); language models get the latest exchanges (`recent`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Exchange", "earlier_questions", "in_context", "recent", "stands_alone"]

MAX_EARLIER_QUESTIONS = 2
"""Maximum number of earlier questions added to a follow-up."""

MAX_EXCHANGES = 3
"""Maximum number of exchanges shown to a model."""

MAX_CHARACTERS = 500
"""Maximum length of an earlier question or answer, in characters."""

MIN_CONTENT_WORDS = 2
"""A question with fewer content words does not stand alone."""

_WORD = re.compile(r"\w+(?:['’]\w+)?")

_REFERRING = frozenset(
    word
    for words in (
        "he she it they him her hers them his its their theirs himself herself itself themselves",
        "this that these those there then one ones such same else another other others former latter",
        # German, French, Spanish and Italian, except common words of another of these languages
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
_FUNCTION_WORDS = frozenset(
    word
    for words in (
        "a an the of in on at to for from by with about as is are was were be been do does",
        "did has have had can could will would may might must shall should who whom whose",
        "what which when where why how and or but not no so also more much many any some me",
        "you i we us tell please explain name list give show exactly really",
    )
    for word in words.split()
)


class Exchange(NamedTuple):
    """An earlier question in a conversation, and its answer.

    Attributes:
        question: the question.
        answer: the answer as plain text, without marks; empty if unanswered.
    """

    question: str
    answer: str = ""


def stands_alone(question: str) -> bool:
    """Whether a question can be understood without the earlier ones.

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
    return sum(word not in _FUNCTION_WORDS for word in words) >= MIN_CONTENT_WORDS


def earlier_questions(question: str, history: Sequence[Exchange]) -> list[str]:
    """Return the earlier questions that a question refers to, oldest first.

    The list is empty if the question stands alone. Otherwise it goes back to the last question that
    stands alone, but holds at most `MAX_EARLIER_QUESTIONS`.

    Example:
        >>> earlier_questions("When was it opened?", [Exchange("Who built the Harbour Bridge?")])
        ['Who built the Harbour Bridge?']
    """
    found: list[str] = []
    if stands_alone(question):
        return found
    for exchange in reversed(history):
        if not exchange.question.strip():
            continue
        earlier = _cut(exchange.question)
        found.insert(0, earlier if earlier.endswith(("?", ".", "!")) else f"{earlier}?")
        if len(found) == MAX_EARLIER_QUESTIONS or stands_alone(exchange.question):
            break
    return found


def in_context(question: str, history: Sequence[Exchange]) -> str:
    """Return a question followed by the earlier ones it refers to, as text to search or show.

    Earlier answers are left out because they are not sources.

    Example:
        >>> in_context("When was it opened?", [Exchange("Who built the Harbour Bridge?")])
        'When was it opened? (Who built the Harbour Bridge?)'
    """
    earlier = earlier_questions(question, history)
    return f"{question} ({' '.join(earlier)})" if earlier else question


def recent(history: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """Return the last exchanges, shortened to fit a prompt."""
    asked = [exchange for exchange in history if exchange.question.strip()]
    return tuple(
        Exchange(_cut(each.question), _cut(each.answer)) for each in asked[-MAX_EXCHANGES:]
    )


def _cut(text: str) -> str:
    return " ".join(text.split())[:MAX_CHARACTERS]
