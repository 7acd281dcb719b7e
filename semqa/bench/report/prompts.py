"""Prompts side by side: runs of one engine that differ in their prompt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from semqa.bench.labels import labels_of
from semqa.bench.report.judged import disambig_note
from semqa.bench.report.names import printed_judge
from semqa.bench.report.pooled import (
    cells_of,
    disambig_figure,
    dr_figure,
    mark_best,
    pool,
    rows_of,
    score_figures,
)
from semqa.bench.report.runs import RULES
from semqa.bench.report.table import Table, number, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.bench.report.runs import FinishedRun
    from semqa.bench.report.table import Cell

__all__ = ["prompts_table"]

ZERO_SHOT = "zero-shot"


def prompts_table(runs: Sequence[FinishedRun]) -> Table | None:
    """Return runs by their prompts, those of one engine, number of shots and choice of exemplars.

    The run of the prompt ``zero-shot``, which has no exemplars, stands beside those of any number.

    Returns:
        None where no two runs differ in their prompt.
    """
    families = _families(runs)
    if not families:
        return None
    shown = [run for members in families for run in members]
    judged = any(run.read is not None for run in shown)
    figures = score_figures()
    if judged:
        figures |= {"Disambig-F1": disambig_figure, "DR": dr_figure}
    names = _prompt_names(shown)
    labels = labels_of([_family_settings(members) for members in families])
    rowed = [_rows(members, names) for members in families]
    spread = any(len(members) > 1 for rows in rowed for members in rows.values())
    head = ["prompt", *(["engine"] if len(families) > 1 else []), "shots"]
    head += [*(["seeds"] if spread else []), "questions"]
    rows: list[list[Cell]] = []
    for label, pooled in zip(labels, rowed, strict=True):
        made = []
        for name, members in pooled.items():
            cells = [words(name), *([words(label)] if len(families) > 1 else [])]
            shots = members[0].settings.get("shots")
            cells.append(number(shots if isinstance(shots, int) else None, 0))
            cells += [number(len(members), 0)] if spread else []
            cells.append(number(len({record.qid for record in members[0].records}), 0))
            made.append([*cells, *cells_of(members, figures)])
        rows += mark_best(made, len(head))
    return Table(
        "prompts", "Prompts", [*head, *figures], rows, _notes(shown, judged=judged, spread=spread)
    )


def _families(runs: Sequence[FinishedRun]) -> list[list[FinishedRun]]:
    """Return the runs that are compared with each other, two prompts or more each."""
    asked = [run for run in runs if run.settings.get("prompt") is not None]
    found = pool(asked, lambda run: _key(run, ()))
    families = []
    for members in found.values():
        if len({_prompt(run) for run in members}) < 2:
            continue
        if members[0].settings.get("shots"):
            apart = ("shots", "exemplars")
            alike = _key(members[0], apart)
            members += [
                run
                for run in asked
                if run.settings["prompt"] == ZERO_SHOT
                and not run.settings.get("shots")
                and _key(run, apart) == alike
            ]
        families.append(members)
    return families


def _key(run: FinishedRun, apart: Sequence[str]) -> str:
    """Return what runs have in common but for prompt, seed, rules of quoting and some more.

    The rules go with some prompts only: citations are not in the language of the constraint.
    """
    left = ("prompt", "seed", *RULES, *apart)
    rest = {key: value for key, value in run.settings.items() if key not in left}
    return json.dumps([run.data, rest], sort_keys=True, default=str)


def _prompt(run: FinishedRun) -> tuple[str, str]:
    return str(run.prompts.get("template")), str(run.prompts.get("sha256"))


def _prompt_names(runs: Sequence[FinishedRun]) -> dict[tuple[str, str], str]:
    """Return what prompts are called: by their names, with a digest where two share one."""
    found = dict.fromkeys(_prompt(run) for run in runs)
    shared = [name for name, _ in found]
    return {
        (name, digest): name if shared.count(name) == 1 else f"{name} ({digest[:8]})"
        for name, digest in found
    }


def _family_settings(members: Sequence[FinishedRun]) -> Mapping[str, object]:
    left = ("prompt", "seed", *RULES)
    return {key: value for key, value in members[0].settings.items() if key not in left}


def _rows(
    members: Sequence[FinishedRun], names: Mapping[tuple[str, str], str]
) -> dict[str, list[FinishedRun]]:
    """Return the rows of a family by their names: a prompt, and what tells its runs apart."""

    def told(run: FinishedRun) -> dict[str, object]:
        rules = {key: run.settings[key] for key in RULES if key in run.settings}
        return {"engine": names[_prompt(run)], **rules}

    rows = rows_of(members, lambda run: json.dumps([told(run), run.settings.get("shots")]))
    return dict(zip(labels_of([told(alike[0]) for alike in rows]), rows, strict=True))


def _notes(runs: Sequence[FinishedRun], *, judged: bool, spread: bool) -> list[str]:
    notes = [
        "As the paper's Table 3: runs of one engine that differ in their prompt, bold the best of "
        "them; with 95% intervals over questions and the number of shots besides."
    ]
    if any(run.cites for run in runs):
        notes.append(
            "Prompts that ask for citations quote nothing, so they have no scores of quotes, and "
            "ROUGE-L is of their answers without the citations; it is with them under Scores."
        )
    if judged:
        judges = dict.fromkeys(_judge(run) for run in runs if run.read is not None)
        notes += [f"Judged by {', '.join(judges)}.", *disambig_note(runs)]
    if spread:
        notes.append("Of runs that differ in their seed alone, mean and standard deviation.")
    return notes


def _judge(run: FinishedRun) -> str:
    told = run.results.get("judged")
    return printed_judge(str(told.get("judge"))) if isinstance(told, dict) else "unknown"
