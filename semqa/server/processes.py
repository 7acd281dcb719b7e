"""Several worker processes behind one port: they are forked before anything is loaded.

A worker that is killed is replaced; one that ends with an error ends all, because the next would
meet the same. Knows nothing of HTTP.
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
"""Seconds before a worker that was killed is replaced."""


def fork_workers(count: int) -> int:
    """Return once in each worker, with its number from 0; the parent never returns.

    The parent passes SIGINT and SIGTERM on, waits for all workers, and exits with the code of the
    first that failed.

    Raises:
        SystemExit: in the parent, when all workers have ended.
    """
    if not hasattr(os, "fork") or not hasattr(socket, "SO_REUSEPORT"):
        raise InputError("needs a system such as Linux.", field="workers", value=count)
    workers: dict[int, int] = {}
    ending: list[int] = []

    def end(sig: int, _frame: object) -> None:
        # Ctrl-C reaches the workers by itself; a second SIGINT would cut their answers off.
        _tell(workers, signal.SIGTERM if not ending else sig)
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
                # Threads of numpy and torch that outnumber the cores wait for each other, spinning.
                cores = len(os.sched_getaffinity(0))
                os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // count)))
                threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
                return number
            workers[pid] = number
        waiting = []
        try:
            pid, status = os.wait()
        except InterruptedError:
            continue
        number = workers.pop(pid)
        if os.WIFSIGNALED(status) and not ending:
            _log.error(f"worker {number} was killed by signal {os.WTERMSIG(status)}: replaced")
            time.sleep(PAUSE)
            waiting = [number] if not ending else []
        elif not ending:
            code = os.WEXITSTATUS(status)
            ending.append(0)
            _tell(workers, signal.SIGTERM)
        elif not os.WIFSIGNALED(status):
            code = code or os.WEXITSTATUS(status)
    raise SystemExit(code)


def _end_with(alive: int) -> None:
    """End this worker in order when its parent is gone, however that came."""
    os.read(alive, 1)  # nothing is written there: this returns when the parent's end is closed
    os.kill(os.getpid(), signal.SIGTERM)


def _tell(workers: dict[int, int], sig: int) -> None:
    for pid in list(workers):
        with suppress(ProcessLookupError):
            os.kill(pid, sig)
