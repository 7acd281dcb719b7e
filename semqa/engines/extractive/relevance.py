"""Relevance of the words and sentences of each source to the question.

All statistics come from the given sources: a question word that occurs in most of their sentences
says little about which one answers, whatever its frequency elsewhere.
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
"""Pronouns that refer to the subject at the start of a sentence; it then gets full credit."""


_K1, _B = 1.2, 0.75
"""BM25 parameters at their usual values. Source: Robertson and Zaragoza 2009, section 3.5."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """Relevance of one passage to the question.

    Per word, shape [words], weights in [0, 1]:

    Attributes:
        query: weight of the question term that the word matches.
        topic: the same with terms of the title discounted.
        evidence: how much the word looks like the requested kind of answer.
        answers: the evidence if it is strong enough to count as an answer, else 0.
        asked: how well the word matches a question word that is neither in the title nor in the
            subject of the first sentence.
        near: evidence times the proximity to topic words.
        nearness: proximity to topic words.

    Per sentence, shape [sentences]:

    Attributes:
        cover: weight of the question terms found in the sentence.
        topic_cover: the same with topic weights.
        best_near: maximum of `near`.
        evident: maximum of `evidence`.
        brief: cover normalised by length, plus a bonus for evidence.
        bm25: BM25 score for the question.

    Per source:

    Attributes:
        title_cover: weight of the question terms in the title.
        strength: score of the best sentence relative to that of the best source, in [0, 1].
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
    """Return for each word the maximum weight in its sentence, decayed by distance.

    Args:
        weights: weight of each word, shape [words].
        sentence_of: sentence of each word, shape [words].
        reach: distance over which a weight decays by a factor e.
        side: -1 for the word and those to its left, 1 for it and those to its right, 0 for both.
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
    """Matches of the question's terms in one source; the last column is for an answer.

    Attributes:
        words: how well each word matches each term; shape [words, terms + 1].
        sentences: the maximum in each sentence; shape [sentences, terms + 1].
        title: 1 for each term in the title; shape [terms + 1].
        evidence: how much each word looks like an answer; shape [words].
    """

    passage: Passage
    words: Array
    sentences: Array
    title: Array
    evidence: Array


class _Terms(NamedTuple):
    """Weights of the question's terms; the last entry is for an answer.

    Attributes:
        rarity: inverse sentence frequency; shape [terms + 1].
        weights: weights that sum to 1; shape [terms + 1].
        own: 1 for terms of the question itself, less for those only in its context; shape
            [terms + 1].
    """

    rarity: Array
    weights: Array
    mean_length: float
    own: Array


def measure(
    inquiry: Inquiry, passages: Sequence[Passage], titles: Sequence[frozenset[str]]
) -> list[Relevance]:
    """Compute the relevance of all sources of one question."""
    trusted = trust(inquiry)
    matches = []
    for passage, title in zip(passages, titles, strict=True):
        check_cancelled()
        matches.append(_match(inquiry, passage, title, trusted.least))
    terms = _weigh_terms(matches, trusted.term, inquiry)
    # A yes-no question names its subject and asks about the rest.
    supplied = 1.0 if inquiry.kind == "whether" else tuning.SUPPLIED
    measured = [_measure_one(match, terms, supplied) for match in matches]
    strengths = _strengths(measured, matches, terms, trusted.source).tolist()
    return [replace(r, strength=s) for r, s in zip(measured, strengths, strict=True)]


def _match(inquiry: Inquiry, passage: Passage, title: frozenset[str], least: float) -> _Match:
    """Match one source; evidence of at least `least` counts as an answer."""
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
    # An answer counts like one more question word; it decides if the title has all the others.
    words[:, -1] = np.where(weights >= least, weights, 0.0)
    in_title = np.array([*(term in title for term in inquiry.stems), False], float)
    return _Match(passage, words, max_per_sentence(words, passage), in_title, weights)


def _weigh_terms(matches: Sequence[_Match], answer: float, inquiry: Inquiry) -> _Terms:
    """Weigh each term by its inverse frequency in the sentences of all sources.

    Args:
        answer: weight of an answer relative to a term of the same rarity.
    """
    sentences = np.concatenate([match.sentences for match in matches])
    lengths = np.concatenate([match.passage.lengths for match in matches])
    frequency = (sentences >= 1).sum(0)
    rarity = np.log1p((len(sentences) - frequency + 0.5) / (frequency + 0.5))
    weights = rarity + tuning.COMMON
    in_context = np.array([*(stem in inquiry.context for stem in inquiry.stems), False])
    own = np.where(in_context, tuning.CONTEXT, 1.0)
    rarity, weights = own * rarity, own * weights
    weights[-1] *= answer
    mean_length = float(lengths.mean()) if len(lengths) else 1.0
    return _Terms(rarity, weights / weights.sum(), mean_length, own)


def _measure_one(match: _Match, terms: _Terms, supplied: float) -> Relevance:
    """Compute the relevance of one source, except its strength.

    Args:
        supplied: credit for a term in the title or subject, unless the sentence begins with a
            pronoun for the subject.
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
    # A sentence that begins with "it" or "she" is about the subject as if it named it.
    referring = [passage.words[s.first] in _REFERRING for s in passage.sentences]
    credit = np.where(referring, 1.0, supplied)[:, None]
    cover = np.maximum(match.sentences, credit * given) @ terms.weights
    evident = np.minimum(max_per_sentence(match.evidence, passage), 1.0)
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
        best_near=max_per_sentence(near, passage),
        evident=evident,
        brief=_brief(cover, passage, evident),
        bm25=_bm25(match, terms),
        title_cover=float(match.title @ terms.weights),
        strength=0.0,
    )


