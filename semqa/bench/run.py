"""Run a plan: answer, score, record and aggregate; or resume a killed run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Protocol

from semqa.attribution.judges import Judge
from semqa.bench.folder import (
    EXAMPLES_FILE,
    JUDGED_FILE,
    RESULTS_FILE,
    RUN_FILE,
    Journal,
    claim,
    own_errors,
    pretty,
    release,
)
from semqa.bench.judging import judge_records
from semqa.bench.plan import Item, Plan
from semqa.bench.record import ModelCall, Record
from semqa.bench.results import describe_machine, make_results, score_item
from semqa.data.files import locked, make_folder, write_atomic
from semqa.data.jsonl import read_object, write_jsonl
from semqa.engines import Engine, GeneratingEngine, Request, close_engine
from semqa.errors import InputError, SemqaError
from semqa.prompting import PromptBuilder
from semqa.quotes import QuotedAnswer


class Progress(NamedTuple):
    """Progress of a run.

    Attributes:
        resumed: number of examples finished before this process started.
        again: number of earlier failures that are retried.
    """

    done: int
    total: int
    resumed: int
    again: int
    failed: int = 0
    last: Record | None = None

    def after(self, record: Record) -> Progress:
        """Return the progress after one more example."""
        return self._replace(
            done=self.done + 1,
            failed=self.failed + (record.error is not None),
            last=record,
        )


class Watch:
    """Observer of a run; this one does nothing. `note` may be called from any thread."""

    def progress(self, progress: Progress) -> None:
        """Note the start of the answers, or one more example."""

    def embedded(self, done: int, total: int) -> None:
        """Note how many questions are embedded to find their nearest exemplars."""

    def note(self, text: str) -> None:
        """Note a message, such as one about a slow step."""


UNWATCHED = Watch()


class Workers(Protocol):
    """Other processes that answer for a run (`semqa.distributed`); this one writes the files."""

    def answer(
        self,
        plan: Plan,
        prompts: PromptBuilder | None,
        groups: Sequence[Sequence[Item]],
    ) -> Iterator[Record]:
        """Answer items as `answer_items` does, group by group.

        Records arrive in any order, possibly more than once. Every item gets a record, if need be
        a failed one.
        """
        ...

    def describe(self) -> dict[str, object]:
        """Return a description of the workers for the results, ready for JSON."""
        ...


def run(
    plan: Plan,
    out: Path,
    watch: Watch = UNWATCHED,
    prompts: PromptBuilder | None = None,
    judge: Judge | None = None,
    *,
    engines: Callable[[Plan, PromptBuilder | None], Engine | None] | None = None,
    retry_failed: bool = False,
    workers: Workers | None = None,
) -> dict[str, object]:
    """Run a plan to completion in a folder of its own.

    The folder gets ``run.json`` (the identity), ``about.json`` (name, data path, start time),
    ``examples.jsonl`` (one row per finished example) and ``results.json``. A killed run resumes
    where it stopped and ends with the same scores; for a finished one, only the results are
    recomputed, without loading the engine. Batches contain the same questions whether resumed or
    not, except that the unfinished questions of a batch with a failure are asked one by one.

    Args:
        judge: judges the answers at the end; its judgements go to ``judged.jsonl``.
        engines: returns the engine, and is responsible for closing it; by default the plan creates
            one, which is closed at the end.
        workers: processes that answer instead of this one, which then loads no engine.
    """
    plan.check()
    questions = plan.questions()
    items = plan.items(questions)
    if prompts is None:
        prompts = plan.create_prompts(questions, watch.embedded)
    with ExitStack() as closing:

        def create_engine() -> Engine | None:
            if prompts is not None:
                prompts.prepare([question.question for question in questions])
            if workers is not None:
                return None
            if engines is not None:
                return engines(plan, prompts)
            made = plan.create_engine(prompts, watch.note)
            # An engine left open could keep the process from exiting.
            closing.callback(close_engine, made)
            return made

        # Create the engine of a new run before writing anything, because it may fail. For a resumed
        # run, load it only if there is something left to answer.
        is_new = workers is None and not (out / RUN_FILE).exists()
        engine = create_engine() if is_new else None
        make_folder(out)
        with own_errors(out), locked(out / ".lock", wait_seconds=0):
            identity = plan.identity(prompts)
            begun = claim(out, identity, plan.about())
            keys = [item.key for item in items]
            journal = Journal(out / EXAMPLES_FILE, keys, retry_failed=retry_failed)
            resumed, again = len(journal.records), len(journal.failed) if retry_failed else 0
            # Recomputing the results must not change what was recorded about the run.
            kept = ("versions", "machine", "judged")
            before = _earlier(out, kept) if resumed == len(items) else {}
            with journal:
                progress = Progress(resumed, len(items), resumed, again)
                watch.progress(progress)
                if resumed < len(items) and engine is None:
                    engine = create_engine()
                size = plan.batch_size()
                if isinstance(engine, GeneratingEngine):
                    size = engine.batch_size
                groups = _groups(items, size, journal)
                try:
                    answers: Iterator[Record] = (
                        each for group in groups for each in answer_items(group, engine)
                    )
                    if workers is not None and groups:
                        answers = workers.answer(plan, prompts, groups)
                    for record in answers:
                        if record.id not in journal.records:
                            journal.append(record)
                            progress = progress.after(record)
                            watch.progress(progress)
                except SemqaError:
                    if begun and workers is not None and not journal.records:
                        release(out)  # leave no trace, as if creating the engine had failed
                    raise
            journal.tidy(keys)
            records = [journal.records[key] for key in keys]
            results = make_results(items, records, identity)
            if workers is not None:
                results["machine"] = {**describe_machine(), **workers.describe()}
            results |= before
            if judge is not None:
                judged = judge_records(items, records, judge)
                results["judged"] = judged.summary
                write_jsonl(out / JUDGED_FILE, judged.rows)
            write_atomic(out / RESULTS_FILE, [pretty(results)])
    return results


def _earlier(out: Path, keys: Sequence[str]) -> dict[str, object]:
    """Return these keys of the existing results, if any."""
    path = out / RESULTS_FILE
    found = read_object(path) if path.is_file() else {}
    return {key: found[key] for key in keys if key in found}


def _groups(items: Sequence[Item], size: int, journal: Journal) -> list[Sequence[Item]]:
    """Return batches by position, without finished items."""
    groups: list[Sequence[Item]] = []
    for start in range(0, len(items), size):
        group = items[start : start + size]
        waiting = [item for item in group if item.key not in journal.records]
        if waiting and not any(item.key in journal.failed for item in group):
            groups.append(group)
        else:
            groups += [[item] for item in waiting]
    return groups


def answer_items(items: Sequence[Item], engine: Engine | None) -> list[Record]:
    """Answer and score items.

    An InputError does not end the run: the record contains the error. Other errors, such as
    `UnavailableError`, do; the items are retried when the run is resumed.
    """
    if isinstance(engine, GeneratingEngine) and len(items) > 1:
        started = time.perf_counter()
        try:
            answers = _ask(items, engine)
        except InputError:
            # One item is invalid; ask each alone to find it.
            return [_record(item, engine) for item in items]
        share = (time.perf_counter() - started) / len(items)
        return [
            _scored(item, answer, answer.marked, share, call)
            for item, (answer, call) in zip(items, answers, strict=True)
        ]
    return [_record(item, engine) for item in items]


def failed_record(item: Item, error: str, *, seconds: float = 0.0) -> Record:
    """Return the record of a failed example, scored as an empty answer."""
    nothing = QuotedAnswer.parse("", item.question.sources)
    return _scored(item, nothing, "", seconds, error=error)


def _record(item: Item, engine: Engine | None) -> Record:
    question = item.question
    started = time.perf_counter()
    if item.left_out is not None:
        text = question.references[item.left_out].text
        answer = QuotedAnswer.parse(text, question.sources)
        return _scored(item, answer, text, time.perf_counter() - started)
    if engine is None:
        raise ValueError("an item without a reference needs an engine")
    try:
        ((answer, call),) = _ask([item], engine)
    except InputError as failure:
        seconds = time.perf_counter() - started
        return failed_record(item, str(failure), seconds=seconds)
    return _scored(item, answer, answer.marked, time.perf_counter() - started, call)


def _ask(items: Sequence[Item], engine: Engine) -> list[tuple[QuotedAnswer, ModelCall | None]]:
    """Answer items; the second value is None for engines without a language model."""
    requests = [Request(item.question.question, item.question.sources) for item in items]
    if not isinstance(engine, GeneratingEngine):
        return [(engine.answer(*request), None) for request in requests]
    return [
        (made.read(request.sources), ModelCall.by(made, chat=engine.chat))
        for request, made in zip(requests, engine.generate(requests), strict=True)
    ]


def _scored(
    item: Item,
    answer: QuotedAnswer,
    text: str,
    seconds: float,
    call: ModelCall | None = None,
    error: str | None = None,
) -> Record:
    question, scores = item.question, score_item(item, text)
    return Record.of(
        item.key, question.qid, question.question, answer, scores, seconds, error, call
    )
