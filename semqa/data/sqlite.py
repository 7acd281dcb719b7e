"""SQLite databases shared by several processes."""

from __future__ import annotations

import sqlite3
import time

_PAUSE = 0.01


def use_write_ahead_log(connection: sqlite3.Connection, seconds: float) -> None:
    """Switch a database to write-ahead logging, so that readers never wait.

    SQLite's timeout does not apply to this lock: it fails at once while another process switches
    the same database. So retry for up to `seconds`.
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
