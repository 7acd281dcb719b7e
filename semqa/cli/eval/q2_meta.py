"""`semqa eval q2 meta`: how well measures of consistency agree with people."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.eval.judge_options import JudgeOptions, takes_judge_options
from semqa.cli.eval.q2_options import (
    BaselineOption,
    BertScoreLayer,
    BertScoreModel,
    DropRepeated,
    KnowledgeColumn,
    LabelColumn,
    ResponseColumn,
    check_baselines,
    compute_baselines,
)
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_file, write_result
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from semqa.attribution.q2 import Columns, Judged, Level, Response, Simulation

__all__ = ["meta"]

RATES = (0.05, 0.1, 0.15, 0.2, 0.25)


@takes_judge_options
def meta(
    asking: JudgeOptions,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Labelled responses: records of semqa eval q2 --out, or the files that it reads.",
            show_default=False,
        ),
    ] = None,
    consistent: Annotated[
        list[Path] | None,
        typer.Option(help="A file of responses, all consistent; repeatable.", show_default=False),
    ] = None,
    inconsistent: Annotated[
        list[Path] | None,
        typer.Option(help="A file of responses, all inconsistent; repeatable.", show_default=False),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of the files that holds scores; repeatable. In a file of contexts, "
            "<system>_NAME.",
            show_default=False,
        ),
    ] = None,
    baseline: BaselineOption = None,
    bertscore_model: BertScoreModel = None,
    bertscore_layer: BertScoreLayer = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            help="A score above it means consistent: a number, or MEASURE=NUMBER; repeatable, also "
            "to try several.",
            show_default="0.5",
        ),
    ] = None,
    rate: Annotated[
        list[float] | None,
        typer.Option(
            help="Share of inconsistent responses of a simulated system; repeatable.",
            show_default="0.05, 0.1, 0.15, 0.2, 0.25",
        ),
    ] = None,
    size: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Contexts of a simulated system.")
    ] = 350,
    iterations: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="How often systems are simulated.")
    ] = 1000,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, envvar="SEMQA_SEED", help="Of the simulation.")
    ] = 0,
    official: Annotated[
        bool,
        typer.Option(
            "--official", help="Draw as the released code does, whose figures a seed then gives."
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw precision and recall here: .svg, .png or .pdf.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write all figures and curves here, as JSON.", show_default=False
        ),
    ] = None,
    paired: Annotated[
        bool,
        typer.Option(
            "--paired",
            help="Each file is a system, and responses with the same id are to the same context.",
        ),
    ] = False,
    response_column: ResponseColumn = "response",
    knowledge_column: KnowledgeColumn = "knowledge",
    label_column: LabelColumn = "label",
    drop_repeated: DropRepeated = False,
    as_json: AsJson = False,
) -> None:
    """Hold measures to what people found: precision and recall, accuracy, simulated systems.

    A file is of one class where its name says so (consistent, inconsistent)
    or a column label does. Without --baseline and --measure, overlap and BLEU
    are computed, which need no judge.
    """
    from semqa.attribution.q2 import Columns, Simulation
    from semqa.attribution.records import versions

    named: list[tuple[Path, bool | None]] = [(path, None) for path in files or ()]
    named += [(path, False) for path in consistent or ()]
    named += [(path, True) for path in inconsistent or ()]
    if not named:
        raise InputError(
            "nothing to evaluate: got no file, expected labelled responses; name records or tables"
        )
    paths = [path for path, _ in named]
    check_stdin_once(*paths)
    check_not_an_input(out, *paths)
    check_not_an_input(plot, *paths)
    check_baselines(baseline)
    simulation = Simulation(tuple(rate or RATES), size, iterations, seed, official)
    columns = Columns(response_column, knowledge_column, label_column)
    judged, described = _judged(named, columns, drop_repeated, measure or (), paired)
    wanted = list(dict.fromkeys(baseline or ()))
    if not wanted and not measure and not any(each.scores for each in judged):
        wanted = ["overlap", "bleu"]
    asked = asking.open() if "nli" in wanted else None
    found = compute_baselines(
        wanted,
        [each.response for each in judged],
        asked,
        model=bertscore_model,
        layer=bertscore_layer,
        official=official,
    )
    judged = [
        each._replace(scores={**each.scores, **dict.fromkeys(wanted), **found.of(place)})
        for place, each in enumerate(judged)
    ]
    measures = list(dict.fromkeys(name for each in judged for name in each.scores))
    thresholds = _thresholds(threshold or (), measures)
    record, levels = _evaluated(judged, measures, thresholds, simulation)
    record |= {
        "files": described,
        "baselines": dict(found.described),
        "versions": versions("numpy", "scipy", "scikit-learn") | dict(found.versions),
    }
    if plot is not None:
        from semqa.attribution.q2.meta import plot_levels

        plot_levels(levels, plot)
    if out is not None:
        write_file(out, json_line(record, indent=1))
    for part in (record["responses"], record["contexts"]):
        for row in (part or {}).get("response_level", {}).values():
            row.pop("curves", None)
    if as_json:
        write_result(json_line(record, indent=2))
        return
    from semqa.cli.eval.q2_tables import meta_notes, meta_tables
    from semqa.cli.tables import print_tables

    print_tables(*meta_tables(record))
    for note in meta_notes(record):
        write_result(note)
    for path in (plot, out):
        if path is not None:
            say(f"written: {path}")


def _judged(
    named: Sequence[tuple[Path, bool | None]],
    columns: Columns,
    drop: bool,
    measures: Sequence[str],
    paired: bool,
) -> tuple[list[Judged], list[dict[str, Any]]]:
    """Read all files; ids and contexts carry the file's name where there are several."""
    if paired and len(named) < 2:
        raise InputError(
            "--paired: got one file, expected one for each system; name the others, or leave it out"
        )
    from semqa.attribution.q2 import Run
    from semqa.attribution.q2.reading import read_responses
    from semqa.attribution.q2.record import judged_of, read_if_run

    found: list[Judged] = []
    described = []
    for path, label in named:
        run = read_if_run(path)
        if run is not None:
            part = judged_of(run)
            described.append({"name": str(path), "record": True, "responses": len(part)})
        else:
            file = read_responses(
                path,
                inconsistent=label,
                columns=columns,
                drop_repeated=drop,
                measures=measures,
            )
            part = [_plain(each) for each in file.responses]
            described.append(Run.describe_file(file))
        prefix = f"{path}#" if len(named) > 1 else ""
        found += [_renamed(each, prefix, str(path) if paired else None) for each in part]
    return found, described


