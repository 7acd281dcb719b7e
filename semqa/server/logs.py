"""Logs of a server: one JSON object a line, with nothing in it that a client sent but its path."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import IO

__all__ = ["JsonLines", "log_to"]

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON: time, level, logger, message, and what was added to it.

    Of an exception it tells type and place, not the text, which may quote what a client sent.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _OWN}
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, where = record.exc_info
            frames = traceback.extract_tb(where)
            line["exception"] = kind.__qualname__
            line["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-20:]]
        return json.dumps(line, default=str)


def log_to(stream: IO[str] | None = None, level: int = logging.INFO) -> None:
    """Write the logs of semqa and of uvicorn to a stream, standard error by default."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("semqa", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
    # The server logs requests itself, with their ids and without their queries.
    logging.getLogger("uvicorn.access").disabled = True
