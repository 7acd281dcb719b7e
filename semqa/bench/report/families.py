"""Tables of runs that differ in one setting: prompt, exemplars, baseline or seed.

Runs in a *family* agree in all other settings. Runs that differ only in their seed are averaged in
one row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, stdev

from semqa.bench.judging import rouge_of, summarise_readings
from semqa.bench.plan import labels_of
from semqa.bench.report.runs import RULES, FinishedRun, as_object
from semqa.bench.report.table import Cell, Table, figure, number
from semqa.bench.results import RESAMPLES, SEED
from semqa.metrics.bootstrap import question_mean

SCORES = {"rougeLsum": "ROUGE-L", "sem_f1": "Sem-F1", "sem_recall": "Sem-Rec", "semqa": "SEMQA"}
"""Metrics in the paper's Table 2; its ROUGE-L is ROUGE-Lsum."""

READINGS = {"disambig_f1": "Disambig-F1", "dr": "DR"}
"""A judge's scores; DR is over the answers with a Disambig-F1."""

CITES = "the prompt asks for citations instead of quotes"
NOT_READ = "not judged by a question-answering judge"
ZERO_SHOT = "zero-shot"
STRATEGIES = {"knn": "nearest", "random": "random", "fixed": "fixed"}
"""Display names of the exemplar selection methods, in table order."""

Figures = Mapping[str, Callable[[FinishedRun], Cell]]
Rows = list[tuple[list[Cell], list[FinishedRun]]]


def prompts_table(runs: Sequence[FinishedRun]) -> Table | None:
    """Compare prompts on one engine with the same number and selection of exemplars.

    Runs with the prompt ``zero-shot`` have no exemplars and are shown with any number of shots.
    """
    families = _prompt_families(runs)
    if not families:
        return None
    shown = [run for members in families for run in members]
    judged = [run for run in shown if run.read is not None]
    figures = dict(_scores())
    if judged:
        figures |= {shown: partial(reading_cell, name=name) for name, shown in READINGS.items()}
    found = dict.fromkeys(_prompt(run) for run in shown)
    shared = [name for name, _ in found]
    names = {
        (name, digest): name if shared.count(name) == 1 else f"{name} ({digest[:8]})"
        for name, digest in found
    }

    def described(run: FinishedRun) -> dict[str, object]:
        rules = {key: run.settings[key] for key in RULES if key in run.settings}
        return {"engine": names[_prompt(run)], **rules}

    labels = labels_of([_without(members[0], "prompt", "seed", *RULES) for members in families])
    several = len(families) > 1
    made: list[Rows] = []
    for label, members in zip(labels, families, strict=True):
        pooled = _pooled(
            members, lambda run: json.dumps([described(run), run.settings.get("shots")])
        )
        rows: Rows = []
        for name, alike in zip(labels_of([described(a[0]) for a in pooled]), pooled, strict=True):
            shots = alike[0].settings.get("shots")
            cells = [Cell(name), *([Cell(label)] if several else [])]
            rows.append(([*cells, number(shots if isinstance(shots, int) else None, 0)], alike))
        made.append(rows)
    notes = [
        "As in the paper's Table 3: runs of one engine with different prompts, with 95% intervals "
        "over questions. The best is in bold."
    ]
    if any(run.cites for run in shown):
        notes.append(
            "Prompts that ask for citations have no quote scores. Their ROUGE-L ignores the "
            "citations here, but not in the table Scores."
        )
    if judged:
        judges = [str(_judged(run).get("judge", "unknown")) for run in judged]
        notes += [f"Judged by {', '.join(dict.fromkeys(judges))}.", *disambig_note(shown)]
    if _spread(made):
        notes.append("Mean and standard deviation of runs that differ only in their seed.")
    head = ["prompt", *(["engine"] if several else []), "shots"]
    return _family_table("prompts", "Prompts", head, made, figures, notes)


