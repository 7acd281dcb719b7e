"""One run or a grid of them under the eyes of whoever waits: how far, how fast, what failed.

In a terminal there are bars; elsewhere, for logs, a line every half minute and none for what is
done sooner.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from semqa.cli.bench_pace import Lines, Pace, Reasons, duration
from semqa.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from semqa.bench.run import Progress

__all__ = ["RunBar", "RunWatch", "bars", "watch_run"]

OTHER_COLUMNS = 64
"""About how many columns of a terminal are not the title's."""


class RunWatch:
    """Says on standard error what a run is at, in lines."""

    def __init__(self) -> None:
        self._pace = Pace()
        self._lines = Lines(say)
        self._reasons = Reasons()

    def begin(self, title: str) -> None:
        """Start anew, with another run."""
        del title
        self._lines.begin()
        self._reasons = Reasons()

    def embedded(self, done: int, total: int) -> None:
        """Tell how many questions are embedded, for their nearest exemplars."""
        self._lines.tell(done, total, "questions embedded", list)

    def progress(self, progress: Progress) -> None:
        """Tell how far the run is."""
        if progress.last is None:
            self._pace = Pace()
            self._lines.begin()
            if progress.done + progress.again:
                self.remark(_going_on(progress))
        self._pace.take(progress)
        if (reason := self._reasons.new(progress)) is not None:
            self.remark(reason)
        self.advance(progress)

    def judged(self, done: int, total: int) -> None:
        """Tell how far the judge is."""
        self._lines.tell(done, total, "judged", list)

    def advance(self, progress: Progress) -> None:
        """Show how far the run is."""

        def told() -> list[str]:
            left = self._pace.left
            ahead = left is not None and progress.done < progress.total
            return [
                *self._pace.told(progress),
                *([f"{duration(left)} left"] if ahead and left is not None else []),
            ]

        self._lines.tell(progress.done, progress.total, "examples", told)

    def remark(self, text: str) -> None:
        """Say something that stays."""
        say(text)


class RunBar(RunWatch):
    """Shows a run as one bar among those of a terminal.

    Args:
        shown: the bars, as `bars` makes them.
        title: what stands before the bar.
    """

    def __init__(self, shown: Any, title: str) -> None:
        super().__init__()
        self._shown = shown
        self._task = shown.add_task("", total=None, told="", ends=None)
        self.begin(title)

    def begin(self, title: str) -> None:
        """Start anew, with another run."""
        super().begin(title)
        self._stage: str | None = None
        longest = max(16, self._shown.console.width - OTHER_COLUMNS)
        self._title = _escaped(title if len(title) <= longest else f"{title[: longest - 1]}…")
        self._show(0, None, self._title)

    def embedded(self, done: int, total: int) -> None:
        """Show how many questions are embedded."""
        self._show(done, total, "embedding questions")

    def judged(self, done: int, total: int) -> None:
        """Show how far the judge is."""
        self._show(done, total, "judging")

    def advance(self, progress: Progress) -> None:
        """Show how far the run is, how fast, and how long it will take."""
        left = self._pace.left
        self._show(
            progress.done,
            progress.total,
            self._title,
            told=", ".join(self._pace.told(progress)),
            ends=None if left is None else time.monotonic() + left,
        )

    def remark(self, text: str) -> None:
        """Print something above the bars."""
        self._shown.console.print(_escaped(text))

    def _show(
        self, done: int, total: int | None, title: str, told: str = "", ends: float | None = None
    ) -> None:
        if title != self._stage:
            self._stage = title
            self._shown.reset(self._task)  # its time begins anew, and it is not finished
        self._shown.update(
            self._task, description=title, completed=done, total=total, told=told, ends=ends
        )


@contextmanager
def watch_run(title: str) -> Iterator[RunWatch]:
    """Show how far a run is, as a bar where standard error is a terminal, else in lines."""
    if not sys.stderr.isatty():
        yield RunWatch()
        return
    with bars() as shown:
        yield RunBar(shown, title)


def bars() -> Any:
    """Return what shows bars in a terminal: title, bar, count, time left, what is told."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
    )
    from rich.text import Text

    class Time(ProgressColumn):
        """Time left, counted down while nothing is heard of; what it took, where that is not known."""

        def render(self, task: Any) -> Text:
            """Return the text of a bar."""
            ends = task.fields.get("ends")
            if ends is None or task.finished:
                taken = task.finished_time if task.finished else task.elapsed
                return Text(duration(taken or 0), style="cyan")
            return Text(f"{duration(max(0, ends - time.monotonic()))} left", style="cyan")

    console = Console(stderr=True, highlight=False)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(20 if console.width >= 100 else 8),
        MofNCompleteColumn(),
        Time(),
        TextColumn("{task.fields[told]}"),
        console=console,
    )


def _going_on(progress: Progress) -> str:
    again = f"; {progress.again} that failed are tried again" if progress.again else ""
    return f"going on: {progress.resumed} of {progress.total} examples are done already{again}"


def _escaped(text: str) -> str:
    from rich.markup import escape

    from semqa.quotes.render.common import safe_text

    return escape(safe_text(text))
