"""Runs the steps of a collection in an output folder.

The subfolder ``steps`` has a file per step. ``questions.jsonl`` is the result; ``counts.json`` has
the number of questions and answers after each step. Questions are filtered in blocks, in this
process or by workers.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from semqa.attribution.judges import create_judge
from semqa.attribution.judges.base import require_ability
from semqa.bench.folder import read_object
from semqa.data.files import display_name, write_atomic
from semqa.data.jsonl import Line, decode_row, encode_row
from semqa.data.quotesum import question_rows
from semqa.errors import InputError
from semqa.questions import paq
from semqa.questions.ambigqa import find_candidates
from semqa.questions.documents import propose
from semqa.questions.filters import (
    Filtered,
    Task,
    check_judges,
    counts_of,
    filter_again,
    filter_questions,
    other_numbers,
)
from semqa.questions.records import CollectedQuestion
from semqa.questions.run import (
    COUNTS_FILE,
    QUESTIONS_FILE,
    StepOutput,
    open_folder,
    run_step,
    write_counts,
)
from semqa.questions.similar import groups, similar_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from semqa.data.jsonl import Row
    from semqa.questions.rules import Rules
    from semqa.retrieval.passages import Collection

BLOCK = 64
"""Number of questions that are filtered together."""

WINDOW = 64
"""Number of blocks that are sent to workers at once."""

_T = TypeVar("_T")
_R = TypeVar("_R")


class Workers(Protocol):
    """Worker processes (`semqa.distributed`)."""

    def map(self, work: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        """Return the result of a function for each task, in order."""
        ...


class Count(NamedTuple):
    """Numbers of questions and answers after a step."""

    step: str
    questions: int
    answers: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of a collection.

    Attributes:
        out: the output folder.
        rules: the filters.
        progress: shows the progress of a step. Called with its name and unit, it yields a function
            of the amount done and the total, or None.
        workers: worker processes; None to filter in this process.
    """

    out: Path
    rules: Rules
    progress: Callable[
        [str, Literal["bytes", "examples", "files"]],
        AbstractContextManager[Callable[[int, int | None], None] | None],
    ]
    workers: Workers | None = None

    def identity(self, command: str, files: Sequence[Path]) -> dict[str, object]:
        """Return the identity of a run, without the device, which does not change the result."""
        rules = asdict(self.rules)
        del rules["device"]
        return {"command": command, "files": [fingerprint(path) for path in files], **rules}


def fingerprint(path: Path) -> dict[str, object]:
    """Return the identity of a file: name, size, and a digest of its first and last 64 KiB."""
    digest = hashlib.blake2b(digest_size=8)
    with paq.open_binary(path, unpack=False) as stream:
        size = stream.seek(0, os.SEEK_END)
        for start in (0, max(0, size - 2**16)):
            stream.seek(start)
            digest.update(stream.read(2**16))
    return {"name": path.name, "bytes": size, "ends": digest.hexdigest()}


def collect_paq(plan: Plan, files: Sequence[Path], passages: Path) -> list[Count]:
    """Collect questions from PAQ's metadata.

    Args:
        plan: the settings.
        files: ``PAQ.unfiltered_metadata.jsonl`` or ``PAQ.metadata.jsonl``; may be split or ``.gz``.
        passages: ``psgs_w100.tsv``.

    Returns:
        The counts of each step.
    """
    check_judges(plan.rules)
    identity = plan.identity("paq", [*files, passages])
    about = {"files": [str(path) for path in files], "passages": str(passages)}
    with open_folder(plan.out, identity, about) as steps:
        if done := read_counts(plan.out):
            return done
        merged = steps / "merged.jsonl"
        counts = _merge(plan, files, steps, merged)
        with paq.PassageFile(passages, steps / "passages.npy") as found:
            with plan.progress("finding passages", "bytes"):
                found.prepare()
            filtered, more = _filter(plan, steps, merged, lambda row: paq.with_passages(row, found))
        before = [
            Count("read", counts["lines"], counts["read"]),
            Count("merged by question", counts["questions"], counts["triples"]),
            Count("several answers", *counts_of(counts, "several")),
            Count("answer in its passage", *counts_of(more, "found")),
        ]
        if more.get("found.answers", 0) < 0.5 * counts["several.answers"]:
            lost = more.get("missing", 0) + more.get("absent", 0)
            raise InputError(
                f"{lost:,} of {counts['several.answers']:,} answers are not in their passages. "
                "This file does not belong to these questions.",
                where=display_name(passages),
                hint="Use psgs_w100.tsv of the PAQ release.",
            )
        return _write_result(plan, filtered, before + _filter_counts(more, "one passage a page"))


