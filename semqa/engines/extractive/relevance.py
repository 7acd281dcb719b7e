"""Relevance: how the words and sentences of each source relate to the question.

All statistics come from the sources at hand: a question word that stands in most of their
sentences tells little about which sentence answers, whatever its frequency elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.evidence import evidence, trust
from semqa.engines.extractive.lexicon import is_verb, related

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

_IN_TITLE = 0.1
"""What a question word still tells about a sentence when the source's title holds it anyway."""

_SUPPLIED = 0.5
"""What a sentence is credited with of a question word that title or subject of its source hold."""

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
        answers: the evidence where it is enough to be trusted as an answer, else 0.
        asked: how well the word matches a question word that neither the title nor the subject of
            the first sentence supplies.
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
    answers: Array
    asked: Array
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
    trusted = trust(question)
    evidents = [evidence(passage, question) for passage in passages]
    answers = [np.where(e >= trusted.least, e, 0.0) for e in evidents]
    # An answer counts like one more word of the question: it decides where the title holds all.
    found = [
        np.hstack([_matches(passage, question), answer[:, None]])
        for passage, answer in zip(passages, answers, strict=True)
    ]
    lengths = [np.array([s.last - s.first for s in p.sentences], dtype=float) for p in passages]
    there = [
        np.array([m[s.first : s.last].max(0) for s in p.sentences]).reshape(-1, m.shape[1])
        for p, m in zip(passages, found, strict=True)
    ]
    everything = np.concatenate(there)
    holding = (everything >= 1).sum(0)
    rarity = np.log1p((len(everything) - holding + 0.5) / (holding + 0.5))
    weights = (rarity + 0.3) * np.array([1.0] * len(question.stems) + [trusted.term])
    weights /= weights.sum()
    in_titles = [np.array([float(t in title) for t in question.stems] + [0.0]) for title in titles]
    asked = _asked(there, in_titles, weights)
    mean_length = float(np.concatenate(lengths).mean()) if len(everything) else 1.0

    out: list[Relevance] = []
    bests = np.zeros((len(passages), 2))
    for k, (passage, match) in enumerate(zip(passages, found, strict=True)):
        in_title = in_titles[k]
        given = np.maximum(in_title, _subject(passage, match) >= 1)
        given[-1] = 0.0
        topical = weights * (1 - (1 - _IN_TITLE) * in_title)
        topical /= topical.sum()
        sentence_of = np.full(len(passage.words), -1, dtype=np.int64)
        for i, sentence in enumerate(passage.sentences):
            sentence_of[sentence.first : sentence.last] = i
        nearness = np.zeros(len(passage.words))
        for j, weight in enumerate(topical):
            nearness += weight * decayed(match[:, j], sentence_of, _REACH)
        near = evidents[k] * nearness
        # A question of yes or no names its subject, and asks about the rest.
        supplied = 1.0 if question.kind == "whether" else _SUPPLIED
        cover = np.maximum(there[k], supplied * given) @ weights
        evident = np.minimum(_best(evidents[k], passage), 1.0)
        counts = np.array([(match[s.first : s.last] >= 1).sum(0) for s in passage.sentences])
        counts = counts.reshape(-1, len(weights))[:, :-1]
        damping = _K1 * (1 - _B + _B * lengths[k] / mean_length)[:, None]
        bm25 = (rarity[:-1] * counts * (_K1 + 1) / (counts + damping)).sum(1)
        # Sources are compared by what a sentence holds itself, and an answer counts for as much as
        # the source has to do with the question.
        counted = weights * np.array([1.0] * len(question.stems) + [asked[k]])
        own = _brief(there[k] @ counted, lengths[k], evident)
        bests[k] = own.max(initial=0.0), bm25.max(initial=0.0)
        out.append(
            Relevance(
                query=match @ weights,
                topic=match @ topical,
                evidence=evidents[k],
                answers=answers[k],
                asked=(match[:, :-1] * (given[:-1] == 0)).max(1, initial=0.0),
                near=near,
                nearness=nearness,
                sentence_of=sentence_of,
                cover=cover,
                topic_cover=there[k] @ topical,
                best_near=_best(near, passage),
                evident=evident,
                brief=_brief(cover, lengths[k], evident),
                bm25=bm25,
                title_cover=float(in_title @ weights),
                strength=0.0,
            )
        )
    answering = np.array([bool(a.any()) for a in answers]) & (asked > 0)
    strengths = (bests / np.maximum(bests.max(0), 1e-9)).sum(1)
    strengths *= np.where(answering | ~answering.any(), 1.0, trusted.source)
    strengths /= max(float(strengths.max()), 1e-9)
    return [replace(r, strength=float(s)) for r, s in zip(out, strengths, strict=True)]


def _asked(there: Sequence[Array], in_titles: Sequence[Array], weights: Array) -> Array:
    """Return which share of the question's words each source holds in title or body.

    Shape [sources]; by weight. All 1 where no source holds any.
    """
    found = np.array(
        [np.maximum(t, m.max(0, initial=0.0)) for t, m in zip(in_titles, there, strict=True)]
    )
    shares: Array = found[:, :-1] @ weights[:-1] / max(float(weights[:-1].sum()), 1e-9)
    return shares if shares.any() else np.ones(len(shares))


def _brief(cover: Array, lengths: Array, evident: Array) -> Array:
    """Return the cover of each sentence against its length, plus a bonus for evidence."""
    brief: Array = cover / (0.6 + 0.4 * np.minimum(lengths, 60) / 22)
    return brief + 0.25 * evident * (cover > 0)


def _subject(passage: Passage, match: Array) -> Array:
    """Return how well the subject of the first sentence matches each term; shape [terms]."""
    if not passage.sentences:
        return np.zeros(match.shape[1])
    first = passage.sentences[0]
    end = next((i for i in range(first.first + 1, first.last) if is_verb(passage.words[i])), 0)
    subject: Array = match[first.first : min(end, first.first + 8)].max(0, initial=0.0)
    return subject


def _best(values: Array, passage: Passage) -> Array:
    return np.array([values[s.first : s.last].max() for s in passage.sentences])
