"""Runs the steps of a collection in an output folder.

``questions.jsonl`` is the result; ``counts.json`` has the number of questions and answers after each
step. Questions are filtered in blocks, in this process or by workers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from semqa.bench.folder import pretty
from semqa.data.files import display_name, write_atomic
from semqa.data.jsonl import Row, encode_row, read_as, read_object
from semqa.data.quotesum import question_rows
from semqa.errors import InputError
from semqa.questions import paq
from semqa.questions.ambigqa import find_candidates
from semqa.questions.documents import propose
from semqa.questions.filters import (
    check_judges,
    counts_of,
    create_judge_once,
    filter_again,
    filter_questions,
    other_numbers,
)
from semqa.questions.records import CollectedQuestion
from semqa.questions.rules import Rules
from semqa.questions.run import COUNTS_FILE, QUESTIONS_FILE, Done, Steps, open_folder
from semqa.questions.similar import groups, similar_pairs
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
    """Collect questions from PAQ's metadata, which may be split or ``.gz``; return the counts.

    `passages` is ``psgs_w100.tsv``.
    """
    check_judges(plan.rules)
    identity = plan.identity("paq", [*files, passages])
    about = {"files": [str(path) for path in files], "passages": str(passages)}
    with open_folder(plan.out, identity, about) as steps:
        if done := read_counts(plan.out):
            return done
        database, total = steps.database, sum(path.stat().st_size for path in files)
        with plan.progress("reading", "bytes") as update:
            read = steps.run(
                "read", lambda place: paq.read_mentions(database, files, place), _of(update, total)
            )
        with plan.progress("merging by question", "examples") as update:
            merged = steps.run(
                "merge", lambda place: paq.merge_mentions(database, place), _of(update)
            )
        with plan.progress("finding passages", "bytes") as update:
            steps.run(
                "passages",
                lambda place: paq.read_passages(database, passages, place),
                _of(update, passages.stat().st_size),
            )
        kept = _filter(plan, steps, lambda row: paq.with_passages(database, row))
        if kept["found.answers"] < 0.5 * merged["several.answers"]:
            lost = kept["missing"] + kept["absent"]
            raise InputError(
                f"{lost:,} of {merged['several.answers']:,} answers are not in their passages. "
                "This file does not belong to these questions.",
                where=display_name(passages),
                hint="Use psgs_w100.tsv of the PAQ release.",
            )
        sizes = (
            "SELECT COUNT(*), SUM(size) FROM (SELECT COUNT(*) AS size FROM mention GROUP BY key)"
        )
        questions, answers = database.execute(sizes).fetchone()
        before = [
            Count("read", read["lines"], read["read"]),
            Count("merged by question", questions, answers or 0),
            Count("several answers", *counts_of(merged, "several")),
            Count("answer in its passage", *counts_of(kept, "found")),
        ]
        return _write_result(plan, steps, before + _filter_counts(kept, "one passage per page"))


def collect_ambigqa(plan: Plan, files: Sequence[Path]) -> list[Count]:
    """Collect questions from AmbigQA's released files with evidence articles; return the counts."""
    check_judges(plan.rules)
    about = {"files": [str(path) for path in files]}
    with open_folder(plan.out, plan.identity("ambigqa", files), about) as steps:
        if done := read_counts(plan.out):
            return done
        with plan.progress("reading", "examples") as update:
            read = steps.run(
                "read", lambda place: find_candidates(steps.database, files, place), _of(update)
            )
        kept = _filter(plan, steps, read_collected)
        before = [
            Count("read", read["lines"], read["read"]),
            Count("several answers", *counts_of(read, "several")),
            Count("answer in a passage", *counts_of(kept, "found")),
        ]
        return _write_result(plan, steps, before + _filter_counts(kept, "overlapping passages"))


