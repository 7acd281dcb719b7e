"""The script that fits the weights: its regression, and where it finds the quotes."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from types import ModuleType

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/fit_extractive.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fit_extractive", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_without_shrinkage_one_flag_gives_the_log_odds(script: ModuleType) -> None:
    flag = np.array([[0.0]] * 4 + [[1.0]] * 4)
    labels = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.5])
    weight, bias = script.logistic(flag, labels, np.ones(8), 1e-9)
    assert bias == pytest.approx(math.log(1 / 3), abs=1e-6)
    assert weight + bias == pytest.approx(math.log(3), abs=1e-6)


def test_a_constant_feature_gets_no_weight_and_counts_are_repeats(script: ModuleType) -> None:
    draw = np.random.default_rng(0)
    features = np.hstack([draw.normal(size=(20, 2)), np.ones((20, 1))])
    labels = draw.random(20)
    counted = script.logistic(features, labels, np.full(20, 2.0), 4.0)
    repeated = script.logistic(np.tile(features, (2, 1)), np.tile(labels, 2), np.ones(40), 4.0)
    assert counted[2] == 0.0
    assert counted == pytest.approx(repeated)


def test_shrinkage_pulls_the_weights_to_zero(script: ModuleType) -> None:
    features = np.linspace(-1, 1, 30)[:, None]
    labels = (features[:, 0] > 0.1).astype(float)
    sizes = [
        abs(script.logistic(features, labels, np.ones(30), penalty)[0])
        for penalty in (0.1, 10.0, 1000.0)
    ]
    assert sizes == sorted(sizes, reverse=True)


def test_a_quote_that_occurs_twice_is_placed_near_the_others(script: ModuleType) -> None:
    text = "in Oslo he sang. Much later he died in Oslo."
    assert script.places_of(text, ["he died", "in Oslo"]) == [(28, 35), (36, 43)]
    assert script.places_of(text, ["absent", ""]) == []
