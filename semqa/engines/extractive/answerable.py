"""Estimate whether documents answer a question, from features of the question and the units."""

from __future__ import annotations

import math
import operator
import re
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.lexicon import related, stem
from semqa.engines.extractive.matching import DURATION, TIME, expects_kind, question_terms, stems_of
from semqa.engines.extractive.passage import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.matching import Match

    Array = NDArray[np.float64]

_ASKS_FOR = re.compile(
    r"\b(?:which|what|how (?:many|much|long|often|far|big|large|high|deep|old|fast|tall|heavy|loud))"
    r"\b(.*)",
    re.IGNORECASE,
)
_NUMBER_WORDS = r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|hundred|thousand|half"
_UNITS = (
    r"s|secs?|min|h|hrs?|d|mths?|mos?|y|yrs?|mm|cm|m|km|in|inch(?:es)?|ft|feet|foot|met(?:er|re)s?|miles?|"
    r"yards?|characters?|letters?|words?|lines?|pages?"
)
_NOT_MONEY = (
    r"[ap]\.?m|minutes?|mins?|hours?|days?|weeks?|months?|years?|k[gm]|people|persons?|st|nd|rd|th|"
    r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*"
)
_KINDS = tuple(
    (re.compile(asks, re.IGNORECASE), re.compile(needs, re.IGNORECASE))
    for asks, needs in (
        (
            r"^\W*(?:why|how come|for what reason|what caused)\b",
            r"\b(?:after|as|because|can(?:no|['’])t|caus\w+|could|due|hence|if|in order|instead|leads?|led|means?|"
            r"meant|n[o']t|only|otherwise|owing|reasons?|since|so|thanks|therefore|thus|to|too|which|without|"
            r"would)\b|n['’]t\b|\|",  # the remarks in a table use fewer words
        ),
        (
            r"\bhow much (?:do|does|did|will|would)\b.*\b(?:costs?|charges?|pay)\b(?! \w+\W*$)|\bhow much money\b|"
            r"\bwhat (?:do|does|did|will|would)\b.*\bcosts?\b|"
            r"\b(?:how much|what)(?:['’]?s| is| are| was| were) the (?:[\w-]+ ){0,2}"
            r"(?:charge|cost|excess|fare|fee|fine|penalty|premium|price|rent)s?\b(?! \w+ing\b| list)",
            rf"[£$€%]|(?<![\d:.])\d++(?:[.,]\d++)*+(?![:/–-]\d| ?(?:{_NOT_MONEY})\b)|"
            r"\b(?:all|complimentary|covered|double|free|full|gratis|included|no|none|nothing|"
            rf"same|twice|waived|{_NUMBER_WORDS})\b",
        ),
        (
            r"\bhow long (?:can|do|does|did|has|have|is|are|may|must|should|was|were|will|would)\b",
            rf"(?:\d|\b(?:{_NUMBER_WORDS}))[ -]?(?:{_UNITS})\b|\d:\d\d ?[–-]|\b(?:19|20)\d\d\b|\d ?[’'\"″′]|"
            r"\b(?:centur(?:y|ies)|day|decade|duration|fortnight|generation|hour|length|life|lifetime|lives|minute|"
            r"moment|month|night|quarter|season|second|term|time|week|year)s?\b|"
            r"\b(?:after|always|away|before|between|daily|end|ever|forever|from|immediately|indefinitely|"
            r"lasts?|midnight|noon|once|overnight|permanent(?:ly)?|till|until)\b",
        ),
        (
            r"\bhow many\b",
            rf"(?<![\d.,/:])(?!(?:19|20)\d\d\b)\d|\b(?:{_NUMBER_WORDS}|both|couple|dozens?|few|no|nobody|none|once|"
            r"pair|quarter|several|single|third|twice|unlimited|zero)\b",
        ),
        (
            r"^\W*(?:(?:and|so) )?when\b(?! can| may)",
            rf"{TIME.pattern}|{DURATION.pattern}|\d|\b(?:after(?:noon|wards)?|already|always|as soon|autumn|before|"
            r"beginning|christmas|dates?|days?|during|earlier|easter|end|evening|ever|every|fall|first|follow\w*|if|"
            r"last|later|months?|morning|never|next|night|now|on arrival|once|since|soon|spring|start|still|summer|"
            r"then|times?|until|upon|weeks?|when|whenever|while|winter|within|years?)\b",
        ),
        (
            r"\b(?:mobile|phone|tel|telephone) number\b|\bnumber (?:can|do|should) (?:I|we) (?:call|ring)\b",
            r"(?<![^\W\d_]/)(?<![\w-])\d(?:[\s/().-]?\d){2}",
        ),
    )
)
"""Patterns of questions, each with the pattern of any answer, such as a number or "because"."""

