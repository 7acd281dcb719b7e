"""`semqa bench quotesum`: one engine over a QuoteSum file, or a grid of runs; resumable."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.bench_results import show_results
from semqa.cli.bench_watch import watch_run
from semqa.cli.checking import open_named_judge
from semqa.cli.choice import choose
from semqa.cli.engine_options import EngineOptions, takes_engine_options
from semqa.cli.eval.judging import (
    JUDGE_PANEL,
    JudgeCache,
    JudgeDevice,
    JudgeUrl,
    NoJudgeCache,
)
from semqa.cli.gen_kwargs import with_gen_kwargs
from semqa.cli.limit import read_limit, resolve_limit
from semqa.cli.lm_eval_flags import LmEvalCommand
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.cli.ray_options import (
    DistributedBy,
    NumCpus,
    NumGpus,
    NumWorkers,
    RayAddress,
    opened_ray,
)
from semqa.cli.saved import with_default
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.attribution.judges import CachedJudge

__all__ = ["app"]

app = typer.Typer(name="bench", help="Benchmark engines on public datasets.", no_args_is_help=True)


@app.callback()
def _bench() -> None:
    """Benchmark engines on public datasets."""


@app.command("quotesum", cls=LmEvalCommand)
@takes_engine_options
def quotesum(
    options: EngineOptions,
    data: Annotated[
        Path | None, typer.Option(help="QuoteSum JSON lines.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", "--output-path", help="Folder of this run, or grid.", show_default=False
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A grid of runs, as YAML: keys are these flags, a list is tried value by value; "
            "- for standard input. A flag that is typed besides counts for every run.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            envvar="SEMQA_ENGINE",
            help="extractive, bm25, nearest, lead-K, tail-K, human, transformers:MODEL, "
            "vllm:MODEL, or openai:MODEL.",
            show_default="what semqa models shows, else extractive",
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            metavar="N|SHARE",
            help="Only the first so many questions, or below 1 that share of them.",
            show_default=False,
        ),
    ] = None,
    gen_kwargs: Annotated[
        str | None,
        typer.Option(
            "--gen-kwargs",
            metavar="NAME=VALUE,…",
            help="Decoding in one string, or as JSON: temperature=0.7,top_p=0.9,max_gen_toks=128.",
            show_default=False,
        ),
    ] = None,
    predict_only: Annotated[
        bool, typer.Option("--predict-only", help="Answer, and leave scoring to --rescore.")
    ] = False,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed",
            help="Try examples again that failed in earlier runs; without it they stay failed.",
        ),
    ] = False,
    rescore: Annotated[
        bool,
        typer.Option("--rescore", help="Score again what finished runs wrote; no model is loaded."),
    ] = False,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            metavar="SPEC",
            help="Add AutoAIS, citation recall and precision, Disambig-F1 and DR, as this judge says: "
            "lexical, transformers:nli=MODEL,qa=MODEL (or one of them), or engine:SPEC. A finished "
            "run can be judged later.",
            show_default=False,
            rich_help_panel=JUDGE_PANEL,
        ),
    ] = None,
    judge_cache: JudgeCache = None,
    no_judge_cache: NoJudgeCache = False,
    judge_device: JudgeDevice = None,
    judge_url: JudgeUrl = None,
    distributed: DistributedBy = None,
    ray_address: RayAddress = None,
    workers: NumWorkers = None,
    num_cpus: NumCpus = None,
    num_gpus: NumGpus = None,
    as_json: AsJson = False,
) -> None:
    """Answer every question of a QuoteSum file and score the answers.

    The folder gets run.json (what is run), examples.jsonl (a row an example,
    as it goes) and results.json. A run that was interrupted or killed goes on
    where it stopped: give the same command again. Exit code 1 means that every example failed, or a run of a grid.
    """
    from semqa.bench import Plan, run

    judges = {
        "judge": judge,
        "judge_cache": judge_cache,
        "no_judge_cache": no_judge_cache,
        "judge_device": judge_device,
        "judge_url": judge_url,
    }
    spread: dict[str, object] = {
        "distributed": distributed,
        "ray_address": ray_address,
        "workers": workers,
        "num_cpus": num_cpus,
        "num_gpus": num_gpus,
    }
    _check_together(
        options,
        predict_only=predict_only,
        retry_failed=retry_failed,
        rescore=rescore,
        judge=judge,
    )
    if config is not None:
        whole = {
            "out": out,
            "predict_only": predict_only,
            "retry_failed": retry_failed,
            **judges,
            **spread,
        }
        of_runs = {"data": data, "engine": engine, "limit": _limit(limit), "gen_kwargs": gen_kwargs}
        _run_config(config, options, whole, of_runs, rescore=rescore, as_json=as_json)
        return
    data, out = _needed("--data", data), _needed("--out", out)
    if rescore:
        from semqa.bench.rescore import rescore as score_again

        with opened_ray(spread) as ray:
            results = score_again(out, data, ray)
        _finish(results, out, as_json=as_json)
        return
    engine, options = with_default(engine, options)
    options = with_gen_kwargs(options, gen_kwargs)
    judging = _opened_judge(judges, options)
    choice = choose(engine, options)
    first = resolve_limit(_limit(limit), data)
    plan = Plan(data, engine, choice.options, first, choice.prompts)
    prompts = None
    try:
        with opened_ray(spread) as ray, watch_run(engine) as watch:
            if choice.prompts is not None:
                prompts = plan.create_prompts(plan.questions(), watch.embedded, prepare=False)
                choice.say_citations(prompts)
            if judging is not None:
                judging.on_progress = watch.judged
            results = run(
                plan,
                out,
                watch.progress,
                prompts,
                watch.remark,
                judging,
                predict_only=predict_only,
                retry_failed=retry_failed,
                workers=ray,
            )
    except KeyboardInterrupt:
        say("interrupted: what is done is kept; give the same command again to go on")
        raise
    finally:
        if judging is not None:
            judging.close()
    _finish(results, out, as_json=as_json)


def _limit(text: str | None) -> float | None:
    try:
        return None if text is None else read_limit(text)
    except ValueError as error:
        raise InputError(f"--limit: got {text!r:.80}, expected {error}; correct it") from error


def _needed(name: str, value: Path | None) -> Path:
    if value is None:
        raise InputError(
            f"{name}: got none, expected a path; give it, or a grid of runs with --config"
        )
    return value


def _check_together(
    options: EngineOptions,
    *,
    predict_only: bool,
    retry_failed: bool,
    rescore: bool,
    judge: str | None,
) -> None:
    """See that flags that exclude each other are not given together."""
    others = (
        ("--predict-only", predict_only),
        ("--retry-failed", retry_failed),
        ("--judge", judge is not None),
    )
    for flag_name, given in others:
        if rescore and given and flag_name[2:].replace("-", "_") in options.typed:
            raise InputError(f"--rescore: got it with {flag_name}, expected one; leave one out")


def _opened_judge(given: Mapping[str, Any], options: EngineOptions) -> CachedJudge | None:
    return open_named_judge(
        given["judge"],
        given["judge_cache"],
        no_cache=given["no_judge_cache"],
        device=given["judge_device"],
        base_url=given["judge_url"],
        needs="--judge",
        typed=options.typed,
        reads=True,
    )


def _finish(results: Mapping[str, Any], out: Path, *, as_json: bool) -> None:
    if as_json:
        write_result(json_line(results, indent=2))
    else:
        show_results(results)
        say(f"results: {out / 'results.json'}")
    if results["failed"] and not results["answered"]:
        raise typer.Exit(1)


def _run_config(
    config: Path,
    options: EngineOptions,
    whole: dict[str, Any],
    of_runs: Mapping[str, Any],
    *,
    rescore: bool,
    as_json: bool,
) -> None:
    """Run a grid: all that its file says is checked before anything runs."""
    from semqa.bench.grid import read_config, run_grid
    from semqa.cli.bench_config import ConfigReader
    from semqa.cli.bench_grid import outcomes_table, watch_grid

    typed = {name: value for name, value in of_runs.items() if name in options.typed}
    reader = ConfigReader(read_config(config), options, typed)
    said = reader.whole()
    whole |= {name: value for name, value in said.items() if name not in options.typed}
    if whole["out"] is None:
        raise InputError(
            f"{config}: no folder: got neither --out nor a key out, expected one; write such as "
            "out: runs"
        )
    cells = reader.cells()
    for line in reader.left_out:
        say(line)
    out: Path = whole["out"]
    try:
        judging = None if rescore else _opened_judge(whole, options)
    except InputError as error:
        raise InputError(f"{reader.naming('judge', whole['judge'])}{error}") from error
    try:
        with opened_ray(whole) as ray, watch_grid(cells) as watch:
            if judging is not None:
                judging.on_progress = watch.run.judged
            outcomes = run_grid(
                cells,
                out,
                on_cell=watch.begin,
                on_progress=watch.progress,
                on_done=watch.end,
                on_embedded=watch.run.embedded,
                say=watch.run.remark,
                judge=judging,
                predict_only=whole["predict_only"],
                retry_failed=whole["retry_failed"],
                rescoring=rescore,
                workers=ray,
            )
    except KeyboardInterrupt:
        say("interrupted: what is done is kept; give the same command again to go on")
        raise
    finally:
        if judging is not None:
            judging.close()
    if as_json:
        write_result(json_line({"out": str(out), "cells": [asdict(o) for o in outcomes]}, indent=2))
    else:
        from semqa.cli.tables import print_tables

        print_tables(outcomes_table(outcomes))
        say(f"report: semqa report {out}")
    if any(each.state == "failed" or (each.failed and not each.answered) for each in outcomes):
        raise typer.Exit(1)
