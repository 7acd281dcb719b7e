"""Progress bars on standard error, for whoever sits at a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(
    title: str, unit: Literal["examples", "bytes", "files"]
) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show a bar while the block runs, where standard error is a terminal.

    Yields:
        What to call with how much is done and how much there is (None while that is not known);
        None itself where there is no terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    counts = (
        (DownloadColumn(), TransferSpeedColumn())
        if unit == "bytes"
        else (MofNCompleteColumn(), TimeRemainingColumn())
    )
    columns = (TextColumn("{task.description}"), BarColumn(), *counts)
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None, start=False)

        def update(done: int, total: int | None) -> None:
            bar.start_task(task)
            bar.update(task, completed=done, total=total)

        yield update
