"""Ray: its settings, starting or joining it, and the room for workers there.

Imports Ray only when it is started, so that a wrong setting is found without it.
"""

from __future__ import annotations

import logging
import math
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
import threading
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TextIO, cast

from semqa.errors import InputError, UnavailableError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from semqa.bench.plan import Plan

MAX_WORKERS = 100_000
"""More is a slip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySettings:
    """Where work is done, and by how many workers.

    Attributes:
        address: of a cluster, such as ``auto`` or ``10.0.0.1:6379``; None, or ``local``, starts one
            on this machine that ends with the work.
        workers: the fewest and the most of them; None for as many as there is room for.
        num_cpus: processors of a worker; None for 1.
        num_gpus: GPUs of a worker; None for as many as its engine needs.
    """

    address: str | None = None
    workers: tuple[int, int] | None = None
    num_cpus: float | None = None
    num_gpus: float | None = None

    def __post_init__(self) -> None:
        if self.address is not None and not self.address.strip():
            raise _no_cluster("is blank.", self.address)
        if self.workers is not None:
            fewest, most = self.workers
            if not 1 <= fewest <= most <= MAX_WORKERS:
                raise InputError(
                    f"must be from 1 to {MAX_WORKERS:,}, the fewest first, got {fewest} to {most}.",
                    field="workers",
                )
        for name, least in (("num_cpus", 0.01), ("num_gpus", 0.0)):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and least <= value <= 1_000):
                raise InputError(
                    f"must be from {least:g} to 1,000, got {value}.", field=name, value=value
                )

    @classmethod
    def read(
        cls,
        *,
        address: str | None = None,
        workers: str | None = None,
        num_cpus: float | None = None,
        num_gpus: float | None = None,
    ) -> Self:
        """Make the settings from what a command line says.

        Example:
            >>> RaySettings.read(workers="2-8").workers, RaySettings.read(workers="4").workers
            ((2, 8), (4, 4))
        """
        return cls(
            address=address,
            workers=None if workers is None else _range(workers),
            num_cpus=num_cpus,
            num_gpus=num_gpus,
        )


def _range(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"\s*([0-9]{1,6})\s*(?:-\s*([0-9]{1,6})\s*)?", text)
    if found is None:
        raise InputError(
            f"must be a number or a range such as 2-8, got {text!r}.", field="workers", value=text
        )
    fewest = int(found[1])
    return fewest, fewest if found[2] is None else int(found[2])


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
    """Import Ray, with Ray Data."""
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
                raise _no_cluster(
                    f"{address!r} cannot be joined: {str(error)[:200]}", address
                ) from error
        try:
            yield ray
        finally:
            if not already:
                ray.shutdown()


def _check_listens(address: str) -> None:
    """Check that something listens at ``HOST:PORT``: otherwise Ray waits for minutes."""
    found = re.fullmatch(r"\[?([^\[\]/]+)\]?:([0-9]{1,5})", address.strip())
    if found is None:
        return  # Ray says what is wrong with it
    try:
        socket.create_connection((found[1], int(found[2])), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise _no_cluster(f"{address!r} does not answer: {error}.", address) from error


def _no_cluster(message: str, address: str) -> InputError:
    hint = "Give the address of a cluster, or leave it out to start Ray on this machine."
    return InputError(message, field="ray_address", value=address, hint=hint)


_SILENT: dict[str, Any] = {
    "log_to_driver": False,
    "configure_logging": False,
    "logging_level": logging.CRITICAL,
}


@contextmanager
def _started(settings: RaySettings) -> Iterator[Any]:
    own = {**LOOPBACK, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _token()}
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
                    f"Ray did not start: {str(error)[:200]} Check memory and disk, and try again."
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
    """Standard output without what Ray's threads print on it, which goes to a logger."""

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


_FAMILIES = ("transformers", "vllm")
"""Engines that load a model in their own process, or in processes of their own."""


class Place(NamedTuple):
    """What one worker needs.

    Attributes:
        num_cpus: processors.
        num_gpus: GPUs, all on one node.
        loads: whether it loads a model: then there is one of them a node without GPUs.
    """

    num_cpus: float
    num_gpus: float
    loads: bool = False


def place_of(plan: Plan, settings: RaySettings, resources: Mapping[str, float]) -> Place:
    """Return what a worker of a plan needs; settings count before what the engine needs.

    `resources` are those of the whole cluster, by Ray's names.
    """
    family = plan.engine.partition(":")[0]
    options = plan.given
    loads = family in _FAMILIES
    needed = 0.0
    if loads and resources.get("GPU", 0) > 0 and not str(options.get("device")).startswith("cpu"):
        needed = float(_world(options)) if family == "vllm" else 1.0
    gpus = needed if settings.num_gpus is None else settings.num_gpus
    return Place(settings.num_cpus or 1.0, gpus, loads)


def room(place: Place, settings: RaySettings, nodes: list[Mapping[str, float]]) -> tuple[int, int]:
    """Return the fewest and the most workers that nodes with these resources have room for."""
    fit = 0
    for node in nodes:
        here = int(node.get("CPU", 0) // place.num_cpus)
        if place.num_gpus:
            here = min(here, int(node.get("GPU", 0) // place.num_gpus))
        elif place.loads:
            here = min(here, 1)  # a model takes memory, and works on all processors anyway
        fit += here
    if not fit:
        shown = [f"{node.get('CPU', 0):g} CPU and {node.get('GPU', 0):g} GPU" for node in nodes]
        raise InputError(
            f"No node has room for a worker with {place.num_cpus:g} CPU and {place.num_gpus:g} GPU; "
            f"there are: {'; '.join(shown[:5]) or 'no node'}.",
            hint="Change --num-cpus or --num-gpus, or the options of the model.",
        )
    return settings.workers or (1, fit)


def _world(options: Mapping[str, object]) -> int:
    """Return over how many GPUs vLLM spreads a model."""
    world = 1
    for name in ("tensor", "pipeline", "data"):
        size = options.get(f"{name}_parallel_size")
        world *= size if isinstance(size, int) else 1
    return world
