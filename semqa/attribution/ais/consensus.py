"""The consensus of several annotators: by majority, question by question.

An output is flagged where more than half flag it. The others say whether it is interpretable, and
those of them who find it so whether it is attributable: each majority is among those who were
asked. Five annotators can tie only where some were not asked, as in the released files.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from semqa.attribution.ais.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.attribution.ais.rating import Rating

__all__ = ["RatedUnit", "Ties", "consensus", "group_ratings"]

Ties = Literal["no", "yes", "open"]
"""What half against half is: not a majority, hence no; yes; or left open, and out of the rates."""


@dataclass(frozen=True, slots=True)
class RatedUnit:
    """One output, or one sentence of it, with all that was said of it.

    Attributes:
        ratings: one an annotator.
        verdict: their consensus.
        tied: questions that half answered each way: ``int``, ``ais``.
    """

    ratings: tuple[Rating, ...]
    verdict: Verdict
    tied: tuple[str, ...] = ()

    @property
    def sentence(self) -> int | None:
        """Which sentence, from 1; None for a whole output."""
        return self.ratings[0].sentence


def consensus(ratings: Iterable[Rating], *, ties: Ties = "no") -> list[RatedUnit]:
    """Return the consensus on each output, or sentence, in order of appearance.

    Args:
        ratings: of any number of annotators.
        ties: what half against half means; a tie of flags never flags.

    Example:
        >>> from semqa.attribution.ais.rating import Rating
        >>> said = [Rating("1", "m", name, False, True, name != "c") for name in "abc"]
        >>> consensus(said)[0].verdict.attributable
        True
    """
    return [_unit(group, ties) for group in group_ratings(ratings)]


def group_ratings(ratings: Iterable[Rating]) -> list[list[Rating]]:
    """Return the ratings of each output, or sentence, in order of appearance."""
    groups: dict[tuple[object, ...], list[Rating]] = defaultdict(list)
    for rating in ratings:
        groups[rating.unit].append(rating)
    return list(groups.values())


def _unit(group: Sequence[Rating], ties: Ties) -> RatedUnit:
    first = group[0]
    flagged = 2 * sum(rating.flagged for rating in group) > len(group)
    clear, agree_int, tied_int = None, None, False
    whole, agree_ais, tied_ais = None, None, False
    if not flagged:
        said = [r.interpretable for r in group if r.interpretable is not None]
        clear, agree_int, tied_int = _vote(said, ties)
    if clear:
        said = [r.attributable for r in group if r.attributable is not None]
        whole, agree_ais, tied_ais = _vote(said, ties)
    verdict = Verdict(
        item=first.item,
        system=first.system,
        output=first.output,
        flagged=flagged,
        interpretable=clear,
        attributable=whole,
        agree_int=agree_int,
        agree_ais=agree_ais,
        task=first.task,
        design=first.design,
    )
    tied = [name for name, is_tied in (("int", tied_int), ("ais", tied_ais)) if is_tied]
    return RatedUnit(tuple(group), verdict, tuple(tied))


def _vote(said: Sequence[bool], ties: Ties) -> tuple[bool | None, int | None, bool]:
    """Return the majority, how many are of it, and whether there is a tie."""
    yes = sum(said)
    no = len(said) - yes
    if yes != no:
        return yes > no, max(yes, no), False
    if ties == "open":
        return None, None, True
    return ties == "yes", yes, True
