"""Sentences rated one by one, put together to a verdict on the answer.

An answer is attributable when all of it is: one sentence that is not spoils it. The share of
sentences that are attributable is kept beside that, for it tells a slip from an invention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semqa.attribution.ais.verdict import Verdict
from semqa.metrics.statistics import Statistic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.attribution.ais.consensus import RatedUnit

__all__ = ["SentenceVerdicts", "join_sentences"]


@dataclass(frozen=True, slots=True)
class SentenceVerdicts:
    """An answer whose sentences were rated.

    Attributes:
        verdict: on the answer.
        sentences: how many were rated.
        share: of the sentences that are attributable, of those with a verdict on it or found not
            interpretable; unscored where a sentence before the last was not rated.
    """

    verdict: Verdict
    sentences: int
    share: Statistic

    def to_dict(self) -> dict[str, Any]:
        """Return item, system and the figures, ready for JSON."""
        return {
            "item": self.verdict.item,
            "system": self.verdict.system,
            "task": self.verdict.task,
            "design": self.verdict.design,
            "flagged": self.verdict.flagged,
            "interpretable": self.verdict.interpretable,
            "attributable": self.verdict.attributable,
            "sentences": self.sentences,
            "attributable_sentences": self.share.to_dict(),
        }


def join_sentences(units: Iterable[RatedUnit]) -> tuple[list[Verdict], list[SentenceVerdicts]]:
    """Return one verdict an answer: rated as a whole, or put together of its sentences.

    A flag on any sentence flags the answer, for the task is malformed then. It is interpretable,
    or attributable, if all its sentences are; not if one is not; and open otherwise.

    Args:
        units: outputs and sentences, in any order. An output that was rated both whole and by the
            sentence has a verdict of each kind; the whole one counts.

    Returns:
        The verdicts, in order of appearance; and what the sentences said.
    """
    whole: dict[tuple[str, ...], Verdict] = {}
    parts: dict[tuple[str, ...], list[RatedUnit]] = {}
    order: dict[tuple[str, ...], None] = {}
    for unit in units:
        order[unit.verdict.key] = None
        if unit.sentence is None:
            whole[unit.verdict.key] = unit.verdict
        else:
            parts.setdefault(unit.verdict.key, []).append(unit)
    joined = {key: _join(group) for key, group in parts.items()}
    verdicts = [whole[key] if key in whole else joined[key].verdict for key in order]
    return verdicts, list(joined.values())


def _join(group: Sequence[RatedUnit]) -> SentenceVerdicts:
    first = group[0].verdict
    flagged = any(unit.verdict.flagged for unit in group)
    clear = None if flagged else _all(unit.verdict.interpretable for unit in group)
    whole = _all(unit.verdict.attributable for unit in group) if clear else None
    gap = _gap(group)
    if gap is not None:
        # What was not rated might be anything: only a "no" is certain.
        clear, whole = (False if clear is False else None), None
    verdict = Verdict(
        item=first.item,
        system=first.system,
        output=" ".join(unit.verdict.output for unit in _in_order(group)).strip(),
        flagged=flagged,
        interpretable=clear,
        attributable=whole,
        task=first.task,
        design=first.design,
    )
    return SentenceVerdicts(verdict, len(group), _share(group, flagged=flagged, gap=gap))


def _share(group: Sequence[RatedUnit], *, flagged: bool, gap: int | None) -> Statistic:
    if flagged:
        return Statistic.none("the answer is flagged")
    if gap is not None:
        return Statistic.none(f"sentence {gap} was not rated")
    answers = [
        bool(unit.verdict.attributable)
        for unit in group
        if unit.verdict.attributable is not None or unit.verdict.interpretable is False
    ]
    if not answers:
        return Statistic.none("every sentence is open")
    return Statistic(sum(answers) / len(answers), len(answers))


def _in_order(group: Sequence[RatedUnit]) -> list[RatedUnit]:
    return sorted(group, key=lambda unit: unit.sentence or 0)


def _gap(group: Sequence[RatedUnit]) -> int | None:
    """Return the first sentence before the last rated one that was not rated."""
    rated = {unit.sentence for unit in group if unit.sentence is not None}
    return next((number for number in range(1, max(rated)) if number not in rated), None)


def _all(answers: Iterable[bool | None]) -> bool | None:
    given = list(answers)
    if False in given:
        return False
    return None if None in given else True
