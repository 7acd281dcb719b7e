"""What runs are called: by what tells them apart, and every one by another name."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from semqa.bench.plan import labels_of

RUNS = st.lists(
    st.fixed_dictionaries(
        {"engine": st.sampled_from(["t:a", "t:b", "lead-1"])},
        optional={
            "shots": st.integers(0, 2),
            "constraint": st.sampled_from(["on", "off"]),
            "seed": st.integers(0, 1),
            "limit": st.sampled_from([None, 3]),
        },
    ),
    max_size=12,
)


@given(RUNS)
def test_runs_that_differ_have_names_that_differ(runs: list[dict[str, object]]) -> None:
    labels = labels_of(runs)
    assert len(set(labels)) == len(runs)
    for run, label in zip(runs, labels, strict=True):
        assert label.startswith(str(run["engine"]))


def test_the_largest_grid_is_named_at_once() -> None:
    runs = [{"engine": "t:m", "max_words": at % 100, "seed": at // 100} for at in range(10_000)]
    started = time.process_time()
    labels = labels_of(runs)
    assert time.process_time() - started < 5  # naming each from all others takes an hour
    assert labels[0] == "t:m, max words 0, seed 0"
    assert len(set(labels)) == 10_000