def collect_ambigqa(plan: Plan, files: Sequence[Path]) -> list[Count]:
    """Collect questions from AmbigQA with evidence articles.

    Args:
        plan: the settings.
        files: the released files.

    Returns:
        The counts of each step.
    """
    check_judges(plan.rules)
    about = {"files": [str(path) for path in files]}
    with open_folder(plan.out, plan.identity("ambigqa", files), about) as steps:
        if done := read_counts(plan.out):
            return done
        found = steps / "candidates.jsonl"
        with plan.progress("reading", "examples") as update:
            counts = run_step(
                steps / "candidates.note.json",
                [found],
                lambda place: find_candidates(files, place),
                lambda done: update(done, None) if update is not None else None,
            )
        filtered, more = _filter(plan, steps, found, read_collected)
        before = [
            Count("read", counts.get("lines", 0), counts.get("read", 0)),
            Count("several answers", *counts_of(counts, "several")),
            Count("passages that hold them", *counts_of(more, "found")),
        ]
        return _write_result(plan, filtered, before + _filter_counts(more, "overlapping passages"))


def collect_documents(
    plan: Plan, collection: Collection, identity: Mapping[str, object], ask: str
) -> list[Count]:
    """Propose questions about a user's own documents, for a person to check.

    Args:
        plan: the settings.
        collection: the documents.
        identity: identity of the documents, to recognise a resumed run.
        ask: specification of the judge that asks the questions.

    Returns:
        The counts of each step.
    """
    check_judges(plan.rules)
    asking = require_ability(create_judge(ask, {"device": plan.rules.device}), "ask")
    answering = require_ability(
        create_judge(plan.rules.qa, {"device": plan.rules.device}), "answer"
    )
    run = {**plan.identity("documents", []), "documents": identity, "ask": ask}
    with open_folder(plan.out, run, {}) as steps:
        if done := read_counts(plan.out):
            return done
        found = steps / "candidates.jsonl"
        total = len(collection.documents())
        with plan.progress("proposing", "files") as update:
            counts = run_step(
                steps / "candidates.note.json",
                [found],
                lambda place: propose(collection, asking, answering, place),
                lambda done: update(done, total) if update is not None else None,
            )
        filtered, more = _filter(plan, steps, found, read_collected)
        before = [
            Count("proposed", counts.get("proposed", 0), counts.get("proposed", 0)),
            Count("answered elsewhere", *counts_of(counts, "several")),
        ]
        after = _filter_counts(more, "one passage a document")
        return _write_result(plan, filtered, before + after, checked=False)


def read_counts(out: Path) -> list[Count] | None:
    """Return the counts of a finished collection; None if it is not finished."""
    if not (out / COUNTS_FILE).exists():
        return None
    steps: Any = read_object(out / COUNTS_FILE).get("steps")
    return [Count(**each) for each in steps]


def read_collected(row: Row) -> tuple[CollectedQuestion, Counter[str]]:
    """Parse a question that already has its passages."""
    return CollectedQuestion.read(row), Counter()


def _merge(plan: Plan, files: Sequence[Path], steps: Path, merged: Path) -> Mapping[str, int]:
    """Sort lines into buckets by question, and merge the lines of each question."""
    count = paq.bucket_count(files)
    buckets = [steps / f"bucket-{number:04}" for number in range(count)]
    note = steps / "merged.note.json"
    total = sum(path.stat().st_size for path in files)
    with plan.progress("reading", "bytes") as update:
        read = run_step(
            steps / "buckets.note.json",
            buckets,
            lambda place: paq.sort_into_buckets(files, count, place),
            lambda done: update(done, total) if update is not None else None,
        )

    def merge(place: Any) -> Iterator[StepOutput]:
        for number in range(place or 0, count):
            lines, found = paq.merge_bucket(buckets[number])
            yield StepOutput(number + 1, [(0, line) for line in lines], found, number + 1)

    with plan.progress("merging by question", "files") as update:
        counts = run_step(
            note, [merged], merge, lambda done: update(done, count) if update is not None else None
        )
    for bucket in buckets:  # they are as large as the input
        bucket.unlink(missing_ok=True)
    return Counter(read) + Counter(counts)


def _filter(
    plan: Plan,
    steps: Path,
    source: Path,
    load: Callable[[Row], tuple[CollectedQuestion, Counter[str]]],
) -> tuple[Path, dict[str, int]]:
    """Filter the questions of a file in blocks."""
    filtered = steps / "filtered.jsonl"
    total = source.stat().st_size
    with plan.progress("filtering", "bytes") as update:
        counts = run_step(
            steps / "filtered.note.json",
            [filtered],
            lambda place: _filter_blocks(plan, source, load, place or 0),
            lambda done: update(done, total) if update is not None else None,
        )
    return filtered, counts


