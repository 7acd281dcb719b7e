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

from semqa.engines.extractive.lexicon import ARTICLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from semqa.engines.extractive.reading import Reading

    Array = NDArray[np.float64]

__all__ = ["Weights", "load_weights", "score_spans"]


@dataclass(frozen=True, slots=True)
class Weights:
    """What the fit learned: feature name to weight, with a constant under ``"bias"``.

    Attributes:
        word: logistic regression of the chance that a word is quoted.
        title: logistic regression of the chance that the title is quoted.
    """

    word: Mapping[str, float]
    title: Mapping[str, float]


@lru_cache(maxsize=1)
def load_weights() -> Weights:
    """Return the weights that ship with the package."""
    text = resources.files(__package__).joinpath("weights.json").read_text("utf-8")
    data = json.loads(text)
    return Weights(data["word"], data["title"])


def _logistic(z: Array) -> Array:
    chance: Array = 1.0 / (1.0 + np.exp(-np.clip(z, -30.0, 30.0)))
    return chance


def chances(reading: Reading, weights: Weights) -> tuple[Array, float]:
    """Return the chance that each word is quoted, shape [words], and that the title is."""
    z = np.full(len(reading.passage.words), weights.word["bias"])
    for name, values in reading.words.items():
        z += weights.word.get(name, 0.0) * values
    words = _logistic(z) * (reading.passage.sentence_of >= 0)
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
    mass = p * counted
    inside, length = c.total(mass), c.total(counted)
    size_of_title = len(reading.title_words)
    expected = float(mass.sum()) + title * size_of_title
    alone = 2 * inside / np.maximum(length + expected, 1e-6)
    if not size_of_title:
        return alone, np.full(len(alone), -1.0)
    repeated = _repeated(reading)
    gained = title * size_of_title * (1 - repeated)
    return alone, 2 * (inside + gained) / (length + size_of_title + expected)


def _repeated(reading: Reading) -> Array:
    """Return which share of the title's words each span repeats; shape [spans]."""
    distinct = sorted(set(reading.title_words))
    there = np.array([[word == title for word in reading.passage.words] for title in distinct])
    share: Array = np.mean([reading.candidates.holds(flags) for flags in there], axis=0)
    return share