def exemplars_table(runs: Sequence[FinishedRun]) -> Table | None:
    """Compare the selection and number of exemplars for one engine and prompt.

    Runs without exemplars are shown with runs of the same prompt. If that prompt was only run
    without exemplars, as is usual for ``zero-shot``, they are shown with all runs of the engine.
    """
    families = _exemplar_families(runs)
    if not families:
        return None
    several = len(families) > 1
    made: list[Rows] = []
    labels = labels_of([settings for settings, _ in families])
    for label, (_, rows) in zip(labels, families, strict=True):
        made.append(
            [
                ([Cell(name), *([Cell(label)] if several else []), number(shots, 0)], members)
                for name, shots, members in rows
            ]
        )
    notes = [
        "As in the paper's Table D.1: runs of one engine and prompt with different exemplars. The "
        "best is in bold. Shots is the requested number; prompts that would be too long have "
        "fewer.",
    ]
    if _spread(made):
        notes.append(
            "Runs that differ only in their seed share a row: mean and sample standard deviation "
            "(SD). Rows with one seed have a 95% interval over questions instead."
        )
    head = ["exemplars", *(["run of"] if several else []), "shots"]
    return _family_table("exemplars", "Exemplars", head, made, _scores(), notes)


def baselines_table(runs: Sequence[FinishedRun]) -> Table | None:
    """Compare ``lead-K`` and ``tail-K`` by number of sentences."""
    baselines = [run for run in runs if run.kind == "baseline"]
    data = [run.data for run in baselines]
    made: list[Rows] = []
    for members in _by(baselines, lambda run: run.data).values():
        if data.count(members[0].data) > 1:
            ordered = sorted((*_baseline(run), at, run) for at, run in enumerate(members))
            made.append(
                [([Cell(run.label), number(count, 0)], [run]) for _, count, _, run in ordered]
            )
    if not made:
        return None
    note = (
        "As in the paper's Table 5: the first (lead) or last (tail) sentences of each source, "
        "quoted whole and joined, with 95% intervals over questions. ROUGE-L is the mean; the "
        "authors' notebook uses the median of a bootstrap. The best is in bold."
    )
    head = ["baseline", "sentences per source"]
    return _family_table("baselines", "Baselines", head, made, _scores(), [note])


def reading_cell(run: FinishedRun, name: str) -> Cell:
    """Return one of `READINGS` for a run."""
    if run.read is None:
        return figure(None, why=NOT_READ)
    total = summarise_readings(run.items, run.records, run.read)[name]
    why = "" if total["n"] else "no sub-questions"
    return figure(total["value"], total["interval"], total["n"], why=why)


def disambig_note(runs: Sequence[FinishedRun]) -> list[str]:
    """Return a note on Disambig-F1 and DR if a run has them."""
    counts: dict[tuple[int, int], None] = {}
    for run in runs:
        if run.read is not None:
            pairs = zip(run.records, run.read, strict=True)
            scored = {record.qid for record, read in pairs if read.pairs}
            counts[len(scored), len(run.qids)] = None
    if not counts:
        return []
    shares = ", ".join(f"{scored} of {total}" for scored, total in counts)
    return [
        "Disambig-F1 and DR are metrics of ASQA. They cover the questions for which QuoteSum lists "
        f"disambiguated questions ({shares}), which come from AmbigQA. The judge answers each of "
        "these from the generated answer, and its reply is compared with that source's short "
        "answer. DR is √(Disambig-F1 · ROUGE-L) of the means over these questions; ROUGE-L ignores "
        "citation numbers. ASQA's own judge is RoBERTa-large trained on SQuAD 2.0."
    ]


def mark_best(
    rows: Sequence[Sequence[Cell]], first: int, among: Sequence[bool] = ()
) -> list[list[Cell]]:
    """Return the rows with the best figure of each column in bold, unless all are equal."""
    made = [list(row) for row in rows]
    ranked = [row for row, use in zip(made, among or [True] * len(made), strict=True) if use]
    for at in range(first, len(made[0])):
        values = [value for row in ranked if (value := row[at].value) is not None]
        if len(set(values)) > 1:
            for row in ranked:
                if row[at].value == max(values):
                    row[at] = replace(row[at], strong=True)
    return made


