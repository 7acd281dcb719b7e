"""Training processes, forked from a server that has preloaded the slow imports.

Processes kill themselves, so that they die at the same place each time.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import Iterable
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOADED = ["tests.training.preload"]


class Ended:
    """How a process ended.

    Attributes:
        code: its exit code; that of a signal is negative.
        err: what it wrote to standard error.
    """

    def __init__(self, process: BaseProcess, err: Path) -> None:
        process.join(300)
        assert process.exitcode is not None, err.read_text()
        self.code = process.exitcode
        self.err = " ".join(err.read_text().split())


def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))  # so that it finds the preloaded module
        forkserver.ensure_running()
    return context


def _start(
    args: Iterable[object], err: Path, prepare: tuple[Any, ...], env: dict[str, str]
) -> BaseProcess:
    process: BaseProcess = _context().Process(
        target=_main, args=([str(each) for each in args], err, prepare, env)
    )
    process.start()
    return process


def run_command(args: Iterable[object], err: Path, *prepare: Any) -> Ended:
    """Run a semqa command; `prepare` is a function that its process calls first, with arguments."""
    return Ended(_start(args, err, prepare, {}), err)


def run_ranks(count: int, args: Iterable[object], folder: Path, *prepare: Any) -> list[Ended]:
    """Run a command in several processes, like torchrun."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    args = list(args)
    files = [folder / f"err-{rank}" for rank in range(count)]
    started = [
        _start(args, err, prepare, {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank, err in enumerate(files)
    ]
    return [Ended(process, err) for process, err in zip(started, files, strict=True)]


def _main(args: list[str], err: Path, prepare: tuple[Any, ...], env: dict[str, str]) -> NoReturn:
    import torch

    torch.set_num_threads(1)
    os.environ.update(env)
    with err.open("wb") as stream:
        os.dup2(stream.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if prepare:
        prepare[0](*prepare[1:])
    from semqa.cli.main import main

    sys.argv = ["semqa", *args]
    main()
    sys.exit(0)


def signal_at_step(step: int, number: int, rank: str | None = None) -> None:
    """Make this process, or only that of one rank, signal itself after a step."""
    if rank not in (None, os.environ.get("RANK")):
        return
    from semqa.training.trainer import Run

    original = Run.on_step_end

    def on_step_end(run: Run, args: Any, state: Any, control: Any, **given: Any) -> Any:
        if state.global_step == step:
            signal.raise_signal(number)
        return original(run, args, state, control, **given)

    patched: Any = Run
    patched.on_step_end = on_step_end


def die_at_save(call: int) -> None:
    """Make this process die while it writes the n-th file of its checkpoints."""
    import torch

    calls = []

    def save(what: object, path: str) -> None:
        calls.append(path)
        if len(calls) == call:
            Path(path).write_bytes(b"half")
            signal.raise_signal(signal.SIGKILL)
        original(what, path)

    patched: Any = torch
    original = patched.save
    patched.save = save


def small_files(most: int) -> None:
    """Limit the file size of this process, to simulate a full disk."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
