"""Progress and results of benchmarks.

A terminal gets progress bars. A log gets a line every 30 seconds, and none for shorter runs.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from semqa.cli.eval.judging import count_note
from semqa.cli.output import say, write_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.table import Table

    from semqa.bench.grid import Cell, CellOutcome
    from semqa.bench.run import Progress

EVERY_SECONDS = 30.0  # between two log lines
MAX_SHOWN_ERRORS = 3  # distinct errors shown during a run; the rows have all of them
OTHER_COLUMNS = 64  # width of a bar without its title


class Lines:
    """Reports progress in lines, at most one per `EVERY_SECONDS`."""

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        """Start timing a new task."""
        self._started = self._last_line = self._clock()
        self._reported = False

    def update(
        self, done: int, total: int | None, unit: str, details: Callable[[], list[str]]
    ) -> None:
        """Print a line if one is due, and a last one if any was printed before.

        Args:
            done: number of finished units.
            total: total number of units; None if unknown.
            unit: name of the units, in the plural.
            details: returns details to append; called only if a line is printed.
        """
        now = self._clock()
        ended = done == total and self._reported
        if now - self._last_line < EVERY_SECONDS and not ended:
            return
        self._last_line, self._reported = now, not ended
        counted = f"{done:,}" if total is None else f"{done:,} of {total:,}"
        elapsed = [f"in {duration(now - self._started)}"] if ended else []
        self._say(", ".join([f"{counted} {unit}", *details(), *elapsed]))


def duration(seconds: float) -> str:
    """Format a duration in seconds.

    Example:
        >>> duration(61.7), duration(3_725)
        ('1:02', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Watch:
    """Reports runs on standard error: in lines, or as a bar for the run and one for the grid.

    Args:
        title: title of a single run.
        cells: the runs of a grid; empty for a single run.
        shown: progress bars from `bars`; None for lines.
    """

    def __init__(self, title: str = "", cells: Sequence[Cell] = (), shown: Any = None) -> None:
        self._lines = Lines(say)
        self._started = time.monotonic()
        self._errors: set[str] = set()
        self._total, self._current = len(cells), 0
        self._title, self._stage = title, ""
        self._shown = shown
        if shown is not None:
            self._grid = shown.add_task("all runs", total=len(cells), details="") if cells else None
            self._task = shown.add_task("", total=None, details="")
            self._show(0, None, title)

    def begin(self, cell: Cell) -> None:
        """Report the start of a run of the grid."""
        self._current += 1
        self._title, self._stage = f"[{self._current}/{self._total}] {cell.label}", ""
        self._lines.begin()
        self._errors = set()
        if self._shown is None:
            say(self._title)
        else:
            self._show(0, None, self._title)

    def end(self, outcome: CellOutcome) -> None:
        """Report the outcome of a run of the grid."""
        self.note(f"[{self._current}/{self._total}] {_outcome_text(outcome)}")
        self._advance(1.0)

    def progress(self, progress: Progress) -> None:
        """Report the progress of the run."""
        if progress.last is None:
            self._started = time.monotonic()
            self._lines.begin()
            if progress.done + progress.again:
                retried = f"; {progress.again} failed, to be retried" if progress.again else ""
                done = f"{progress.resumed} of {progress.total} examples are already done"
                self.note(f"resuming: {done}{retried}")
        error = progress.last.error if progress.last is not None else None
        if error is not None and error not in self._errors and len(self._errors) < MAX_SHOWN_ERRORS:
            self._errors.add(error)
            self.note(f"failed: {progress.last.id if progress.last else ''}: {error}")
        details = self._details(progress)
        if self._shown is None:
            self._lines.update(progress.done, progress.total, "examples", lambda: details)
        else:
            self._show(progress.done, progress.total, self._title, details)
            self._advance(progress.done / progress.total if progress.total else 1.0)

    def embedded(self, done: int, total: int) -> None:
        """Report how many questions are embedded to find their nearest exemplars."""
        self._step(done, total, "questions embedded", "embedding questions")

    def judged(self, done: int, total: int) -> None:
        """Report the progress of the judge."""
        self._step(done, total, "judged", "judging")

    def note(self, text: str) -> None:
        """Print a line above the bars."""
        if self._shown is None:
            say(text)
        else:
            self._shown.console.print(_escaped(text))

    def _details(self, progress: Progress) -> list[str]:
        """Return speed, failures and time left."""
        details = []
        seconds = time.monotonic() - self._started
        answered = progress.done - progress.resumed
        if progress.new_tokens and seconds:
            details.append(f"{progress.new_tokens / seconds:.0f} tokens/s")
        if progress.failed:
            details.append(f"{progress.failed} failed")
        if answered and progress.done < progress.total:
            left = seconds / answered * (progress.total - progress.done)
            details.append(f"{duration(left)} left")
        return details

    def _step(self, done: int, total: int, unit: str, title: str) -> None:
        if self._shown is None:
            self._lines.update(done, total, unit, list)
        else:
            self._show(done, total, title)

    def _show(self, done: int, total: int | None, title: str, details: Sequence[str] = ()) -> None:
        if title != self._stage:
            self._stage = title
            self._shown.reset(self._task)  # restart the timer and mark the task unfinished
        longest = max(16, self._shown.console.width - OTHER_COLUMNS)
        cut = title if len(title) <= longest else f"{title[: longest - 1]}…"
        self._shown.update(
            self._task,
            description=_escaped(cut),
            completed=done,
            total=total,
            details=", ".join(details),
        )

    def _advance(self, share: float) -> None:
        if self._shown is not None and self._grid is not None:
            self._shown.update(self._grid, completed=self._current - 1 + share)


@contextmanager
def watching(title: str = "", cells: Sequence[Cell] = ()) -> Iterator[Watch]:
    """Show the progress of a run or grid: bars if standard error is a terminal, otherwise lines."""
    if not sys.stderr.isatty():
        yield Watch(title, cells)
        return
    with bars() as shown:
        yield Watch(title, cells, shown)


def bars() -> Any:
    """Return progress bars: title, bar, count, elapsed time, details."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    console = Console(stderr=True, highlight=False)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(20 if console.width >= 100 else 8),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[details]}"),
        console=console,
    )


def _escaped(text: str) -> str:
    from rich.markup import escape

    from semqa.quotes.render.common import safe_text

    return escape(safe_text(text))


def _outcome_text(outcome: CellOutcome) -> str:
    if outcome.state == "failed":
        return f"failed: {outcome.label}: {outcome.error}"
    score = "" if outcome.semqa is None else f", SEMQA {outcome.semqa:.2f}"
    done = "already finished" if outcome.state == "kept" else f"done in {outcome.seconds:.1f} s"
    failed = f", {outcome.failed} failed" if outcome.failed else ""
    exemplars = ""
    if outcome.exemplars and outcome.exemplars.get("prompts_with_fewer"):
        exemplars = "".join(f"; {line}" for line in _exemplars(outcome.exemplars))
    return f"{done}: {outcome.label}: {outcome.answered} answered{failed}{score}{exemplars}"


def outcomes_table(outcomes: Sequence[CellOutcome]) -> Table:
    """Return a table of runs with their scores and states."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("run", overflow="fold")
    for name in ("SEMQA", "answered", "failed", "state"):
        table.add_column(name, justify="right")
    for each in outcomes:
        score = "" if each.semqa is None else f"{each.semqa:.2f}"
        table.add_row(each.label, score, str(each.answered), str(each.failed), each.state)
    return table


def show_results(results: Mapping[str, Any]) -> None:
    """Print the scores of a run, and notes on them."""
    from semqa.cli.tables import judged_table, print_tables, scores_table, unscored_notes

    scores, judged = results["results"], results.get("judged")
    print_tables(scores_table(scores))
    if judged is not None:
        print_tables(judged_table(judged))
        for line in _judged(judged):
            write_result(line)
    for line in (
        *unscored_notes(scores),
        *_failed(results),
        *_exemplars(results["exemplars"]),
        *_written(results),
    ):
        write_result(line)


def _judged(judged: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on inputs the judge could not handle, which count against the answers."""
    yield from count_note(judged["unparsed"], "neutral, or as no answer")
    if count := max(judged["too_long"], judged.get("auto_ais", judged)["too_long"]):
        yield f"too long for the judge: {count}, counted as not supported or as no answer"
    for reason, count in judged.get("disambig_f1", {}).get("unscored", {}).items():
        yield f"no Disambig-F1: {count} ({reason})"


def _failed(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield the failures, so that a score that counts them as empty answers does not mislead."""
    failed, answered = results["failed"], results["answered"]
    if failed:
        yield (
            f"failed: {failed} of {failed + answered} examples, scored as empty answers; "
            "to retry them, add --retry-failed to the command"
        )
        for failure in results["failures"]:
            yield f"  {failure['id']}: {failure['error']}"


def _exemplars(found: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the number of exemplars in the prompts, which may be lower than requested."""
    if found is None or not found["asked"] or "mean" not in found:
        return
    fewest, most = found["fewest"], found["most"]
    asked = f"{'up to ' if found['up_to'] else ''}{found['asked']} requested"
    if most == 0:
        yield f"exemplars: {asked}, none fit: these are zero-shot scores"
    elif fewest < most:
        yield f"exemplars: {asked}, {fewest} to {most} per prompt, mean {found['mean']:.1f}"
    elif most < found["asked"]:
        yield f"exemplars: {asked}, {most} in every prompt"
    else:
        yield f"exemplars: {most} in every prompt"


def _written(results: Mapping[str, Any]) -> Iterator[str]:
    quoting, seconds, tokens = results["quoting"], results["seconds"], results["tokens"]
    if not quoting:
        return
    statuses = quoting["statuses"].items()
    counted = ", ".join(f"{count} {status}" for status, count in statuses if count)
    yield (
        f"{quoting['quotes_per_answer']:.1f} quotes and {quoting['words_per_answer']:.0f} words per "
        f"answer; quotes: {counted or 'none'}; {seconds['p50'] * 1000:.1f} ms per answer (median)"
    )
    verdicts = [f"{n} {name}" for name, n in quoting.get("verdicts", {}).items() if n]
    if verdicts:
        yield f"answers: {', '.join(verdicts)}"
    throughput, constraint = results["throughput"], results["constraint"]
    if tokens is not None and throughput is not None:
        rates = [f"{throughput['answers_per_second']:.2f} answers per second"]
        if "new_tokens_per_second" in throughput:
            rates.append(f"{throughput['new_tokens_per_second']:.0f} tokens per second")
        yield f"throughput: {', '.join(rates)}"
    if constraint is not None:
        labels = {
            "breaches": "broke a rule",
            "repaired_quotes": "quotes were repaired",
            "dropped_marks": "marks lost their brackets",
        }
        methods = ", ".join(f"{count} by {way}" for way, count in constraint["ways"].items())
        counts = [f"{constraint[name]} {text}" for name, text in labels.items() if constraint[name]]
        yield "; ".join([f"constraint: {methods}", *counts])
    if tokens is not None and tokens["cut_off"]:
        yield f"cut off by the token limit: {tokens['cut_off']} of {results['answered']} answers"
