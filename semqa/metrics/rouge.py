"""ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum, equal to those of rouge-score without stemming.

Texts are encoded first: a token sequence becomes a string with one character per token (see
`Vocabulary`), which rapidfuzz compares without conversion.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, repeat
from operator import add
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from semqa.metrics.text import ARTICLES, rouge_lines, rouge_tokens

_ARTICLE_CODES = "\0\1\2"  # the lowest codes, so they come first in a sorted bag

UNKNOWN = "\3"
"""Code of every token that is not in the vocabulary."""

lcs_length = LCSseq.similarity
"""Length of the longest common subsequence of two encoded sequences."""

shared_tokens = LCSseq.similarity
"""Size of the intersection of two sorted bags.

The longest common subsequence of two sorted bags is their intersection.
"""


class Vocabulary:
    r"""Maps each distinct token of a question's references to one character.

    Only the `learn` methods add tokens, so any number of predictions can share one vocabulary.

    Example:
        >>> vocabulary = Vocabulary()
        >>> vocabulary.learn(["to", "be", "the", "to"])
        '\x04\x05\x02\x04'
        >>> vocabulary.encode(["be", "or", "to"]), vocabulary.encode_bag(["be", "the", "to"])
        ('\x05\x03\x04', '\x04\x05')
    """

    __slots__ = ("_find", "_learn")

    def __init__(self) -> None:
        # All in C: no Python code runs for a new token.
        next_code = map(chr, count(ord(UNKNOWN) + 1)).__next__
        codes = defaultdict(next_code, zip(sorted(ARTICLES), _ARTICLE_CODES, strict=True))
        self._learn = codes.__getitem__
        self._find = codes.get

    def learn(self, tokens: Iterable[str]) -> str:
        """Add tokens (at most 1.1 million distinct ones) and return the encoded sequence."""
        return "".join(map(self._learn, tokens))

    def learn_bag(self, tokens: Iterable[str]) -> str:
        """Add tokens and return the encoded bag, sorted and without `ARTICLES`."""
        return "".join(sorted(map(self._learn, tokens))).lstrip(_ARTICLE_CODES)

    def encode(self, tokens: Iterable[str]) -> str:
        """Encode a sequence of tokens, with `UNKNOWN` for tokens not in the vocabulary."""
        return "".join(map(self._find, tokens, repeat(UNKNOWN)))

    def encode_bag(self, tokens: Iterable[str]) -> str:
        """Encode a bag of tokens like `encode`, sorted and without `ARTICLES`."""
        return "".join(sorted(map(self._find, tokens, repeat(UNKNOWN)))).lstrip(_ARTICLE_CODES)


def position_masks(sequence: str) -> dict[str, int]:
    """Return each token's positions in a sequence as a bit set (bit 0 = first).

    Example:
        >>> position_masks("aba")
        {'a': 5, 'b': 2}
    """
    masks: dict[str, int] = {}
    for position, token in enumerate(sequence):
        masks[token] = masks.get(token, 0) | 1 << position
    return masks


def lcs_positions(masks: Mapping[str, int], length: int, candidate: str) -> int:
    """Return the reference positions of one longest common subsequence, as a bit set.

    If there are several, it is the one that rouge-score reads from its table: going backwards, take
    every match; otherwise skip a candidate token if only skipping a reference token would shorten
    the subsequence; otherwise skip a reference token.

    Source: Hyyrö, "Bit-parallel LCS-length computation revisited" (2004). One integer per column
    records the rows in which the length grows.

    Example:
        >>> bin(lcs_positions(position_masks("abcd"), 4, "bxd"))
        '0b1010'
    """
    full = (1 << length) - 1
    flat = full  # bit i: the length does not grow from row i to row i + 1 in this column
    columns = []
    for token in candidate:
        match = masks.get(token, 0)
        step = flat & match
        flat = ((flat + step) | (flat - step)) & full
        columns.append((match, match | (full ^ flat)))
    taken = 0
    rows = full
    for match, stop in reversed(columns):
        # Skip rows without a match or growth.
        row = (1 << (stop & rows).bit_length()) >> 1
        if not row:
            break
        rows &= 2 * row - 1
        if match & row:
            taken |= row
            rows ^= row
    return taken


class RougeScores(NamedTuple):
    """F-measures of the four ROUGE variants, 0-100."""

    rouge1: float
    rouge2: float
    rougeL: float  # noqa: N815 (the field's name)
    rougeLsum: float  # noqa: N815 (the field's name)


class RougeText:
    """An encoded text without marks, as a whole and by line.

    Threads may share it: comparing it only fills caches.
    """

    __slots__ = ("_line_masks", "_pairs", "_sorted", "lines", "sequence")

    def __init__(self, sequence: str, lines: Sequence[str] = ()) -> None:
        self.sequence = sequence
        self.lines = lines if len(lines) > 1 else (sequence,)
        # Computed on first use: only the closest reference needs them.
        self._sorted: str | None = None
        self._pairs: frozenset[str] | None = None
        self._line_masks: list[tuple[dict[str, int], int]] | None = None

    @classmethod
    def read(cls, text: str, encode: Callable[[Iterable[str]], str]) -> RougeText:
        """Encode a text with `Vocabulary.learn` (reference) or `Vocabulary.encode` (prediction)."""
        lines = [encode(line) for line in rouge_lines(text)] if "\n" in text else ()
        return cls(encode(rouge_tokens(text)), lines)

    def lsum(self, prediction: RougeText) -> float:
        """Return ROUGE-Lsum of a prediction against this text, in [0, 1]."""
        if len(self.lines) == len(prediction.lines) == 1:
            # With one line on each side, ROUGE-Lsum equals ROUGE-L.
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
            # With repeated pairs, their counts in this text matter too.
            available = Counter(_pairs(self.sequence))
            shared = sum(min(count, available[pair]) for pair, count in Counter(hits).items())
        return _f_measure(shared, len(self.sequence) - 1, len(prediction.sequence) - 1)

    def _sorted_sequence(self) -> str:
        if self._sorted is None:
            self._sorted = "".join(sorted(self.sequence.replace(UNKNOWN, "")))
        return self._sorted

    def _union_hits(self, prediction: RougeText) -> int:
        """Return the size of the union LCS over the lines.

        Source: Lin (2004), section 3.2, clipped as in ROUGE 1.5.5: a token counts at most as often
        as it occurs in the prediction.
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
    """Score a prediction against the closest of several references in the same vocabulary.

    The closest reference has the highest ROUGE-Lsum; the first wins a tie. All four scores are
    computed against it.
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
    """Return the ROUGE scores of a prediction against one reference.

    Example:
        >>> rouge_scores("the cat sat on the mat", "the cat lay on the mat").rougeL
        83.33333333333334
    """
    vocabulary = Vocabulary()
    encoded = RougeText.read(reference, vocabulary.learn)
    return closest_rouge([encoded], RougeText.read(prediction, vocabulary.encode))


def _pairs(sequence: str) -> Iterable[str]:
    return map(add, sequence, sequence[1:])


def _f_measure(shared: int, reference: int, predicted: int) -> float:
    # Same operations as rouge-score, so that ties are the same too.
    if not shared:
        return 0.0
    precision, recall = shared / predicted, shared / reference
    return 2 * precision * recall / (precision + recall)
