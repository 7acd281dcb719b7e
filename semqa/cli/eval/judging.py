"""Shared by the commands of ``semqa eval``: options, judges, progress, records and notes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.command import taking
from semqa.cli.output import json_line, progress_bar, resumable, say, write_result
from semqa.data.files import cache_folder
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.attribution.judges import CachedJudge

RecordOut = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write the whole record to this JSON file.")
]

EntailmentPrompt = Annotated[
    str | None,
    typer.Option(
        help="Your own template for engine:SPEC, with {{ premise }} and {{ hypothesis }}; the reply "
        "must be entailment, neutral or contradiction.",
        metavar="NAME|PATH",
        show_default="engine-entailment",
    ),
]

AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Leave out items without a prediction.")
]

Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N items.", metavar="N")]

Resamples = Annotated[
    int, typer.Option(min=0, max=1_000_000, help="Bootstrap resamples; 0 for no intervals.")
]

Seed = Annotated[int, typer.Option(min=0, envvar="SEMQA_SEED", help="Random seed.")]


def _option(*flags: str, **more: Any) -> Any:
    return typer.Option(*flags, rich_help_panel="Judge", **more)


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """The command-line options of a judge."""

    judge: Annotated[
        str,
        _option(
            envvar="SEMQA_JUDGE",
            metavar="SPEC",
            help="lexical (weak, but needs no model), transformers:nli=MODEL,qa=MODEL,qg=MODEL (any "
            "of the three; folders or Hub names), or engine:SPEC (a language model).",
        ),
    ] = "lexical"
    judge_cache: Annotated[
        Path | None,
        _option(
            envvar="SEMQA_JUDGE_CACHE",
            metavar="DIR",
            help="Cache of judgements, used to resume interrupted runs.",
            show_default="judgements in semqa's cache folder",
        ),
    ] = None
    no_judge_cache: Annotated[
        bool, _option("--no-judge-cache", help="Do not cache judgements.")
    ] = False
    judge_device: Annotated[
        str | None,
        _option(
            envvar="SEMQA_DEVICE",
            help="Device of the judge, such as cpu or cuda:1.",
            show_default="a GPU if any",
        ),
    ] = None
    judge_dtype: Annotated[
        str | None,
        _option(
            envvar="SEMQA_DTYPE",
            help="Type of weights: auto, float32, float16 or bfloat16.",
            show_default="float32 on a CPU, else auto",
        ),
    ] = None
    judge_batch_size: Annotated[
        int | None, _option(min=1, help="Inputs per batch.", show_default="8")
    ] = None
    judge_url: Annotated[
        str | None,
        _option(
            metavar="URL", help="Endpoint of engine:openai:MODEL.", show_default="SEMQA_BASE_URL"
        ),
    ] = None

    def open(self, prompt: str | None = None, **sampling: float | None) -> CachedJudge:
        """Create the judge with a cache of judgements.

        Args:
            prompt: the user's own entailment template, for a judge that is an engine.
            sampling: temperature and seed of the engine; by default, decoding is greedy.
        """
        from semqa.attribution.judges import CachedJudge, create_judge
        from semqa.attribution.judges.cached import FILE_NAME

        if self.no_judge_cache and self.judge_cache is not None:
            raise InputError("cannot be combined with --judge-cache.", field="--no-judge-cache")
        options = {
            "device": self.judge_device,
            "dtype": self.judge_dtype,
            "batch_size": self.judge_batch_size,
            "base_url": self.judge_url,
            "prompt": prompt,
            **sampling,
        }
        try:
            judge = create_judge(self.judge, options)
        except InputError as error:
            if error.field in ("device", "dtype", "batch_size"):
                error.field = f"judge_{error.field}"
            elif error.field == "base_url":
                error.field = "judge_url"
            raise
        if self.no_judge_cache:
            return CachedJudge(judge, None)
        folder = self.judge_cache or cache_folder() / "judgements"
        if folder.exists() and not folder.is_dir():
            raise InputError(
                f"must be a folder, but {folder} is a file.", field="--judge-cache", value=folder
            )
        return CachedJudge(judge, folder / FILE_NAME)


@dataclass(frozen=True, slots=True)
class BenchJudge(JudgeOptions):
    """The options of a judge, which must be named."""

    judge: Annotated[
        str | None,
        _option(
            metavar="SPEC",
            help="Add AutoAIS, citation recall and precision, Disambig-F1 and DR by this judge: "
            "lexical, transformers:nli=MODEL,qa=MODEL (or one of the two), or engine:SPEC. Also "
            "works for finished runs.",
        ),
    ] = None  # type: ignore[assignment]


JudgeCommand = taking(JudgeOptions)
"""A command that has the options of a judge."""


@contextmanager
def judging(
    ctx: typer.Context, title: str = "", prompt: str | None = None, **sampling: float | None
) -> Iterator[CachedJudge]:
    """Open the judge of a `JudgeCommand`, show its progress while the block runs, and close it."""
    options: JudgeOptions = ctx.obj[JudgeOptions]
    judge = options.open(prompt, **sampling)
    try:
        with judge_progress(judge, title):
            yield judge
    finally:
        judge.close()


@contextmanager
def judge_progress(judge: CachedJudge, title: str = "") -> Iterator[None]:
    """Show the progress of a judge while the block runs, if there is a title."""
    with resumable(saved=judge.on_disk), judge_bar(judge, title) if title else nullcontext():
        yield


@contextmanager
def judge_bar(judge: CachedJudge, title: str) -> Iterator[None]:
    """Show the progress of a judge while the block runs, if standard error is a terminal.

    Each call of the judge in the block restarts the bar, so pass many inputs per call.
    """
    try:
        with progress_bar(title, "examples") as judge.on_progress:
            yield
    finally:
        judge.on_progress = None


def finish(
    record: Mapping[str, Any],
    out: Path | None,
    show: Callable[[], None],
    *,
    as_json: bool,
    hidden: Collection[str] = (),
) -> None:
    """Write a record if there is an output file; print it as JSON without `hidden`, or show it."""
    if out is not None:
        from semqa.attribution.records import write_record

        write_record(out, record)
    if as_json:
        shown = {name: value for name, value in record.items() if name not in hidden}
        write_result(json_line(shown, indent=2))
        return
    show()
    if out is not None:
        say(f"record: {out}")


def unparsed_note(unparsed: int, taken_for: str = "neutral") -> list[str]:
    """Return a note on the number of unparsed replies of a language model, if any."""
    return _note(unparsed, ("reply", "replies"), "of the judge could not be parsed", taken_for)


def too_long_note(too_long: int, taken_for: str = "neutral") -> list[str]:
    """Return a note on the number of inputs that were too long for the judge, if any."""
    return _note(too_long, ("input was", "inputs were"), "too long for the judge", taken_for)


def _note(count: int, nouns: tuple[str, str], what: str, taken_for: str) -> list[str]:
    if not count:
        return []
    one = count == 1
    return [f"{count} {nouns[not one]} {what}, and {'counts' if one else 'count'} as {taken_for}"]
