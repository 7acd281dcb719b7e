"""Assigning items to raters."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from semqa.studies.assigning import deal, with_gold


@given(
    items=st.integers(1, 40),
    raters=st.integers(1, 8),
    per_item=st.integers(1, 8),
    seed=st.integers(0, 5),
)
def test_items_are_assigned_evenly_and_to_different_raters(
    items: int, raters: int, per_item: int, seed: int
) -> None:
    names = [f"r{n}" for n in range(raters)]
    needed = dict.fromkeys(range(items), min(per_item, raters))
    dealt = deal(needed, names, seed)
    assert Counter(item for own in dealt.values() for item in own) == Counter(needed)
    assert all(len(set(own)) == len(own) for own in dealt.values())
    loads = [len(own) for own in dealt.values()]
    assert max(loads) - min(loads) <= 1
    assert deal(needed, names, seed) == dealt


@given(
    items=st.integers(0, 30),
    gold=st.integers(0, 10),
    qualify=st.integers(0, 10),
    seed=st.integers(0, 3),
)
def test_gold_items_come_first_or_are_spread(
    items: int, gold: int, qualify: int, seed: int
) -> None:
    own, golden = list(range(items)), list(range(100, 100 + gold))
    qualify = min(qualify, gold)
    order = with_gold(own, golden, qualify, seed, "ann")
    assert sorted(order) == [*own, *golden]
    assert order[:qualify] == golden[:qualify]
    assert [item for item in order if item < 100] == own
    gaps = "".join("g" if item >= 100 else "." for item in order[qualify:]).split("g")
    if items >= gold:
        assert max(map(len, gaps)) <= items / (gold - qualify + 1) + 2
