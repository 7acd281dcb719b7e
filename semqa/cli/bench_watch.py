"""Progress and results of benchmarks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from semqa.bench.grid import Cell, CellOutcome, GridWatch
from semqa.bench.run import Progress
from semqa.cli.eval.judging import unparsed_note
from semqa.cli.output import say, write_result
from semqa.cli.tables import judged_table, make_table, print_tables, quotesum_notes, scores_table
from semqa.quotes.render.common import safe_text

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.table import Table

MAX_SHOWN_ERRORS = 3  # distinct errors shown during a run; the rows have all of them


class BarWatch(GridWatch):
    """Reports runs on standard error: notes, and a bar on a terminal."""

    def __init__(self, bar: Bar, title: str = "", total: int = 0) -> None:
        self._bar, self._title, self._total = bar, title, total
        self._current = 0
        self._errors: set[str] = set()
        self._task = bar.add_task("", total=None)
        self._show(title, 0, None)

    def begin(self, cell: Cell) -> None:
        """Report the start of a run of the grid."""
        self._current += 1
        self._title = f"[{self._current}/{self._total}] {cell.label}"
        self._errors = set()
        if self._bar.disable:
            say(self._title)
        self._show(self._title, 0, None)

    def end(self, outcome: CellOutcome) -> None:
        """Report the outcome of a run of the grid."""
        self.note(f"[{self._current}/{self._total}] {_outcome_text(outcome)}")

    def progress(self, progress: Progress) -> None:
        """Report the progress of the run."""
        last = progress.last
        if last is None and progress.done + progress.again:
            retried = f"; {progress.again} failed, to be retried" if progress.again else ""
            done = f"{progress.resumed} of {progress.total} examples are already done"
            self.note(f"resuming: {done}{retried}")
        error = None if last is None else last.error
        if last is not None and error is not None and len(self._errors) < MAX_SHOWN_ERRORS:
            if error not in self._errors:
                self.note(f"failed: {last.id}: {error}")
            self._errors.add(error)
        failed = f", {progress.failed} failed" if progress.failed else ""
        self._show(f"{self._title}{failed}", progress.done, progress.total)

    def embedded(self, done: int, total: int) -> None:
        """Report how many questions are embedded to find their nearest exemplars."""
        self._show("embedding questions", done, total)

    def judged(self, done: int, total: int) -> None:
        """Report the progress of the judge."""
        self._show("judging", done, total)

    def note(self, text: str) -> None:
        """Print a line, above the bar."""
        if self._bar.disable:
            say(text)
        else:
            self._bar.console.print(safe_text(text), markup=False)

    def _show(self, title: str, done: int, total: int | None) -> None:
        if done == 0:
            self._bar.reset(self._task)  # restarts the clock
        self._bar.update(self._task, description=safe_text(title), completed=done, total=total)


@contextmanager
def watching(title: str = "", cells: Sequence[Cell] = ()) -> Iterator[BarWatch]:
    """Show the progress of a run or grid."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    with Bar(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True, highlight=False),
        expand=True,
        disable=not sys.stderr.isatty(),
    ) as bar:
        yield BarWatch(bar, title, len(cells))


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
    table = make_table("run", "SEMQA", "answered", "failed", "state")
    for each in outcomes:
        score = "" if each.semqa is None else f"{each.semqa:.2f}"
        table.add_row(each.label, score, str(each.answered), str(each.failed), each.state)
    return table


def show_results(results: Mapping[str, Any]) -> None:
    """Print the scores of a run, and notes on them."""
    scores, judged = results["results"], results.get("judged")
    print_tables(scores_table(scores))
    if judged is not None:
        print_tables(judged_table(judged))
        for line in _judged(judged):
            write_result(line)
    for line in (
        *quotesum_notes(scores),
        *_failed(results),
        *_exemplars(results["exemplars"]),
        *_written(results),
    ):
        write_result(line)


def _judged(judged: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on inputs the judge could not handle, which count against the answers."""
    yield from unparsed_note(judged["unparsed"], "neutral, or as no answer")
    if count := max(judged["too_long"], judged.get("auto_ais", judged)["too_long"]):
        yield f"too long for the judge: {count}, counted as not supported or as no answer"
    for reason, count in judged.get("disambig_f1", {}).get("unscored", {}).items():
        yield f"no Disambig-F1: {count} ({reason})"


def _failed(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on the failed examples, because the score counts them as empty answers."""
    failed, answered = results["failed"], results["answered"]
    if failed:
        yield (
            f"failed: {failed} of {failed + answered} examples, scored as empty answers; "
            "to retry them, add --retry-failed to the command"
        )
        for failure in results["failures"]:
            yield f"  {failure['id']}: {failure['error']}"


def _exemplars(found: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield a note on the number of exemplars in the prompts, which may be lower than requested."""
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
    quoting, tokens = results["quoting"], results["tokens"]
    if not quoting:
        return
    median = results["seconds"]["p50"]
    shown = f"{median:.1f} s" if median >= 1 else f"{median * 1000:.1f} ms"
    statuses = quoting["statuses"].items()
    counted = ", ".join(f"{count} {status}" for status, count in statuses if count)
    yield (
        f"{quoting['quotes_per_answer']:.1f} quotes and {quoting['words_per_answer']:.0f} words per "
        f"answer; quotes: {counted or 'none'}; {shown} per answer (median)"
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
