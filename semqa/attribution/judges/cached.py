"""Judges that wrap another: one caches its results on disk, one skips texts that are too long.

The cache is how runs resume: what was asked once is never asked again, by any process.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from semqa.attribution.judges.base import (
    Entailment,
    Span,
    TooLongError,
    abilities_of,
    unless_too_long,
)
from semqa.data.sqlite import use_write_ahead_log
from semqa.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from semqa.attribution.judges.base import Ability, Judge, Pair, Reading, Schema
    from semqa.attribution.judges.engine import EngineJudge

FILE_NAME = "judgements.sqlite3"
"""The file in a folder of judgements."""

_FORMAT = 0x51A1
"""What says that a database is one of ours, and of this layout (SQLite's ``application_id``)."""

_WAIT_SECONDS = 60.0
"""How long one process waits for another that is writing, which takes milliseconds."""

_KEYS_AT_ONCE = 500
"""Keys in one query; SQLite takes 999 values at least."""

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class CachedJudge:
    """Asks another judge only inputs that are not in the cache.

    Equal inputs are asked once. Results are written after every `chunk` inputs, each time in one
    transaction: a process that is killed loses at most its last chunk. Several processes and threads
    may share a file. Of a language model the replies are cached, and parsed again each time.

    Args:
        judge: the judge to ask.
        path: the file, or a folder for `FILE_NAME`; None keeps results in memory alone.
        chunk: how many inputs are asked together.

    Attributes:
        asked: how many inputs the other judge was asked so far.
        kept: how many results were found instead.
        on_progress: called with how many inputs of a call are done, and of how many.

    Raises:
        InputError: the file is not a cache, is damaged, or cannot be written.
    """

    def __init__(self, judge: Judge, path: Path | str | None, *, chunk: int = 64) -> None:
        self.name = judge.name
        self.identity = judge.identity
        self.judge = judge
        self.asked = 0
        self.kept = 0
        self.on_progress: Callable[[int, int], None] | None = None
        self._chunk = chunk
        file = None if path is None else Path(path)
        self._store = _Store(file / FILE_NAME if file is not None and file.is_dir() else file)
        through: Callable[..., EngineJudge] | None = getattr(judge, "through", None)
        self._model = None if through is None else through(self.complete)

    @property
    def abilities(self) -> frozenset[Ability]:
        """Those of the other judge."""
        return abilities_of(self.judge)

    @property
    def on_disk(self) -> bool:
        """Whether results outlive the process."""
        return self._store.on_disk

    @property
    def unparsed(self) -> int:
        """How many replies of a language model were unparsed; 0 for other judges."""
        return int(getattr(self._model or self.judge, "unparsed", 0))

    def close(self) -> None:
        """Close the file and the other judge."""
        self._store.close()
        close: Any = getattr(self.judge, "close", None)
        if close is not None:
            close()

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """Return the relation of each hypothesis to its premise."""
        judge: Any = self.judge
        if self._model is not None:
            return self._model.entailment(pairs)
        found = self._all("entailment", {}, pairs, judge.entailment)
        return [Entailment(*each) for each in found]

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        """Return the span that answers each question, or None."""
        judge: Any = self.judge
        if self._model is not None:
            return self._model.answer(readings)

        def places(some: Sequence[Reading]) -> list[object]:
            """Leave out the text, which is part of the passage."""
            return [span and [span.start, span.end, span.score] for span in judge.answer(some)]

        return [
            None if place is None else Span(reading.passage[place[0] : place[1]], *place)
            for reading, place in zip(
                readings, self._all("answer", {}, readings, places), strict=True
            )
        ]

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        """Return questions whose answer is given."""
        judge: Any = self.judge
        if self._model is not None:
            return self._model.ask(readings, count=count)
        how = {"count": count}
        return self._all("ask", how, readings, lambda some: judge.ask(some, count=count))

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, schema: Schema | None = None
    ) -> list[str]:
        """Complete each prompt."""
        judge: Any = self.judge
        how: dict[str, object] = {"max_new_tokens": max_new_tokens}
        return self._all(
            "complete",
            how if schema is None else {**how, "schema": schema},
            prompts,
            lambda some: judge.complete(some, max_new_tokens=max_new_tokens, schema=schema),
        )

    def _all(
        self,
        kind: str,
        settings: Mapping[str, object],
        inputs: Sequence[_In],
        ask: Callable[[list[_In]], Any],
    ) -> list[Any]:
        """Return the result of each input, asking for those that are not cached."""
        keys = [_key(self.identity, kind, settings, each) for each in inputs]
        results = self._store.get(keys)
        missing = {key: each for key, each in zip(keys, inputs, strict=True) if key not in results}
        times = Counter(keys)
        done = len(inputs) - sum(times[key] for key in missing)
        self.kept += done
        self._tell(done, len(inputs))
        for some in _chunks(missing.items(), self._chunk):
            values = ask([each for _, each in some])
            # Through JSON, so that a result is the same the first time and later.
            made = {
                key: json.dumps(value, ensure_ascii=False, allow_nan=False)
                for (key, _), value in zip(some, values, strict=True)
            }
            self._store.put(made)
            results |= made
            self.asked += len(made)
            done += sum(times[key] for key in made)
            self._tell(done, len(inputs))
        return [json.loads(results[key]) for key in keys]

    def _tell(self, done: int, total: int) -> None:
        if self.on_progress is not None:
            self.on_progress(done, total)


