"""How annotators agree: with each other, and with their consensus.

From single ratings, or from released files, which only tell how many of five said what the majority
did: rows whose count is not 3 to 5 cannot be of five annotators (some were not asked, or a row was
rated twice) and are left out there.

Source: Rashkin et al. 2023, table 7: F1 against the consensus (mean over yes and no),
pairwise agreement, Krippendorff's alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from semqa.metrics.agreement import (
    ConsensusFit,
    consensus_fit,
    krippendorff_alpha,
    pairwise_agreement,
    unanimity,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.attribution.ais.consensus import RatedUnit
    from semqa.attribution.ais.verdict import Verdict
    from semqa.metrics.statistics import Statistic

__all__ = ["Agreement", "Question", "agreement_of_counts", "agreement_of_ratings"]

Question = Literal["flag", "int", "ais"]

ANNOTATORS = 5
"""Annotators an output in the released files."""

_MAJORITIES = (3, 4, 5)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How annotators agree on one question.

    Attributes:
        question: ``flag``, ``int``, or ``ais`` of what the consensus finds interpretable.
        items: outputs that enter.
        dropped: outputs left out.
        alpha: Krippendorff's, nominal.
        pairs: pairwise agreement.
        fit: single answers against the consensus.
        unanimous: share of outputs that all agree on.
    """

    question: Question
    items: int
    dropped: int
    alpha: Statistic
    pairs: Statistic
    fit: ConsensusFit
    unanimous: Statistic

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, each as `Statistic.to_dict` gives it."""
        return {
            "question": self.question,
            "items": self.items,
            "dropped": self.dropped,
            "krippendorff_alpha": self.alpha.to_dict(),
            "pairwise_agreement": self.pairs.to_dict(),
            "f1_yes": self.fit.f1[True].to_dict() if True in self.fit.f1 else None,
            "f1_no": self.fit.f1[False].to_dict() if False in self.fit.f1 else None,
            "f1_macro": self.fit.macro.to_dict(),
            "accuracy": self.fit.accuracy.to_dict(),
            "unanimous": self.unanimous.to_dict(),
        }


def agreement_of_ratings(units: Sequence[RatedUnit]) -> list[Agreement]:
    """Return the agreement on each question, from single ratings.

    Outputs that fewer than two annotators answered the question for are left out, and so are ties,
    for want of a consensus.
    """
    asked: dict[Question, list[tuple[list[bool], bool | None]]] = {"flag": [], "int": [], "ais": []}
    for unit in units:
        verdict = unit.verdict
        asked["flag"].append(([r.flagged for r in unit.ratings], verdict.flagged))
        if not verdict.flagged:
            said = [r.interpretable for r in unit.ratings if r.interpretable is not None]
            asked["int"].append((said, None if "int" in unit.tied else verdict.interpretable))
        if verdict.interpretable:
            said = [r.attributable for r in unit.ratings if r.attributable is not None]
            asked["ais"].append((said, None if "ais" in unit.tied else verdict.attributable))
    return [_agreement(question, cases) for question, cases in asked.items()]


def agreement_of_counts(verdicts: Iterable[Verdict]) -> list[Agreement]:
    """Return the agreement on ``int`` and ``ais``, from how many of five are of the majority."""
    asked: dict[Question, list[tuple[list[bool], bool | None]]] = {"int": [], "ais": []}
    for each in verdicts:
        if each.interpretable is not None:
            said = _said(each.interpretable, each.agree_int)
            asked["int"].append((said, each.interpretable))
        if each.attributable is not None:
            asked["ais"].append((_said(each.attributable, each.agree_ais), each.attributable))
    return [_agreement(question, cases) for question, cases in asked.items()]


def _said(majority: bool, agree: int | None) -> list[bool]:
    if agree not in _MAJORITIES:
        return []
    return [majority] * agree + [not majority] * (ANNOTATORS - agree)


def _agreement(question: Question, cases: Sequence[tuple[list[bool], bool | None]]) -> Agreement:
    kept = [(said, truth) for said, truth in cases if len(said) > 1]
    units = [said for said, _ in kept]
    return Agreement(
        question,
        len(kept),
        len(cases) - len(kept),
        krippendorff_alpha(units),
        pairwise_agreement(units),
        consensus_fit(units, [truth for _, truth in kept]),
        unanimity(units),
    )
