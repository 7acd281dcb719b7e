"""Output of commands: results on standard output; notes, progress and errors on standard error."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from semqa.data.files import write_atomic
from semqa.quotes.render.common import safe_text

STOPPED = "stopped; run the same command again to continue"


def prepare_streams() -> None:
    """Make the standard streams accept any text in any locale, even if they are closed.

    Files and pipes get UTF-8. A terminal keeps its encoding and shows other characters as escapes.
    Output to a closed stream is discarded.
    """
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if not os.environ.get("COLUMNS", "80").strip("0"):
        del os.environ["COLUMNS"]  # some tools set 0 or an empty value if the width is unknown
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="backslashreplace")
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def use_color() -> bool:
    """Whether standard output is a terminal with colours; ``NO_COLOR`` turns them off."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def terminal_width() -> int:
    """Return the width to wrap text at: the terminal's, from 40 to 100; 100 without a terminal."""
    return max(40, min(shutil.get_terminal_size((100, 24)).columns, 100))


def json_line(value: object, *, indent: int | None = None) -> str:
    """Serialize a value as strict JSON (no NaN), without ASCII escapes."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)


def write_result(text: str, *, raw: bool = False) -> None:
    """Print a result; on a terminal, control characters are escaped unless `raw`."""
    if not raw and sys.stdout.isatty():
        text = safe_text(text)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def write_file(path: Path, text: str) -> None:
    """Write a result to a file atomically, in UTF-8; ``-`` is standard output."""
    if str(path) == "-":
        write_result(text)
        return

    write_atomic(path, [(text if text.endswith("\n") else text + "\n").encode("utf-8")])


def say(message: str) -> None:
    """Print a note to standard error, with control characters escaped."""
    sys.stderr.write(safe_text(message) + "\n")


def print_error(message: str) -> None:
    """Print an error to standard error."""
    say(f"error: {message}")


@contextmanager
def resumable(*, saved: bool = True) -> Iterator[None]:
    """If Ctrl-C ends the block and its work is saved, print how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        if saved:
            say(STOPPED)
        raise


@contextmanager
def progress_bar(
    title: str, unit: Literal["examples", "bytes", "files"]
) -> Iterator[Callable[[int, int | None], None]]:
    """Show a progress bar while the block runs, if standard error is a terminal.

    Yield a function that takes the number done and the total, which may be unknown.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
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


@contextmanager
def waiting(message: str) -> Iterator[Callable[[str], None]]:
    """Show a status message while the block runs, if standard error is a terminal.

    Yield a thread-safe function that replaces the message. Without a terminal, it prints each
    message to standard error.
    """
    if not sys.stderr.isatty():
        yield say
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(safe_text(message))) as status:
        yield lambda text: status.update(Text(safe_text(text)))
