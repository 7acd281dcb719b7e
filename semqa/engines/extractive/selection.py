"""Which units of documents to quote, and whether any: a logistic regression over `matching`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from semqa.engines.extractive.matching import Match

    Array = NDArray[np.float64]

__all__ = ["Judgement", "Model", "blend", "judge", "load_models", "select"]

SHARE = 0.45
"""A unit is quoted if its chance is at least this share of the best one's."""

MOST = 10
"""Units that are quoted at most, what they need to be understood not counted."""

UNSURE, MOST_UNSURE = 0.1, 3
"""Chance of the best unit below which no more than so many are quoted."""


@dataclass(frozen=True)
class Model:
    """Weights by the names of features, with a constant under ``"bias"``.

    Attributes:
        unit: logistic regression of the chance that a person would quote a unit of documents that
            answer the question.
        relevance: the same where half of the questions are asked of documents that do not.
        least: nearness below which the sources do not answer.
    """

    unit: Mapping[str, float]
    relevance: Mapping[str, float]
    least: float


@dataclass(frozen=True)
class Judgement:
    """What the model says of all units of a question.

    Attributes:
        chances: chance that a person would quote each unit if the sources answer; shape [rows].
        relevance: that chance if they may as well not answer; shape [rows].
        nearness: how much the sources have to do with the question, from 0 to 1.
        least: nearness below which they do not answer it.
    """

    chances: Array
    relevance: Array
    nearness: float
    least: float

    @property
    def answers(self) -> bool:
        """Whether the sources are taken to answer the question."""
        return self.nearness >= self.least


@lru_cache(maxsize=1)
def load_models() -> tuple[Model, Model]:
    """Return the models that ship: with an encoder, and by words only."""
    text = resources.files(__package__).joinpath("documents.json").read_text("utf-8")
    data = json.loads(text)
    with_meaning, by_words = (Model(**data[name]) for name in ("meaning", "words"))
    return with_meaning, by_words


def judge(match: Match, model: Model | None = None) -> Judgement:
    """Judge all units.

    Args:
        match: the units, compared with the question.
        model: other weights than those that ship.
    """
    model = model or load_models()[0 if match.by_meaning else 1]
    chances, relevance = (
        _logistic(match.features @ [each.get(name, 0.0) for name in match.names] + each["bias"])
        for each in (model.unit, model.relevance)
    )
    return Judgement(chances, relevance, nearness(match, chances), model.least)


def nearness(match: Match, chances: Array) -> float:
    """Return how much the sources have to do with the question, from 0 to 1.

    By meaning that is the cosine of the nearest unit or paragraph; by words only it is the share of
    the question's words, the rarest counting most, in the best of the units most likely quoted.
    """
    if not len(chances):
        return 0.0
    if match.by_meaning:
        return max(0.0, *(float(match.column(name).max()) for name in ("near", "near_group")))
    top = np.argsort(-chances, kind="stable")[:3]
    return float(match.column("words_all")[top].max())


def blend(whole: Judgement, part: Judgement) -> Judgement:
    """Return the mean of two judgements of the same units, of their log odds."""
    chances = _mean_odds(whole.chances, part.chances)
    return Judgement(chances, part.relevance, whole.nearness, whole.least)


def select(judgement: Judgement) -> list[int]:
    """Return the rows to quote, the most certain first; at least one if there is any."""
    best = float(judgement.chances.max(initial=0.0))
    most = MOST if best >= UNSURE else MOST_UNSURE
    order = np.argsort(-judgement.chances, kind="stable")[:most].tolist()
    least = SHARE * best
    return [row for row in order if judgement.chances[row] >= least]


def _mean_odds(one: Array, other: Array) -> Array:
    odds = [np.log((each + 1e-6) / (1 + 1e-6 - each)) for each in (one, other)]
    return _logistic((odds[0] + odds[1]) / 2)


def _logistic(z: Array) -> Array:
    chance: Array = 1.0 / (1.0 + np.exp(-np.clip(z, -30.0, 30.0)))
    return chance