_WORD = re.compile(r"[^\W_]+(?:[’'.,:/-][^\W_]+)*")
_SECTION = re.compile(r"\A\W*\d+(?:\.\d+)*[.)]?\s+(?=\W*[A-Z])")

WEIGHTS, BIAS = (0.45, 0.47, 0.75), -1.7
"""A logistic regression on `answered_features` that tells answers with all facts from those with none.

Fitted by ``scripts/fit_tick.py`` on ``tests/data/docs/broad``.
"""

KIND_WORDS = 5
"""An answer of the requested kind ("It costs £5") counts as having at least this many new words, and so
does an answer to a yes-no question ("Dogs are allowed.")."""

_ASKS_WHETHER = re.compile(
    r"\W*(?:am|are|can|could|did|do|does|had|has|have|is|may|must|shall|should|was|were|will|would)\b",
    re.IGNORECASE,
)

_FOCUS_WORDS = 2
"""Maximum number of words that name what is asked for: "fire doors" in "How many fire doors …?"."""

_NUMBER_REACH = 3
"""Maximum distance in words between a number and what it counts."""


def answerable_features(found: Match, chances: Array, rows: Sequence[int]) -> dict[str, float]:
    """Return features that tell whether the units answer the question, by name.

    Some features say whether the units have the requested kind of answer, or what the question asks
    for. They are 0.5 for questions without such a request.

    Args:
        found: at least one unit, compared with the question by meaning.
        chances: the probability that a person would quote each unit; shape [rows].
        rows: the rows to quote, most likely first.
    """
    best = rows[0]
    ordered = np.sort(chances)[::-1]
    near, answers = found.column("near"), found.column("answer")
    typed = expects_kind(found.question)
    texts = _Texts(found)
    return {
        "chance": float(ordered[0]),
        "chance_second": float(ordered[1]) if len(ordered) > 1 else 0.0,
        "chance_top": float(ordered[:5].sum()),
        "chosen": float(len(rows)),
        "words_soft": float(found.column("words_soft")[best]),
        "words_all": float(found.column("words_all")[best]),
        "words_all_highest": float(found.column("words_all").max()),
        "near": float(near[best]),
        "near_highest": float(near.max()),
        "near_group": float(found.column("near_group")[best]),
        "near_above": float(found.column("near_above")[best]),
        "near_deviation": float((near.max() - near.mean()) / (near.std() + 1e-6)),
        "answer": float(answers[best]) if typed else 0.5,
        "answer_chosen": float(answers[rows].max()) if typed else 0.5,
        "answer_likely": float(chances @ answers / max(chances.sum(), 1e-9)) if typed else 0.5,
        **_missing(found.question, texts, rows),
        **_focus(found.question, texts, rows),
    }


def has_kinds(question: str, texts: Iterable[str]) -> bool:
    """Return whether texts have a reason, price, number or time if a question asks for one.

    Words of the question and the number of a section do not count.

    Example:
        >>> has_kinds("How long is a tour?", ["A tour costs 45 euros."])
        False
        >>> has_kinds("Why is the mill closed until May?", ["The mill is closed until May."])
        False
    """
    needed = [needs for asks, needs in _KINDS if asks.search(question)]
    if not needed:
        return True
    asked = {word.lower() for word in _WORD.findall(question)}
    new = [
        _WORD.sub(lambda word: "_" if word[0].lower() in asked else word[0], _SECTION.sub("", text))
        for text in texts
    ]
    return all(any(map(needs.search, new)) for needs in needed)


def answered_features(
    question: str, unanswerable: float, relevance: float, texts: Iterable[str]
) -> tuple[float, float, float]:
    """Return features that tell whether quotes answer a question.

    These are the log odds that the documents answer it, the log odds of the relevance, and log(1 + n)
    for the n words that the quotes add to the question: "The bank lent the mill £90" is a likelier
    answer to "What did the bank lend?" than "The bank lent money".
    """
    new = len({word for text in texts for word in stems_of(text)}.difference(stems_of(question)))
    if _ASKS_WHETHER.match(question) or any(asks.search(question) for asks, _ in _KINDS):
        new = max(new, KIND_WORDS)
    return -_log_odds(unanswerable), _log_odds(relevance), math.log1p(new)


