"""Short answers: classify them, and find them in texts in any spelling."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from semqa.metrics.text import normalise_answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_SCALE = r"(?:hundred|thousand|million|billion|trillion)"


def _split(words: str) -> list[str]:
    return words.split()


_CARDINALS: Final = _split(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_WORDS: Final = [*_CARDINALS[2:], *_split("thirty forty fifty sixty seventy eighty ninety")]
_WORD_NUMBER = rf"(?:zero|one|{'|'.join(_WORDS)})(?:[ -](?:one|{'|'.join(_WORDS)}|{_SCALE}))*"
_NAME_PARTICLES: Final = frozenset(
    _split("a an and at by da de del der des di du for in la le of on or the to und van vom von y")
)

_KINDS: Final[tuple[tuple[str, str], ...]] = (
    ("boolean", r"yes|no|true|false"),
    ("year", r"(?:in |circa |c\. ?)?(?:1\d{3}|20\d{2})"),
    ("decade", r"(?:the )?\d{3}0'?s"),
    ("century", r"(?:the )?(?:\d{1,2}(?:st|nd|rd|th)|[a-z]+(?:th|st|nd|rd)) centur(?:y|ies)"),
    ("month", rf"(?:{_MONTHS})\.?"),
    ("weekday", r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"),
    ("month and year", rf"(?:{_MONTHS})\.?,? \d{{4}}"),
    (
        "date",
        rf"(?:(?:{_MONTHS})\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?"
        rf"|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTHS})\.?(?:,? \d{{4}})?"
        r"|\d{4}-\d{2}-\d{2}|\d{1,2}[/.]\d{1,2}[/.]\d{2,4})",
    ),
    ("percentage", rf"(?:about |around |over )?(?:{_NUMBER}|{_WORD_NUMBER}) ?(?:%|per ?cent)"),
    ("money", rf"(?:us)?[$€£¥] ?{_NUMBER}(?: ?{_SCALE})?"),
    ("ordinal", r"(?:the )?(?:\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh)"),
    ("number", rf"(?:{_NUMBER}|{_WORD_NUMBER})(?: {_SCALE})?"),
)
_QUANTITY: Final = re.compile(rf"(?:{_NUMBER}|{_WORD_NUMBER})(?: {_SCALE})?[ -]?(\D{{1,40}})")


def kind_of(answer: str) -> str:
    """Return the kind of an answer; for a number with a unit, the kind includes the unit.

    Example:
        >>> [kind_of(each) for each in ("1932", "7 May 1840", "12 miles", "Ann Lee", "in the rain")]
        ['year', 'date', 'quantity of miles', 'name', 'phrase']
    """
    text = " ".join(answer.split()).strip(".,;:!?\"'()")
    low = text.lower()
    for kind, pattern in _KINDS:
        if re.fullmatch(pattern, low):
            return kind
    if (quantity := _QUANTITY.fullmatch(low)) is not None:
        return f"quantity of {quantity[1].strip()}"
    words = [
        word
        for word in re.findall(r"[^\W\d_][\w'’.-]*", text)
        if word.lower() not in _NAME_PARTICLES
    ]
    if words and all(word[0].isupper() for word in words):
        return "name"
    return "phrase"


def question_type(question: str) -> str:
    """Return what a question asks for, based on its question word.

    Example:
        >>> question_type("In which city was Ann born?"), question_type("How many came?")
        ('which city', 'how many')
    """
    match = re.search(
        r"\b(who|whom|whose|when|where|why|how|what|which)(?:'s)?\b(?: +([a-z]+))?",
        question.lower(),
    )
    if match is None:
        return ""
    word, after = match[1], match[2] or ""
    if word in ("who", "whom", "whose"):
        return "who"
    plain = {"is", "was", "are", "were", "did", "does", "do", "has", "had", "can", "the", "a", "of"}
    if word in ("how", "what", "which") and after and after not in plain:
        return f"{'which' if word == 'what' else word} {after}"
    return word


_WORD: Final = re.compile(r"[^\W_]+")
_THOUSANDS: Final = re.compile(r"(?<=\d)[,\u2009\u202f\u00a0](?=\d{3}(?!\d))")
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_ARTICLES: Final = frozenset({"a", "an", "the"})
_ORDINALS: Final = _split(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
)
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}
_DIGITS: Final = {word: str(value) for value, word in enumerate(_CARDINALS)} | {
    word: f"{value}{_ENDINGS.get(value, 'th')}" for value, word in enumerate(_ORDINALS, start=1)
}
"""Digits of small numbers and ordinals, by word."""


@dataclass(frozen=True, slots=True)
class Forms:
    """A text in three normalised forms for searching.

    Attributes:
        words: lower-case words between spaces, without articles, with small numbers as digits;
            punctuation separates words.
        squad: words between spaces as normalised by SQuAD's script; punctuation joins words.
        bare: only letters and digits, for scripts without spaces.
    """

    words: str
    squad: str
    bare: str

    @classmethod
    def of(cls, text: str) -> Forms:
        """Normalise a text.

        Example:
            >>> Forms.of("The well-known Twelve: 1,200.")
            Forms(words=' well known 12 1200 ', squad=' wellknown twelve 1200 ', bare='thewellknowntwelve1200')
        """
        folded = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold())
        found = _WORD.findall(folded)
        words = [_DIGITS.get(word, word) for word in found if word not in _ARTICLES]
        return cls(_pad(words), _pad(normalise_answer(folded).split()), "".join(found))


def _pad(words: Sequence[str]) -> str:
    return f" {' '.join(words)} " if words else ""


@dataclass(frozen=True, slots=True)
class AnswerMatcher:
    """Answers to search for in texts."""

    answers: tuple[Forms, ...]
    unspaced: tuple[bool, ...]

    @classmethod
    def of(cls, answers: Iterable[str]) -> AnswerMatcher:
        """Create a matcher for answers."""
        kept = tuple(answers)
        return cls(
            tuple(map(Forms.of, kept)), tuple(_UNSPACED.search(text) is not None for text in kept)
        )

    @property
    def searchable(self) -> bool:
        """Whether each answer has a letter or digit to search for."""
        return all(each.words or each.bare for each in self.answers)

    def within(self, text: Forms) -> bool:
        """Return whether a text contains one of the answers as whole words.

        Example:
            >>> AnswerMatcher.of(["Ann Lee"]).within(Forms.of("by ANN LEE's hand"))
            True
            >>> AnswerMatcher.of(["10"]).within(Forms.of("in 1910"))
            False
        """
        return any(
            bool(answer.words and answer.words in text.words)
            or bool(answer.squad and answer.squad in text.squad)
            or (bare and bool(answer.bare) and answer.bare in text.bare)
            for answer, bare in zip(self.answers, self.unspaced, strict=True)
        )


def occurrences(text: str, phrase: str) -> list[tuple[int, int]]:
    """Return the spans of a phrase as whole words, ignoring case and the kind of white space.

    A number does not match inside a larger one: neither "10" in "1,910" nor "5" in "3.5".

    Example:
        >>> occurrences("Ann  Lee met ann lee; Leeann did not.", "Ann Lee")
        [(0, 8), (13, 20)]
    """
    parts = [re.escape(part) for part in phrase.split()]
    if not parts:
        return []
    pattern = r"\s+".join(parts)
    if not _UNSPACED.search(phrase):
        before = r"(?<!\w)(?<!\d[.,])" if phrase.split(maxsplit=1)[0][0].isdigit() else r"(?<!\w)"
        after = r"(?!\w)(?![.,]\d)" if phrase.rsplit(maxsplit=1)[-1][-1].isdigit() else r"(?!\w)"
        pattern = before + pattern + after
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
