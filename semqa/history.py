"""Conversation history: which earlier questions a follow-up question refers to.

"When was it opened?" cannot be answered on its own. Engines that compare words get the earlier
questions as well (`in_context`); language models get the latest exchanges (`recent`). "Thanks" is
not a question (`is_courtesy`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "Exchange",
    "asks_for_more",
    "earlier_questions",
    "has_content",
    "in_context",
    "is_courtesy",
    "recent",
    "stands_alone",
]

MAX_EARLIER_QUESTIONS = 2
"""Maximum number of earlier questions added to a follow-up."""

MAX_EXCHANGES = 3
"""Maximum number of exchanges shown to a model."""

MAX_CHARACTERS = 500
"""Maximum length of an earlier question or answer, in characters."""

MIN_CONTENT_WORDS = 2
"""A question with fewer content words stands alone only if it is whole: "Who is the landlord?"."""

_WORD = re.compile(r"\w+")

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
    r"(?:and what about|and how about|and|but|so|also|or|how come|what about|how about|what else|und|aber|oder|et|mais|ou|y|pero|e)\b",
    re.IGNORECASE,
)
_THERE = re.compile(r"\b(?:is|are|was|were) there\b|\bthere (?:is|are|was|were)\b", re.IGNORECASE)
"""A "there" that does not refer to a place."""

_WHOLE = re.compile(
    r"(?:who|what|when|where|which|why|how(?: \w+)?)(?: (?:is|are|was|were)|['’](?:s|re)) "
    r"(?:(?:the|a|an|my|our|your) \w|(?-i:[A-Z0-9]))|"
    r"(?:is|are|was|were) (?:there|the|a|an|any|my|our|your) \w",
    re.IGNORECASE,
)
"""The beginning of a whole question: a form of "be", then an article and a noun, or a name."""

_NAMED = re.compile(r"(?:the|an?|my|our|your)(?: [\w'’-]+){1,3}")
"""A thing that a question names: "the deposit"."""

_SUBJECT = re.compile(
    r"((?:[Ww]hat|[Ww]ho|[Hh]ow \w+) (?:is|are|was|were) )"
    r"((?:the|an?|my|our|your)(?: [a-z'’-]+){1,2}?)"
    r"((?: (?:of|in|for|at|on|per)(?: (?!(?:the|an?|my|our|your)\b)[\w'’-]+)+)?\W*)"
)
"""A question about one thing that is not a name: "How much is the deposit for this flat?"."""

_RELATIVE = frozenset(
    word
    for words in (
        "alternative catch condition consequence cost detail difference exception limit price "
        "problem reason rest result",
        "beginning end first last next previous second third",
    )
    for word in words.split()
)
"""Nouns that need another: "What is the price?" does not say of what."""

_FUNCTION_WORDS = frozenset(
    word
    for words in (
        "a an the of in on at to for from by with about as is are was were be been do does",
        "did has have had can could will would may might must shall should who whom whose",
        "what which when where why how and or but not no so also more much many any some me my",
        "you your i we our us tell please explain name list give show exactly really even only just anything",
        "s re ve ll d m t",  # of contractions
    )
    for word in words.split()
)
_COURTESY = frozenset(
    word
    for words in (
        "thanks thank thx cheers ok okay yes no hello hi hey bye goodbye great good perfect well",
        "danke dank dankeschön guten hallo tschüss ja nein gut prima merci bonjour bonsoir salut oui non",
        "gracias buenos buenas hola adiós vale sí grazie ciao salve buongiorno",
    )
    for word in words.split()
)
_COURTESY_REST = frozenset(
    word
    for words in (
        "you so very much a lot again for your help that the answer there then all morning evening",
        "afternoon day night got it schön sehr vielen tag morgen abend beaucoup bien",
        "muchas días tardes noches mille molte tante",
    )
    for word in words.split()
)


class Exchange(NamedTuple):
    """An earlier question in a conversation, and its answer.

    Attributes:
        answer: the answer as plain text, without marks; empty if unanswered.
    """

    question: str
    answer: str = ""


def is_courtesy(text: str) -> bool:
    """Whether a message is a greeting, thanks or an assent, and asks nothing.

    Example:
        >>> is_courtesy("Thank you very much!"), is_courtesy("ok, and the deposit?")
        (True, False)
    """
    words = _words(text)
    return any(word in _COURTESY for word in words) and all(
        word in _COURTESY or word in _COURTESY_REST for word in words
    )


def has_content(question: str) -> bool:
    """Whether a question has a word of its own, unlike "Why?" or "Tell me more"."""
    return _content(_words(question)) > 0


def asks_for_more(question: str) -> bool:
    """Whether a question asks for further answers: "Tell me more", "What else?"."""
    return not has_content(question) and bool({"more", "else"} & set(_words(question)))


def stands_alone(question: str) -> bool:
    """Whether a question can be understood without the earlier ones.

    Example:
        >>> stands_alone("When was the Sydney Harbour Bridge opened?")
        True
        >>> stands_alone("When was it opened?"), stands_alone("And the second?")
        (False, False)
        >>> stands_alone("Who is the landlord?"), stands_alone("What is the price?")
        (True, False)
    """
    asked = _without_courtesy(question)
    if _OPENING.match(asked):
        return False
    words = _words(_THERE.sub("", asked))
    if any(word in _REFERRING for word in words):
        return False
    content = _content(words)
    if content < MIN_CONTENT_WORDS and _WHOLE.match(asked):
        return content > 0 and not any(word.removesuffix("s") in _RELATIVE for word in words)
    return content >= MIN_CONTENT_WORDS


def _without_courtesy(question: str) -> str:
    """Return a question without an "ok" or "thanks" before it."""
    words_at = (word for word in _WORD.finditer(question) if word[0].casefold() not in _COURTESY)
    first = next(words_at, None)
    return "" if first is None else question[first.start() :]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _content(words: Sequence[str]) -> int:
    """Count the content words."""
    return sum(word not in _FUNCTION_WORDS and word not in _REFERRING for word in words)


def earlier_questions(question: str, history: Sequence[Exchange]) -> list[str]:
    """Return the earlier questions that a question refers to, oldest first.

    The list is empty if the question stands alone. Otherwise it goes back to the last question that
    stands alone, but holds at most `MAX_EARLIER_QUESTIONS`.

    Example:
        >>> earlier_questions("When was it opened?", [Exchange("Who built the Harbour Bridge?")])
        ['Who built the Harbour Bridge?']
        >>> earlier_questions("And the rent?", [Exchange("How much is the deposit?")])
        ['How much is the rent?']
    """
    found: list[str] = []
    if stands_alone(question) or is_courtesy(question):
        return found
    asked: list[str] = []
    for exchange in _asked(history):
        earlier = _cut(exchange.question)
        asked.append(_completed(earlier, asked) or earlier)
    completed = _completed(question, asked)
    if completed:
        return [completed]
    for earlier in reversed(asked):
        found.insert(0, earlier if earlier.endswith(("?", ".", "!")) else f"{earlier}?")
        if len(found) == MAX_EARLIER_QUESTIONS or stands_alone(earlier):
            break
    return found


def _completed(question: str, earlier: Sequence[str]) -> str | None:
    """Return the last question with its subject replaced by that of an elliptical one, or None.

    "And the rent?" after "How much is the deposit?" means "How much is the rent?".
    """
    asked = _without_courtesy(question)
    opening = _OPENING.match(asked)
    if opening is None or not earlier:
        return None
    named = _NAMED.fullmatch(asked[opening.end() :].strip(" ,?.!"))
    subject = _SUBJECT.fullmatch(earlier[-1])
    if named is None or subject is None:
        return None
    if (_RELATIVE | _REFERRING) & {*_words(named[0]), *_words(subject[2])}:
        return None
    return f"{subject[1]}{named[0]}{subject[3]}"


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
    return tuple(
        Exchange(_cut(each.question), _cut(each.answer))
        for each in _asked(history)[-MAX_EXCHANGES:]
    )


def _asked(history: Sequence[Exchange]) -> list[Exchange]:
    """Return the exchanges whose question is neither blank nor a courtesy."""
    return [each for each in history if each.question.strip() and not is_courtesy(each.question)]


def _cut(text: str) -> str:
    return " ".join(text.split())[:MAX_CHARACTERS]
