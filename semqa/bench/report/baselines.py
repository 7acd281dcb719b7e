"""The baselines side by side: the first or last sentences of each source, quoted whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.bench.report.pooled import cells_of, mark_best, score_figures
from semqa.bench.report.table import Table, number, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.report.runs import FinishedRun

__all__ = ["baselines_table"]


def baselines_table(runs: Sequence[FinishedRun]) -> Table | None:
    """Return the runs of ``lead-K`` and ``tail-K`` by the number of their sentences.

    Returns:
        None where there are fewer than two over the same data.
    """
    found = [run for run in runs if run.kind == "baseline"]
    data = [run.data for run in found]
    found = [run for run in found if data.count(run.data) > 1]
    if not found:
        return None
    found.sort(key=lambda run: (data.index(run.data), *_order(str(run.identity.get("engine")))))
    figures = score_figures()
    rows = []
    for digest in dict.fromkeys(run.data for run in found):
        made = [
            [
                words(run.label),
                number(_order(str(run.identity.get("engine")))[1], 0),
                number(len({record.qid for record in run.records}), 0),
                *cells_of([run], figures),
            ]
            for run in found
            if run.data == digest
        ]
        rows += mark_best(made, 3)
    note = (
        "As the paper's Table 5: the first (lead) or last (tail) sentences of each source, quoted "
        "whole and joined; with 95% intervals over questions besides. ROUGE-L is the mean, where "
        "the authors' notebook takes the middle of a bootstrap; bold is the best baseline."
    )
    columns = ("baseline", "sentences of each source", "questions", *figures)
    return Table("baselines", "Baselines", columns, rows, (note,))


def _order(engine: str) -> tuple[str, int]:
    name, _, count = engine.partition("-")
    return name, int(count) if count.isdecimal() and len(count) < 10 else 0