def _family_table(
    key: str,
    title: str,
    head: Sequence[str],
    families: Sequence[Rows],
    figures: Figures,
    notes: Sequence[str],
) -> Table:
    """Make a table of families; each row has its first cells and the runs to average."""
    seeds = ["seeds"] if _spread(families) else []
    columns = [*head, *seeds, "questions", *figures]
    rows: list[list[Cell]] = []
    for family in families:
        made = []
        for cells, members in family:
            counts = [number(len(members), 0)] if seeds else []
            counts.append(number(len(members[0].qids), 0))
            made.append([*cells, *counts, *_cells(members, figures)])
        rows += mark_best(made, len(columns) - len(figures))
    return Table(key, title, columns, rows, notes)


def _spread(families: Sequence[Rows]) -> bool:
    return any(len(members) > 1 for family in families for _, members in family)


def _cells(runs: Sequence[FinishedRun], figures: Figures) -> list[Cell]:
    """Return the figures of one run, or mean and standard deviation over several seeds."""
    cells = []
    for find in figures.values():
        found = [find(run) for run in runs]
        values = [cell.value for cell in found if cell.value is not None]
        if len(runs) == 1 or not values:
            cells.append(found[0])
            continue
        missing = len(runs) - len(values)
        why = f"{missing} of {len(runs)} runs unscored" if missing else ""
        cell = figure(fmean(values), n=found[0].n, why=why)
        cells.append(replace(cell, spread=stdev(values) if len(values) > 1 else None))
    return cells


def _scores() -> Figures:
    return {name: partial(_score_cell, metric=metric) for metric, name in SCORES.items()}


def _score_cell(run: FinishedRun, metric: str) -> Cell:
    """Return a score of a run.

    If the prompt asks for citations, ROUGE ignores citation numbers and other scores are missing.
    """
    if run.cites and metric != "rougeLsum":
        return figure(None, why=CITES)
    if run.cites:
        pairs = zip(run.items, run.records, strict=True)
        values = [(record.qid, rouge_of(item, record.prediction)) for item, record in pairs]
        scored = [each for each in values if each[1] is not None]
        mean = question_mean(scored, resamples=RESAMPLES, seed=SEED)
        return figure(mean.value, mean.interval, mean.n or None)
    estimate = run.report.estimates[metric]
    return figure(estimate.value, estimate.interval, estimate.n)


def _by(
    runs: Iterable[FinishedRun], key: Callable[[FinishedRun], object]
) -> dict[object, list[FinishedRun]]:
    """Group runs by a key, in order of first appearance."""
    found: dict[object, list[FinishedRun]] = {}
    for run in runs:
        found.setdefault(key(run), []).append(run)
    return found


def _pooled(
    runs: Iterable[FinishedRun], key: Callable[[FinishedRun], object]
) -> list[list[FinishedRun]]:
    """Return the runs of each row: runs with the same key and different seeds.

    If runs with the same key share a seed, something else differs, such as the model version. Each
    of them gets its own row.
    """
    rows: list[list[FinishedRun]] = []
    for members in _by(runs, key).values():
        seeds = {str(run.settings.get("seed")) for run in members}
        rows += [members] if len(seeds) == len(members) else [[run] for run in members]
    return rows


def _without(run: FinishedRun, *left_out: str) -> dict[str, object]:
    return {key: value for key, value in run.settings.items() if key not in left_out}


def _judged(run: FinishedRun) -> Mapping[str, object]:
    return as_object(run.results.get("judged"))


def _baseline(run: FinishedRun) -> tuple[str, int]:
    name, _, count = str(run.identity.get("engine")).partition("-")
    return name, int(count) if count.isdecimal() and len(count) < 10 else 0


def _prompt(run: FinishedRun) -> tuple[str, str]:
    return str(run.prompts.get("template")), str(run.prompts.get("sha256"))


