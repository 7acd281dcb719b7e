"""Task designs: whether annotators who are asked in another way say another thing.

The same outputs are rated under each design, so designs are compared output by output, on their
consensus, by McNemar's exact test.

Source: Rashkin et al. 2023; McNemar 1947.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from semqa.attribution.ais.rates import MEASURES, Measure, judged
from semqa.metrics.statistics import McNemar, mcnemar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from semqa.attribution.ais.verdict import Verdict

__all__ = ["DesignComparison", "compare_designs"]


@dataclass(frozen=True, slots=True)
class DesignComparison:
    """Two designs on the outputs that were rated under both.

    Attributes:
        task: the task.
        measure: what is compared; ``ais`` only where both find the output interpretable.
        first: a design.
        second: the other.
        pairs: the outputs, and the test.
    """

    task: str
    measure: Measure
    first: str
    second: str
    pairs: McNemar

    def to_dict(self) -> dict[str, Any]:
        """Return task, measure, the two designs and the test, ready for JSON."""
        return {
            "task": self.task,
            "measure": self.measure,
            "first": self.first,
            "second": self.second,
            **self.pairs.to_dict(),
        }


def compare_designs(verdicts: Iterable[Verdict]) -> list[DesignComparison]:
    """Compare each two designs of each task, in every measure.

    Args:
        verdicts: of any tasks and designs; one an output and design.
    """
    tasks: dict[str, dict[str, dict[tuple[str, str], Verdict]]] = {}
    for verdict in verdicts:
        designs = tasks.setdefault(verdict.task, {})
        designs.setdefault(verdict.design, {})[verdict.item, verdict.system] = verdict
    found = []
    for task, designs in tasks.items():
        for first, second in combinations(designs, 2):
            for measure in MEASURES:
                pairs = [
                    (a, b)
                    for key, verdict in designs[first].items()
                    if key in designs[second]
                    and (a := judged(verdict, measure)) is not None
                    and (b := judged(designs[second][key], measure)) is not None
                ]
                test = mcnemar([a for a, _ in pairs], [b for _, b in pairs])
                found.append(DesignComparison(task, measure, first, second, test))
    return found
