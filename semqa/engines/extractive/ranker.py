"""The ranker: from word features to the span of each source that is worth most.

A logistic regression gives each word the chance that a person would quote it; a span is worth
its expected F1 against the words a person would quote.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.candidates import Candidates, find_candidates
from semqa.engines.extractive.features import title_features, word_features
from semqa.engines.extractive.lexicon import ARTICLES, STOPWORDS, stem
from semqa.engines.extractive.passage import Passage, read_passage, split_words
from semqa.engines.extractive.question import Question, read_question
from semqa.engines.extractive.relevance import Relevance, measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from semqa.quotes import Source

    Array = NDArray[np.float64]

__all__ = ["Reading", "Weights", "load_weights", "read_sources", "score_spans"]


@dataclass(frozen=True, slots=True)
class Weights:
    """What the fit learned: feature name to weight, with a constant under ``"bias"``.

    Attributes:
        word: logistic regression of the chance that a word is quoted.
        title: logistic regression of the chance that the title is quoted.
    """

    word: Mapping[str, float]
    title: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """One source as the ranker sees it.

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


@lru_cache(maxsize=1)
def load_weights() -> Weights:
    """Return the weights that ship with the package."""
    text = resources.files(__package__).joinpath("weights.json").read_text("utf-8")
    data = json.loads(text)
    return Weights(data["word"], data["title"])


def read_sources(question_text: str, sources: Sequence[Source]) -> tuple[Question, list[Reading]]:
    """Read a question and its sources."""
    question = read_question(question_text)
    passages = [read_passage(s.text, s.title, question.stems) for s in sources]
    titles = [split_words(s.title) for s in sources]
    stems = [frozenset(stem(w) for w in t if w not in STOPWORDS) for t in titles]
    readings = []
    for passage, relevance, title, title_stems in zip(
        passages, measure(question, passages, stems), titles, stems, strict=True
    ):
        candidates = find_candidates(passage, relevance.evidence)
        readings.append(
            Reading(
                passage,
                relevance,
                candidates,
                word_features(question, passage, relevance, candidates),
                title_features(question, passage, relevance, title, title_stems),
                [w for w in title if w not in ARTICLES],
            )
        )
    return question, readings


def _logistic(z: Array) -> Array:
    chance: Array = 1.0 / (1.0 + np.exp(-np.clip(z, -30.0, 30.0)))
    return chance


def chances(reading: Reading, weights: Weights) -> tuple[Array, float]:
    """Return the chance that each word is quoted, shape [words], and that the title is."""
    z = np.full(len(reading.passage.words), weights.word["bias"])
    for name, values in reading.words.items():
        z += weights.word.get(name, 0.0) * values
    words = _logistic(z) * (reading.relevance.sentence_of >= 0)
    t = weights.title["bias"] + sum(
        weights.title.get(name, 0.0) * value for name, value in reading.title.items()
    )
    return words, float(_logistic(np.array(t))) if reading.title_words else 0.0


def score_spans(reading: Reading, weights: Weights) -> tuple[Array, Array]:
    """Return the expected F1 of each candidate: alone, and with the title quoted before it.

    With p the chance that a word is quoted, a span S has about 2 * sum(p over S) / (|S| + sum(p));
    articles do not count. Shapes [spans].
    """
    p, title = chances(reading, weights)
    c, passage = reading.candidates, reading.passage
    counted = np.array([float(w not in ARTICLES) for w in passage.words])
    mass, size = (np.concatenate([[0.0], np.cumsum(x)]) for x in (p * counted, counted))
    inside, length = mass[c.last] - mass[c.first], size[c.last] - size[c.first]
    size_of_title = len(reading.title_words)
    expected = mass[-1] + title * size_of_title
    alone = 2 * inside / np.maximum(length + expected, 1e-6)
    if not size_of_title:
        return alone, np.full(len(alone), -1.0)
    repeated = _repeated(reading)
    gained = title * size_of_title * (1 - repeated)
    return alone, 2 * (inside + gained) / (length + size_of_title + expected)


def _repeated(reading: Reading) -> Array:
    """Return which share of the title's words each span repeats; shape [spans]."""
    c, words = reading.candidates, reading.passage.words
    distinct = sorted(set(reading.title_words))
    there = np.array([[float(w == t) for t in distinct] for w in words]).reshape(-1, len(distinct))
    counts = np.concatenate([np.zeros((1, len(distinct))), np.cumsum(there, axis=0)])
    share: Array = ((counts[c.last] - counts[c.first]) > 0).mean(1)
    return share
