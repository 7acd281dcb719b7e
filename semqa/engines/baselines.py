"""Baselines, which quote whole sentences: by their place, by their words, or by their meaning.

`EdgeEngine` quotes the first or last sentences of every source, `Bm25Engine` and `NearestEngine` the
three of all sources that fit the question best. None of them abstains.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from semqa.engines.base import check_request
from semqa.engines.cancellation import check_cancelled
from semqa.errors import InputError
from semqa.history import in_context
from semqa.quotes import QuotedAnswer
from semqa.quotes.marks import canonical_mark
from semqa.quotes.words import function_words, language_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from semqa.history import Exchange
    from semqa.quotes import Source

BEST = 3
"""Sentences that `Bm25Engine` and `NearestEngine` quote."""

K1, B = 1.2, 0.75
"""The usual parameters of BM25: how soon repeating a word stops to count, and how length does."""

CACHED_SOURCES = 256
"""Sources whose sentences are embedded once."""

LONGEST_CACHED = 100_000
"""Characters of such a source."""

_GAP = re.compile(r"(?<=[.!?])\s+")

# Lines that are no text: the rule below the header of a table, and rules across the page.
_RULE = re.compile(r"[\s|:=*_-]+")
_ALONE = re.compile(r"[ \t]*(?:#|\|)")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\(?(?:\d{1,3}|[a-z])[.)]|\d+(?:\.\d+)+\.?)[ \t]")
_END = re.compile(r"""(?<=[.!?])["'”’)*]*\s+(?=["'“‘(*]*[^\W_a-z])|(?<=[。！？])""")
_WORD = re.compile(r"\w+")


class EdgeEngine:
    """Quotes `k` sentences of each source, taken from one edge of it.

    Source: "SEMQA: Semi-Extractive Multi-Source Question Answering" (Schuster et al. 2024), the
    baselines Lead-k and Tail-k.

    Args:
        edge: ``lead`` for the first sentences, ``tail`` for the last.

    Example:
        >>> from semqa.quotes import Source
        >>> EdgeEngine("lead", 1).answer("Who?", [Source("Ann did. Bob slept.")]).marked
        '[ 1 Ann did. ]'
        >>> EdgeEngine("tail", 1).answer("Who?", [Source("Ann did. Bob slept.")]).marked
        '[ 1 Bob slept. ]'
    """

    def __init__(self, edge: Literal["lead", "tail"], k: int) -> None:
        given: object = k
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise InputError(
                f"{edge}-K needs a whole number from 1, such as {edge}-2, got {k!r}.", value=k
            )
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

        Square brackets are deleted from the sentences, as in the paper's recipe: such a quote is
        not verbatim and comes out unverified. Blank bodies are passed over.
        """
        check_request(question, sources)
        spans = [self._span(source.text).replace("[", "").replace("]", "") for source in sources]
        marks = [canonical_mark(k, span) for k, span in enumerate(spans, start=1) if span.strip()]
        return QuotedAnswer.parse(" ".join(marks), sources)

    def _span(self, text: str) -> str:
        """Return the sentences with what stands between them, where the recipe puts a space."""
        text = text.strip()  # white space at the end is not a sentence
        gaps = list(_GAP.finditer(text))
        if self._k > len(gaps):
            return text
        if self._edge == "lead":
            return text[: gaps[self._k - 1].start()]
        return text[gaps[-self._k].end() :]


class Bm25Engine:
    """Quotes the sentences that BM25 ranks first for a question, all sources together.

    Words are compared as they are written, but for capitals; function words of the question do not
    count.

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
        candidates = _candidates(sources)
        scores = self.scores(
            in_context(question, history), [candidate.text for candidate in candidates]
        )
        return _quote_best(candidates, scores, sources)

    @staticmethod
    def scores(question: str, sentences: Sequence[str]) -> list[float]:
        """Return the BM25 score of each sentence among the others.

        Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond"
        (2009), section 3; the logarithm is of one more, so that no word counts against a sentence.
        """
        asked = {word.lower() for word in _WORD.findall(question)}
        asked = asked - function_words(language_of(question)) or asked
        bags = [Counter(_WORD.findall(sentence.lower())) for sentence in sentences]
        lengths = [bag.total() for bag in bags]
        mean = sum(lengths) / max(len(lengths), 1)
        having = Counter(word for bag in bags for word in asked if word in bag)
        weights = {
            word: math.log(1 + (len(bags) - count + 0.5) / (count + 0.5))
            for word, count in having.items()
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
    """Quotes the sentences that are nearest to a question in meaning, all sources together.

    Args:
        encoder: a sentence-transformers model, a folder or a name on the Hub, which is loaded with the
            first question; by default the packaged one.
    """

    name = "nearest"

    def __init__(self, encoder: str | None = None) -> None:
        from semqa.retrieval.encoder import PACKAGED_ENCODER, SentenceEncoder
        from semqa.retrieval.passages.search import Dense

        self._dense = Dense(SentenceEncoder(encoder or PACKAGED_ENCODER))
        self._cached = lru_cache(CACHED_SOURCES)(self._embed)

    def answer(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer:
        """Answer one question."""
        check_request(question, sources)
        asked = self._dense.embed([in_context(question, history)])[0]
        vectors: dict[str, NDArray[np.float32]] = {}
        for source in sources:
            check_cancelled()
            embed = self._cached if len(source.text) <= LONGEST_CACHED else self._embed
            vectors |= embed(source.text)
        candidates = _candidates(sources)
        scores = [float(vectors[candidate.text] @ asked) for candidate in candidates]
        return _quote_best(candidates, scores, sources)

    def _embed(self, text: str) -> dict[str, NDArray[np.float32]]:
        sentences = split_sentences(text)
        return dict(zip(sentences, self._dense.embed(sentences), strict=True)) if sentences else {}


def split_sentences(text: str) -> list[str]:
    r"""Return the sentences of a text that have more than one word, verbatim.

    A heading, an item of a list and a row of a table end where they do; so does a paragraph at a
    blank line. Abbreviations are not known.

    Example:
        >>> split_sentences("# The harbour\nIt was built\nin 1890. It burnt.\n\n1. Ring the bell.\n2. Wait.")
        ['# The harbour', 'It was built\nin 1890.', 'It burnt.', '1. Ring the bell.', '2. Wait.']
    """
    found: list[str] = []
    for block in _blocks(text):
        item = _ITEM.match(block)
        start = item.end() if item else 0  # the number of an item ends no sentence
        ends = () if _ALONE.match(block) else _END.finditer(block, start)
        at = 0
        for end in ends:
            found.append(block[at : end.end()])
            at = end.end()
        found.append(block[at:])
    return [sentence for each in found if len((sentence := each.strip()).split()) > 1]


def _blocks(text: str) -> list[str]:
    """Return headings, rows, items and paragraphs."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines(keepends=True):
        alone = _ALONE.match(line)
        if alone or _RULE.fullmatch(line) or _ITEM.match(line):
            blocks.append([])
        if not _RULE.fullmatch(line):
            blocks[-1].append(line)
        if alone:
            blocks.append([])
    return ["".join(lines) for lines in blocks if lines]


class _Candidate(NamedTuple):
    """A sentence, and the number of its source."""

    source: int
    text: str


def _candidates(sources: Sequence[Source]) -> list[_Candidate]:
    """Return the sentences of all sources, each once."""
    numbers: dict[str, int] = {}
    for number, source in enumerate(sources, start=1):
        for sentence in split_sentences(source.text):
            numbers.setdefault(sentence, number)
    return [_Candidate(number, sentence) for sentence, number in numbers.items()]


def _quote_best(
    candidates: Sequence[_Candidate], scores: Sequence[float], sources: Sequence[Source]
) -> QuotedAnswer:
    """Quote the candidates with the highest scores, in the order of the sources.

    Square brackets cannot be quoted: a sentence is quoted in parts around them.
    """
    best = sorted(range(len(scores)), key=lambda i: -scores[i])[:BEST]
    marks = [
        canonical_mark(candidates[i].source, part.strip())
        for i in sorted(best)
        for part in re.split(r"[\[\]]", candidates[i].text)
        if _WORD.search(part)
    ]
    return QuotedAnswer.parse(" ".join(marks), sources)