def collect_documents(
    plan: Plan, collection: Collection, identity: Mapping[str, object], ask: str
) -> list[Count]:
    """Propose questions about a user's own documents, for a person to check; return the counts.

    `identity` identifies the documents, so that a run can be resumed; `ask` is the judge that generates
    the questions.
    """
    check_judges(plan.rules)
    asking = create_judge_once(ask, plan.rules.device, "ask")
    answering = create_judge_once(plan.rules.qa, plan.rules.device, "answer")
    run = {**plan.identity("documents", []), "documents": identity, "ask": ask}
    with open_folder(plan.out, run, {}) as steps:
        if done := read_counts(plan.out):
            return done
        with plan.progress("proposing", "files") as update:
            proposed = steps.run(
                "propose",
                lambda place: propose(steps.database, collection, asking, answering, place),
                _of(update, len(collection.documents())),
            )
        kept = _filter(plan, steps, read_collected)
        before = [
            Count("proposed", proposed["proposed"], proposed["proposed"]),
            Count("answered elsewhere", *counts_of(proposed, "several")),
        ]
        after = _filter_counts(kept, "one passage per document")
        return _write_result(plan, steps, before + after, checked=False)


def _of(
    update: Callable[[int, int | None], None] | None, total: int | None = None
) -> Callable[[int], None]:
    return lambda done: None if update is None else update(done, total)


def read_counts(out: Path) -> list[Count] | None:
    """Return the counts of a finished collection; None if it is not finished."""
    if not (out / COUNTS_FILE).exists():
        return None
    steps: Any = read_object(out / COUNTS_FILE).get("steps")
    return [Count(**each) for each in steps]


def read_collected(row: Row) -> tuple[CollectedQuestion, Counter[str]]:
    """Parse a question that already has its passages."""
    return read_as(CollectedQuestion, row), Counter()


def _filter(
    plan: Plan, steps: Steps, load: Callable[[Row], tuple[CollectedQuestion, Counter[str]]]
) -> Counter[str]:
    database = steps.database
    (total,) = database.execute("SELECT COUNT(*) FROM candidate").fetchone()
    workers = plan.workers
    size = BLOCK if workers is None else BLOCK * WINDOW

    def work(place: int | None) -> Iterator[Done]:
        at = place or 0
        find = "SELECT number, row FROM candidate WHERE number > ? ORDER BY number LIMIT ?"
        while rows := database.execute(find, (at, size)).fetchall():
            counts: Counter[str] = Counter()
            found = []
            for at, row in rows:
                question, more = load(Row(f"candidate {at}", json.loads(row)))
                counts.update(more)
                if len(question.answers) > 1:
                    found.append(question)
                    counts["found.answers"] += len(question.answers)
            counts["found.questions"] += len(found)
            blocks = [found[n : n + BLOCK] for n in range(0, len(found), BLOCK)]
            judge = partial(filter_questions, plan.rules)
            done = list(map(judge, blocks)) if workers is None else workers.map(judge, blocks)
            insert = "INSERT INTO filtered (question, row) VALUES (?, ?)"
            for block in done:
                counts.update(block.counts)
                left = [(each.question, json.dumps(each.to_dict())) for each in block.questions]
                database.executemany(insert, left)
            yield Done(at, counts, at)

    with plan.progress("filtering", "examples") as update:
        return steps.run("filter", work, _of(update, total))


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
    plan: Plan, steps: Steps, counts: list[Count], *, checked: bool | None = None
) -> list[Count]:
    rows = steps.database.execute("SELECT question FROM filtered ORDER BY number")
    texts = [question for (question,) in rows]
    with plan.progress("merging similar questions", "examples"):
        pairs = (
            (one, other)
            for one, other in similar_pairs(texts, plan.rules.similar)
            if not other_numbers(texts[one], texts[other])
        )
        together = groups(len(texts), pairs)
    left: Counter[str] = Counter()

    def read(at: int) -> CollectedQuestion:
        find = "SELECT row FROM filtered WHERE number = ?"
        (row,) = steps.database.execute(find, (at + 1,)).fetchone()
        return read_as(CollectedQuestion, Row(f"question {at + 1}", json.loads(row)))

    def lines() -> Iterator[bytes]:
        first = {members[0]: members for members in together}
        later = {at for members in together for at in members[1:]}
        for at in range(len(texts)):
            if at in later:
                continue
            question = read(at)
            if at in first:
                question = merge([question, *map(read, first[at][1:])], plan.rules)
            left["questions"] += 1
            left["answers"] += len(question.answers)
            for row in question_rows(question.to_question(checked=checked)):
                yield encode_row(row)

    write_atomic(plan.out / QUESTIONS_FILE, lines())
    counts = [*counts, Count("similar merged", left["questions"], left["answers"])]
    listed = {"steps": [each._asdict() for each in counts]}
    write_atomic(plan.out / COUNTS_FILE, [pretty(listed)])
    return counts


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