_NEUTRAL = Entailment(0.0, 1.0, 0.0)


class PatientJudge:
    """Asks another judge, and counts inputs that are too long instead of failing.

    Such a pair is neutral, a reading has no answer, and a prompt an empty reply. This is for measures
    without a place for the reason why something is not judged; others call `unless_too_long`.

    Attributes:
        too_long: how many inputs were too long so far.
    """

    def __init__(self, judge: Judge) -> None:
        self.name, self.identity = judge.name, judge.identity
        self.too_long = 0
        self._judge: Any = judge

    @property
    def abilities(self) -> frozenset[Ability]:
        """Those of the other judge."""
        return abilities_of(self._judge)

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """Return the relation of each hypothesis to its premise."""
        return self._all(self._judge.entailment, pairs, _NEUTRAL)

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        """Return the span that answers each question, or None."""
        return self._all(self._judge.answer, readings, None)

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, schema: Schema | None = None
    ) -> list[str]:
        """Complete each prompt."""

        def replies(some: Sequence[str]) -> list[str]:
            how: dict[str, Any] = {"max_new_tokens": max_new_tokens, "schema": schema}
            return list(self._judge.complete(some, **how))

        return self._all(replies, prompts, "")

    def _all(
        self, ask: Callable[[Sequence[_In]], list[_Out]], inputs: Sequence[_In], nothing: _Out
    ) -> list[_Out]:
        results = unless_too_long(ask, inputs)
        self.too_long += sum(isinstance(each, TooLongError) for each in results)
        return [nothing if isinstance(each, TooLongError) else each for each in results]


class _Store:
    """Texts by key, in an SQLite file in WAL mode: readers never wait, writers take turns."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.on_disk = path is not None
        self._lock = Lock()
        with self._explained():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                path or ":memory:",
                timeout=_WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self) -> None:
        run = self._connection.execute
        use_write_ahead_log(self._connection, _WAIT_SECONDS)
        run("PRAGMA synchronous=NORMAL")  # with WAL: whole after a crash, at worst a little older
        (found,) = run("PRAGMA application_id").fetchone()
        (tables,) = run("SELECT count(*) FROM sqlite_master").fetchone()
        if found != _FORMAT and (found or tables):
            raise sqlite3.DatabaseError("another program's database")
        if not tables:
            with self._transaction():
                run(
                    "CREATE TABLE IF NOT EXISTS judgements "
                    "(key BLOB PRIMARY KEY, result TEXT NOT NULL) WITHOUT ROWID"
                )
                run(f"PRAGMA application_id={_FORMAT}")

    def get(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Return the results of the keys that are cached."""
        found: dict[bytes, str] = {}
        for some in _chunks(dict.fromkeys(keys), _KEYS_AT_ONCE):
            holes = ",".join("?" * len(some))
            query = f"SELECT key, result FROM judgements WHERE key IN ({holes})"  # noqa: S608
            with self._explained():
                found.update(self._connection.execute(query, some).fetchall())
        return found

    def put(self, results: Mapping[bytes, str]) -> None:
        """Keep results, all of them or none."""
        with self._explained(), self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO judgements VALUES (?, ?)", results.items()
            )

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Take turns, and explain what goes wrong with the file."""
        with self._lock:
            try:
                yield
            except (OSError, sqlite3.OperationalError) as error:
                if "locked" in str(error):
                    raise UnavailableError(
                        f"{self._path} is locked: another process has been writing for {_WAIT_SECONDS:g} s. Wait for it, or use another --judge-cache."
                    ) from error
                raise UnavailableError(
                    f"{self._path} cannot be used: {error}. Use another --judge-cache, or --no-judge-cache."
                ) from error
            except sqlite3.Error as error:
                raise InputError(
                    f"{self._path} is not a cache of judgements, or is damaged: {error}.",
                    hint="Remove it, or use another --judge-cache.",
                ) from error


def _key(identity: str, kind: str, settings: Mapping[str, object], given: object) -> bytes:
    """Return the key of an input: a digest of the judge, the question and its settings."""
    content = json.dumps([identity, kind, dict(settings), given], ensure_ascii=True)
    return hashlib.sha256(content.encode("ascii")).digest()


def _chunks(values: Any, size: int) -> Iterator[list[Any]]:
    left = iter(values)
    while some := list(islice(left, size)):
        yield some