def chance_answered(features: Iterable[float]) -> float:
    """Return the chance that quotes with these `answered_features` answer the question."""
    return 1 / (1 + math.exp(-BIAS - sum(map(operator.mul, WEIGHTS, features))))


def _log_odds(chance: float) -> float:
    return math.log((chance + 1e-4) / (1 + 1e-4 - chance))


class _Texts:
    """The stems of all units, of the texts above them and of their groups."""

    def __init__(self, found: Match) -> None:
        units = [(found.sources[s], u) for s, u in found.places]
        self.plain = [source.texts[u] for source, u in units]
        self.unit = [set(stems_of(text)) for text in self.plain]
        self.above = [{w for t in source.above[u] for w in stems_of(t)} for source, u in units]
        self._groups = [source.groups[u] for source, u in units]

    def group(self, row: int) -> set[str]:
        return self.above[row] | set(stems_of(self._groups[row]))

    @cached_property
    def document(self) -> set[str]:
        return set().union(*self.unit, *self.above)


def _missing(question: str, texts: _Texts, rows: Sequence[int]) -> dict[str, float]:
    """Return the share of the question's idf missing from the quotes, from a group and from all units."""
    terms = question_terms(question)
    count = len(texts.unit)
    frequency = np.array([sum(term in unit for unit in texts.unit) for term in terms], float)
    idf = np.log1p((count - frequency + 0.5) / (frequency + 0.5))
    weights = idf / max(float(idf.sum()), 1e-9)

    def missing(words: set[str]) -> float:
        return float(sum(w * (1 - _held(t, words)) for t, w in zip(terms, weights, strict=True)))

    chosen = set().union(*(texts.unit[row] | texts.above[row] for row in rows))
    return {
        "missing_chosen": missing(chosen),
        "missing_group": missing(texts.group(rows[0])),
        "missing_document": missing(texts.document),
    }


def _held(term: str, words: set[str]) -> float:
    """Return 1 if a term is among the words, 0.5 if a related one is, else 0."""
    if term in words:
        return 1.0
    return 0.5 * (not words.isdisjoint(related(term)))


def _focus(question: str, texts: _Texts, rows: Sequence[int]) -> dict[str, float]:
    """Return features of whether the units name the requested thing ("which colour", "how many steps")."""
    terms = _focus_terms(question)
    if not terms:
        names = ("best", "head", "chosen", "document", "number", "number_document")
        return {f"focus_{name}": 0.5 for name in names}

    def held(words: set[str]) -> float:
        return max(_held(term, words) for term in terms)

    def counted(rows: Iterable[int]) -> float:
        there = (row for row in rows if not texts.unit[row].isdisjoint(terms))
        return float(any(_counts(terms, texts.plain[row]) for row in there))

    best = texts.unit[rows[0]] | texts.above[rows[0]]
    return {
        "focus_best": held(best),
        "focus_head": _held(terms[-1], best),
        "focus_chosen": max(held(texts.unit[row] | texts.above[row]) for row in rows),
        "focus_document": held(texts.document),
        "focus_number": counted(rows),
        "focus_number_document": counted(range(len(texts.plain))),
    }


def _focus_terms(question: str) -> list[str]:
    """Return the stems of the first words after a question word.

    Example:
        >>> _focus_terms("How many fire doors are there?")
        ['fire', 'door']
    """
    asked = _ASKS_FOR.search(question)
    if asked is None:
        return []
    terms: list[str] = []
    kept = set(question_terms(question))
    for word in map(stem, split_words(asked[1])):
        if word in kept and len(terms) < _FOCUS_WORDS:
            terms.append(word)
        elif terms:
            break
    return terms


def _counts(terms: Sequence[str], text: str) -> bool:
    """Return whether a text has a digit near one of the terms."""
    words = split_words(text)
    return any(
        any(map(str.isdigit, "".join(words[max(0, i - _NUMBER_REACH) : i + _NUMBER_REACH + 1])))
        for i, word in enumerate(words)
        if stem(word) in terms
    )
