"""The model that judges which units answer a question, and whether any does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from semqa.engines.extractive.answerable import answerable_features
from semqa.engines.extractive.direct import contrary, direct_rows
from semqa.engines.extractive.tables import bands

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.matching import Match

    Array = NDArray[np.float64]

SHARE = 0.45
"""Minimum probability of a quoted unit relative to the best one; 0.4 and 0.5 are nearly as good."""

MOST = 10
"""Maximum number of quoted units, not counting context."""

CONTRARY = 0.05
"""Factor for the probability of units in contrary lists (`direct.contrary`)."""

DIRECT, BESIDE = (0.85, 0.95), 0.4
"""Probability and relevance of a unit that answers by its form, and the factor for other units."""


@dataclass(frozen=True)
class Trees:
    """Gradient-boosted trees; the log odds of a row are the sum of its leaf values.

    Source: Friedman 2001, algorithm 5 (for two classes); `scripts/fit_documents.py` fits them.

    Attributes:
        names: the features that the trees use.
        bias: initial value of the sum.
        feature: index of the feature that each node tests; this and the arrays below have shape
            [trees, nodes].
        threshold: a row goes left if its feature is at most this.
        left: index of the left child; a leaf points to itself.
        right: index of the right child; a leaf points to itself.
        value: log odds that a leaf adds; 0 for inner nodes.
        depth: number of steps from the root to the deepest leaf.
    """

    names: tuple[str, ...]
    bias: float
    feature: NDArray[np.intp]
    threshold: Array
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    value: Array
    depth: int

    @classmethod
    def of(
        cls, names: Sequence[str], bias: float, trees: Sequence[Sequence[Sequence[float]]]
    ) -> Trees:
        """Build trees from nodes ``[feature, threshold, left, right]`` and leaves ``[value]``."""
        shape = (len(trees), max(map(len, trees)))
        feature, left, right = (np.zeros(shape, dtype=np.intp) for _ in range(3))
        threshold, value = np.zeros(shape), np.zeros(shape)
        depth = 0
        for t, nodes in enumerate(trees):
            below = [0] * len(nodes)
            for n, node in enumerate(nodes):  # parents come before their children
                if len(node) == 1:
                    left[t, n] = right[t, n] = n
                    value[t, n] = node[0]
                    continue
                feature[t, n], threshold[t, n] = int(node[0]), node[1]
                left[t, n], right[t, n] = int(node[2]), int(node[3])
                below[int(node[2])] = below[int(node[3])] = below[n] + 1
            depth = max(depth, *below)
        return cls(tuple(names), bias, feature, threshold, left, right, value, depth)

    def odds(self, features: Array) -> Array:
        """Return the log odds of each row of features, which are in the order of `names`."""
        values = features.ravel()
        trees, nodes = self.feature.shape
        # Flat indexes are several times faster than pairs of indexes.
        root = np.arange(trees) * nodes
        row = (np.arange(len(features)) * len(self.names))[:, None]
        node = np.broadcast_to(root, (len(features), trees))
        for _ in range(self.depth):
            low = values.take(row + self.feature.take(node)) <= self.threshold.take(node)
            node = root + np.where(low, self.left.take(node), self.right.take(node))
        odds: Array = self.bias + self.value.take(node).sum(axis=1)
        return odds


@dataclass(frozen=True)
class Model:
    """The model that judges units.

    Attributes:
        unit: predicts whether a person would quote a unit, given that the documents answer.
        relevance: predicts the same if the documents may not answer the question.
        least: minimum relevance of the best unit for the sources to answer the question.
        unanswerable: predicts from `answerable_features` whether the documents do not answer a
            question on their subject; None if that is not predicted.
        most: the sources answer the question if this probability is less.
    """

    unit: Trees
    relevance: Trees
    least: float
    unanswerable: Trees | None = None
    most: float = 1.0

    @classmethod
    def of(cls, fitted: Mapping[str, Any]) -> Model:
        """Build a model from what `scripts/fit_documents.py` wrote."""
        trees = {
            name: Trees.of(**fitted[name])
            for name in ("unit", "relevance", "unanswerable")
            if name in fitted
        }
        return cls(**trees, least=fitted["least"], most=fitted.get("most", 1.0))


MOST_JUDGED = 120
"""Number of most likely units that the trees judge; the others get probability 0."""


@dataclass(frozen=True)
class Judgement:
    """The model's predictions for a question and all units.

    Attributes:
        chances: probability that a person would quote each unit, given that the sources answer the
            question; shape [rows].
        relevance: the same probability if the sources may not answer it; shape [rows].
        least: minimum relevance of the best unit for the sources to answer the question.
        unanswerable: probability that the sources do not answer a question on their subject.
        most: the sources answer the question if `unanswerable` is less.
    """

    chances: Array
    relevance: Array
    least: float
    unanswerable: float = 0.0
    most: float = 1.0

    @property
    def answers(self) -> bool:
        """Whether the sources answer the question, according to the model."""
        near = float(self.relevance.max(initial=0.0)) >= self.least
        return near and self.unanswerable < self.most


@lru_cache(maxsize=1)
def load_models() -> dict[str, Model]:
    """Return the models that ship with the package, by the value of `Match.judged_by`."""
    text = resources.files(__package__).joinpath("documents.json").read_text("utf-8")
    return {name: Model.of(fitted) for name, fitted in json.loads(text).items()}


def likeliest(found: Match) -> NDArray[np.intp]:
    """Return the rows sorted by a simple score: similarity plus shared words."""
    if not found.places:
        return np.zeros(0, dtype=np.intp)
    near = found.column("near_best" if found.by_meaning else "bm25_best")
    return np.argsort(-near - found.column("words_all"), kind="stable")


def judge(found: Match, model: Model | None = None) -> Judgement:
    """Predict which units answer the question, and whether any does.

    Args:
        model: by default the packaged model for these features.
    """
    model = model or load_models()[found.judged_by]
    rows = likeliest(found)[:MOST_JUDGED]
    chances, relevance = np.zeros((2, len(found.places)))
    if not len(rows):
        return Judgement(chances, relevance, model.least)
    for trees, out in ((model.unit, chances), (model.relevance, relevance)):
        order = [found.names.index(name) for name in trees.names]
        out[rows] = _logistic(trees.odds(found.features[rows][:, order]))
    others = contrary(found)
    chances[others], relevance[others] = CONTRARY * chances[others], CONTRARY * relevance[others]
    fitting = []
    for row, beside in bands(found, select(chances)):
        fitting.append(row)
        for values in (chances, relevance):
            values[row], values[beside] = values[[row, *beside]].max(), 0.0
    direct, others = direct_rows(found)
    if direct:
        factors = np.full(len(chances), BESIDE)
        factors[others] = 1.0
        chances, relevance = factors * chances, factors * relevance
        chances[direct], relevance[direct] = DIRECT
    if direct or int(chances.argmax()) in fitting or model.unanswerable is None:
        return Judgement(chances, relevance, model.least)
    features = answerable_features(found, chances, select(chances))
    odds = model.unanswerable.odds(np.array([[features[n] for n in model.unanswerable.names]]))
    return Judgement(chances, relevance, model.least, float(_logistic(odds)[0]), model.most)


def blend(whole: Judgement, part: Judgement) -> Judgement:
    """Average two judgements of the same units in log odds."""
    unanswerable = np.array([whole.unanswerable]), np.array([part.unanswerable])
    return Judgement(
        _mean_odds(whole.chances, part.chances),
        _mean_odds(whole.relevance, part.relevance),
        whole.least,
        float(_mean_odds(*unanswerable)[0]),
        whole.most,
    )


def select(chances: Array) -> list[int]:
    """Return the rows to quote, most likely first; at least one if there are any rows."""
    least = SHARE * float(chances.max(initial=0.0))
    order = np.argsort(-chances, kind="stable")[:MOST].tolist()
    return [row for row in order if chances[row] >= least]


def _mean_odds(one: Array, other: Array) -> Array:
    odds = [np.log((each + 1e-6) / (1 + 1e-6 - each)) for each in (one, other)]
    return _logistic((odds[0] + odds[1]) / 2)


def _logistic(z: Array) -> Array:
    chance: Array = 1.0 / (1.0 + np.exp(-np.clip(z, -30.0, 30.0)))
    return chance
