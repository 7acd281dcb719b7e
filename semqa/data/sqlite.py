"""SQLite files that several processes open at once."""

from __future__ import annotations

import sqlite3
import time

_PAUSE = 0.01


def use_write_ahead_log(connection: sqlite3.Connection, seconds: float) -> None:
    """Have a file keep a write-ahead log: readers never wait, and writers take turns.

    SQLite waits for other locks as long as a connection says, but for this one it fails at once where
    another process is changing a new file at the same moment.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            return
