"""`semqa bench quotesum`: run one engine on a QuoteSum file, or a grid of runs; resumable."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.choice import EngineOptions, choose, with_default
from semqa.cli.command import taking
from semqa.cli.eval.judging import BenchJudge
from semqa.cli.options import AsJson, RayOptions
from semqa.cli.output import json_line, resumable, say, write_result
from semqa.cli.running import named_judge
from semqa.cli.tables import print_tables
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.attribution.judges import CachedJudge

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _bench() -> None:
    """Benchmark engines on public datasets."""


@app.command("quotesum", cls=taking(EngineOptions, BenchJudge, RayOptions))
def quotesum(
    ctx: typer.Context,
    data: Annotated[Path | None, typer.Option(help="QuoteSum JSON lines.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the run or grid.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Grid of runs as YAML: keys are these flags, each value of a list is tried; "
            "- for standard input. Typed flags apply to all runs.",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            envvar="SEMQA_ENGINE",
            help="extractive, bm25, nearest, lead-K, tail-K, human, transformers:MODEL, "
            "vllm:MODEL, or openai:MODEL.",
            show_default="see semqa models",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N questions.", metavar="N")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Retry the examples that failed in earlier runs.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Answer every question of a QuoteSum file and score the answers.

    The folder gets run.json (the settings), examples.jsonl (one row per example)
    and results.json. To resume an interrupted run, run the same command again.
    The exit code is 1 if all examples failed, or if a run of a grid failed.
    """
    from semqa.bench import Plan, run
    from semqa.cli.bench_watch import show_results, watching

    options: EngineOptions = ctx.obj[EngineOptions]
    if config is not None:
        _run_grid(config, ctx, out, retry_failed=retry_failed, as_json=as_json)
        return
    if data is None or out is None:
        missing = "--data" if data is None else "--out"
        raise InputError("is missing.", field=missing, hint="Or give a grid with --config.")
    engine, options = with_default(engine, options)
    judging = ctx.with_resource(_judge(ctx.obj[BenchJudge], options.typed))
    choice = choose(engine, options)
    plan = Plan(data, engine, choice.options, limit, choice.prompts)
    prompts = None
    with resumable(), ctx.obj[RayOptions].opened() as elsewhere, watching(engine) as watch:
        if choice.prompts is not None:
            prompts = plan.create_prompts(plan.questions(), watch.embedded)
            choice.say_citations(prompts)
        if judging is not None:
            judging.on_progress = watch.judged
        results = run(
            plan, out, watch, prompts, judging, retry_failed=retry_failed, workers=elsewhere
        )
    if as_json:
        write_result(json_line(results, indent=2))
    else:
        show_results(results)
        say(f"results: {out / 'results.json'}")
    if results["failed"] and not results["answered"]:
        raise typer.Exit(1)


def _run_grid(
    config: Path, ctx: typer.Context, out: Path | None, *, retry_failed: bool, as_json: bool
) -> None:
    """Run a grid, after checking its whole file."""
    from semqa.bench.config import read_config
    from semqa.bench.grid import run_grid
    from semqa.cli.bench_config import ConfigReader
    from semqa.cli.bench_watch import outcomes_table, watching

    options: EngineOptions = ctx.obj[EngineOptions]
    reader = ConfigReader(read_config(config), ctx)
    in_file = {name: v for name, v in reader.whole().items() if name not in options.typed}
    out = in_file.get("out", out)
    if out is None:
        raise InputError(
            "is missing. Give a folder here or with --out.", field="out", where=str(config)
        )
    cells = reader.cells()
    for line in reader.left_out:
        say(line)
    with reader.at_line(in_file, "judge"):
        judge = _with_file(ctx.obj[BenchJudge], in_file)
        judging = ctx.with_resource(_judge(judge, options.typed | in_file.keys()))
    with reader.at_line(in_file, "distributed"):
        elsewhere = ctx.with_resource(_with_file(ctx.obj[RayOptions], in_file).opened())
    with resumable(), watching(cells=cells) as watch:
        if judging is not None:
            judging.on_progress = watch.judged
        outcomes = run_grid(
            cells,
            out,
            watch,
            judging,
            retry_failed=in_file.get("retry_failed", retry_failed),
            workers=elsewhere,
        )
    if as_json:
        write_result(json_line({"out": str(out), "cells": [asdict(o) for o in outcomes]}, indent=2))
    else:
        print_tables(outcomes_table(outcomes))
        say(f"report: semqa report {out}")
    if any(each.state == "failed" or (each.failed and not each.answered) for each in outcomes):
        raise typer.Exit(1)


def _with_file(options: Any, in_file: Mapping[str, Any]) -> Any:
    """Return options of the command with the values that a grid file has for them."""
    own = {each.name for each in fields(options)} & in_file.keys()
    return replace(options, **{name: in_file[name] for name in own})


def _judge(judge: BenchJudge, given: Collection[str]) -> AbstractContextManager[CachedJudge | None]:
    named = judge.judge is not None
    return named_judge(judge, named=named, needs="--judge", typed=given, reads=True)
