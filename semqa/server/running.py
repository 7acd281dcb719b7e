"""Runs the application: the socket, uvicorn, logging, and timeouts for idle connections."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import IO

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from semqa.errors import InputError
from semqa.server.settings import ServerSettings

KEEP_ALIVE = 65
"""Keep-alive timeout in seconds; longer than that of common proxies."""

CUT = 3.0
"""Seconds after the drain time in which answers that were cut off can end their replies."""

GRACE = 10.0
"""Seconds after the drain time before the process is killed."""

_BACKLOG = 4096

_log = logging.getLogger("semqa.server")


class Running:
    """A server that listens on a port; `ready` is called when it accepts requests."""

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
            timeout_graceful_shutdown=math.ceil(settings.drain + CUT),
        )
        self._server = _Server(config, ready, settings.drain)

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM, then finish open answers.

        A second SIGINT cancels them.
        """
        _allow_many_connections()
        self._server.run(sockets=[self._listening])

    @property
    def connections(self) -> int:
        return len(self._server.server_state.connections)

    def stop(self) -> None:
        """Shut down as after a signal; can be called from any thread."""
        self._server.should_exit = True


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a listening socket; port 0 is a free one.

    If several processes share the port, the system distributes connections by a hash of the
    address. With one inherited socket, the first process to wake up would accept all of them.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG, reuse_port=shared)
    except OSError as error:
        raise InputError(
            f"Cannot listen on {host} port {port}: {error.strerror or error}. "
            "Choose another --host or --port."
        ) from error


def reserve(host: str, port: int) -> socket.socket:
    """Return a socket that reserves a port for processes that share it, without listening."""
    if port:
        listen(host, port).close()  # raises if the port is in use
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        held = socket.socket(family, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(address[:2])
    except OSError as error:
        raise InputError(f"Cannot listen on {host}: {error.strerror or error}.") from error
    return held


class _Server(uvicorn.Server):
    """Shuts down gracefully after a signal, and does not raise the signal again."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], drain: float) -> None:
        super().__init__(config)
        self._ready = ready
        self._drain = drain
        self._exit_timer: threading.Timer | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn's own timeout logs an error, and closes the engines before the answers have ended.
        cut = asyncio.get_running_loop().call_later(self._drain, self._cut_off)
        await super().shutdown(sockets)
        cut.cancel()

    def _cut_off(self) -> None:
        tasks = list(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            _log.warning(
                "the drain time is over; open requests are cut off", extra={"open": len(tasks)}
            )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        del frame
        self.force_exit = self.force_exit or (self.should_exit and sig == signal.SIGINT)
        self.should_exit = True
        if self._exit_timer is None:
            self._exit_timer = threading.Timer(self._drain + GRACE, _exit_process)
            self._exit_timer.daemon = True
            self._exit_timer.start()


def _exit_process() -> None:
    """Kill the process if shutting down takes too long. Acknowledged data is already on disk."""
    _log.error("shutting down took too long; killing the process")
    logging.shutdown()
    os._exit(1)


def _protocol(settings: ServerSettings) -> type[H11Protocol]:
    """Return an HTTP protocol that closes connections of idle clients."""

    class Protocol(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._read_timeout = _Timeout(self.loop, settings.read_timeout, transport.abort)
            self._write_timeout = _Timeout(self.loop, settings.write_timeout, transport.abort)
            # asyncio only sets this on its own sockets. Without it, each event is delayed by 40 ms.
            connection: socket.socket = transport.get_extra_info("socket")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # Call pause_writing as soon as the socket buffer is full, to start the write timeout.
            transport.set_write_buffer_limits(high=0)
            self._read_timeout.start()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._await_request()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._await_request()

        def connection_lost(self, exc: Exception | None) -> None:
            self._read_timeout.stop()
            self._write_timeout.stop()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._write_timeout.start()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._write_timeout.stop()

        def _await_request(self) -> None:
            """Start the timeout for the request headers; keep-alive applies between requests."""
            cycle: RequestResponseCycle | None = self.cycle
            busy = cycle is not None and not cycle.response_complete
            if busy or self.timeout_keep_alive_task is not None:
                self._read_timeout.stop()
            else:
                self._read_timeout.start()

    return Protocol


class _Timeout:
    """Calls a function after a timeout, unless it is stopped before."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, then: Callable[[], None]
    ) -> None:
        self._loop, self._seconds, self._then = loop, seconds, then
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._then)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _allow_many_connections() -> None:
    """Raise the limit of open files to its maximum, because each connection needs one."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonLines(logging.Formatter):
    """Formats a record as a line of JSON: time, level, logger, message and extra fields.

    For an exception it writes the type and traceback, but not the message, which may quote a
    client's request.
    """

    def format(self, record: logging.LogRecord) -> str:
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
    """Formats a record as a short line for a terminal, also without exception messages."""

    def format(self, record: logging.LogRecord) -> str:
        if record.levelno < logging.WARNING and not hasattr(record, "route"):
            return record.getMessage()
        line = json.loads(super().format(record))
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        if "route" in line:
            return (
                f"{clock}  {line['method']} {line['route']}  {line['status']}  "
                f"{line['milliseconds']:g} ms"
            )
        text = f"{clock}  {line['level']}: {line['message']}"
        more = [line[key] for key in ("exception", "request_id") if line.get(key)]
        if more:
            text += f" ({', '.join(map(str, more))})"
        return "\n".join([text, *(f"    {place}" for place in line.get("at", ()))])


def log_to(stream: IO[str] | None = None) -> None:
    """Write the logs of semqa and of uvicorn to a stream, standard error by default."""
    stream = stream or sys.stderr
    terminal = stream.isatty()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(PlainLines() if terminal else JsonLines())
    for name in ("semqa", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        # On a terminal, hide the startup and shutdown messages of uvicorn.
        logger.setLevel(logging.WARNING if terminal and name == "uvicorn" else logging.INFO)
        logger.propagate = False
    # RequestMiddleware logs requests itself, with their ids and without query strings.
    logging.getLogger("uvicorn.access").disabled = True
