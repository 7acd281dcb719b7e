"""Systems against the best of them, or a baseline."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from semqa.attribution.ais import Rate, Verdict, compare_systems, system_rates
from semqa.attribution.ais.rates import SystemTest
from semqa.errors import InputError
from semqa.metrics.significance import compare_rates
from tests.attribution.ais.makers import verdicts

BEST = verdicts("best", not_ais=10, ais=90)
CLOSE = verdicts("close", not_ais=20, ais=80)
WORST = verdicts("worst", flagged=4, unclear=30, not_ais=36, ais=30)
ALL = [*CLOSE, *WORST, *BEST]


def p_values(found: Sequence[object]) -> list[float]:
    return [each.p for each in found]  # type: ignore[attr-defined]


def test_the_best_is_that_of_each_column() -> None:
    by_measure = {
        measure: {(each.system, each.other) for each in compare_systems(ALL, measure)}
        for measure in ("flag", "int", "ais")
    }
    assert by_measure["ais"] == {("close", "best"), ("worst", "best")}
    assert by_measure["int"] == by_measure["flag"] == {("worst", "close"), ("best", "close")}


def test_a_baseline_is_compared_with_in_both_directions() -> None:
    found = {each.system: each for each in compare_systems(ALL, "ais", baseline="close")}
    assert found["best"].difference == pytest.approx(10)
    assert found["worst"].difference == pytest.approx(100 * 30 / 66 - 80)
    assert found["worst"].significant
    assert not found["best"].significant
    assert found["best"].p == compare_rates((90, 100), (80, 100)).p
    less = compare_systems(ALL, "ais", baseline="close", alternative="less")
    assert {each.system: each.p for each in less}["best"] == pytest.approx(0.977, abs=1e-3)


def test_corrections_count_the_comparisons_of_the_column() -> None:
    plain = compare_systems(ALL, "ais", level=0.05)
    corrected = compare_systems(ALL, "ais", correction="bonferroni", level=0.05)
    assert p_values(corrected) == p_values(plain)
    assert [each.adjusted for each in corrected] == [min(1.0, 2 * p) for p in p_values(plain)]
    close = next(each for each in plain if each.system == "close")
    assert close.significant
    tight = compare_systems(ALL, "ais", correction="bonferroni", level=0.049)
    assert 0.0245 < (close.p or 0) < 0.049
    assert [each.significant for each in tight if each.system == "close"] == [False]


def test_mcnemar_sees_what_independent_tests_do_not() -> None:
    # The close system fails on ten examples that the best one gets right, and never the other way.
    (found,) = compare_systems([*BEST, *CLOSE], "ais", test="mcnemar")
    assert found.pairs is not None
    assert (found.pairs.n, found.pairs.only_first, found.pairs.only_second) == (100, 0, 10)
    assert found.p == 2 / 2**10
    assert found.significant
    (independent,) = compare_systems([*BEST, *CLOSE], "ais")
    assert not independent.significant


@pytest.mark.parametrize("test", ["z", "fisher", "chi2", "welch", "mcnemar"])
def test_what_cannot_be_tested_says_why(test: SystemTest) -> None:
    nothing = verdicts("nothing", unclear=5)
    flagged = verdicts("flagged", flagged=5)
    found = compare_systems([*BEST, *nothing, *flagged], "ais", test=test)
    assert [(each.p, each.adjusted, each.difference) for each in found] == [(None, None, None)] * 2
    assert all(each.unscored and not each.significant for each in found)
    assert compare_systems(flagged, "ais") == []
    rates = system_rates(flagged)[0].to_dict()
    assert rates["int"] == {
        "count": 0,
        "n": 0,
        "percent": None,
        "unscored": "every output is flagged",
    }


def test_a_mistake_in_the_settings_is_named() -> None:
    with pytest.raises(InputError, match="baseline must"):
        compare_systems(ALL, "ais", baseline="bset")
    with pytest.raises(InputError, match="alternative must"):
        compare_systems(ALL, "ais", test="mcnemar", alternative="less")
    with pytest.raises(InputError, match="level must"):
        compare_systems(ALL, "ais", level=1)


def test_intervals_of_a_rate() -> None:
    rate = Rate(30, 60)
    assert rate.percent == 50
    low, high = rate.interval() or (0, 0)
    assert (low + high) / 2 == pytest.approx(50)
    drawn = rate.interval("bootstrap", seed=1) or (0, 0)
    assert drawn == pytest.approx((low, high), abs=2)
    assert Rate(0, 0).interval() is None


def test_a_verdict_hangs_together() -> None:
    with pytest.raises(ValueError, match="not judged"):
        Verdict("1", "m", "", True, True, None)
    with pytest.raises(ValueError, match="not compared with its source"):
        Verdict("1", "m", "", False, False, True)
