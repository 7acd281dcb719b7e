"""Options, judge and progress that the commands of ``semqa eval`` share."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from semqa.cli.declared import DeclaredCommand
from semqa.cli.help import Group
from semqa.cli.output import say
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from semqa.attribution.judges import CachedJudge, Judge


RecordOut = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Write the whole record to this file, as JSON.", show_default=False
    ),
]

EntailmentPrompt = Annotated[
    str | None,
    typer.Option(
        "--prompt",
        help="Your own template for engine:SPEC, with {{ premise }} and {{ hypothesis }}; the reply "
        "names entailment, neutral or contradiction.",
        metavar="NAME|PATH",
        show_default="engine-entailment",
    ),
]

AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Leave out items without a prediction.")
]

Limit = Annotated[int | None, typer.Option(min=1, help="Only the first items.")]

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
        help="lexical (needs no model, and is weak), transformers:nli=MODEL,qa=MODEL,qg=MODEL (any "
        "of them; folders or names on the Hub), or engine:SPEC, a language model through any engine.",
        rich_help_panel=JUDGE_PANEL,
    ),
]
"""Give it a default: ``judge: JudgeName = "lexical"``."""

JudgeCache = Annotated[
    Path | None,
    typer.Option(
        "--judge-cache",
        envvar="SEMQA_JUDGE_CACHE",
        metavar="DIR",
        help="Folder where judgements are kept: a run that ended early goes on from there.",
        show_default="judgements, in semqa's cache folder",
        rich_help_panel=JUDGE_PANEL,
    ),
]

NoJudgeCache = Annotated[
    bool,
    typer.Option("--no-judge-cache", help="Keep no judgement.", rich_help_panel=JUDGE_PANEL),
]

JudgeDevice = Annotated[
    str | None,
    typer.Option(
        "--judge-device",
        envvar="SEMQA_DEVICE",
        help="Such as cpu or cuda:1.",
        show_default="a GPU if any",
        rich_help_panel=JUDGE_PANEL,
    ),
]

JudgeDtype = Annotated[
    str | None,
    typer.Option(
        "--judge-dtype",
        envvar="SEMQA_DTYPE",
        help="auto, float32, float16 or bfloat16.",
        show_default="float32 on a CPU, else auto",
        rich_help_panel=JUDGE_PANEL,
    ),
]

JudgeBatch = Annotated[
    int | None,
    typer.Option(
        "--judge-batch-size",
        min=1,
        help="Inputs judged together.",
        show_default="8",
        rich_help_panel=JUDGE_PANEL,
    ),
]

JudgeUrl = Annotated[
    str | None,
    typer.Option(
        "--judge-url",
        metavar="URL",
        help="Address of the endpoint of engine:openai:MODEL.",
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
"""How the options of judges are typed."""


def unparsed_note(judge: CachedJudge, taken_for: str = "neutral") -> list[str]:
    """Return a note if replies of a language model were unparsed."""
    return count_note(judge.unparsed, taken_for)


def count_note(unparsed: int, taken_for: str = "neutral") -> list[str]:
    """Return a note on how many replies could not be read, if any."""
    return _note(unparsed, ("reply", "replies"), "of the judge could not be read", taken_for)


def too_long_note(too_long: int, taken_for: str = "neutral") -> list[str]:
    """Return a note on how many inputs were too long for the judge, if any."""
    return _note(too_long, ("input was", "inputs were"), "too long for the judge", taken_for)


def _note(count: int, nouns: tuple[str, str], what: str, taken_for: str) -> list[str]:
    if not count:
        return []
    one = count == 1
    return [f"{count} {nouns[not one]} {what}, and {'counts' if one else 'count'} as {taken_for}"]


@contextmanager
def judge_progress(judge: Judge, title: str) -> Iterator[None]:
    """Show the progress of a judge while the block runs, if standard error is a terminal.

    Each call of the judge in the block has the bar for itself: give it many inputs at once. Who
    interrupts it is told that the same command goes on, where that is so.
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
    """Say that results are kept, if they are."""
    from semqa.attribution.judges import CachedJudge

    if isinstance(judge, CachedJudge) and judge.on_disk:
        say("interrupted: what was judged is kept; give the same command again to go on")


def default_cache() -> Path:
    """Return the default folder of judgements."""
    from semqa.data.fetch import cache_folder

    return cache_folder() / "judgements"


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """The options of a judge, as commands declare them."""

    judge: JudgeName = "lexical"
    judge_cache: JudgeCache = None
    no_judge_cache: NoJudgeCache = False
    judge_device: JudgeDevice = None
    judge_dtype: JudgeDtype = None
    judge_batch: JudgeBatch = None
    judge_url: JudgeUrl = None

    def open(
        self,
        prompt: str | None = None,
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> CachedJudge:
        """Create the judge, with a cache of its judgements.

        Args:
            prompt: the user's own template for entailment, if the judge is an engine.
            temperature: at which the language model of an engine is sampled; by default greedy.
            seed: random seed of the samples.

        Raises:
            InputError: there is no such judge, or the cache is invalid.
            UnavailableError: a model was not reached, or a package is missing.
        """
        from semqa.attribution.judges import CachedJudge, create_judge
        from semqa.attribution.judges.cached import FILE_NAME

        if self.no_judge_cache and self.judge_cache is not None:
            raise InputError("excludes --judge-cache.", field="--no-judge-cache")
        options = {
            "device": self.judge_device,
            "dtype": self.judge_dtype,
            "batch_size": self.judge_batch,
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
                f"must be a folder; {folder} is a file.", field="--judge-cache", value=folder
            )
        return CachedJudge(judge, folder / FILE_NAME)


class JudgeCommand(DeclaredCommand):
    """A command that takes the options of a judge, as `JudgeOptions`."""

    declaration = JudgeOptions


class DefaultCommand(Group):
    """``group FILE`` is ``group run FILE``; a file with the name of a command is ``./NAME``."""

    default: ClassVar[str] = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command if none is given."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def make_table(*columns: str, left: int = 1) -> Table:
    """Return an empty table; the first `left` columns are text."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right", overflow="fold")
    return table


def shown(value: float | None, digits: int = 3, *, times: float = 1) -> str:
    """Return a figure as tables show it."""
    return "unscored" if value is None else f"{times * value:.{digits}f}"
