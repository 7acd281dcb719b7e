"""Ray settings, starting or joining Ray, and the resources of workers.

Ray is imported only when it is started, so settings can be validated without it.
"""

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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TextIO, cast

from typer import Option

from semqa.checks import check_settings
from semqa.errors import InputError, UnavailableError
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.bench.plan import Plan

_option = partial(Option, rich_help_panel="Distributed work (Ray)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySettings:
    """Cluster, and number and resources of the workers; the limit of workers catches typos."""

    ray_address: Annotated[
        str | None,
        _option(
            metavar="ADDRESS",
            help="Cluster: auto, HOST:PORT, or local to start Ray for this command only.",
            show_default="RAY_ADDRESS, else local",
        ),
    ] = None
    workers: Annotated[
        int | None,
        _option(
            min=1,
            max=100_000,
            metavar="N",
            help="Number of workers.",
            show_default="as many as fit; for a model without GPUs, one per node",
        ),
    ] = None
    num_cpus: Annotated[
        float | None, _option(min=0.01, max=1000, help="CPUs per worker.", show_default="1")
    ] = None
    num_gpus: Annotated[
        float | None,
        _option(
            min=0,
            max=1000,
            help="GPUs per worker; 0.5 lets two workers share one.",
            show_default="as the engine needs",
        ),
    ] = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.ray_address is not None and not self.ray_address.strip():
            raise InputError("is blank.", field="ray_address", value=self.ray_address)


RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Environment variables read when Ray is imported.

They disable usage statistics and logs, and keep ``CUDA_VISIBLE_DEVICES`` of workers without a GPU.
"""

LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Makes Ray listen only on 127.0.0.1, its default on systems other than Linux."""

CONNECT_SECONDS = 10.0
"""Timeout for connecting to the head of a cluster."""

_MAX_TEMP_PATH = 40
"""Socket paths are limited to 107 bytes, and Ray's own part of them is long."""


def require_ray() -> Any:
    """Import Ray."""
    for name, value in RAY_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    return require("ray", extra="ray", purpose="--distributed ray")


@contextmanager
def ray_session(settings: RaySettings) -> Iterator[Any]:
    """Start Ray on this machine or join a cluster for the duration of the block.

    A local Ray stops with the block, or with this process even if it is killed. It is private: it
    listens on 127.0.0.1, requires a secret token of this process, has no dashboard, and keeps its
    files in a folder that only this user can read.

    Yields:
        The module ``ray``.
    """
    address = settings.ray_address or os.environ.get("RAY_ADDRESS") or "local"
    with redirect_stdout(cast("TextIO", _WithoutRay(sys.stdout))):
        if address == "local":
            with _local_ray(settings) as ray:
                yield ray
            return
        _check_reachable(address)
        ray = require_ray()
        already = ray.is_initialized()
        if not already:
            try:
                with _stderr_suppressed():
                    ray.init(address=address, **_SILENT)
            except (ConnectionError, ValueError, RuntimeError) as error:
                message = f"{address!r} cannot be joined: {str(error)[:200]}"
                raise _address_error(message, address) from error
        try:
            yield ray
        finally:
            if not already:
                ray.shutdown()


class _WithoutRay:
    """Standard output that drops messages from Ray's threads, such as that a worker died."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, unless one of Ray's threads prints it."""
        if threading.current_thread().name.startswith("ray_"):
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _check_reachable(address: str) -> None:
    """Raise at once if ``HOST:PORT`` is unreachable; Ray itself would wait for minutes."""
    match = re.fullmatch(r"\[?([^\[\]/]+)\]?:([0-9]{1,5})", address.strip())
    if match is None:
        return  # Ray validates other forms
    try:
        socket.create_connection((match[1], int(match[2])), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise _address_error(f"{address!r} is not reachable: {error}.", address) from error


def _address_error(message: str, address: str) -> InputError:
    hint = "Give a cluster address, or omit it to start Ray on this machine."
    return InputError(message, field="ray_address", value=address, hint=hint)


_SILENT: dict[str, Any] = {
    "log_to_driver": False,
    "configure_logging": False,
    "logging_level": logging.CRITICAL,
}


@contextmanager
def _local_ray(settings: RaySettings) -> Iterator[Any]:
    environment = {**LOOPBACK, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _token()}
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    folder = tempfile.mkdtemp(prefix="semqa-ray-", dir=_temp_parent())  # mode 0700
    try:
        ray = require_ray()
        for last in (False, True):  # Ray's own timeout may be too short on a machine under load
            try:
                with _stderr_suppressed():
                    ray.init(
                        address="local",
                        num_cpus=_cpus(settings),
                        include_dashboard=False,
                        _node_ip_address="127.0.0.1",
                        _temp_dir=folder,
                        **_SILENT,
                    )
                break
            except Exception as error:  # Ray raises many types
                ray.shutdown()
                if last:
                    raise UnavailableError(
                        f"Ray did not start: {str(error)[:200]} Check memory and disk space, then "
                        "try again."
                    ) from error
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


@cache
def _token() -> str:
    """Return the secret token of this process; cached, because Ray reads it only once."""
    return os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32)


def _temp_parent() -> str | None:
    """Return the parent of Ray's temporary folder, in which socket paths must be short."""
    return None if len(tempfile.gettempdir()) <= _MAX_TEMP_PATH else "/tmp"  # noqa: S108


def _cpus(settings: RaySettings) -> int:
    """Return the number of CPUs to declare to Ray: at least what the requested workers need."""
    requested = (settings.workers or 0) * (settings.num_cpus or 1)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(usable or 1, math.ceil(requested))


@contextmanager
def _stderr_suppressed() -> Iterator[None]:
    """Discard what Ray's C++ code writes to standard error during initialisation."""
    try:
        saved = os.dup(2)
    except OSError:  # standard error is closed
        yield
        return
    try:
        with Path(os.devnull).open("wb") as devnull:
            os.dup2(devnull.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


_LOCAL_MODEL_ENGINES = ("transformers", "vllm")
"""Engines that load a model on the node where they run."""


class WorkerResources(NamedTuple):
    """Resources of one worker.

    Attributes:
        num_gpus: number of GPUs, all on one node.
        loads_model: whether the worker loads a model. If so, a node runs only one without GPUs.
    """

    num_cpus: float
    num_gpus: float
    loads_model: bool = False


def worker_resources(
    plan: "Plan", settings: RaySettings, cluster: Mapping[str, float]
) -> WorkerResources:
    """Return the resources that a worker of a plan needs; settings override the defaults.

    Args:
        cluster: total resources of the cluster, with Ray's names.
    """
    family = plan.engine.partition(":")[0]
    options = plan.given
    loads_model = family in _LOCAL_MODEL_ENGINES
    needed = 0.0
    on_gpu = cluster.get("GPU", 0) > 0 and not str(options.get("device")).startswith("cpu")
    if loads_model and on_gpu:
        needed = float(_vllm_world_size(options)) if family == "vllm" else 1.0
    gpus = needed if settings.num_gpus is None else settings.num_gpus
    return WorkerResources(settings.num_cpus or 1.0, gpus, loads_model)


def worker_count(
    resources: WorkerResources, settings: RaySettings, nodes: list[Mapping[str, float]]
) -> int:
    """Return the number of workers to start; raise if none fits."""
    capacity = 0
    for node in nodes:
        workers = int(node.get("CPU", 0) // resources.num_cpus)
        if resources.num_gpus:
            workers = min(workers, int(node.get("GPU", 0) // resources.num_gpus))
        elif resources.loads_model:
            workers = min(workers, 1)  # a model takes memory and uses all CPUs anyway
        capacity += workers
    if not capacity:
        shown = [f"{node.get('CPU', 0):g} CPU and {node.get('GPU', 0):g} GPU" for node in nodes]
        raise InputError(
            f"No node has room for a worker with {resources.num_cpus:g} CPU and "
            f"{resources.num_gpus:g} GPU. Nodes: {'; '.join(shown[:5]) or 'none'}.",
            hint="Change --num-cpus, --num-gpus or the model options.",
        )
    return settings.workers or capacity


def _vllm_world_size(options: Mapping[str, object]) -> int:
    """Return the number of GPUs that vLLM uses for a model."""
    more = options.get("engine_args")
    given = {**options, **more} if isinstance(more, dict) else options
    world_size = 1
    for name in ("tensor", "pipeline", "data"):
        size = given.get(f"{name}_parallel_size")
        world_size *= size if isinstance(size, int) else 1
    return world_size