def _prompt_families(runs: Sequence[FinishedRun]) -> list[list[FinishedRun]]:
    """Return families of comparable runs with at least two prompts each."""

    def key(run: FinishedRun, *apart: str) -> str:
        # The constraint does not allow citations, so its settings differ between prompts.
        rest = _without(run, "prompt", "seed", *RULES, *apart)
        return json.dumps([run.data, rest], sort_keys=True, default=str)

    asked = [run for run in runs if run.settings.get("prompt") is not None]
    apart = ("shots", "exemplars")
    families = []
    for members in _by(asked, key).values():
        if len({_prompt(run) for run in members}) < 2:
            continue
        if members[0].settings.get("shots"):
            alike = key(members[0], *apart)
            members += [
                run
                for run in asked
                if run.settings["prompt"] == ZERO_SHOT
                and not run.settings.get("shots")
                and key(run, *apart) == alike
            ]
        families.append(members)
    return families


def _exemplar_families(
    runs: Sequence[FinishedRun],
) -> list[tuple[dict[str, object], list[tuple[str, int, list[FinishedRun]]]]]:
    """Return the settings and rows of each family; a row has selection, shots and runs."""
    left = ("shots", "exemplars", "seed")

    def engine(run: FinishedRun) -> str:
        rest = _without(run, *left, "prompt")
        return json.dumps([run.data, rest], sort_keys=True, default=str)

    def prompt(run: FinishedRun) -> str:
        pool = [run.prompts.get("sha256"), _chosen(run).get("pool_sha256")]
        rest = [run.data, _without(run, *left), *pool]
        return json.dumps(rest, sort_keys=True, default=str)

    asked = [run for run in runs if type(run.settings.get("shots")) is int]
    families = []
    for members in _by([run for run in asked if run.settings["shots"]], prompt).values():
        own = members[0].settings["prompt"]
        peers = [run for run in asked if engine(run) == engine(members[0])]
        elsewhere = {run.settings.get("prompt") for run in peers if run.settings["shots"]} - {own}
        zero_shot = [
            run
            for run in peers
            if not run.settings["shots"] and run.settings.get("prompt") not in elsewhere
        ]
        rows = _exemplar_rows(members, zero_shot)
        if sum(shots > 0 for _, shots, _ in rows) > 1 or any(
            run.settings.get("prompt") == own for run in zero_shot
        ):
            families.append((_without(members[0], *left), rows))
    return families


def _exemplar_rows(
    members: Sequence[FinishedRun], zero_shot: Sequence[FinishedRun]
) -> list[tuple[str, int, list[FinishedRun]]]:
    def strategy(run: FinishedRun) -> str:
        name = str(run.settings.get("exemplars"))
        return STRATEGIES.get(name, name)

    def selection(run: FinishedRun) -> str:
        chosen = _chosen(run)
        keys = [key for key in ("encoder", "encoder_id", "qids") if key in chosen]
        settings = {"engine": strategy(run)} | {key: str(chosen[key]) for key in keys}
        return json.dumps(settings, sort_keys=True)

    rows = []
    prompts = _by(zero_shot, lambda run: str(run.settings.get("prompt")))
    for prompt, without in prompts.items():
        name = "none" if len(prompts) == 1 else f"none, {prompt}"
        rows += [(name, 0, alike) for alike in _pooled(without, lambda _: 0)]
    selections = list(dict.fromkeys(map(selection, members)))
    labels = labels_of([json.loads(each) for each in selections])
    names = dict(zip(selections, labels, strict=True))
    order = {name: at for at, name in enumerate((*STRATEGIES.values(), *names))}
    found = []
    for alike in _pooled(members, lambda run: (selection(run), run.settings["shots"])):
        first = alike[0]
        place = order.get(strategy(first), len(order))
        found.append((place, names[selection(first)], int(str(first.settings["shots"])), alike))
    found.sort(key=lambda row: row[:3])
    return rows + [(name, shots, alike) for _, name, shots, alike in found]


def _chosen(run: FinishedRun) -> Mapping[str, object]:
    return as_object(run.prompts.get("exemplars"))
