"""Running a plan: answer, score, journal, and sum up; or go on where a killed run stopped."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from semqa.bench.answering import answer_items
from semqa.bench.folder import (
    EXAMPLES_FILE,
    JUDGED_FILE,
    RESULTS_FILE,
    RUN_FILE,
    claim,
    make_folder,
    own_errors,
    pretty,
    read_object,
    release,
)
from semqa.bench.journal import Journal
from semqa.bench.judging import judge_records
from semqa.bench.machine import describe_machine
from semqa.bench.results import make_results
from semqa.data.atomic import write_atomic
from semqa.data.jsonl import write_jsonl
from semqa.data.lock import locked
from semqa.errors import SemqaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from semqa.attribution.judges import Judge
    from semqa.bench.plan import Item, Plan
    from semqa.bench.record import Record
    from semqa.bench.workers import Workers
    from semqa.engines import Engine
    from semqa.prompting import PromptBuilder

__all__ = ["Progress", "run"]


class Progress(NamedTuple):
    """How far a run is.

    Attributes:
        done: examples that have an answer, or failed just now.
        total: of how many.
        resumed: how many of them were answered earlier.
        again: how many failed earlier and are tried again.
        failed: how many failed just now.
        new_tokens: what a model wrote for those done just now, where it tells.
        seconds: what answering them took.
        last: the last one; None at the start.
    """

    done: int
    total: int
    resumed: int
    again: int
    failed: int = 0
    new_tokens: int = 0
    seconds: float = 0.0
    last: Record | None = None

    def after(self, record: Record) -> Progress:
        """Return how far the run is with one more example."""
        wrote = record.asked.new_tokens if record.asked is not None else None
        return self._replace(
            done=self.done + 1,
            failed=self.failed + (record.error is not None),
            new_tokens=self.new_tokens + (wrote or 0),
            seconds=self.seconds + record.seconds,
            last=record,
        )


def run(
    plan: Plan,
    out: Path,
    on_progress: Callable[[Progress], None] = lambda _: None,
    prompts: PromptBuilder | None = None,
    say: Callable[[str], None] | None = None,
    judge: Judge | None = None,
    *,
    engines: Callable[[Plan, PromptBuilder | None], Engine | None] | None = None,
    predict_only: bool = False,
    retry_failed: bool = False,
    workers: Workers | None = None,
) -> dict[str, object]:
    """Run a plan to its end, in a folder that holds this run alone.

    The folder gets ``run.json`` (what is run), ``about.json`` (its name, where the data lay, and
    when it was started), ``examples.jsonl`` (a row for each example, written
    as it is finished) and ``results.json``. A run that was killed goes on where it stopped, and
    ends with the scores that it would have had; a finished one is summed up again, without loading
    its engine. Examples that failed earlier are tried again where that is wanted. An engine that
    answers several questions at once is always given the same ones together, resumed or not; but
    what failed, and so was asked alone, is asked alone again.

    Args:
        plan: what to run.
        out: the folder; made when it does not exist.
        on_progress: called at the start and after each example.
        prompts: what ``plan.create_prompts`` made, where that was done before.
        say: told in words what takes long, such as compiling; from any thread.
        judge: who judges the answers when all are there, if anybody; the folder then gets
            ``judged.jsonl`` too, what was said of each answer.
        engines: gives the engine, and closes it when it likes; by default the plan creates one,
            which is closed at the end.
        predict_only: leave the scores out; `semqa.bench.rescore` adds them.
        retry_failed: try examples again that failed earlier.
        workers: answer and score, in place of this process, which loads no engine then.

    Returns:
        The results, as in ``results.json``.

    Raises:
        InputError: the data is not usable, or the folder holds another run.
        UnavailableError: another process is at work in the folder, or the disk failed.
    """
    plan.check()
    questions = plan.questions()
    items = plan.items(questions)
    if prompts is None:
        prompts = plan.create_prompts(questions, prepare=False)
    with ExitStack() as closing:

        def create_engine() -> Engine | None:
            if prompts is not None:
                prompts.prepare([question.question for question in questions])
            if engines is not None:
                return engines(plan, prompts)
            made = plan.create_engine(prompts, say)
            # What an engine leaves running would keep the process from ending.
            closing.callback(getattr(made, "close", lambda: None))
            return made

        # What is wrong with an engine is found before anything is written. Where a run has begun, it
        # was right then, and loading it can wait until it is known that there is something to do.
        here = workers is None
        engine = create_engine() if here and not (out / RUN_FILE).exists() else None
        loaded = engine is not None
        make_folder(out)
        with own_errors(out), locked(out / ".lock", wait_seconds=0):
            identity = plan.identity(prompts)
            begun = claim(out, identity, plan.about())
            keys = [item.key for item in items]
            journal = Journal(out / EXAMPLES_FILE, keys, retry_failed=retry_failed)
            resumed, again = len(journal.records), len(journal.failed) if retry_failed else 0
            before = _ran_where(out) if resumed == len(items) else {}
            with journal:
                progress = Progress(resumed, len(items), resumed, again)
                on_progress(progress)
                if resumed < len(items) and here and not loaded:
                    engine = create_engine()
                elif resumed < len(items) and prompts is not None:
                    prompts.prepare([question.question for question in questions])
                size = _size(engine) if here else plan.batch_size()
                waiting = [one for group in _groups(items, size) for one in _to_ask(group, journal)]
                try:
                    for record in _answers(
                        plan, prompts, waiting, engine, workers, predict_only=predict_only
                    ):
                        if record.id not in journal.records:
                            journal.append(record)
                            progress = progress.after(record)
                            on_progress(progress)
                except SemqaError:
                    if begun and not here and not journal.records:
                        release(out)  # as where an engine that cannot be made is found before
                    raise
            journal.tidy(keys)
            records = [journal.records[key] for key in keys]
            results = make_results(
                items,
                records,
                identity,
                predict_only=predict_only,
                scorer=None if workers is None else workers.score,
            )
            if workers is not None:
                results["machine"] = {**describe_machine(), **workers.describe()}
            results |= before
            if judge is not None:
                judged = judge_records(items, records, judge)
                results["judged"] = judged.summary
                write_jsonl(out / JUDGED_FILE, judged.rows)
            write_atomic(out / RESULTS_FILE, [pretty(results)])
    return results


def _ran_where(out: Path) -> dict[str, object]:
    """Return what an earlier summary says of versions, machine and judge.

    Summing up is not running, and what was judged is judged.
    """
    path = out / RESULTS_FILE
    if not path.is_file():
        return {}
    found = read_object(path)
    return {key: found[key] for key in ("versions", "machine", "judged") if key in found}


def _answers(
    plan: Plan,
    prompts: PromptBuilder | None,
    groups: Sequence[Sequence[Item]],
    engine: Engine | None,
    workers: Workers | None,
    *,
    predict_only: bool,
) -> Iterator[Record]:
    """Give the records of items as they are answered, here or elsewhere."""
    if workers is not None:
        if groups:
            yield from workers.answer(plan, prompts, groups, predict_only=predict_only)
        return
    for group in groups:
        yield from answer_items(group, engine, predict_only=predict_only)


def _size(engine: Engine | None) -> int:
    from semqa.engines import BatchEngine

    return engine.batch_size if isinstance(engine, BatchEngine) else 1


def _groups(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Cut the items into groups that are answered together, by their places alone."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _to_ask(group: Sequence[Item], journal: Journal) -> Iterator[Sequence[Item]]:
    """Return what of a group is asked, and what of it together."""
    waiting = [item for item in group if item.key not in journal.records]
    if waiting and not any(item.key in journal.failed for item in group):
        yield group
    else:
        yield from ([item] for item in waiting)
