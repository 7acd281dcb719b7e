"""What a benchmark shows: progress while it runs, then its results.

A terminal gets bars. A log gets a line every half minute, and none for what is done sooner.
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

EVERY_SECONDS = 30.0  # between two lines of a log
SHOWN_REASONS = 3  # different failures reported while a run goes on; the rows have all of them
OTHER_COLUMNS = 64  # of a terminal, that the title of a bar leaves to the rest


class Lines:
    """Reports progress in lines, at most one every `EVERY_SECONDS`."""

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        """Start with another task."""
        self._begun = self._said = self._clock()
        self._spoken = False

    def tell(self, done: int, total: int | None, what: str, told: Callable[[], list[str]]) -> None:
        """Print a line if it is time, and at the end if any was printed.

        Args:
            total: of how many; None if that is not known.
            told: returns what else to say; called only if a line is printed.
        """
        now = self._clock()
        ended = done == total and self._spoken
        if now - self._said < EVERY_SECONDS and not ended:
            return
        self._said, self._spoken = now, not ended
        counted = f"{done:,}" if total is None else f"{done:,} of {total:,}"
        after = [f"in {duration(now - self._begun)}"] if ended else []
        self._say(", ".join([f"{counted} {what}", *told(), *after]))


def duration(seconds: float) -> str:
    """Return a time as people write it.

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
        cells: the runs of a grid; empty for a single run.
        shown: bars, as `bars` makes them; None for lines.
    """

    def __init__(self, title: str = "", cells: Sequence[Cell] = (), shown: Any = None) -> None:
        self._lines = Lines(say)
        self._started = time.monotonic()
        self._reasons: set[str] = set()
        self._total, self._begun = len(cells), 0
        self._title, self._stage = title, ""
        self._shown = shown
        if shown is not None:
            self._grid = shown.add_task("all runs", total=len(cells), told="") if cells else None
            self._task = shown.add_task("", total=None, told="")
            self._show(0, None, title)

    def begin(self, cell: Cell) -> None:
        """Report that a run of the grid begins."""
        self._begun += 1
        self._title, self._stage = f"[{self._begun}/{self._total}] {cell.label}", ""
        self._lines.begin()
        self._reasons = set()
        if self._shown is None:
            say(self._title)
        else:
            self._show(0, None, self._title)

    def end(self, outcome: CellOutcome) -> None:
        """Report what became of a run of the grid."""
        self.remark(f"[{self._begun}/{self._total}] {_ended(outcome)}")
        self._advance(1.0)

    def progress(self, progress: Progress) -> None:
        """Report the progress of the run."""
        if progress.last is None:
            self._started = time.monotonic()
            self._lines.begin()
            if progress.done + progress.again:
                again = f"; {progress.again} that failed are tried again" if progress.again else ""
                done = f"{progress.resumed} of {progress.total} examples are done already"
                self.remark(f"going on: {done}{again}")
        error = progress.last.error if progress.last is not None else None
        if error is not None and error not in self._reasons and len(self._reasons) < SHOWN_REASONS:
            self._reasons.add(error)
            self.remark(f"failed: {progress.last.id if progress.last else ''}: {error}")
        told = self._told(progress)
        if self._shown is None:
            self._lines.tell(progress.done, progress.total, "examples", lambda: told)
        else:
            self._show(progress.done, progress.total, self._title, told)
            self._advance(progress.done / progress.total if progress.total else 1.0)

    def embedded(self, done: int, total: int) -> None:
        """Report how many questions are embedded, for their nearest exemplars."""
        self._step(done, total, "questions embedded", "embedding questions")

    def judged(self, done: int, total: int) -> None:
        """Report how far the judge is."""
        self._step(done, total, "judged", "judging")

    def remark(self, text: str) -> None:
        """Print something that stays."""
        if self._shown is None:
            say(text)
        else:
            self._shown.console.print(_escaped(text))

    def _told(self, progress: Progress) -> list[str]:
        """Return speed, failures and time left."""
        told = []
        seconds = time.monotonic() - self._started
        answered = progress.done - progress.resumed
        if progress.new_tokens and seconds:
            told.append(f"{progress.new_tokens / seconds:.0f} tokens/s")
        if progress.failed:
            told.append(f"{progress.failed} failed")
        if answered and progress.done < progress.total:
            left = seconds / answered * (progress.total - progress.done)
            told.append(f"{duration(left)} left")
        return told

    def _step(self, done: int, total: int, what: str, title: str) -> None:
        if self._shown is None:
            self._lines.tell(done, total, what, list)
        else:
            self._show(done, total, title)

    def _show(self, done: int, total: int | None, title: str, told: Sequence[str] = ()) -> None:
        if title != self._stage:
            self._stage = title
            self._shown.reset(self._task)  # its time starts again, and it is not finished
        longest = max(16, self._shown.console.width - OTHER_COLUMNS)
        cut = title if len(title) <= longest else f"{title[: longest - 1]}…"
        self._shown.update(
            self._task, description=_escaped(cut), completed=done, total=total, told=", ".join(told)
        )

    def _advance(self, share: float) -> None:
        if self._shown is not None and self._grid is not None:
            self._shown.update(self._grid, completed=self._begun - 1 + share)


@contextmanager
def watching(title: str = "", cells: Sequence[Cell] = ()) -> Iterator[Watch]:
    """Show the progress of a run or a grid: bars if standard error is a terminal, else lines."""
    if not sys.stderr.isatty():
        yield Watch(title, cells)
        return
    with bars() as shown:
        yield Watch(title, cells, shown)


def bars() -> Any:
    """Return bars for a terminal: title, bar, count, time taken, remarks."""
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
        TextColumn("{task.fields[told]}"),
        console=console,
    )


def _escaped(text: str) -> str:
    from rich.markup import escape

    from semqa.quotes.render.common import safe_text

    return escape(safe_text(text))


def _ended(outcome: CellOutcome) -> str:
    if outcome.state == "failed":
        return f"failed: {outcome.label}: {outcome.error}"
    score = "" if outcome.semqa is None else f", SEMQA {outcome.semqa:.2f}"
    done = "finished before" if outcome.state == "kept" else f"done in {outcome.seconds:.1f} s"
    failed = f", {outcome.failed} failed" if outcome.failed else ""
    told = ""
    if outcome.exemplars and outcome.exemplars.get("prompts_with_fewer"):
        told = "".join(f"; {line}" for line in _exemplars(outcome.exemplars))
    return f"{done}: {outcome.label}: {outcome.answered} answered{failed}{score}{told}"


def outcomes_table(outcomes: Sequence[CellOutcome]) -> Table:
    """Return a row per run: its score, and what became of it."""
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
    """Print the results of a run: its scores, and what they rest on."""
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
    """Yield what the judge could not do, which counts against the answers."""
    yield from count_note(judged["unparsed"], "neutral, or as no answer")
    if count := max(judged["too_long"], judged.get("auto_ais", judged)["too_long"]):
        yield f"too long for the judge: {count}, which count as not supported, or as no answer"
    for reason, count in judged.get("disambig_f1", {}).get("unscored", {}).items():
        yield f"no Disambig-F1: {count} ({reason})"


def _failed(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield what failed: a score with empty answers in it must not pass for one of a model."""
    failed, answered = results["failed"], results["answered"]
    if failed:
        yield (
            f"failed: {failed} of {failed + answered} examples, which are scored as empty answers; "
            "to try them again, give the same command with --retry-failed"
        )
        for failure in results["failures"]:
            yield f"  {failure['id']}: {failure['error']}"


def _exemplars(found: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield how many exemplars the prompts had, which may be fewer than asked for."""
    if found is None or not found["asked"] or "mean" not in found:
        return
    fewest, most = found["fewest"], found["most"]
    asked = f"{'up to ' if found['up_to'] else ''}{found['asked']} asked"
    if most == 0:
        yield f"exemplars: {asked}, none fit: these are the scores of 0 shots"
    elif fewest < most:
        yield f"exemplars: {asked}, {fewest} to {most} in a prompt, mean {found['mean']:.1f}"
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
        said = {
            "breaches": "broke a rule",
            "repaired_quotes": "quotes were repaired",
            "dropped_marks": "marks lost their brackets",
        }
        ways = ", ".join(f"{count} by {way}" for way, count in constraint["ways"].items())
        told = [f"{constraint[name]} {what}" for name, what in said.items() if constraint[name]]
        yield "; ".join([f"constraint: {ways}", *told])
    if tokens is not None and tokens["cut_off"]:
        yield f"cut off by the budget of tokens: {tokens['cut_off']} of {results['answered']} answers"