def _filter_blocks(
    plan: Plan,
    source: Path,
    load: Callable[[Row], tuple[CollectedQuestion, Counter[str]]],
    offset: int,
) -> Iterator[StepOutput]:
    size = BLOCK if plan.workers is None else BLOCK * WINDOW
    for rows, end in _read_blocks(source, offset, size):
        counts: Counter[str] = Counter()
        found = []
        for row in rows:
            question, more = load(row)
            counts.update(more)
            if len(question.answers) > 1:
                found.append(question)
                counts["found.answers"] += len(question.answers)
        counts["found.questions"] += len(found)
        tasks = [Task(plan.rules, found[at : at + BLOCK]) for at in range(0, len(found), BLOCK)]
        done: Sequence[Filtered]
        if plan.workers is None:
            done = [filter_questions(task) for task in tasks]
        else:
            done = plan.workers.map(filter_questions, tasks)
        lines = []
        for each in done:
            counts.update(each.counts)
            lines += [(0, encode_row(question.to_dict())) for question in each.questions]
        yield StepOutput(end, lines, counts, end)


def _read_blocks(source: Path, offset: int, size: int) -> Iterator[tuple[list[Row], int]]:
    rows: list[Row] = []
    end = offset
    for line, _, end in paq.read_from(source, offset, 0):
        rows.append(decode_row(line))
        if len(rows) == size:
            yield rows, end
            rows = []
    if rows:
        yield rows, end


def _filter_counts(counts: Mapping[str, int], pages: str) -> list[Count]:
    names = {
        "length": "passage length",
        "scored": "answered by the QA model",
        "pages": pages,
        "edits": "near-equal by edits",
        "words": "near-equal by words",
        "equivalence": "near-equal by the judge",
        "most": "most answers",
    }
    return [
        Count(label, *counts_of(counts, name))
        for name, label in names.items()
        if f"{name}.questions" in counts
    ]


def _write_result(
    plan: Plan, filtered: Path, counts: list[Count], *, checked: bool | None = None
) -> list[Count]:
    """Merge similar questions and write the result."""
    places: list[int] = []
    texts: list[str] = []
    for line, *_ in paq.read_from(filtered, 0, 0):
        places.append(line.offset)
        texts.append(decode_row(line).text("question"))
    with plan.progress("merging similar questions", "examples"):
        pairs = (
            (one, other)
            for one, other in similar_pairs(texts, plan.rules.similar)
            if not other_numbers(texts[one], texts[other])
        )
        together = groups(len(texts), pairs)
    left: Counter[str] = Counter()

    def lines() -> Iterator[bytes]:
        for question in _merged(filtered, places, together, plan.rules):
            left["questions"] += 1
            left["answers"] += len(question.answers)
            for row in question_rows(question.to_question(checked=checked)):
                yield encode_row(row)

    write_atomic(plan.out / QUESTIONS_FILE, lines())
    counts = [*counts, Count("similar merged", left["questions"], left["answers"])]
    write_counts(plan.out, [each._asdict() for each in counts])
    return counts


def _merged(
    filtered: Path, places: Sequence[int], together: Iterable[Sequence[int]], rules: Rules
) -> Iterator[CollectedQuestion]:
    """Yield the questions of a file in order, with each group merged to one question."""
    first = {members[0]: members for members in together}
    later = {at for members in first.values() for at in members[1:]}
    name = display_name(filtered)
    with filtered.open("rb") as stream:

        def read(at: int) -> CollectedQuestion:
            stream.seek(places[at])
            line = Line(f"{name}:{at + 1}", stream.readline(), places[at])
            return CollectedQuestion.read(decode_row(line))

        for at in range(len(places)):
            if at in later:
                continue
            question = read(at)
            if at in first:
                question = merge([question, *map(read, first[at][1:])], rules)
            yield question


def merge(questions: Sequence[CollectedQuestion], rules: Rules) -> CollectedQuestion:
    """Merge several questions to one with all their answers, filtered again.

    The text is that of the question with the most answers; ties go to the first.
    """
    best = max(questions, key=lambda each: len(each.answers))
    answers = {
        (answer.answer, answer.title, answer.text): answer
        for each in (best, *questions)
        for answer in each.answers
    }
    readings = dict.fromkeys(each.disambiguation for each in (best, *questions))
    return filter_again(
        replace(
            best, answers=tuple(answers.values()), disambiguation=" | ".join(filter(None, readings))
        ),
        rules,
    )
