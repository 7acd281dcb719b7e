"""Who rates what: each item by several raters, each rater about as many items, in a shuffled order."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set


def deal(
    needed: Mapping[int, int],
    raters: Sequence[str],
    seed: int,
    *,
    had: Mapping[str, Set[int]] | None = None,
) -> dict[str, list[int]]:
    """Deal items out to raters.

    Each item goes to different raters, always to those who have the fewest; equals are drawn. So the
    numbers of items of two raters differ by one at most, unless some had items before. The same seed
    gives the same.

    Args:
        needed: ratings that each item still needs; more than there are raters for cannot be met.

    Returns:
        The new items of each rater, in the order in which to show them.

    Example:
        >>> sorted(len(items) for items in deal({n: 2 for n in range(6)}, "abc", 0).values())
        [4, 4, 4]
    """
    held = {name: set((had or {}).get(name, ())) for name in raters}
    load = Counter({name: len(items) for name, items in held.items()})
    drawn = random.Random(f"items {seed}")  # noqa: S311 - not a secret
    items = sorted(needed)
    drawn.shuffle(items)
    dealt: dict[str, list[int]] = {name: [] for name in raters}
    for item in items:
        free = [name for name in raters if item not in held[name]]
        drawn.shuffle(free)
        for name in sorted(free, key=load.__getitem__)[: needed[item]]:
            dealt[name].append(item)
            held[name].add(item)
            load[name] += 1
    for name, own in dealt.items():
        random.Random(f"order {seed} {name}").shuffle(own)  # noqa: S311
    return dealt


def with_gold(
    items: Sequence[int], gold: Sequence[int], qualify: int, seed: int, rater: str
) -> list[int]:
    """Return a rater's items with gold ones: some first, to qualify, and the others spread evenly.

    Args:
        gold: all gold items; every rater gets each of them.
        qualify: how many come first: the same ones for everybody.
    """
    first, rest = gold[:qualify], list(gold[qualify:])
    random.Random(f"gold {seed} {rater}").shuffle(rest)  # noqa: S311
    mixed = list(items)
    for count, one in enumerate(rest, 1):
        mixed.insert(round(count * (len(items) + 1) / (len(rest) + 1)) + count - 1, one)
    return [*first, *mixed]
