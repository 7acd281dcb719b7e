"""Wrappers of judges: one caches results on disk, the other skips texts that are too long.

The cache lets runs resume: an input is judged once, across all processes.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from semqa.attribution.judges.base import (
    Ability,
    Entailment,
    Judge,
    Pair,
    Reading,
    Schema,
    Span,
    TooLongError,
    unless_too_long,
)
from semqa.data.files import use_write_ahead_log
from semqa.errors import InputError, UnavailableError

FILE_NAME = "judgements.sqlite3"
"""Name of the cache file in a folder."""

_APPLICATION_ID = 0x51A1
"""SQLite ``application_id`` that marks a cache with this schema."""

_LOCK_TIMEOUT = 60.0
"""Lock timeout. A write takes milliseconds."""

_KEYS_PER_QUERY = 500
"""Keys per query; every SQLite build allows at least 999 parameters."""

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class CachedJudge(Judge):
    """A judge with a cache: only inputs that are not in the cache reach the wrapped judge.

    Equal inputs are judged once. Results are written in one transaction per `chunk` inputs, so a
    process that is killed loses at most its last chunk. Processes and threads may share a file. For
    a language model, replies are cached, and parsed again on each use.

    Args:
        path: the file, or a folder that gets `FILE_NAME`; None keeps results in memory only.

    Attributes:
        asked, kept: numbers of inputs judged, and found in the cache, so far.
        on_disk: whether results are stored on disk.
        on_progress: called with the number of finished inputs of a call, and their total.
    """

    def __init__(self, judge: Judge, path: Path | str | None, *, chunk: int = 64) -> None:
        self.name = judge.name
        self.identity = judge.identity
        self.judge = judge
        self.asked = 0
        self.kept = 0
        self.on_progress: Callable[[int, int], None] | None = None
        self.on_disk = path is not None
        self._chunk = chunk
        file = None if path is None else Path(path)
        self._store = _Store(file / FILE_NAME if file is not None and file.is_dir() else file)
        self._model = judge.through(self.complete)

    @property
    def abilities(self) -> frozenset[Ability]:
        return self.judge.abilities

    @property
    def unparsed(self) -> int:
        return (self._model or self.judge).unparsed

    def close(self) -> None:
        self._store.close()
        self.judge.close()

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        if self._model is not None:
            return self._model.entailment(pairs)
        found = self._all("entailment", {}, pairs, self.judge.entailment)
        return [Entailment(*each) for each in found]

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        if self._model is not None:
            return self._model.answer(readings)

        def places(batch: Sequence[Reading]) -> list[object]:
            """Leave out the text, because it can be sliced from the passage."""
            return [
                span and [span.start, span.end, span.score] for span in self.judge.answer(batch)
            ]

        found = zip(readings, self._all("answer", {}, readings, places), strict=True)
        return [place and Span(one.passage[place[0] : place[1]], *place) for one, place in found]

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        if self._model is not None:
            return self._model.ask(readings, count=count)
        return self._all(
            "ask", {"count": count}, readings, lambda b: self.judge.ask(b, count=count)
        )

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, schema: Schema | None = None
    ) -> list[str]:
        options: dict[str, Any] = {"max_new_tokens": max_new_tokens}
        if schema is not None:
            options["schema"] = schema
        return self._all("complete", options, prompts, lambda b: self.judge.complete(b, **options))

    def _all(
        self,
        kind: str,
        settings: Mapping[str, object],
        inputs: Sequence[_In],
        ask: Callable[[list[_In]], Any],
    ) -> list[Any]:
        """Return the result of each input; ask the wrapped judge if it is not cached."""
        keys = [_key(self.identity, kind, settings, each) for each in inputs]
        results = self._store.get(keys)
        missing = {key: each for key, each in zip(keys, inputs, strict=True) if key not in results}
        counts = Counter(keys)
        done = len(inputs) - sum(counts[key] for key in missing)
        self.kept += done
        report = self.on_progress or (lambda _done, _total: None)
        report(done, len(inputs))
        for batch in _chunks(missing.items(), self._chunk):
            values = ask([each for _, each in batch])
            # Decoded from JSON below, so that new and cached results are the same.
            made = {
                key: json.dumps(value, ensure_ascii=False, allow_nan=False)
                for (key, _), value in zip(batch, values, strict=True)
            }
            self._store.put(made)
            results |= made
            self.asked += len(made)
            done += sum(counts[key] for key in made)
            report(done, len(inputs))
        return [json.loads(results[key]) for key in keys]


class TolerantJudge(Judge):
    """A judge that counts inputs that are too long instead of raising `TooLongError`.

    Such a pair is neutral, such a reading has no answer, and such a prompt gets an empty reply. Use
    it for measures that cannot report why an input was not judged; others call `unless_too_long`.
    """

    def __init__(self, judge: Judge) -> None:
        self.name, self.identity = judge.name, judge.identity
        self.too_long = 0
        self._judge = judge

    @property
    def abilities(self) -> frozenset[Ability]:
        return self._judge.abilities

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        return self._all(self._judge.entailment, pairs, Entailment(0.0, 1.0, 0.0))

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        return self._all(self._judge.answer, readings, None)

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, schema: Schema | None = None
    ) -> list[str]:
        reply = partial(self._judge.complete, max_new_tokens=max_new_tokens, schema=schema)
        return self._all(reply, prompts, "")

    def _all(
        self, ask: Callable[[Sequence[_In]], list[_Out]], inputs: Sequence[_In], fallback: _Out
    ) -> list[_Out]:
        results = unless_too_long(ask, inputs)
        self.too_long += sum(isinstance(each, TooLongError) for each in results)
        return [fallback if isinstance(each, TooLongError) else each for each in results]


class _Store:
    """A key-value store in an SQLite file. In WAL mode, readers never wait for writers."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = Lock()
        with self._locked():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            settings: Any = {"isolation_level": None, "check_same_thread": False}
            self._connection = sqlite3.connect(
                path or ":memory:", timeout=_LOCK_TIMEOUT, **settings
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self) -> None:
        run = self._connection.execute
        use_write_ahead_log(self._connection, _LOCK_TIMEOUT)
        run("PRAGMA synchronous=NORMAL")  # with WAL, a crash can only lose the last writes
        (found,) = run("PRAGMA application_id").fetchone()
        (tables,) = run("SELECT count(*) FROM sqlite_master").fetchone()
        if found != _APPLICATION_ID and (found or tables):
            raise sqlite3.DatabaseError("another program's database")
        if not tables:
            with self._connection:
                run("BEGIN IMMEDIATE")
                run(
                    "CREATE TABLE IF NOT EXISTS judgements "
                    "(key BLOB PRIMARY KEY, result TEXT NOT NULL) WITHOUT ROWID"
                )
                run(f"PRAGMA application_id={_APPLICATION_ID}")

    def get(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        found: dict[bytes, str] = {}
        for batch in _chunks(dict.fromkeys(keys), _KEYS_PER_QUERY):
            placeholders = ",".join("?" * len(batch))
            query = f"SELECT key, result FROM judgements WHERE key IN ({placeholders})"  # noqa: S608
            with self._locked():
                found.update(self._connection.execute(query, batch).fetchall())
        return found

    def put(self, results: Mapping[bytes, str]) -> None:
        with self._locked(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT OR REPLACE INTO judgements VALUES (?, ?)", results.items()
            )

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock, and translate database errors."""
        with self._lock:
            try:
                yield
            except (OSError, sqlite3.OperationalError) as error:
                if "locked" in str(error):
                    raise UnavailableError(
                        f"{self._path} is locked: another process has been writing for {_LOCK_TIMEOUT:g} s. Wait until it ends, or use another --judge-cache."
                    ) from error
                raise UnavailableError(
                    f"{self._path} cannot be used: {error}. Use another --judge-cache or --no-judge-cache."
                ) from error
            except sqlite3.Error as error:
                raise InputError(
                    f"{self._path} is not a cache of judgements or is damaged: {error}.",
                    hint="Remove it, or use another --judge-cache.",
                ) from error


def _key(identity: str, kind: str, settings: Mapping[str, object], value: object) -> bytes:
    content = json.dumps([identity, kind, dict(settings), value], ensure_ascii=True)
    return hashlib.sha256(content.encode("ascii")).digest()


def _chunks(values: Any, size: int) -> Iterator[list[Any]]:
    left = iter(values)
    while batch := list(islice(left, size)):
        yield batch
