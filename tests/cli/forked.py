"""Commands in forked processes, which start faster than new ones.

A server process imports what most commands need and forks for each command. The child behaves like a
new `semqa` process, with its own streams, folder and environment. Imports take most of the time of a
short command. Settings that Python reads on startup (``PYTHON…``, the locale) cannot be changed in a
child.
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
"""Must not include modules that start threads, such as lancedb: forked children lack the threads."""
MOST = 1 << 20
"""Maximum size of a request (arguments and environment) in bytes."""


class Forks:
    """A server process that forks commands.

    Args:
        patience: timeout of a command in seconds.
    """

    def __init__(self, patience: float = 120) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(patience)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MOST)
        with theirs:
            # Pipes like those of the children, because Python inspects its streams before the fork.
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
        """Run ``semqa`` with these arguments; return its exit code, output and errors."""
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
            pass  # the command need not read all input
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
    """Fork for each request; this returns only in the children."""
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
    gc.freeze()  # avoids copies of unchanged memory in children
    with socket.socket(fileno=int(sys.argv[1])) as ours:
        _serve(ours)
    command()
