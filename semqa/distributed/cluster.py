"""Ray itself: started on this machine, or joined; quiet, closed to others, and gone at the end."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
import threading
from contextlib import contextmanager, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from semqa.errors import InputError, UnavailableError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.distributed.settings import RaySettings

__all__ = ["joined", "require_ray"]

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_LOG_LEVEL": "CRITICAL",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
}
"""Ray reads these when it is imported. It sends nothing, says nothing, and leaves
``CUDA_VISIBLE_DEVICES`` of workers without a GPU alone."""

LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Has Ray listen on 127.0.0.1 alone, as it does by itself on systems other than Linux."""

TRIES = 2
"""A machine under load may take longer to start Ray than Ray waits."""

CONNECT_SECONDS = 10.0
"""How long the head of a cluster may take to be reached."""

_LONGEST_FOLDER = 40
"""Paths of sockets have 107 bytes at most, and Ray's own part of them is long."""


def require_ray() -> Any:
    """Import Ray, with Ray Data.

    Raises:
        MissingExtraError: it is not installed.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    ray = require("ray", extra="ray", purpose="--distributed ray")
    require("ray.data", extra="ray", purpose="--distributed ray")
    return ray


@contextmanager
def joined(settings: RaySettings) -> Iterator[Any]:
    """Start Ray on this machine, or join a cluster, for as long as the block runs.

    What is started here ends with the block, or with this process however that ends. Nobody else
    can use it: it listens on 127.0.0.1, wants a secret that only this process and its workers have,
    and has no dashboard. Its files lie in a folder that nobody else can read.

    Yields:
        The module ``ray``.

    Raises:
        InputError: there is no cluster at the address.
        UnavailableError: Ray did not start.
        MissingExtraError: Ray is not installed.
    """
    address = settings.address or os.environ.get("RAY_ADDRESS") or "local"
    with _aside():
        if address == "local":
            with _started(settings) as ray:
                yield ray
            return
        _check_listens(address)
        ray = require_ray()
        already = ray.is_initialized()
        if not already:
            try:
                with _hushed():
                    ray.init(address=address, **_SILENT)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise InputError(
                    f"ray_address: got {address!r}, where Ray says {str(error)[:200]!r}, expected "
                    "the address of a cluster that runs, such as auto or 10.0.0.1:6379; leave it "
                    "out to start Ray on this machine"
                ) from error
        try:
            yield ray
        finally:
            if not already:
                ray.shutdown()


def _check_listens(address: str) -> None:
    """See that somebody listens at ``HOST:PORT``: Ray waits for minutes where nobody does.

    Raises:
        InputError: nobody does.
    """
    found = re.fullmatch(r"\[?([^\[\]/]+)\]?:([0-9]{1,5})", address.strip())
    if found is None:
        return  # Ray says what is wrong with it
    try:
        socket.create_connection((found[1], int(found[2])), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise InputError(
            f"ray_address: got {address!r}, where nobody answers ({error}), expected the address of "
            "a cluster that runs, such as auto or 10.0.0.1:6379; leave it out to start Ray on this "
            "machine"
        ) from error


_SILENT: dict[str, Any] = {
    "log_to_driver": False,
    "configure_logging": False,
    "logging_level": logging.CRITICAL,
}


@contextmanager
def _started(settings: RaySettings) -> Iterator[Any]:
    own = {
        **LOOPBACK,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": _token(),
    }
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    folder = tempfile.mkdtemp(prefix="semqa-ray-", dir=_short_folder())  # mode 0700
    try:
        ray = require_ray()
        _start(ray, settings, folder)
        try:
            yield ray
        finally:
            ray.shutdown()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start(ray: Any, settings: RaySettings, folder: str) -> None:
    for tries_left in range(TRIES - 1, -1, -1):
        try:
            with _hushed():
                ray.init(
                    address="local",
                    num_cpus=_cpus(settings),
                    include_dashboard=False,
                    _node_ip_address="127.0.0.1",
                    _temp_dir=folder,
                    **_SILENT,
                )
        except (ConnectionError, ValueError, RuntimeError, OSError, TimeoutError) as error:
            ray.shutdown()
            if not tries_left:
                raise UnavailableError(
                    f"Ray did not start: got {str(error)[:200]!r}, expected a cluster on this "
                    "machine; see that there is memory and room on the disk, and run again"
                ) from error
        else:
            return


@cache
def _token() -> str:
    """Return the secret of this process: Ray reads one once, and keeps it."""
    return os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32)


def _short_folder() -> str | None:
    """Return where Ray's folder may lie: sockets in it must have short paths."""
    return None if len(tempfile.gettempdir()) <= _LONGEST_FOLDER else "/tmp"  # noqa: S108


def _cpus(settings: RaySettings) -> int:
    """Return the processors that Ray may count on: those there are, or those that were asked for."""
    wanted = settings.workers[1] * (settings.num_cpus or 1) if settings.workers else 0
    with suppress(AttributeError):
        return max(len(os.sched_getaffinity(0)), int(-(-wanted // 1)))
    return max(os.cpu_count() or 1, int(-(-wanted // 1)))


class _Aside:
    """Standard output without what Ray's threads print on it, which goes to a logger.

    Args:
        stream: standard output.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._logger = logging.getLogger("semqa.distributed.ray")

    def write(self, text: str) -> int:
        """Write a piece of text, or log it."""
        if not threading.current_thread().name.startswith("ray_"):
            return self._stream.write(text)
        if text.strip():
            self._logger.debug("%s", text.strip())
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _aside() -> Iterator[None]:
    with redirect_stdout(cast("TextIO", _Aside(sys.stdout))):
        yield


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep from standard error what Ray's own log writes there while it is set up."""
    try:
        kept = os.dup(2)
    except OSError:  # there is none
        yield
        return
    try:
        with Path(os.devnull).open("wb") as nowhere:
            sys.stderr.flush()
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
