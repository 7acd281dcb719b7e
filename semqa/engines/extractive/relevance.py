"""Relevance: how the words and sentences of each source relate to the question.

All statistics come from the sources at hand: a question word that stands in most of their
sentences tells little about which sentence answers, whatever its frequency elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.evidence import evidence
from semqa.engines.extractive.lexicon import related

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.passage import Passage
    from semqa.engines.extractive.question import Question

    Array = NDArray[np.float64]

__all__ = ["Relevance", "decayed", "measure"]

_REACH = 6.0
"""Distance in words over which the nearness to a question word falls by a factor e."""

_SOFT = 0.6
"""What a related word counts where the question's own word would count 1."""

_IN_TITLE = 0.3
"""What a question word still tells about a sentence when the source's title holds it anyway."""

_K1, _B = 1.2, 0.75
"""Parameters of BM25; Robertson and Zaragoza 2009, section 3.5."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """How one passage relates to the question.

    Per word, shape [words], weights in [0, 1]:

    Attributes:
        query: weight of the question term that the word matches.
        topic: the same with terms of the title discounted.
        evidence: how much the word looks like the kind of answer that is asked for.
        near: evidence times the nearness of topic words.
        nearness: nearness of topic words.
        sentence_of: index of each word's sentence, -1 in a heading.

    Per sentence, shape [sentences]:

    Attributes:
        cover: weight of the question terms found in the sentence.
        topic_cover: the same by topic weights.
        best_near: greatest `near`.
        evident: greatest `evidence`.
        brief: cover against length, plus a bonus for evidence.
        bm25: BM25 against the question.

    Of the source:

    Attributes:
        title_cover: weight of the question terms in the title.
        strength: best sentence against the best of all sources, in [0, 1]; 1 for the best source.
    """

    query: Array
    topic: Array
    evidence: Array
    near: Array
    nearness: Array
    sentence_of: NDArray[np.int64]
    cover: Array
    topic_cover: Array
    best_near: Array
    evident: Array
    brief: Array
    bm25: Array
    title_cover: float
    strength: float


def decayed(weights: Array, sentence_of: NDArray[np.int64], reach: float, side: int = 0) -> Array:
    """Return for each word the greatest weight of its sentence, falling with the distance.

    Args:
        weights: weight of each word, shape [words].
        sentence_of: sentence of each word, shape [words].
        reach: distance over which a weight falls by a factor e.
        side: -1 looks only at the word and to its left, 1 only at it and to its right, 0 both.
    """
    sources = np.flatnonzero(weights > 1e-6)
    if not len(sources):
        return np.zeros(len(weights))
    distance = np.arange(len(weights))[:, None] - sources[None]
    reached = np.exp(np.abs(distance) / -reach) * (
        sentence_of[:, None] == sentence_of[sources][None]
    )
    if side:
        reached *= distance * side <= 0
    best: Array = (reached * weights[sources][None]).max(1)
    return best


def _matches(passage: Passage, question: Question) -> Array:
    """Return how well each word matches each term of the question; shape [words, terms]."""
    index = {term: i for i, term in enumerate(question.stems)}
    soft: dict[str, list[int]] = {}
    for term, i in index.items():
        for other in related(term):
            soft.setdefault(other, []).append(i)
    match = np.zeros((len(passage.words), len(index)))
    for i, found in enumerate(passage.stems):
        for j in soft.get(found, ()):
            match[i, j] = _SOFT
        if found in index:
            match[i, index[found]] = 1.0
    return match


def measure(
    question: Question, passages: Sequence[Passage], titles: Sequence[frozenset[str]]
) -> list[Relevance]:
    """Measure all sources of one question together.

    Args:
        question: the question.
        passages: the bodies.
        titles: the stems of each source's title.
    """
    found = [_matches(passage, question) for passage in passages]
    starts = [np.array([s.first for s in p.sentences], dtype=np.int64) for p in passages]
    lengths = [np.array([s.last - s.first for s in p.sentences], dtype=float) for p in passages]
    hits = [
        np.array([m[s.first : s.last].max(0) for s in p.sentences]).reshape(-1, m.shape[1])
        for p, m in zip(passages, found, strict=True)
    ]
    everything = np.concatenate(hits)
    holding = (everything >= 1).sum(0)
    rarity = np.log1p((len(everything) - holding + 0.5) / (holding + 0.5))
    weights = (rarity + 0.3) / (rarity + 0.3).sum()
    mean_length = float(np.concatenate(lengths).mean()) if len(everything) else 1.0

    out: list[Relevance] = []
    bests = np.zeros((len(passages), 2))
    for k, (passage, match) in enumerate(zip(passages, found, strict=True)):
        in_title = np.array([float(term in titles[k]) for term in question.stems])
        topical = weights * (1 - (1 - _IN_TITLE) * in_title)
        topical /= topical.sum()
        sentence_of = np.full(len(passage.words), -1, dtype=np.int64)
        for i, sentence in enumerate(passage.sentences):
            sentence_of[sentence.first : sentence.last] = i
        nearness = np.zeros(len(passage.words))
        for j, weight in enumerate(topical):
            nearness += weight * decayed(match[:, j], sentence_of, _REACH)
        evident = evidence(passage, question)
        near = evident * nearness
        cover = hits[k] @ weights
        best_evidence = np.minimum(_best(evident, passage), 1.0)
        brief = cover / (0.6 + 0.4 * np.minimum(lengths[k], 60) / 22)
        brief += 0.25 * best_evidence * (cover > 0)
        counts = np.array([(match[s.first : s.last] >= 1).sum(0) for s in passage.sentences])
        counts = counts.reshape(-1, len(weights))
        damping = _K1 * (1 - _B + _B * lengths[k] / mean_length)[:, None]
        bm25 = (rarity * counts * (_K1 + 1) / (counts + damping)).sum(1)
        if len(starts[k]):
            bests[k] = brief.max(), bm25.max()
        out.append(
            Relevance(
                query=match @ weights,
                topic=match @ topical,
                evidence=evident,
                near=near,
                nearness=nearness,
                sentence_of=sentence_of,
                cover=cover,
                topic_cover=hits[k] @ topical,
                best_near=_best(near, passage),
                evident=best_evidence,
                brief=brief,
                bm25=bm25,
                title_cover=float(in_title @ weights),
                strength=0.0,
            )
        )
    relative = (bests / np.maximum(bests.max(0), 1e-9)).sum(1)
    relative /= max(float(relative.max()), 1e-9)
    return [replace(r, strength=float(s)) for r, s in zip(out, relative, strict=True)]


def _best(values: Array, passage: Passage) -> Array:
    return np.array([values[s.first : s.last].max() for s in passage.sentences])
