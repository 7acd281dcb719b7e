"""Agreement: of raters with each other, with their consensus, and of one rater with themselves.

Several raters' labels are given as *units*: for each item, the labels that it got, in any order and
number; items that fewer than two raters labelled say nothing about agreement and are left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from semqa.errors import InputError
from semqa.extras import require
from semqa.metrics.statistic import Statistic

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    Units = Sequence[Collection[Hashable]]

__all__ = [
    "ConsensusFit",
    "Level",
    "cohen_kappa",
    "consensus_fit",
    "krippendorff_alpha",
    "pairwise_agreement",
    "unanimity",
]

Level = Literal["nominal", "ordinal", "interval", "ratio"]

NO_ITEMS = "no items"
NOT_TWICE = "no item has two labels or more"
ONE_VALUE = "all labels are the same, so that no disagreement could be expected"


@dataclass(frozen=True, slots=True)
class ConsensusFit:
    """How single labels stand to the consensus of their items, all labels pooled.

    Attributes:
        f1: for each label, F1 of the single labels as predictions of the consensus, 0-1.
        macro: the mean of those.
        accuracy: the share of single labels that are their item's consensus.
    """

    f1: Mapping[Hashable, Statistic]
    macro: Statistic
    accuracy: Statistic


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> Statistic:
    """Return Cohen's kappa of two raters (or two runs of one) who labelled the same items.

    Args:
        first: a label an item.
        second: a label an item, in the same order.

    Returns:
        1 for agreement throughout, 0 for what chance gives, at least -1. Unscored without items,
        and where both give one and the same label throughout: chance then explains all of it, and
        kappa is 0/0.

    Raises:
        InputError: they labelled different numbers of items.

    Source: Cohen, "A Coefficient of Agreement for Nominal Scales" (1960), equation 1.

    Example:
        >>> cohen_kappa("yynn", "ynnn").value
        0.5
        >>> cohen_kappa("yy", "yy").unscored
        'all labels are the same, so that no disagreement could be expected'
    """
    if len(first) != len(second):
        raise InputError(
            f"kappa: got {len(first)} and {len(second)} labels, expected one an item from both; "
            "compare the same items"
        )
    n = len(first)
    if not n:
        return Statistic.none(NO_ITEMS)
    left, right = Counter(first), Counter(second)
    agreed = sum(a == b for a, b in zip(first, second, strict=True))
    # Whole numbers to the end: where chance explains all, rounding must not hide it.
    chance = sum(count * right[label] for label, count in left.items())
    if chance == n * n:
        return Statistic.none(ONE_VALUE, n)
    return Statistic((n * agreed - chance) / (n * n - chance), n)


def krippendorff_alpha(units: Units, *, level: Level = "nominal") -> Statistic:
    """Return Krippendorff's alpha, which takes any number of raters and missing labels.

    Args:
        units: the labels of each item; numbers where the level is not nominal.
        level: of measurement, which says how far apart two labels are.

    Returns:
        1 for agreement throughout, 0 for what chance gives; `Statistic.n` counts the items with
        two labels or more. Unscored where there is none, or all labels are the same.

    Raises:
        InputError: a label of a level that is not nominal is no number.
        MissingExtraError: the package krippendorff is not installed.

    Source: Krippendorff, "Content Analysis" (4th edition, 2018), section 12.3.

    Example:
        >>> round(krippendorff_alpha(["yyy", "nnn", "yyn"]).value, 3)
        0.6
    """
    pairable = _pairable(units)
    if not pairable:
        return Statistic.none(NOT_TWICE)
    labels = set(chain.from_iterable(pairable))
    if len(labels) == 1:
        return Statistic.none(ONE_VALUE, len(pairable))
    if level != "nominal" and not all(isinstance(label, (int, float)) for label in labels):
        raise InputError(
            f"alpha: got labels that are no numbers at the level {level}, expected numbers; "
            "give numbers, or take the level nominal"
        )
    import numpy as np

    package = require("krippendorff", extra="eval", purpose="Krippendorff's alpha")
    domain: list[Any] = sorted(labels, key=repr if level == "nominal" else None)
    place = {label: number for number, label in enumerate(domain)}
    counts = np.zeros((len(pairable), len(domain)), dtype=np.int64)
    for row, unit in enumerate(pairable):
        for label in unit:
            counts[row, place[label]] += 1
    alpha = package.alpha(
        value_counts=counts,
        value_domain=list(range(len(domain))) if level == "nominal" else domain,
        level_of_measurement=level,
    )
    return Statistic(float(alpha), len(pairable))


def pairwise_agreement(units: Units) -> Statistic:
    """Return the chance that two labels of one item, drawn at random, are equal: mean over items.

    Example:
        >>> round(pairwise_agreement(["yyy", "yyn"]).value, 3)
        0.667
    """
    pairable = _pairable(units)
    if not pairable:
        return Statistic.none(NOT_TWICE)
    return Statistic(fmean(map(_agreeing_pairs, pairable)), len(pairable))


def unanimity(units: Units) -> Statistic:
    """Return the share of items whose labels are all equal."""
    pairable = _pairable(units)
    if not pairable:
        return Statistic.none(NOT_TWICE)
    return Statistic(fmean(len(set(unit)) == 1 for unit in pairable), len(pairable))


def consensus_fit(units: Units, consensus: Sequence[Hashable]) -> ConsensusFit:
    """Hold each single label to the consensus of its item, as if it predicted that.

    The consensus is made of the same labels, so this flatters raters the more the fewer they are.

    Args:
        units: the labels of each item.
        consensus: one label an item; items where it is None are left out.

    Returns:
        F1 for each label that occurs, their mean, and accuracy; n counts single labels.

    Raises:
        InputError: there is not one consensus an item.
    """
    if len(units) != len(consensus):
        raise InputError(
            f"consensus: got {len(consensus)} for {len(units)} items, expected one an item; "
            "give None where there is none"
        )
    pairs = [
        (label, truth)
        for unit, truth in zip(units, consensus, strict=True)
        if truth is not None
        for label in unit
    ]
    if not pairs:
        nothing = Statistic.none(NO_ITEMS)
        return ConsensusFit({}, nothing, nothing)
    n = len(pairs)
    given, true = Counter(label for label, _ in pairs), Counter(truth for _, truth in pairs)
    right = Counter(label for label, truth in pairs if label == truth)
    # A label that occurs at all makes the denominator positive.
    f1 = {
        label: Statistic(2 * right[label] / (given[label] + true[label]), n)
        for label in sorted(given.keys() | true.keys(), key=repr)
    }
    macro = fmean(2 * right[label] / (given[label] + true[label]) for label in f1)
    return ConsensusFit(f1, Statistic(macro, n), Statistic(right.total() / n, n))


def _pairable(units: Units) -> Units:
    return [unit for unit in units if len(unit) > 1]


def _agreeing_pairs(unit: Collection[Hashable]) -> float:
    n = len(unit)
    return sum(count * (count - 1) for count in Counter(unit).values()) / (n * (n - 1))
