"""The output folder of a collection: its database, and steps that can be resumed.

A step writes to the database. It regularly commits its rows together with its counts and its place in
the input, so a killed process loses at most a few seconds of work. The database is deleted at the end.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from semqa.bench.folder import claim, own_errors
from semqa.data.files import locked, make_folder
from semqa.errors import UnavailableError

COUNTS_FILE = "counts.json"
QUESTIONS_FILE = "questions.jsonl"
DATABASE = "steps.sqlite"

CHECKPOINT_SECONDS = 5.0
"""Seconds between commits."""

_TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS step (name TEXT PRIMARY KEY, place TEXT, counts TEXT, finished INTEGER);
CREATE TABLE IF NOT EXISTS mention (
    key TEXT, question TEXT, answer TEXT, normalised TEXT, passage INTEGER,
    UNIQUE (key, normalised, passage)
);
CREATE TABLE IF NOT EXISTS passage (id INTEGER PRIMARY KEY, title TEXT, text TEXT);
CREATE TABLE IF NOT EXISTS candidate (number INTEGER PRIMARY KEY, row TEXT);
CREATE TABLE IF NOT EXISTS filtered (number INTEGER PRIMARY KEY, question TEXT, row TEXT);
"""
"""``mention`` and ``passage`` are for PAQ: answers before they are merged by question, and passages."""


class Done(NamedTuple):
    """The progress of a step since its last commit."""

    place: Any  # where to continue in the input, JSON-ready
    counts: Mapping[str, int]  # to add
    progress: int  # of the whole step


class Steps:
    """The database of a collection, to which steps write without committing."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        database.executescript(_TABLES)

    def run(
        self,
        name: str,
        work: Callable[[Any], Iterable[Done]],
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> Counter[str]:
        """Run a step, or continue it; return the counts of the whole step.

        `work` is called with the place to continue from (None at the start).
        """
        found = "SELECT place, counts, finished FROM step WHERE name = ?"
        state = self.database.execute(found, (name,)).fetchone() or ("null", "{}", False)
        place, counts, finished = json.loads(state[0]), Counter(json.loads(state[1])), state[2]
        if finished:
            return counts
        committed = time.monotonic()
        for done in work(place):
            place = done.place
            counts.update(done.counts)
            on_progress(done.progress)
            if time.monotonic() - committed > CHECKPOINT_SECONDS:
                self._commit(name, place, counts, finished=False)
                committed = time.monotonic()
        self._commit(name, place, counts, finished=True)
        return counts

    def _commit(self, name: str, place: Any, counts: Counter[str], *, finished: bool) -> None:
        row = (name, json.dumps(place), json.dumps(counts), finished)
        self.database.execute("INSERT OR REPLACE INTO step VALUES (?, ?, ?, ?)", row)
        self.database.commit()


@contextmanager
def open_folder(
    out: Path, identity: Mapping[str, object], about: Mapping[str, object]
) -> Iterator[Steps]:
    """Create or reopen the folder of a collection, and lock it while the block runs.

    A folder whose run has another `identity` is refused; `about` describes the run further.
    """
    make_folder(out)
    with own_errors(out), locked(out / ".lock", wait_seconds=0):
        claim(out, identity, about)
        try:
            with closing(sqlite3.connect(out / DATABASE)) as database:
                yield Steps(database)
        except sqlite3.Error as error:
            raise UnavailableError(
                f"Cannot write {out / DATABASE}: {error}. Free some space and run again to resume."
            ) from error
        if (out / COUNTS_FILE).exists():
            (out / DATABASE).unlink()
