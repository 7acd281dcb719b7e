"""Exemplars side by side: how they are chosen, and how many there are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from semqa.bench.labels import labels_of
from semqa.bench.report.pooled import cells_of, mark_best, pool, rows_of, score_figures
from semqa.bench.report.table import Table, number, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.bench.report.runs import FinishedRun
    from semqa.bench.report.table import Cell

__all__ = ["exemplars_table"]

NAMES = {"knn": "nearest", "random": "random", "fixed": "fixed"}
"""What the ways of choosing are called, in the order in which they are shown."""

NONE = "none"


class _Family(NamedTuple):
    label: Mapping[str, object]
    rows: list[tuple[str, int, list[FinishedRun]]]


def exemplars_table(runs: Sequence[FinishedRun]) -> Table | None:
    """Return runs by their exemplars, those of one engine and prompt; seeds are averaged.

    A run without exemplars stands beside those of its prompt; where its prompt is asked without
    exemplars only, as ``zero-shot`` mostly is, beside all others of its engine.

    Returns:
        None where no two runs of a prompt differ in how exemplars are chosen, or in how many there
        are.
    """
    families = _families(runs)
    if not families:
        return None
    spread = any(len(members) > 1 for family in families for _, _, members in family.rows)
    several = len(families) > 1
    head = ["exemplars", *(["run of"] if several else []), "shots"]
    head += [*(["seeds"] if spread else []), "questions"]
    figures = score_figures()
    rows: list[list[Cell]] = []
    labels = labels_of([family.label for family in families])
    for label, family in zip(labels, families, strict=True):
        made = []
        for name, shots, members in family.rows:
            cells = [words(name), *([words(label)] if several else []), number(shots, 0)]
            cells += [number(len(members), 0)] if spread else []
            cells.append(number(len({record.qid for record in members[0].records}), 0))
            made.append([*cells, *cells_of(members, figures)])
        rows += mark_best(made, len(head))
    notes = [
        "As the paper's Table D.1: runs of one engine and prompt that differ in how the exemplars "
        "are chosen and in how many there are; bold is the best of them. Shots are those asked "
        "for; a prompt that would be too long has fewer.",
    ]
    if spread:
        notes.append(
            "Runs that differ in their seed alone are one row: means and sample standard "
            "deviations (SD). A row of one seed has a 95% interval over questions instead."
        )
    return Table("exemplars", "Exemplars", [*head, *figures], rows, notes)


def _families(runs: Sequence[FinishedRun]) -> list[_Family]:
    asked = [run for run in runs if type(run.settings.get("shots")) is int]
    with_shots = [run for run in asked if run.settings["shots"]]
    families = []
    for members in pool(with_shots, lambda run: _key(run, prompt=True)).values():
        alike = _key(members[0], prompt=False)
        peers = [run for run in asked if _key(run, prompt=False) == alike]
        elsewhere = {run.settings.get("prompt") for run in peers if run.settings["shots"]}
        elsewhere.discard(members[0].settings["prompt"])
        none = [
            run
            for run in peers
            if not run.settings["shots"] and run.settings.get("prompt") not in elsewhere
        ]
        rows = _rows(members, none)
        own = [run for run in none if run.settings.get("prompt") == members[0].settings["prompt"]]
        if sum(shots > 0 for _, shots, _ in rows) > 1 or own:
            left = ("shots", "exemplars", "seed")
            label = {k: v for k, v in members[0].settings.items() if k not in left}
            families.append(_Family(label, rows))
    return families


def _key(run: FinishedRun, *, prompt: bool) -> str:
    """Return what runs have in common but for their exemplars and seed."""
    left = ("shots", "exemplars", "seed", *(() if prompt else ("prompt",)))
    rest: list[object] = [
        run.data,
        {key: value for key, value in run.settings.items() if key not in left},
    ]
    if prompt:
        rest += [run.prompts.get("sha256"), _chosen(run).get("pool_sha256")]
    return json.dumps(rest, sort_keys=True, default=str)


def _rows(
    members: Sequence[FinishedRun], none: Sequence[FinishedRun]
) -> list[tuple[str, int, list[FinishedRun]]]:
    ways = dict.fromkeys(_way(run) for run in members)
    told = [json.loads(way) for way in ways]
    names = dict(zip(ways, labels_of(told), strict=True))
    order = {name: at for at, name in enumerate((*NAMES.values(), *names))}
    rows = []
    prompts = pool(none, lambda run: str(run.settings.get("prompt")))
    for prompt, without in prompts.items():
        name = NONE if len(prompts) == 1 else f"{NONE}, {prompt}"
        rows += [(name, 0, alike) for alike in rows_of(without, lambda _: 0)]
    pooled = rows_of(members, lambda run: (_way(run), run.settings["shots"]))
    found = [
        (names[_way(alike[0])], int(str(alike[0].settings["shots"])), alike, _strategy(alike[0]))
        for alike in pooled
    ]
    found.sort(key=lambda row: (order.get(row[3], len(order)), row[0], row[1]))
    return rows + [(name, shots, alike) for name, shots, alike, _ in found]


def _way(run: FinishedRun) -> str:
    """Return how exemplars are chosen, as what `labels_of` tells apart."""
    chosen = _chosen(run)
    told = {"engine": _strategy(run)}
    told |= {key: str(chosen[key]) for key in ("encoder", "encoder_id", "qids") if key in chosen}
    return json.dumps(told, sort_keys=True)


def _strategy(run: FinishedRun) -> str:
    strategy = str(run.settings.get("exemplars"))
    return NAMES.get(strategy, strategy)


def _chosen(run: FinishedRun) -> Mapping[str, object]:
    chosen = run.prompts.get("exemplars")
    return chosen if isinstance(chosen, dict) else {}
