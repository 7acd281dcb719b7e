"""Running a plan: answer, score, journal, and sum up; or go on where a killed run stopped."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from semqa.bench.journal import Journal
from semqa.bench.record import Record
from semqa.bench.results import make_results, score_item
from semqa.data.atomic import write_atomic
from semqa.data.lock import locked
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from semqa.bench.plan import Item, Plan
    from semqa.engines import Engine

__all__ = ["EXAMPLES_FILE", "RESULTS_FILE", "RUN_FILE", "Progress", "run"]

EXAMPLES_FILE = "examples.jsonl"
RESULTS_FILE = "results.json"
RUN_FILE = "run.json"


class Progress(NamedTuple):
    """How far a run is: examples done, of how many, and how many of them earlier."""

    done: int
    total: int
    resumed: int


def run(
    plan: Plan, out: Path, on_progress: Callable[[Progress], None] = lambda _: None
) -> dict[str, object]:
    """Run a plan to its end, in a folder that holds this run alone.

    The folder gets ``run.json`` (what is run), ``examples.jsonl`` (a row for each example, written
    as it is finished) and ``results.json``. A run that was killed goes on where it stopped, and
    ends with the scores that it would have had; a finished one is summed up again.

    Args:
        plan: what to run.
        out: the folder; made when it does not exist.
        on_progress: called at the start and after each example.

    Returns:
        The results, as in ``results.json``.

    Raises:
        InputError: the data is not usable, or the folder holds another run.
        UnavailableError: another process is at work in the folder, or the disk failed.
    """
    engine = plan.create_engine()
    questions = plan.questions()
    items = plan.items(questions)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{out}: cannot be made: got {error.strerror!r}, expected a folder that can be "
            "written; choose another --out"
        ) from error
    with _own_errors(out), locked(out / ".lock", wait_seconds=0):
        _claim(out, plan.identity())
        journal = Journal(out / EXAMPLES_FILE, (item.key for item in items))
        resumed = len(journal.records)
        with journal:
            on_progress(Progress(resumed, len(items), resumed))
            for item in items:
                if item.key not in journal.records:
                    journal.append(_record(item, engine))
                    on_progress(Progress(len(journal.records), len(items), resumed))
        records = [journal.records[item.key] for item in items]
        results = make_results(plan, items, records)
        write_atomic(out / RESULTS_FILE, [_pretty(results)])
    return results


@contextmanager
def _own_errors(out: Path) -> Iterator[None]:
    """Name the folder where its files cannot be read or written."""
    try:
        yield
    except (PermissionError, IsADirectoryError) as error:
        raise InputError(
            f"{out}: cannot be used: got {error.strerror!r} for {error.filename}, expected a folder "
            "whose files can be read and written; choose another --out"
        ) from error


def _claim(out: Path, identity: Mapping[str, object]) -> None:
    """Make the folder this run's, or see that it is."""
    path = out / RUN_FILE
    if not path.exists():
        if (out / EXAMPLES_FILE).exists():
            raise InputError(
                f"{out}: holds examples of an unknown run: got {EXAMPLES_FILE} without {RUN_FILE}, "
                "expected both or neither; use another folder"
            )
        write_atomic(path, [_pretty(identity)])
        return
    from semqa.data.files import decode_text
    from semqa.data.jsonl import as_row, decode_json

    name = str(path)
    found = as_row(decode_json(decode_text(path.read_bytes(), name), name), name).fields
    for key, value in identity.items():
        if key == "data":  # a renamed copy is the same data, which the digest tells
            continue
        # Through JSON, as the file went.
        expected = json.loads(json.dumps(value))
        if found.get(key) != expected:
            raise InputError(
                f"{out}: holds another run: got {key} {found.get(key)!r} in {RUN_FILE}, expected "
                f"{expected!r}; use another folder, or remove this one to start afresh"
            )


def _record(item: Item, engine: Engine | None) -> Record:
    question = item.question
    error = None
    started = time.perf_counter()
    if item.left_out is not None:
        text = question.references[item.left_out].text
        answer = QuotedAnswer.parse(text, question.sources)
    elif engine is None:
        raise ValueError("an item without a reference needs an engine")
    else:
        try:
            answer = engine.answer(question.question, question.sources)
        except InputError as failure:
            # One example that cannot be answered must not cost the run; what fails from outside
            # (`UnavailableError`) ends it, and is tried again when it is resumed.
            answer, error = QuotedAnswer.parse("", question.sources), str(failure)
        text = answer.marked
    seconds = time.perf_counter() - started
    scores = score_item(item, text)
    return Record.of(item.key, question.question, answer, scores, seconds, error)


def _pretty(value: Mapping[str, object]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    return (text + "\n").encode("utf-8")
