"""What judges say of runs: support, citations, and the short answers that can be read off answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.bench.report.names import printed_judge
from semqa.bench.report.pooled import disambig_figure, dr_figure
from semqa.bench.report.table import Cell, Table, figure, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.bench.report.pooled import Figure
    from semqa.bench.report.runs import FinishedRun

__all__ = ["disambig_note", "judged_table"]

_NOT = "not judged by such a judge"


def judged_table(runs: Sequence[FinishedRun]) -> Table | None:
    """Return what a judge said of each run that one judged.

    Returns:
        None where none was judged.
    """
    told = [(run, judged) for run in runs if (judged := _object(run.results, "judged"))]
    if not told:
        return None
    rows = []
    for run, judged in told:
        ais = _object(judged, "auto_ais")
        n = _object(ais, "n")
        rows.append(
            [
                words(run.label),
                words(printed_judge(str(judged.get("judge")))),
                *(
                    _cell(ais.get(key), ais.get(f"{key}_interval"), n.get(key))
                    for key in ("sentences", "answers")
                ),
                *(
                    _cell(found.get("value"), found.get("interval"), found.get("n"))
                    for found in (
                        _object(judged, key) for key in ("citation_recall", "citation_precision")
                    )
                ),
                _shown(disambig_figure(run)),
                _shown(dr_figure(run)),
            ]
        )
    columns = (
        "run",
        "judge",
        "AutoAIS, sentences",
        "AutoAIS, answers",
        "citation recall",
        "citation precision",
        "Disambig-F1",
        "DR",
    )
    notes = [
        "Judgements, not verifications: 0 to 100, each by the judge that is named; figures of two "
        "judges do not compare. Answers that failed or say nothing count nowhere but in "
        "Disambig-F1, where they score 0. 95% intervals: percentiles over resamples of questions; "
        "Wilson's for AutoAIS of answers where each question has one answer.",
        *disambig_note([run for run, _ in told]),
    ]
    return Table("judged", "Judged", columns, rows, notes)


def disambig_note(runs: Sequence[FinishedRun]) -> list[str]:
    """Return what Disambig-F1 and DR are, and of how many questions; nothing where no run has them."""
    counts: dict[tuple[int, int], None] = {}
    for run in runs:
        if run.read is not None:
            scored = {
                record.qid for record, read in zip(run.records, run.read, strict=True) if read.pairs
            }
            counts[len(scored), len({record.qid for record in run.records})] = None
    if not counts:
        return []
    said = ", ".join(f"{scored} of {total}" for scored, total in counts)
    return [
        f"Disambig-F1 and DR are ASQA's, of the questions whose readings QuoteSum names ({said}): "
        "those from AmbigQA. The judge is asked each reading, and what it finds in the answer is "
        "compared with that source's short answer. DR is √(Disambig-F1 · ROUGE-L) of the means over "
        "these questions, ROUGE-L without the numbers of citations. ASQA's own judge is "
        "RoBERTa-large trained on SQuAD 2.0."
    ]


def _cell(value: object, interval: object, n: object) -> Cell:
    if not isinstance(value, int | float):
        return Cell("–", why=_NOT)
    ends = interval if isinstance(interval, list) and len(interval) == 2 else []
    around = [float(end) for end in ends if isinstance(end, int | float)]
    count = n if isinstance(n, int) else None
    return figure(float(value), around if len(around) == 2 else None, count)


def _shown(found: Figure) -> Cell:
    return figure(found.value, found.interval, found.n, why=found.why)


def _object(value: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
