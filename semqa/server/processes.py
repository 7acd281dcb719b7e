"""Several worker processes that share one port, forked before anything is loaded.

A killed worker is replaced. If a worker fails with an error, all workers stop, because a new one
would fail in the same way. This module does not depend on HTTP.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from contextlib import suppress

from semqa.errors import InputError

_log = logging.getLogger("semqa.server")

PAUSE = 1.0
"""Seconds before a killed worker is replaced."""


def fork_workers(count: int) -> int:
    """Fork the workers; return the number of the worker, from 0, in each of them.

    The parent forwards SIGINT and SIGTERM, waits for all workers, and exits with the exit code of
    the first one that failed.
    """
    if not hasattr(os, "fork") or not hasattr(socket, "SO_REUSEPORT"):
        raise InputError("is not supported on this system.", field="workers", value=count)
    workers: dict[int, int] = {}
    ending: list[int] = []

    def end(sig: int, _frame: object) -> None:
        # Ctrl-C also reaches the workers; a second SIGINT would cut off their answers.
        _signal_all(workers, signal.SIGTERM if not ending else sig)
        ending.append(sig)

    before = {sig: signal.getsignal(sig) for sig in (signal.SIGINT, signal.SIGTERM)}
    for sig in before:
        signal.signal(sig, end)
    waiting = list(range(count))
    code = 0
    alive, held = os.pipe()
    while waiting or workers:
        for number in waiting:
            pid = os.fork()
            if pid == 0:
                for sig, handler in before.items():
                    signal.signal(sig, handler)
                os.close(held)
                # More numpy and torch threads than cores would spin and slow each other down.
                cores = len(os.sched_getaffinity(0))
                os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // count)))
                threading.Thread(target=_exit_with_parent, args=(alive,), daemon=True).start()
                return number
            workers[pid] = number
        waiting = []
        try:
            pid, status = os.wait()
        except InterruptedError:
            continue
        number = workers.pop(pid)
        if os.WIFSIGNALED(status) and not ending:
            _log.error(f"worker {number} was killed by signal {os.WTERMSIG(status)}; restarting it")
            time.sleep(PAUSE)
            waiting = [number] if not ending else []
        elif not ending:
            code = os.WEXITSTATUS(status)
            ending.append(0)
            _signal_all(workers, signal.SIGTERM)
        elif not os.WIFSIGNALED(status):
            code = code or os.WEXITSTATUS(status)
    raise SystemExit(code)


def _exit_with_parent(alive: int) -> None:
    """Shut this worker down when its parent exits for any reason."""
    os.read(alive, 1)  # returns when the parent's end of the pipe is closed
    os.kill(os.getpid(), signal.SIGTERM)


def _signal_all(workers: dict[int, int], sig: int) -> None:
    for pid in list(workers):
        with suppress(ProcessLookupError):
            os.kill(pid, sig)
