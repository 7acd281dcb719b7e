"""A reading: what the engine sees in one source, given the inquiry, before anything is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from semqa.engines.extractive.candidates import find_candidates
from semqa.engines.extractive.features import title_features, word_features
from semqa.engines.extractive.inquiry import read_inquiry
from semqa.engines.extractive.lexicon import ARTICLES, STOPWORDS, stem
from semqa.engines.extractive.passage import read_passage, split_words
from semqa.engines.extractive.relevance import measure
from semqa.engines.wanted import check_wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from semqa.engines.extractive.candidates import Candidates
    from semqa.engines.extractive.inquiry import Inquiry
    from semqa.engines.extractive.passage import Passage
    from semqa.engines.extractive.relevance import Relevance
    from semqa.quotes import Source

    Array = NDArray[np.float64]

__all__ = ["Reading", "read_request"]


@dataclass(frozen=True, slots=True)
class Reading:
    """One source as the engine sees it.

    Attributes:
        passage: the body.
        relevance: how it relates to the question.
        candidates: the spans to choose from.
        words: features of each word, by name; shapes [words].
        title: features of the title, by name.
        title_words: the title's words, lower-cased, without articles.
    """

    passage: Passage
    relevance: Relevance
    candidates: Candidates
    words: Mapping[str, Array]
    title: Mapping[str, float]
    title_words: list[str]


def read_request(
    question: str, sources: Sequence[Source], context: str = ""
) -> tuple[Inquiry, list[Reading]]:
    """Read a question and its sources; one reading a source, in order.

    Args:
        question: the question.
        sources: the passages.
        context: other questions that say what it is about.

    Raises:
        UnwantedError: nobody waits for the answer any more.
    """
    inquiry = read_inquiry(question, context)
    passages = []
    for source in sources:
        check_wanted()
        passages.append(read_passage(source.text, source.title, inquiry.stems))
    titles = [split_words(s.title) for s in sources]
    stems = [frozenset(stem(w) for w in t if w not in STOPWORDS) for t in titles]
    readings = []
    for passage, relevance, title, title_stems in zip(
        passages, measure(inquiry, passages, stems), titles, stems, strict=True
    ):
        check_wanted()
        candidates = find_candidates(passage, relevance.evidence)
        readings.append(
            Reading(
                passage,
                relevance,
                candidates,
                word_features(inquiry, passage, relevance, candidates),
                title_features(inquiry, passage, relevance, title, title_stems),
                [w for w in title if w not in ARTICLES],
            )
        )
    return inquiry, readings
