"""Files of SQLite that several open at the same moment."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from semqa.data.sqlite import use_write_ahead_log


def test_several_processes_open_a_new_database(tmp_path: Path) -> None:
    """SQLite itself fails for some of them, one time in 40."""
    failures: list[Exception] = []

    def open_at_once(path: Path, ready: threading.Barrier) -> None:
        connection = sqlite3.connect(path, timeout=60, isolation_level=None)
        ready.wait()
        try:
            use_write_ahead_log(connection, 60)
        except sqlite3.Error as error:
            failures.append(error)
        connection.close()

    for number in range(120):
        ready = threading.Barrier(6)
        threads = [
            threading.Thread(target=open_at_once, args=(tmp_path / f"{number}.sqlite", ready))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_lock_timeouts_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "locked.sqlite"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("CREATE TABLE t (x)")
    other.execute("BEGIN EXCLUSIVE")
    mine = sqlite3.connect(path, timeout=0.01, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        use_write_ahead_log(mine, 0.2)
    other.execute("COMMIT")
    use_write_ahead_log(mine, 0.2)
    assert mine.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
    mine.close()


def test_other_errors_are_raised_at_once(tmp_path: Path) -> None:
    path = tmp_path / "read-only.sqlite"
    sqlite3.connect(path).execute("CREATE TABLE t (x)").connection.close()
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        use_write_ahead_log(connection, 60)
    connection.close()
