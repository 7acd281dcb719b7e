"""Logs of a server, with nothing in them that a client sent but its path.

A program gets one JSON object a line, a person in front of a terminal what they can read.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import IO

__all__ = ["JsonLines", "PlainLines", "log_to"]

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


class PlainLines(JsonLines):
    """Writes a record as a short line for a person; the same is told, and kept back, as in JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        if record.levelno < logging.WARNING and not hasattr(record, "route"):
            return record.getMessage()
        line = json.loads(super().format(record))
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        if "route" in line:
            return (
                f"{clock}  {line['method']} {line['route']}  {line['status']}  "
                f"{line['milliseconds']:g} ms"
            )
        told = f"{clock}  {line['level']}: {line['message']}"
        more = [line[key] for key in ("exception", "request_id") if line.get(key)]
        if more:
            told += f" ({', '.join(map(str, more))})"
        return "\n".join([told, *(f"    {place}" for place in line.get("at", ()))])


def log_to(stream: IO[str] | None = None, level: int = logging.INFO) -> None:
    """Write the logs of semqa and of uvicorn to a stream, standard error by default."""
    stream = stream or sys.stderr
    person = stream.isatty()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(PlainLines() if person else JsonLines())
    for name in ("semqa", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        # How the server comes and goes, step by step, is nothing that a person asked for.
        logger.setLevel(max(level, logging.WARNING) if person and name == "uvicorn" else level)
        logger.propagate = False
    # The server logs requests itself, with their ids and without their queries.
    logging.getLogger("uvicorn.access").disabled = True
