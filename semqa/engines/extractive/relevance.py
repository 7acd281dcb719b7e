"""Relevance: how the words and sentences of each source relate to the question.

All statistics come from the sources at hand: a question word that stands in most of their
sentences tells little about which sentence answers, whatever its frequency elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.engines.cancellation import check_cancelled
from semqa.engines.extractive import tuning
from semqa.engines.extractive.evidence import evidence, trust
from semqa.engines.extractive.lexicon import PERSONS, THINGS, is_verb, related

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.passage import Passage
    from semqa.engines.extractive.question import Inquiry

    Array = NDArray[np.float64]

_REFERRING = PERSONS | THINGS
"""Words at the start of a sentence that stand for the subject, which then is credited in full."""


_K1, _B = 1.2, 0.75
"""Parameters of BM25; their usual values. Source: Robertson and Zaragoza 2009, section 3.5."""


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


class _Match(NamedTuple):
    """What one source holds of the question's terms and, as the last column, of an answer.

    Attributes:
        words: how well each word matches each term; shape [words, terms + 1].
        sentences: the best of each sentence; shape [sentences, terms + 1].
        title: 1 for each term that the title holds; shape [terms + 1].
        evidence: how much each word looks like an answer; shape [words].
    """

    passage: Passage
    words: Array
    sentences: Array
    title: Array
    evidence: Array


class _Terms(NamedTuple):
    """What the question's terms and, last, an answer weigh.

    Attributes:
        rarity: how rarely sentences hold each; shape [terms + 1].
        weights: what each weighs, summing to 1; shape [terms + 1].
        own: 1 for the terms of the question itself, less for those of its context alone; shape
            [terms + 1].
    """

    rarity: Array
    weights: Array
    mean_length: float
    own: Array


def measure(
    inquiry: Inquiry, passages: Sequence[Passage], titles: Sequence[frozenset[str]]
) -> list[Relevance]:
    """Measure all sources of one question together."""
    trusted = trust(inquiry)
    matches = []
    for passage, title in zip(passages, titles, strict=True):
        check_cancelled()
        matches.append(_match(inquiry, passage, title, trusted.least))
    terms = _weigh_terms(matches, trusted.term, inquiry)
    # A question of yes or no names its subject, and asks about the rest.
    supplied = 1.0 if inquiry.kind == "whether" else tuning.SUPPLIED
    measured = [_measure_one(match, terms, supplied) for match in matches]
    strengths = _strengths(measured, matches, terms, trusted.source).tolist()
    return [replace(r, strength=s) for r, s in zip(measured, strengths, strict=True)]


def _match(inquiry: Inquiry, passage: Passage, title: frozenset[str], least: float) -> _Match:
    """Match one source; evidence of at least `least` is an answer."""
    index = {term: i for i, term in enumerate(inquiry.stems)}
    soft: dict[str, list[int]] = {}
    for term, i in index.items():
        for other in related(term):
            soft.setdefault(other, []).append(i)
    words = np.zeros((len(passage.words), len(index) + 1))
    for i, found in enumerate(passage.stems):
        for j in soft.get(found, ()):
            words[i, j] = tuning.SOFT
        if found in index:
            words[i, index[found]] = 1.0
    weights = evidence(passage, inquiry)
    # An answer counts like one more word of the question: it decides where the title holds all.
    words[:, -1] = np.where(weights >= least, weights, 0.0)
    in_title = np.array([*(term in title for term in inquiry.stems), False], float)
    return _Match(passage, words, best_of_each(words, passage), in_title, weights)


def _weigh_terms(matches: Sequence[_Match], answer: float, inquiry: Inquiry) -> _Terms:
    """Weigh each term by how few sentences of all sources hold it.

    Args:
        answer: what an answer weighs against a term as rare.
    """
    there = np.concatenate([match.sentences for match in matches])
    lengths = np.concatenate([match.passage.lengths for match in matches])
    holding = (there >= 1).sum(0)
    rarity = np.log1p((len(there) - holding + 0.5) / (holding + 0.5))
    weights = rarity + tuning.COMMON
    told = np.array([*(stem in inquiry.context for stem in inquiry.stems), False])
    own = np.where(told, tuning.CONTEXT, 1.0)
    rarity, weights = own * rarity, own * weights
    weights[-1] *= answer
    mean_length = float(lengths.mean()) if len(lengths) else 1.0
    return _Terms(rarity, weights / weights.sum(), mean_length, own)


def _measure_one(match: _Match, terms: _Terms, supplied: float) -> Relevance:
    """Measure one source, all but its strength.

    Args:
        supplied: what a sentence is credited with of a term that title or subject hold, where it
            does not begin with a word that stands for them.
    """
    passage = match.passage
    given = np.maximum(match.title, _subject(match) >= 1)
    given[-1] = 0.0
    topical = terms.weights * (1 - (1 - tuning.IN_TITLE) * match.title)
    topical /= topical.sum()
    nearness = np.zeros(len(passage.words))
    for column, weight in zip(match.words.T, topical, strict=True):
        nearness += weight * decayed(column, passage.sentence_of, tuning.REACH)
    near = match.evidence * nearness
    # A sentence that begins with "it" or "she" speaks of the subject as much as one that names it.
    referring = [passage.words[s.first] in _REFERRING for s in passage.sentences]
    credit = np.where(referring, 1.0, supplied)[:, None]
    cover = np.maximum(match.sentences, credit * given) @ terms.weights
    evident = np.minimum(best_of_each(match.evidence, passage), 1.0)
    return Relevance(
        query=match.words @ terms.weights,
        topic=match.words @ topical,
        evidence=match.evidence,
        answers=match.words[:, -1],
        asked=(match.words[:, :-1] * (given[:-1] == 0) * terms.own[:-1]).max(1, initial=0.0),
        near=near,
        nearness=nearness,
        cover=cover,
        topic_cover=match.sentences @ topical,
        best_near=best_of_each(near, passage),
        evident=evident,
        brief=_brief(cover, passage, evident),
        bm25=_bm25(match, terms),
        title_cover=float(match.title @ terms.weights),
        strength=0.0,
    )


def _strengths(
    measured: Sequence[Relevance], matches: Sequence[_Match], terms: _Terms, unanswering: float
) -> Array:
    """Compare the sources by what their sentences hold themselves; shape [sources].

    Args:
        unanswering: share of its strength that a source without an answer keeps.
    """
    shares = _shares_held(matches, terms)
    bests = np.zeros((len(measured), 2))
    for k, (r, match) in enumerate(zip(measured, matches, strict=True)):
        # An answer counts for as much as the source has to do with the question.
        own = match.sentences @ np.append(terms.weights[:-1], terms.weights[-1] * shares[k])
        brief = _brief(own, match.passage, r.evident)
        bests[k] = brief.max(initial=0.0), r.bm25.max(initial=0.0)
    strengths: Array = (bests / np.maximum(bests.max(0), 1e-9)).sum(1)
    answering = np.array([bool(r.answers.any()) for r in measured]) & (shares > 0)
    strengths *= np.where(answering | ~answering.any(), 1.0, unanswering)
    return strengths / max(float(strengths.max()), 1e-9)


def _shares_held(matches: Sequence[_Match], terms: _Terms) -> Array:
    """Return which share of the question's words each source holds in title or body.

    Shape [sources]; by weight. All 1 where no source holds any.
    """
    found = np.array([np.maximum(m.title, m.sentences.max(0, initial=0.0)) for m in matches])
    weights = terms.weights[:-1]
    shares: Array = found[:, :-1] @ weights / max(float(weights.sum()), 1e-9)
    return shares if shares.any() else np.ones(len(shares))


def _bm25(match: _Match, terms: _Terms) -> Array:
    """Return BM25 of each sentence against the question; shape [sentences]."""
    held = match.words[:, :-1] >= 1
    counts = np.array([held[s.first : s.last].sum(0) for s in match.passage.sentences], float)
    counts = counts.reshape(-1, held.shape[1])
    damping = _K1 * (1 - _B + _B * match.passage.lengths / terms.mean_length)[:, None]
    scores: Array = (terms.rarity[:-1] * counts * (_K1 + 1) / (counts + damping)).sum(1)
    return scores


def _brief(cover: Array, passage: Passage, evident: Array) -> Array:
    """Return the cover of each sentence against its length, plus a bonus for evidence."""
    lengths = np.minimum(passage.lengths, tuning.LONGEST_COUNTED) / tuning.TYPICAL_LENGTH
    brief: Array = cover / (1 - tuning.LENGTH_SHARE + tuning.LENGTH_SHARE * lengths)
    return brief + tuning.EVIDENCE_BONUS * evident * (cover > 0)


def _subject(match: _Match) -> Array:
    """Return how well the subject of the first sentence matches each term; shape [terms + 1]."""
    passage = match.passage
    if not passage.sentences:
        return np.zeros(match.words.shape[1])
    first = passage.sentences[0]
    end = next((i for i in range(first.first + 1, first.last) if is_verb(passage.words[i])), 0)
    end = min(end, first.first + tuning.SUBJECT_WORDS)
    subject: Array = match.words[first.first : end].max(0, initial=0.0)
    return subject


def best_of_each(values: Array, passage: Passage) -> Array:
    """Return the greatest value of each sentence; shape [words, ...] to [sentences, ...]."""
    best = [values[s.first : s.last].max(0) for s in passage.sentences]
    return np.array(best).reshape(-1, *values.shape[1:])
