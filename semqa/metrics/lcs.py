"""Longest common subsequences of encoded token sequences.

A sequence is a string with one character for each token (see `Vocabulary`), which rapidfuzz reads
without converting it.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import count, repeat
from typing import TYPE_CHECKING

from rapidfuzz.distance import LCSseq

from semqa.errors import InputError
from semqa.metrics.tokens import ARTICLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "Vocabulary",
    "lcs_length",
    "lcs_positions",
    "position_masks",
    "shared_tokens",
]

_ARTICLE_CODES = "\0\1\2"  # the lowest ones, so that they lead a sorted bag

UNKNOWN = "\3"
"""Stands for every token that a vocabulary has not learned; equal to nothing learned."""

lcs_length = LCSseq.similarity
"""Length of the longest common subsequence of two encoded sequences."""

shared_tokens = LCSseq.similarity
"""Size of the intersection of two bags, each in its sorted form.

A common subsequence of two sorted sequences is a sorted bag that both contain, so the longest one
is their intersection.
"""


class Vocabulary:
    r"""One character for each distinct token of what one question is scored against.

    Only the learning methods add tokens, so that one vocabulary serves any number of predictions.

    Example:
        >>> vocabulary = Vocabulary()
        >>> vocabulary.learn(["to", "be", "the", "to"])
        '\x04\x05\x02\x04'
        >>> vocabulary.encode(["be", "or", "to"]), vocabulary.encode_bag(["be", "the", "to"])
        ('\x05\x03\x04', '\x04\x05')
    """

    __slots__ = ("_find", "_learn")

    def __init__(self) -> None:
        # Called for each new token, without a step of the interpreter.
        next_code = map(chr, count(ord(UNKNOWN) + 1)).__next__
        codes = defaultdict(next_code, zip(sorted(ARTICLES), _ARTICLE_CODES, strict=True))
        self._learn = codes.__getitem__
        self._find = codes.get

    def learn(self, tokens: Iterable[str]) -> str:
        """Encode a sequence of tokens, after learning them.

        Raises:
            InputError: there are more distinct tokens than characters (1.1 million).
        """
        try:
            return "".join(map(self._learn, tokens))
        except ValueError as error:
            raise _too_many() from error

    def learn_bag(self, tokens: Iterable[str]) -> str:
        """Encode a bag of tokens, sorted and without `ARTICLES`, after learning it.

        Raises:
            InputError: as `learn`.
        """
        try:
            return "".join(sorted(map(self._learn, tokens))).lstrip(_ARTICLE_CODES)
        except ValueError as error:
            raise _too_many() from error

    def encode(self, tokens: Iterable[str]) -> str:
        """Encode a sequence of tokens; `UNKNOWN` for each one not learned."""
        return "".join(map(self._find, tokens, repeat(UNKNOWN)))

    def encode_bag(self, tokens: Iterable[str]) -> str:
        """Encode a bag of tokens, sorted and without `ARTICLES`; `UNKNOWN` as in `encode`."""
        return "".join(sorted(map(self._find, tokens, repeat(UNKNOWN)))).lstrip(_ARTICLE_CODES)


def _too_many() -> InputError:
    return InputError(
        f"references of one question: got more than {sys.maxunicode - ord(UNKNOWN):,} distinct "
        "tokens, expected fewer; shorten the references"
    )


def position_masks(sequence: str) -> dict[str, int]:
    """Return for each token of a sequence the bit set of its positions (bit 0 = first).

    Example:
        >>> position_masks("aba")
        {'a': 5, 'b': 2}
    """
    masks: dict[str, int] = {}
    for position, token in enumerate(sequence):
        masks[token] = masks.get(token, 0) | 1 << position
    return masks


def lcs_positions(masks: Mapping[str, int], length: int, candidate: str) -> int:
    """Return which positions of a reference one longest common subsequence takes.

    Of the many longest ones it is the one that rouge-score reads out of its table: from the end,
    a match is always taken; else a step that leaves a token of the candidate, where the table does
    not shrink by it and shrinks by the other; else a step that leaves a token of the reference.

    Args:
        masks: `position_masks` of the reference.
        length: tokens of the reference.
        candidate: the encoded candidate.

    Returns:
        A bit set over the positions of the reference.

    Source: the table is that of Hyyrö, "Bit-parallel LCS-length computation revisited" (2004):
    one integer for each column holds in which rows the length grows.

    Example:
        >>> bin(lcs_positions(position_masks("abcd"), 4, "bxd"))
        '0b1010'
    """
    full = (1 << length) - 1
    still = full  # bit i: the length does not grow from row i to row i + 1 in this column
    columns = []
    for token in candidate:
        match = masks.get(token, 0)
        step = still & match
        still = ((still + step) | (still - step)) & full
        columns.append((match, match | (full ^ still)))
    taken = 0
    rows = full
    for match, stop in reversed(columns):
        # Rows in which nothing matches and nothing grows are left at once.
        row = (1 << (stop & rows).bit_length()) >> 1
        if not row:
            break
        rows &= 2 * row - 1
        if match & row:
            taken |= row
            rows ^= row
    return taken
