"""Means with intervals."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.errors import InputError
from semqa.metrics.means import Mean, mean_with_interval


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.integers(0, 5))
def test_interval_is_the_percentiles_of_resampled_means(values: list[float], seed: int) -> None:
    found = mean_with_interval(values, resamples=50, seed=seed, confidence=0.9)
    generator = np.random.default_rng(seed)
    drawn = generator.integers(len(values), size=(50, len(values)))
    means = [fmean(values[place] for place in row) for row in drawn]
    assert found.value == fmean(values)
    assert found.interval == pytest.approx(tuple(np.percentile(means, [5, 95])), abs=1e-12)
    assert found.n == len(values)


def test_without_values_there_is_no_mean() -> None:
    assert mean_with_interval([]) == Mean(None, 0, None)
    assert mean_with_interval([0.25]) == Mean(0.25, 1, None)


def test_many_values_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mean_with_interval([0.0, 0.5, 1.0], resamples=10)
    monkeypatch.setattr("semqa.metrics.means._DRAWN_AT_ONCE", 7)
    assert mean_with_interval([0.0, 0.5, 1.0], resamples=10) == whole


@pytest.mark.parametrize(("resamples", "confidence"), [(-1, 0.95), (1, 0.0), (1, 1.0)])
def test_settings_out_of_range(resamples: int, confidence: float) -> None:
    with pytest.raises(InputError, match=r"expected (at least 0|between 0 and 1); correct it"):
        mean_with_interval([1.0], resamples=resamples, confidence=confidence)
