"""`semqa bench quotesum`: one engine over a QuoteSum file, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from semqa.cli.choice import choose, embedding_bar
from semqa.cli.engine_options import EngineOptions, takes_engine_options
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.cli.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.bench.run import Progress

__all__ = ["app"]

app = typer.Typer(name="bench", help="Benchmark engines on public datasets.", no_args_is_help=True)


@app.callback()
def _bench() -> None:
    """Benchmark engines on public datasets."""


@app.command("quotesum")
@takes_engine_options
def quotesum(
    options: EngineOptions,
    data: Annotated[Path, typer.Option(help="QuoteSum JSON lines.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder of this run.", show_default=False),
    ],
    engine: Annotated[
        str,
        typer.Option(
            envvar="SEMQA_ENGINE",
            help="extractive, lead-K, tail-K, human, or transformers:MODEL.",
        ),
    ] = "extractive",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many questions.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer every question of a QuoteSum file and score the answers.

    The folder gets run.json (what is run), examples.jsonl (a row an example,
    as it goes) and results.json. A run that was interrupted or killed goes on
    where it stopped: give the same command again.
    """
    from semqa.bench import Plan, run

    choice = choose(engine, options)
    plan = Plan(data, engine, choice.options, limit, choice.prompts)
    prompts = None
    try:
        if choice.prompts is not None:
            with embedding_bar(choice.prompts) as on_embedded:
                prompts = plan.create_prompts(plan.questions(), on_embedded)
            choice.say_citations(prompts)
        with progress_bar(engine, "examples") as update:

            def on_progress(progress: Progress) -> None:
                if update is not None:
                    update(progress.done, progress.total)
                elif progress.resumed and progress.done == progress.resumed:
                    say(f"going on: {progress.done} of {progress.total} examples are done already")

            results = run(plan, out, on_progress, prompts)
    except KeyboardInterrupt:
        say("interrupted: what is done is kept; give the same command again to go on")
        raise
    if as_json:
        write_result(json_line(results, indent=2))
        return
    _show(results)
    say(f"results: {out / 'results.json'}")


def _show(results: Mapping[str, object]) -> None:
    from semqa.cli.tables import print_tables, scores_table, unscored_notes

    record = cast("dict[str, object]", results["results"])
    print_tables(scores_table(record))
    for note in unscored_notes(record):
        write_result(note)
    quoting = cast("dict[str, object]", results["quoting"])
    statuses = cast("dict[str, int]", quoting["statuses"])
    seconds = cast("dict[str, float]", results["seconds"])
    if results["failed"]:
        say(f"{results['failed']} examples failed, the first with: {results['first_error']}")
    counted = ", ".join(f"{count} {status}" for status, count in statuses.items() if count)
    write_result(
        f"{quoting['quotes_per_answer']:.1f} quotes and {quoting['words_per_answer']:.0f} words an "
        f"answer; quotes: {counted or 'none'}; {seconds['p50'] * 1000:.1f} ms an answer (median)"
    )
