"""Commands in processes of their own that need not begin from nothing.

A process that has loaded what most commands load, and has done nothing else, becomes two for each
command: the child is as a new `semqa`, with its own streams, folder and environment, and ends as any
process does. Loading is most of what a short command costs. What Python itself reads when it starts
(``PYTHON…``, the locale) cannot be given to such a child.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

LOADED = (
    "lance_namespace",
    "pandas",
    "pyarrow.dataset",
    "semqa.bench.grid",
    "semqa.cli.main",
    "semqa.engines.extractive",
    "semqa.engines.openai",
    "semqa.metrics",
    "semqa.quotes.render",
    "semqa.server.app",
)
"""What keeps threads that a child would miss, such as lancedb, is not to be here."""
MOST = 1 << 20
"""Bytes of a request: arguments and environment."""


class Forks:
    """A process to make others from.

    Args:
        patience: seconds that a command may take.
    """

    def __init__(self, patience: float = 120) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(patience)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MOST)
        with theirs:
            # Its streams are pipes because those of its children are: Python has looked at them by then.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cli.forked", str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                cwd=Path(__file__).resolve().parents[2],
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
        self._socket = ours

    def run(
        self, args: Sequence[str], stdin: bytes, cwd: Path, env: Mapping[str, str]
    ) -> tuple[int, bytes, bytes]:
        """Run ``semqa`` with these arguments; return its code, what it printed, its errors."""
        request = json.dumps([list(args), str(cwd), dict(env)]).encode()
        pipes = [os.pipe() for _ in range(3)]
        (in_read, in_write), (out_read, out_write), (err_read, err_write) = pipes
        theirs = [in_read, out_write, err_write]
        socket.send_fds(self._socket, [request], theirs)
        for one in theirs:
            os.close(one)
        said: dict[str, bytes] = {}

        def read(name: str, stream: BinaryIO) -> None:
            with stream:
                said[name] = stream.read()

        readers = [
            threading.Thread(target=read, args=("out", os.fdopen(out_read, "rb"))),
            threading.Thread(target=read, args=("err", os.fdopen(err_read, "rb"))),
        ]
        for reader in readers:
            reader.start()
        try:
            with os.fdopen(in_write, "wb", buffering=0) as stream:
                rest = memoryview(stdin)
                while rest:
                    rest = rest[stream.write(rest) :]
        except BrokenPipeError:
            pass  # it reads no more than it wants
        try:
            answer = self._socket.recv(MOST)
        except TimeoutError:
            self._process.kill()
            raise
        if not answer:
            raise ChildProcessError(self._process.communicate()[1].decode(errors="replace"))
        for reader in readers:
            reader.join()
        return int(json.loads(answer)), said["out"], said["err"]

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.communicate(timeout=30)


def _serve(requests: socket.socket) -> None:
    """Make a process of each request, in which this returns."""
    while True:
        request, fds, _, _ = socket.recv_fds(requests, MOST, 3)
        if not request:
            os._exit(0)
        child = os.fork()
        if child == 0:
            requests.close()
            _become(fds, *json.loads(request))
            return
        for one in fds:
            os.close(one)
        _, status = os.waitpid(child, 0)
        requests.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())


def _become(fds: list[int], args: list[str], cwd: str, env: dict[str, str]) -> None:
    for number, one in enumerate(fds):
        os.dup2(one, number)
        os.close(one)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["semqa", *args]


def _load() -> Callable[[], object]:
    from importlib import import_module

    for name in LOADED:
        import_module(name)
    from semqa.__main__ import main

    return main


if __name__ == "__main__":
    command = _load()
    gc.freeze()  # so that children need not copy what they do not change
    with socket.socket(fileno=int(sys.argv[1])) as ours:
        _serve(ours)
    command()