def _strengths(
    measured: Sequence[Relevance], matches: Sequence[_Match], terms: _Terms, without_answer: float
) -> Array:
    """Return the strength of each source, from its best sentence; shape [sources].

    Args:
        without_answer: factor for a source without an answer if another source has one.
    """
    shares = _shares_held(matches, terms)
    bests = np.zeros((len(measured), 2))
    for k, (r, match) in enumerate(zip(measured, matches, strict=True)):
        # An answer counts in proportion to the source's relevance.
        own = match.sentences @ np.append(terms.weights[:-1], terms.weights[-1] * shares[k])
        brief = _brief(own, match.passage, r.evident)
        bests[k] = brief.max(initial=0.0), r.bm25.max(initial=0.0)
    strengths: Array = (bests / np.maximum(bests.max(0), 1e-9)).sum(1)
    answering = np.array([bool(r.answers.any()) for r in measured]) & (shares > 0)
    strengths *= np.where(answering | ~answering.any(), 1.0, without_answer)
    return strengths / max(float(strengths.max()), 1e-9)


def _shares_held(matches: Sequence[_Match], terms: _Terms) -> Array:
    """Return the weighted share of the question's terms in each source's title or body.

    Shape [sources]. All are 1 if no source has any of the terms.
    """
    found = np.array([np.maximum(m.title, m.sentences.max(0, initial=0.0)) for m in matches])
    weights = terms.weights[:-1]
    shares: Array = found[:, :-1] @ weights / max(float(weights.sum()), 1e-9)
    return shares if shares.any() else np.ones(len(shares))


def _bm25(match: _Match, terms: _Terms) -> Array:
    """Return the BM25 score of each sentence for the question; shape [sentences]."""
    held = match.words[:, :-1] >= 1
    counts = np.array([held[s.first : s.last].sum(0) for s in match.passage.sentences], float)
    counts = counts.reshape(-1, held.shape[1])
    damping = _K1 * (1 - _B + _B * match.passage.lengths / terms.mean_length)[:, None]
    scores: Array = (terms.rarity[:-1] * counts * (_K1 + 1) / (counts + damping)).sum(1)
    return scores


def _brief(cover: Array, passage: Passage, evident: Array) -> Array:
    """Return the cover of each sentence normalised by length, plus a bonus for evidence."""
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


def max_per_sentence(values: Array, passage: Passage) -> Array:
    """Return the maximum in each sentence; shape [words, ...] to [sentences, ...]."""
    best = [values[s.first : s.last].max(0) for s in passage.sentences]
    return np.array(best).reshape(-1, *values.shape[1:])
