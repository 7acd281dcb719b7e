"""How a training goes on, for whoever waits for it: in one process of those that train."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from semqa.cli.bench_watch import Lines, duration
from semqa.cli.output import say
from semqa.cli.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from semqa.trainer import Progress
    from semqa.trainer.fit import Fit

__all__ = ["told_progress"]

TERMINATED = 128 + 15
"""The exit code of a process that ended for SIGTERM."""


@contextmanager
def told_progress(*, quiet: bool) -> Iterator[Progress]:
    """Tell on standard error how the training in the block goes, and how it was interrupted.

    Args:
        quiet: leave out what only tells why it takes long.
    """
    from semqa.trainer import Progress, Ranks, Terminated

    first = Ranks.first_here()
    try:
        if not first:
            yield Progress()
            return
        with progress_bar("train", "examples") as update:
            told = update or (None if quiet else _in_lines())
            spoken = (None, None) if quiet else (say, _fits)
            yield Progress(told, _resumed, _damaged, *spoken)
    except KeyboardInterrupt as error:
        if first:
            say("interrupted: the last checkpoint is kept; give the same command again to go on")
        if isinstance(error, Terminated):
            raise typer.Exit(TERMINATED) from error
        raise


def _in_lines() -> Callable[[int, int | None], None]:
    """Return what tells of steps where there is no terminal: a line every half minute."""
    lines = Lines(say)
    return lambda done, total: lines.tell(done, total, "steps", list)


def _fits(found: Fit, steps: int) -> None:
    say(
        f"{found.micro_batch} at once, in {found.needed / 1e9:.1f} GB of the "
        f"{found.free / 1e9:.1f} GB that are free; about {duration(found.seconds)} a step, "
        f"{duration(found.seconds * steps)} for {steps:,} steps, without evaluations"
    )


def _resumed(step: int) -> None:
    say(f"going on from step {step}")


def _damaged(checkpoint: Path, file: str) -> None:
    say(f"{checkpoint}: damaged: {file} is not what was written; the one before counts")
