"""Whether a text holds an answer, however it is written; and where it stands to the letter."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from semqa.metrics.text import normalise_answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Forms", "Needle", "occurrences"]

_WORD: Final = re.compile(r"[^\W_]+")
_THOUSANDS: Final = re.compile(r"(?<=\d)[,\u2009\u202f\u00a0](?=\d{3}(?!\d))")
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_ARTICLES: Final = frozenset({"a", "an", "the"})
_CARDINALS: Final = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
_ORDINALS: Final = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
]
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}
_SAME: Final = {word: str(value) for value, word in enumerate(_CARDINALS)} | {
    word: f"{value}{_ENDINGS.get(value, 'th')}" for value, word in enumerate(_ORDINALS, start=1)
}
"""Words for small numbers, by the digits that may stand for them."""


@dataclass(frozen=True, slots=True)
class Forms:
    """A text in the three forms in which it is searched.

    Attributes:
        words: its words between blanks, in small letters, without articles, small numbers as digits;
            punctuation parts words.
        squad: as SQuAD's script normalises it, between blanks: punctuation joins words.
        bare: its letters and digits alone, for scripts without blanks.
    """

    words: str
    squad: str
    bare: str

    @classmethod
    def of(cls, text: str) -> Forms:
        """Return the forms of a text.

        Example:
            >>> Forms.of("The well-known Twelve: 1,200.")
            Forms(words=' well known 12 1200 ', squad=' wellknown twelve 1200 ', bare='thewellknowntwelve1200')
        """
        folded = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold())
        found = _WORD.findall(folded)
        words = [_SAME.get(word, word) for word in found if word not in _ARTICLES]
        return cls(_spaced(words), _spaced(normalise_answer(folded).split()), "".join(found))


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} " if words else ""


@dataclass(frozen=True, slots=True)
class Needle:
    """Answers to be found in texts."""

    answers: tuple[Forms, ...]
    unspaced: tuple[bool, ...]

    @classmethod
    def of(cls, answers: Iterable[str]) -> Needle:
        """Return what finds these answers."""
        kept = tuple(answers)
        return cls(
            tuple(map(Forms.of, kept)), tuple(_UNSPACED.search(text) is not None for text in kept)
        )

    @property
    def sayable(self) -> bool:
        """Whether each answer has a word that could be found."""
        return all(each.words or each.bare for each in self.answers)

    def within(self, text: Forms) -> bool:
        """Return whether a text holds one of the answers, as whole words.

        Example:
            >>> Needle.of(["Ann Lee"]).within(Forms.of("by ANN LEE's hand"))
            True
            >>> Needle.of(["10"]).within(Forms.of("in 1910"))
            False
        """
        return any(
            bool(answer.words and answer.words in text.words)
            or bool(answer.squad and answer.squad in text.squad)
            or (bare and bool(answer.bare) and answer.bare in text.bare)
            for answer, bare in zip(self.answers, self.unspaced, strict=True)
        )


def occurrences(text: str, phrase: str) -> list[tuple[int, int]]:
    """Return where a phrase stands as whole words, in any case and with any white space.

    A number does not stand within a larger one: neither "10" in "1,910" nor "5" in "3.5".

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
