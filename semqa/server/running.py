"""Running the application: a socket, a loop, logs, and connections that cannot be held open for nothing."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback
from typing import IO, TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from fastapi import FastAPI

    from semqa.server.settings import ServerSettings


KEEP_ALIVE = 65
"""Seconds for which a connection is kept for a next request; more than proxies keep theirs."""

GRACE = 10.0
"""Seconds after the time that open answers get, in which all must have ended."""

_BACKLOG = 4096

_log = logging.getLogger("semqa.server")


class Running:
    """A server that listens, and serves when it is told to."""

    def __init__(
        self,
        app: FastAPI,
        settings: ServerSettings,
        ready: Callable[[], None],
        listening: socket.socket | None = None,
    ) -> None:
        self._listening = listening or listen(settings.host, settings.port)
        self.port: int = self._listening.getsockname()[1]
        config = uvicorn.Config(
            app,
            http=_protocol(settings),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=max(1, round(settings.drain)),
        )
        self._server = _Server(config, ready, settings.drain + GRACE)

    def run(self) -> None:
        """Serve until a signal comes; then answers that are under way are finished.

        A second signal ends them.
        """
        _allow_many_connections()
        self._server.run(sockets=[self._listening])

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._server.server_state.connections)

    def stop(self) -> None:
        """Do as at a signal; from any thread."""
        self._server.should_exit = True


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a socket that listens.

    Args:
        port: the port; 0 for a free one.
        shared: whether several processes listen there. The system gives each connection to one of
            them by a hash of its address; a socket that they inherit would go to whichever wakes
            first, with all connections that wait.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG, reuse_port=shared)
    except OSError as error:
        raise InputError(
            f"cannot listen at {host} port {port}: {error.strerror or error}. Choose another --host or "
            "--port."
        ) from error


def reserve(host: str, port: int) -> socket.socket:
    """Return a socket that holds a port for processes that share it, and does not listen."""
    if port:
        listen(host, port).close()  # unless another server has it
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        held = socket.socket(family, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(address[:2])
    except OSError as error:
        raise InputError(f"cannot listen at {host}: {error.strerror or error}.") from error
    return held


class _Server(uvicorn.Server):
    """Ends in order at a signal, and does not raise it again: ending is what was asked for."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], most: float) -> None:
        super().__init__(config)
        self._ready = ready
        self._most = most
        self._leaving: threading.Timer | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        del frame
        self.force_exit = self.force_exit or (self.should_exit and sig == signal.SIGINT)
        self.should_exit = True
        if self._leaving is None:
            self._leaving = threading.Timer(self._most, _leave)
            self._leaving.daemon = True
            self._leaving.start()


def _leave() -> None:
    """End the process, whatever its threads are at: nothing that was acknowledged can be lost by it."""
    _log.error("something would not end: the process is ended")
    logging.shutdown()
    os._exit(1)


def _protocol(settings: ServerSettings) -> type[H11Protocol]:
    """Return a protocol that closes connections of clients that neither send nor receive."""

    class Protocol(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._reading = _Patience(self.loop, settings.read_timeout, transport.abort)
            self._writing = _Patience(self.loop, settings.write_timeout, transport.abort)
            # asyncio does this for sockets that it made itself; without, each event waits 40 ms.
            connection: socket.socket = transport.get_extra_info("socket")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # What the system does not take at once waits here, and its time is counted.
            transport.set_write_buffer_limits(high=0)
            self._reading.begin()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._await_request()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._await_request()

        def connection_lost(self, exc: Exception | None) -> None:
            self._reading.end()
            self._writing.end()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._writing.begin()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._writing.end()

        def _await_request(self) -> None:
            """Start the timeout for the head of a request; between requests, keep-alive applies."""
            cycle: RequestResponseCycle | None = self.cycle
            busy = cycle is not None and not cycle.response_complete
            if busy or self.timeout_keep_alive_task is not None:
                self._reading.end()
            else:
                self._reading.begin()

    return Protocol


class _Patience:
    """Does something when a time is over, unless it is ended before."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, then: Callable[[], None]
    ) -> None:
        self._loop, self._seconds, self._then = loop, seconds, then
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Begin, unless it has begun."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._then)

    def end(self) -> None:
        """End."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _allow_many_connections() -> None:
    """Take as many files as the system lets the process have: each connection is one."""
    try:
        import resource
    except ImportError:  # Windows counts otherwise
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


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


def log_to(stream: IO[str] | None = None) -> None:
    """Write the logs of semqa and of uvicorn to a stream, standard error by default."""
    stream = stream or sys.stderr
    person = stream.isatty()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(PlainLines() if person else JsonLines())
    for name in ("semqa", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        # How the server comes and goes, step by step, is nothing that a person asked for.
        logger.setLevel(logging.WARNING if person and name == "uvicorn" else logging.INFO)
        logger.propagate = False
    # The server logs requests itself, with their ids and without their queries.
    logging.getLogger("uvicorn.access").disabled = True
