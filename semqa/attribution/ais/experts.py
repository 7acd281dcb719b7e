"""Compare annotators with experts: which task design gives correct answers?

Experts' ratings have the same format as other ratings; the experts' consensus on an output is the
ground truth. The consensus and the single ratings of each design are compared with it. Pairs of
designs are compared by correctness on the same outputs, with McNemar's exact test.

``int_and_ais`` is the final answer of every design: is the output both interpretable and fully
attributable? For the design that only asks about attribution, it is that answer. Flagged outputs
are left out.

Source: Rashkin et al. 2023, section 4 and table 7, which measure agreement with F1, pairwise
agreement and Krippendorff's alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from semqa.attribution.ais.rates import Rate
from semqa.attribution.ais.ratings import ATTRIBUTION_ONLY
from semqa.metrics.agreement import consensus_fit, krippendorff_alpha
from semqa.metrics.bootstrap import question_mean
from semqa.metrics.statistics import Statistic, mcnemar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.attribution.ais.ratings import RatedUnit, Rating, Verdict
    from semqa.metrics.bootstrap import Mean
    from semqa.metrics.statistics import McNemar

Judgement = Literal["int", "ais", "int_and_ais"]
JUDGEMENTS: tuple[Judgement, ...] = get_args(Judgement)

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class ExpertFit:
    """Agreement of one design with experts on one question, for outputs that both rated.

    Attributes:
        consensus: rate of outputs with the same consensus as the experts.
        single: share of single ratings that match the experts, 0 to 1, with an interval over
            outputs.
        f1: macro F1 of the consensus over yes and no.
        alpha: nominal Krippendorff's alpha of the consensus and the experts.
    """

    task: str
    design: str
    judgement: Judgement
    consensus: Rate
    single: Mean
    f1: Statistic
    alpha: Statistic

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready object."""
        return {
            "task": self.task,
            "design": self.design,
            "judgement": self.judgement,
            "consensus": self.consensus.to_dict(),
            "single": self.single._asdict(),
            "f1_macro": self.f1.to_dict(),
            "krippendorff_alpha": self.alpha.to_dict(),
        }


class CorrectnessComparison(NamedTuple):
    """Two designs, compared by the correctness of their consensus on the same outputs."""

    task: str
    judgement: Judgement
    first: str
    second: str
    pairs: McNemar

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready object."""
        return {**self._asdict(), "pairs": self.pairs.to_dict()}


def compare_with_experts(
    units: Sequence[RatedUnit], experts: Iterable[RatedUnit]
) -> tuple[list[ExpertFit], list[CorrectnessComparison]]:
    """Compare each design with experts, and the designs of a task with each other.

    The experts' own design name does not matter.
    """
    truth = {_key(unit): unit.verdict for unit in experts}
    groups: dict[str, dict[str, list[RatedUnit]]] = {}
    for unit in units:
        if _key(unit) in truth:
            designs = groups.setdefault(unit.verdict.task, {})
            designs.setdefault(unit.verdict.design, []).append(unit)
    fits, compared = [], []
    for task, designs in groups.items():
        right: dict[tuple[str, Judgement], dict[Key, bool]] = {}
        for design, group in designs.items():
            for judgement in JUDGEMENTS:
                fit, correct = _fit(task, design, judgement, group, truth)
                if correct:
                    fits.append(fit)
                    right[design, judgement] = correct
        for first, second in combinations(designs, 2):
            for judgement in JUDGEMENTS:
                one, other = right.get((first, judgement), {}), right.get((second, judgement), {})
                if shared := [key for key in one if key in other]:
                    pairs = mcnemar([one[key] for key in shared], [other[key] for key in shared])
                    compared.append(CorrectnessComparison(task, judgement, first, second, pairs))
    return fits, compared


def _fit(
    task: str,
    design: str,
    judgement: Judgement,
    group: Sequence[RatedUnit],
    truth: dict[Key, Verdict],
) -> tuple[ExpertFit, dict[Key, bool]]:
    predicted, expected = [], []
    correct: dict[Key, bool] = {}
    single: list[tuple[str, float | None]] = []
    for unit in group:
        key = _key(unit)
        expert = _answer(truth[key], judgement)
        if expert is None:
            continue
        answers = [_answer(rating, judgement) for rating in unit.ratings]
        single += [(repr(key), float(each == expert)) for each in answers if each is not None]
        if (verdict := _answer(unit.verdict, judgement)) is not None:
            predicted.append(verdict)
            expected.append(expert)
            correct[key] = verdict == expert
    rate = Rate(sum(correct.values()), len(correct))
    f1 = consensus_fit([[each] for each in predicted], expected).macro
    alpha = krippendorff_alpha(list(zip(predicted, expected, strict=True)))
    return ExpertFit(task, design, judgement, rate, question_mean(single), f1, alpha), correct


def _key(unit: RatedUnit) -> Key:
    return unit.verdict.task, unit.verdict.item, unit.verdict.system


def _answer(given: Verdict | Rating, judgement: Judgement) -> bool | None:
    if given.flagged:
        return None
    if judgement == "int":
        return given.interpretable
    if judgement == "ais" or given.design == ATTRIBUTION_ONLY:
        return given.attributable
    return None if given.interpretable is None else bool(given.attributable)
