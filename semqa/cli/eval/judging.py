"""Options, judges and progress shared by the commands of ``semqa eval``."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from semqa.cli.command import Group, taking
from semqa.cli.output import say
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.attribution.judges import CachedJudge, Judge


RecordOut = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Write the whole record to this JSON file.", show_default=False
    ),
]

EntailmentPrompt = Annotated[
    str | None,
    typer.Option(
        "--prompt",
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


JUDGE_PANEL = "Judge"

JudgeName = Annotated[
    str,
    typer.Option(
        "--judge",
        envvar="SEMQA_JUDGE",
        metavar="SPEC",
        help="lexical (weak, but needs no model), transformers:nli=MODEL,qa=MODEL,qg=MODEL (any of "
        "the three; folders or Hub names), or engine:SPEC (a language model).",
        rich_help_panel=JUDGE_PANEL,
    ),
]
"""Needs a default: ``judge: JudgeName = "lexical"``."""

JudgeCache = Annotated[
    Path | None,
    typer.Option(
        "--judge-cache",
        envvar="SEMQA_JUDGE_CACHE",
        metavar="DIR",
        help="Cache of judgements, used to resume interrupted runs.",
        show_default="judgements in semqa's cache folder",
        rich_help_panel=JUDGE_PANEL,
    ),
]

NoJudgeCache = Annotated[
    bool,
    typer.Option("--no-judge-cache", help="Do not cache judgements.", rich_help_panel=JUDGE_PANEL),
]

JudgeDevice = Annotated[
    str | None,
    typer.Option(
        "--judge-device",
        envvar="SEMQA_DEVICE",
        help="Device of the judge, such as cpu or cuda:1.",
        show_default="a GPU if any",
        rich_help_panel=JUDGE_PANEL,
    ),
]

JudgeDtype = Annotated[
    str | None,
    typer.Option(
        "--judge-dtype",
        envvar="SEMQA_DTYPE",
        help="Type of weights: auto, float32, float16 or bfloat16.",
        show_default="float32 on a CPU, else auto",
        rich_help_panel=JUDGE_PANEL,
    ),
]

JudgeBatch = Annotated[
    int | None,
    typer.Option(
        "--judge-batch-size",
        min=1,
        help="Inputs per batch.",
        show_default="8",
        rich_help_panel=JUDGE_PANEL,
    ),
]

JudgeUrl = Annotated[
    str | None,
    typer.Option(
        "--judge-url",
        metavar="URL",
        help="Endpoint of engine:openai:MODEL.",
        show_default="SEMQA_BASE_URL",
        rich_help_panel=JUDGE_PANEL,
    ),
]


_FLAGS = {
    "base_url": "--judge-url",
    "batch_size": "--judge-batch-size",
    "device": "--judge-device",
    "dtype": "--judge-dtype",
    "prompt": "--prompt",
    "temperature": "--temperature",
}
"""Flags of the judges' options."""


def unparsed_note(judge: CachedJudge, taken_for: str = "neutral") -> list[str]:
    """Return a note on unparsed replies of a language model, if any."""
    return count_note(judge.unparsed, taken_for)


def count_note(unparsed: int, taken_for: str = "neutral") -> list[str]:
    """Return a note on the number of unparsed replies, if any."""
    return _note(unparsed, ("reply", "replies"), "of the judge could not be parsed", taken_for)


def too_long_note(too_long: int, taken_for: str = "neutral") -> list[str]:
    """Return a note on the number of inputs that were too long for the judge, if any."""
    return _note(too_long, ("input was", "inputs were"), "too long for the judge", taken_for)


def _note(count: int, nouns: tuple[str, str], what: str, taken_for: str) -> list[str]:
    if not count:
        return []
    one = count == 1
    return [f"{count} {nouns[not one]} {what}, and {'counts' if one else 'count'} as {taken_for}"]


@contextmanager
def judge_progress(judge: Judge, title: str) -> Iterator[None]:
    """Show the progress of a judge while the block runs, if standard error is a terminal.

    Each call of the judge in the block restarts the bar, so pass many inputs per call. On Ctrl-C,
    print that the run can be resumed, if it can.
    """
    from semqa.attribution.judges import CachedJudge
    from semqa.cli.output import progress_bar

    cached = judge if isinstance(judge, CachedJudge) else None
    try:
        with progress_bar(title, "examples") as update:
            if cached is not None:
                cached.on_progress = update
            yield
    except KeyboardInterrupt:
        say_interrupted(judge)
        raise
    finally:
        if cached is not None:
            cached.on_progress = None


def say_interrupted(judge: Judge) -> None:
    """Print that the run can be resumed, if judgements are cached on disk."""
    from semqa.attribution.judges import CachedJudge

    if isinstance(judge, CachedJudge) and judge.on_disk:
        say("interrupted; run the same command again to continue")


def default_cache() -> Path:
    """Return the default cache folder of judgements."""
    from semqa.data.fetch import cache_folder

    return cache_folder() / "judgements"


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """The command-line options of a judge."""

    judge: JudgeName = "lexical"
    judge_cache: JudgeCache = None
    no_judge_cache: NoJudgeCache = False
    judge_device: JudgeDevice = None
    judge_dtype: JudgeDtype = None
    judge_batch_size: JudgeBatch = None
    judge_url: JudgeUrl = None

    def open(
        self,
        prompt: str | None = None,
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> CachedJudge:
        """Create the judge with a cache of judgements.

        Args:
            prompt: the user's own entailment template, for a judge that is an engine.
            temperature: sampling temperature of the engine; None for greedy decoding.
            seed: random seed for sampling.

        Raises:
            InputError: the judge is unknown, or the cache is invalid.
            UnavailableError: a model cannot be reached, or a package is missing.
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
            "temperature": temperature,
            "seed": seed,
        }
        try:
            judge = create_judge(self.judge, options)
        except InputError as error:
            error.field = _FLAGS.get(error.field or "", error.field)
            raise
        if self.no_judge_cache:
            return CachedJudge(judge, None)
        folder = self.judge_cache or default_cache()
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
        typer.Option(
            metavar="SPEC",
            help="Add AutoAIS, citation recall and precision, Disambig-F1 and DR by this judge: "
            "lexical, transformers:nli=MODEL,qa=MODEL (or one of the two), or engine:SPEC. Also "
            "works for finished runs.",
            rich_help_panel=JUDGE_PANEL,
        ),
    ] = None  # type: ignore[assignment]


JudgeCommand = taking(JudgeOptions)
"""A command that has the options of a judge."""


class DefaultCommand(Group):
    """A group where ``group FILE`` means ``group run FILE``.

    Write ``./NAME`` for a file that has the name of a command.
    """

    default: ClassVar[str] = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command if none is given."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def shown(value: float | None, digits: int = 3, *, times: float = 1) -> str:
    """Format a score for a table."""
    return "unscored" if value is None else f"{times * value:.{digits}f}"
