"""Which units of documents to quote, and whether any: two logistic regressions over `matching`."""

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

__all__ = ["Judgement", "Model", "judge", "load_models", "select"]

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
        unit: logistic regression of the chance that a person would quote a unit.
        answerable: logistic regression of the chance that the sources answer the question.
        least: chance of an answer below which there is none.
    """

    unit: Mapping[str, float]
    answerable: Mapping[str, float]
    least: float


@dataclass(frozen=True)
class Judgement:
    """What the model says of all units of a question.

    Attributes:
        chances: chance that a person would quote each unit, shape [rows].
        answerable: chance that the sources answer the question.
        least: chance of an answer below which there is none.
    """

    chances: Array
    answerable: float
    least: float

    @property
    def answers(self) -> bool:
        """Whether the sources are taken to answer the question."""
        return self.answerable >= self.least


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
    chances = _logistic(_weighed(match.names, match.features, model.unit))
    if not len(chances):
        return Judgement(chances, 0.0, model.least)
    names, values = evidence(match, chances)
    answerable = _logistic(_weighed(names, values[None], model.answerable))
    return Judgement(chances, float(answerable[0]), model.least)


def evidence(match: Match, chances: Array) -> tuple[tuple[str, ...], Array]:
    """Return by name what speaks for an answer in the sources; shape [features]."""
    column = {name: match.column(name) for name in match.names}
    order = np.argsort(-chances, kind="stable")[:3]
    top = int(order[0])
    odds = np.log((chances[order] + 1e-3) / (1 + 1e-3 - chances[order]))
    values = {
        "best": odds[0],
        "third": odds[-1],
        "words": column["words_soft"][top],
        "words_all": column["words_all"][top],
        "words_anywhere": column["words_all"].max(),
        "words_of_three": column["words_all"][order].max(),
        "answer": column["answer"][order].max(),
        "no_answer": column["no_answer"][order].min(),
        "bm25": column["bm25"].max(),
    }
    if match.by_meaning:
        values |= {
            "near": column["near"][top],
            "near_group": column["near_group"][top],
            "nearest": max(column["near"].max(), column["near_group"].max()),
            "near_of_three": column["near"][order].max(),
            "near_words": column["near_words"].max(),
        }
    return tuple(values), np.array(list(values.values()), dtype=float)


def select(judgement: Judgement) -> list[int]:
    """Return the rows to quote, the most certain first; at least one if there is any."""
    best = float(judgement.chances.max(initial=0.0))
    most = MOST if best >= UNSURE else MOST_UNSURE
    order = np.argsort(-judgement.chances, kind="stable")[:most].tolist()
    least = SHARE * best
    return [row for row in order if judgement.chances[row] >= least]


def _weighed(names: tuple[str, ...], features: Array, weights: Mapping[str, float]) -> Array:
    vector = np.array([weights.get(name, 0.0) for name in names])
    found: Array = features @ vector + weights["bias"]
    return found


def _logistic(z: Array) -> Array:
    chance: Array = 1.0 / (1.0 + np.exp(-np.clip(z, -30.0, 30.0)))
    return chance
