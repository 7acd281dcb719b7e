"""Baselines that quote whole sentences, chosen by position, BM25 or embedding similarity.

`EdgeEngine` quotes the first or last sentences of every source. `Bm25Engine` and `NearestEngine`
quote the three sentences, across all sources, that match the question best. No baseline abstains.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from semqa.engines.base import check_request
from semqa.engines.cancellation import check_cancelled
from semqa.errors import InputError
from semqa.history import Exchange, in_context
from semqa.quotes import QuotedAnswer, Source
from semqa.quotes.marks import canonical_mark
from semqa.quotes.words import function_words, language_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BEST = 3
"""Number of sentences that `Bm25Engine` and `NearestEngine` quote."""

K1, B = 1.2, 0.75
"""The usual BM25 parameters: term-frequency saturation and length normalisation."""

CACHED_SOURCES = 256
"""Number of sources whose sentence embeddings are cached."""

LONGEST_CACHED = 100_000
"""Maximum length of a cached source, in characters."""

_GAP = re.compile(r"(?<=[.!?])\s+")

# Lines without text: horizontal rules and the rule below a table header.
_RULE = re.compile(r"[\s|:=*_-]+")
_SINGLE_LINE = re.compile(r"[ \t]*(?:#|\|)")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\(?(?:\d{1,3}|[a-z])[.)]|\d+(?:\.\d+)+\.?)[ \t]")
_SENTENCE_END = re.compile(r"""(?<=[.!?])["'”’)*]*\s+(?=["'“‘(*]*[^\W_a-z])|(?<=[。！？])""")
_WORD = re.compile(r"\w+")


class EdgeEngine:
    """Quotes the first or last `k` sentences of each source.

    Source: "SEMQA: Semi-Extractive Multi-Source Question Answering" (Schuster et al. 2024),
    baselines Lead-k and Tail-k.

    Args:
        edge: ``lead`` for the first sentences, ``tail`` for the last ones.

    Example:
        >>> from semqa.quotes import Source
        >>> EdgeEngine("lead", 1).answer("Who?", [Source("Ann did. Bob slept.")]).marked
        '[ 1 Ann did. ]'
        >>> EdgeEngine("tail", 1).answer("Who?", [Source("Ann did. Bob slept.")]).marked
        '[ 1 Bob slept. ]'
    """

    def __init__(self, edge: Literal["lead", "tail"], k: int) -> None:
        if k < 1:
            raise InputError(f"{edge}-K needs a number from 1, such as {edge}-2.")
        self.name = f"{edge}-{k}"
        self._edge = edge
        self._k = k

    def answer(
        self,
        question: str,
        sources: Sequence[Source],
        history: Sequence[Exchange] = (),  # noqa: ARG002
    ) -> QuotedAnswer:
        """Answer one question.

        Square brackets are deleted from the sentences, as in the paper. Such a quote is not
        verbatim and is reported as unverified. Blank sources are skipped.
        """
        check_request(question, sources)
        spans = [self._span(source.text).replace("[", "").replace("]", "") for source in sources]
        marks = [canonical_mark(k, span) for k, span in enumerate(spans, start=1) if span.strip()]
        return QuotedAnswer.parse(" ".join(marks), sources)

    def _span(self, text: str) -> str:
        """Return the sentences, keeping the white space between them (the paper: one space)."""
        text = text.strip()  # trailing white space would count as a sentence
        gaps = list(_GAP.finditer(text))
        if self._k > len(gaps):
            return text
        if self._edge == "lead":
            return text[: gaps[self._k - 1].start()]
        return text[gaps[-self._k].end() :]


class Bm25Engine:
    """Quotes the sentences, across all sources, that BM25 ranks first.

    Words are compared case-insensitively and without stemming. Function words in the question are
    ignored.

    Example:
        >>> from semqa.quotes import Source
        >>> sources = [Source("It rained. Ann sang. Bob slept. Kay left."), Source("We sang.")]
        >>> Bm25Engine().answer("Who sang?", sources).marked
        '[ 1 It rained. ] [ 1 Ann sang. ] [ 2 We sang. ]'
    """

    name = "bm25"

    def answer(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer:
        """Answer one question."""
        check_request(question, sources)
        sentences = _sentences(sources)
        scores = self.scores(in_context(question, history), [*sentences])
        return _quote_best(sentences, scores, sources)

    @staticmethod
    def scores(question: str, sentences: Sequence[str]) -> list[float]:
        """Return the BM25 score of each sentence, with the sentences as the corpus.

        Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond"
        (2009), section 3, with 1 added inside the logarithm so that no weight is negative.
        """
        query = {word.lower() for word in _WORD.findall(question)}
        query = query - function_words(language_of(question)) or query
        bags = [Counter(_WORD.findall(sentence.lower())) for sentence in sentences]
        lengths = [bag.total() for bag in bags]
        mean = sum(lengths) / max(len(lengths), 1)
        frequencies = Counter(word for bag in bags for word in query if word in bag)
        weights = {
            word: math.log(1 + (len(bags) - count + 0.5) / (count + 0.5))
            for word, count in frequencies.items()
        }
        return [
            math.fsum(
                weight * bag[word] * (K1 + 1) / (bag[word] + K1 * (1 - B + B * length / mean))
                for word, weight in weights.items()
                if word in bag
            )
            for bag, length in zip(bags, lengths, strict=True)
        ]


class NearestEngine:
    """Quotes the sentences, across all sources, whose embeddings are most similar to the question.

    Args:
        encoder: a sentence-transformers model (a folder or a name on the Hub), loaded on first use;
            by default the packaged MiniLM as published, not fine-tuned.
    """

    name = "nearest"

    def __init__(self, encoder: str | None = None) -> None:
        from semqa.retrieval.encoder import PACKAGED_ENCODER, SentenceEncoder
        from semqa.retrieval.passages.search import DenseEncoder

        self._dense = DenseEncoder(SentenceEncoder(encoder or PACKAGED_ENCODER))
        self._cached = lru_cache(CACHED_SOURCES)(self._embed)

    def answer(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer:
        """Answer one question."""
        check_request(question, sources)
        query = self._dense.embed_question(in_context(question, history))
        vectors: dict[str, NDArray[np.float32]] = {}
        for source in sources:
            check_cancelled()
            embed = self._cached if len(source.text) <= LONGEST_CACHED else self._embed
            vectors |= embed(source.text)
        sentences = _sentences(sources)
        scores = [float(vectors[sentence] @ query) for sentence in sentences]
        return _quote_best(sentences, scores, sources)

    def _embed(self, text: str) -> dict[str, NDArray[np.float32]]:
        sentences = split_sentences(text)
        return dict(zip(sentences, self._dense.embed(sentences), strict=True)) if sentences else {}


def split_sentences(text: str) -> list[str]:
    r"""Return the sentences of more than one word, verbatim.

    The end of a heading, list item, table row or paragraph also ends a sentence. Abbreviations are
    not recognised.

    Example:
        >>> split_sentences("# The harbour\nIt was built\nin 1890. It burnt.\n\n1. Ring the bell.\n2. Wait.")
        ['# The harbour', 'It was built\nin 1890.', 'It burnt.', '1. Ring the bell.', '2. Wait.']
    """
    found: list[str] = []
    for block in _blocks(text):
        item = _LIST_ITEM.match(block)
        start = item.end() if item else 0  # the period after an item number does not end a sentence
        ends = () if _SINGLE_LINE.match(block) else _SENTENCE_END.finditer(block, start)
        at = 0
        for end in ends:
            found.append(block[at : end.end()])
            at = end.end()
        found.append(block[at:])
    return [sentence for each in found if len((sentence := each.strip()).split()) > 1]


def _blocks(text: str) -> list[str]:
    """Return the headings, table rows, list items and paragraphs of a text."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines(keepends=True):
        single_line = _SINGLE_LINE.match(line)
        if single_line or _RULE.fullmatch(line) or _LIST_ITEM.match(line):
            blocks.append([])
        if not _RULE.fullmatch(line):
            blocks[-1].append(line)
        if single_line:
            blocks.append([])
    return ["".join(lines) for lines in blocks if lines]


def _sentences(sources: Sequence[Source]) -> dict[str, int]:
    """Return the distinct sentences of all sources, each with the number of its first source."""
    numbers: dict[str, int] = {}
    for number, source in enumerate(sources, start=1):
        for sentence in split_sentences(source.text):
            numbers.setdefault(sentence, number)
    return numbers


def _quote_best(
    sentences: dict[str, int], scores: Sequence[float], sources: Sequence[Source]
) -> QuotedAnswer:
    """Quote the sentences with the highest scores, in source order.

    Square brackets cannot be quoted, so a sentence that contains them is quoted in parts.
    """
    found = list(sentences.items())
    best = sorted(range(len(scores)), key=lambda i: -scores[i])[:BEST]
    marks = [
        canonical_mark(found[i][1], part.strip())
        for i in sorted(best)
        for part in re.split(r"[\[\]]", found[i][0])
        if _WORD.search(part)
    ]
    return QuotedAnswer.parse(" ".join(marks), sources)