def _plain(response: Response) -> Judged:
    from semqa.attribution.q2 import Judged

    return Judged(response, dict(response.scores))


def _renamed(judged: Judged, prefix: str, system: str | None) -> Judged:
    """Return a response as it is named among those of all files.

    Args:
        judged: the response.
        prefix: what its id begins with.
        system: the system that all of its file are of, where ids name contexts.
    """
    from dataclasses import replace

    response = judged.response
    context = None if response.context is None else prefix + response.context
    if system is not None:
        if response.context is not None:
            raise InputError(
                f"{response.where}: several systems in a file: got {response.system!r} among them, "
                "expected one with --paired; leave it out"
            )
        context, response = response.id, replace(response, system=system)
    return judged._replace(response=replace(response, id=prefix + response.id, context=context))


def _evaluated(
    judged: Sequence[Judged],
    measures: Sequence[str],
    thresholds: Mapping[str, Sequence[float]],
    simulation: Simulation,
) -> tuple[dict[str, Any], list[Level]]:
    """Return the record, and the levels to draw: of plain responses, or else of contexts."""
    from semqa.attribution.q2 import annotation_counts, contexts_of, system_level

    shared = [each for each in judged if each.response.context is not None]
    alone = [each for each in judged if each.response.context is None]
    levels_alone = _levels(alone, measures, thresholds)
    levels_shared = _levels(shared, measures, thresholds)
    labelled = {_file(each) for each in judged if each.response.inconsistent is not None}
    record: dict[str, Any] = {
        "kind": "semqa-q2-meta",
        "n": len(judged),
        "responses": None,
        "contexts": None,
        "unlabelled": sorted({_file(each) for each in judged} - labelled),
    }
    if alone:
        record["responses"] = {
            "n": len(alone),
            "response_level": {each.measure: each.to_dict(curves=True) for each in levels_alone},
        }
    if shared:
        systems = [system_level(contexts_of(shared, name), name, simulation) for name in measures]
        record["contexts"] = {
            "n": len(shared),
            "annotation": annotation_counts(shared),
            "response_level": {each.measure: each.to_dict(curves=True) for each in levels_shared},
            "system_level": {each.measure: each.to_dict() for each in systems if each is not None},
            "simulation": {
                "rates": list(simulation.rates),
                "inconsistent": list(simulation.inconsistent),
                "size": simulation.size,
                "iterations": simulation.iterations,
                "seed": simulation.seed,
                "official": simulation.official,
            },
        }
    return record, levels_alone or levels_shared


def _levels(
    judged: Sequence[Judged], measures: Iterable[str], thresholds: Mapping[str, Sequence[float]]
) -> list[Level]:
    from semqa.attribution.q2 import response_level

    found = [response_level(judged, name, *thresholds[name]) for name in measures]
    return [level for level in found if level is not None]


def _file(judged: Judged) -> str:
    where, _, _ = judged.response.where.rpartition(":")
    return where


def _thresholds(given: Sequence[str], measures: Sequence[str]) -> dict[str, list[float]]:
    """Return the thresholds of each measure: its own, or else those that name none, or 0.5."""
    own: dict[str, list[float]] = {name: [] for name in ("", *measures)}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or name not in own:
            raise InputError(
                f"--threshold: got {text!r}, expected a number, or one of {', '.join(measures)} "
                "with = and a number; correct it"
            )
        own[name].append(value)
    return {name: own[name] or own[""] or [0.5] for name in measures}
