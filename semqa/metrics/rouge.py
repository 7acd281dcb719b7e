"""Longest common subsequences of encoded token sequences.

A sequence is a string with one character for each token (see `Vocabulary`), which rapidfuzz reads
without converting it.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from itertools import count, repeat
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz.distance import LCSseq

from semqa.errors import InputError
from semqa.metrics.text import ARTICLES, rouge_lines, rouge_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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
        """Encode a sequence of tokens, after learning them; at most 1.1 million distinct ones."""
        try:
            return "".join(map(self._learn, tokens))
        except ValueError as error:
            raise _too_many() from error

    def learn_bag(self, tokens: Iterable[str]) -> str:
        """Encode a bag of tokens, sorted and without `ARTICLES`, after learning it."""
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
        "The references of a question have more than "
        f"{sys.maxunicode - ord(UNKNOWN):,} distinct tokens."
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
    """Return which positions of a reference one longest common subsequence takes, as a bit set.

    Of the many longest ones it is the one that rouge-score reads out of its table: from the end,
    a match is always taken; else a step that leaves a token of the candidate, where the table does
    not shrink by it and shrinks by the other; else a step that leaves a token of the reference.

    `masks` and `length` are the `position_masks` and the tokens of the reference.

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


class RougeScores(NamedTuple):
    """The F-measures of the four ROUGE scores, 0-100."""

    rouge1: float
    rouge2: float
    rougeL: float  # noqa: N815 (the field's name)
    rougeLsum: float  # noqa: N815 (the field's name)


class RougeText:
    """A text without marks: its encoded tokens, and those of each line if there are several.

    Comparing it changes nothing that can be seen, so threads may share it.
    """

    __slots__ = ("_line_masks", "_pairs", "_sorted", "lines", "sequence")

    def __init__(self, sequence: str, lines: Sequence[str] = ()) -> None:
        self.sequence = sequence
        self.lines = lines if len(lines) > 1 else (sequence,)
        # Only the closest reference needs these, so they wait until they are asked for.
        self._sorted: str | None = None
        self._pairs: frozenset[str] | None = None
        self._line_masks: list[tuple[dict[str, int], int]] | None = None

    @classmethod
    def read(cls, text: str, encode: Callable[[Iterable[str]], str]) -> RougeText:
        """Encode a text: by `Vocabulary.learn` for a reference, then `Vocabulary.encode` for a prediction."""
        lines = [encode(line) for line in rouge_lines(text)] if "\n" in text else ()
        return cls(encode(rouge_tokens(text)), lines)

    def lsum(self, prediction: RougeText) -> float:
        """Return ROUGE-Lsum of a prediction against this text, in [0, 1]."""
        if len(self.lines) == len(prediction.lines) == 1:
            # The union of the subsequences of one line with one line is the one subsequence.
            return self.longest(prediction)
        return _f_measure(
            self._union_hits(prediction), len(self.sequence), len(prediction.sequence)
        )

    def longest(self, prediction: RougeText) -> float:
        """Return ROUGE-L, in [0, 1]."""
        shared = lcs_length(self.sequence, prediction.sequence)
        return _f_measure(shared, len(self.sequence), len(prediction.sequence))

    def unigrams(self, prediction: RougeText) -> float:
        """Return ROUGE-1, in [0, 1]."""
        shared = shared_tokens(self._sorted_sequence(), prediction._sorted_sequence())
        return _f_measure(shared, len(self.sequence), len(prediction.sequence))

    def bigrams(self, prediction: RougeText) -> float:
        """Return ROUGE-2, in [0, 1]."""
        if self._pairs is None:
            self._pairs = frozenset(_pairs(self.sequence))
        hits = list(filter(self._pairs.__contains__, _pairs(prediction.sequence)))
        shared = len(hits)
        if len(set(hits)) < shared:
            # Only now does it matter how often this text has a pair.
            wanted = Counter(_pairs(self.sequence))
            shared = sum(min(count, wanted[pair]) for pair, count in Counter(hits).items())
        return _f_measure(shared, len(self.sequence) - 1, len(prediction.sequence) - 1)

    def _sorted_sequence(self) -> str:
        if self._sorted is None:
            self._sorted = "".join(sorted(self.sequence.replace(UNKNOWN, "")))
        return self._sorted

    def _union_hits(self, prediction: RougeText) -> int:
        """Count the tokens of this text that some line of the prediction has in sequence.

        Source: Lin (2004), section 3.2, with the clipping of ROUGE 1.5.5: no token is hit more
        often than the prediction has it.
        """
        if self._line_masks is None:
            self._line_masks = [(position_masks(line), len(line)) for line in self.lines]
        hits: Counter[str] = Counter()
        for masks, length in self._line_masks:
            union = 0
            for line in prediction.lines:
                union |= lcs_positions(masks, length, line)
            for token, mask in masks.items():
                hits[token] += (union & mask).bit_count()
        predicted = Counter(prediction.sequence)
        return sum(min(count, predicted[token]) for token, count in hits.items())


def closest_rouge(references: Sequence[RougeText], prediction: RougeText) -> RougeScores:
    """Score a prediction against the reference that it comes closest to, in one vocabulary.

    That is the reference with the highest ROUGE-Lsum, the first one of equals; all four scores are
    taken against it.
    """
    lsums = [reference.lsum(prediction) for reference in references]
    lsum = max(lsums)
    closest = references[lsums.index(lsum)]
    return RougeScores(
        rouge1=100 * closest.unigrams(prediction),
        rouge2=100 * closest.bigrams(prediction),
        rougeL=100 * closest.longest(prediction),
        rougeLsum=100 * lsum,
    )


def rouge_scores(reference: str, prediction: str) -> RougeScores:
    """Score one text against another.

    Example:
        >>> rouge_scores("the cat sat on the mat", "the cat lay on the mat").rougeL
        83.33333333333334
    """
    vocabulary = Vocabulary()
    wanted = RougeText.read(reference, vocabulary.learn)
    return closest_rouge([wanted], RougeText.read(prediction, vocabulary.encode))


def _pairs(sequence: str) -> Iterable[str]:
    return map(add, sequence, sequence[1:])


def _f_measure(shared: int, wanted: int, predicted: int) -> float:
    # The same operations as in rouge-score, so that equal scores tie here where they tie there.
    if not shared:
        return 0.0
    precision, recall = shared / predicted, shared / wanted
    return 2 * precision * recall / (precision + recall)
