"""The server of llama.cpp, in a process of its own, for tests and benchmarks.

    with serving(gguf_file()) as address:
        ...  # an OpenAI-compatible API at f"{address}/v1"

By hand: ``python -m tests.real.llama_cpp FILE.gguf``; it ends when its input does (Ctrl-D).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["gguf_file", "serving"]

ROOT = Path(__file__).resolve().parents[2]


def gguf_file() -> Path:
    """Return the path of the packaged SmolLM2-135M-Instruct."""
    spec = importlib.util.spec_from_file_location("smollm2", ROOT / "scripts" / "smollm2.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path: Path = module.gguf_file()
    return path


@contextmanager
def serving(
    gguf: Path, *, context: int = 8192, slots: int = 2, threads: int = 1, log: Path | None = None
) -> Iterator[str]:
    """Run the server while the block runs, on a free port; yield its address.

    Args:
        gguf: the model.
        context: tokens of a request and its answer.
        slots: requests answered at once.
        threads: threads of computation. On a busy machine more than one wait for each other, long.
        log: where the server's own messages go; they are dropped without it.
    """
    command = [
        sys.executable, "-P", "-m", "tests.real.llama_cpp", str(gguf),
        "--context", str(context), "--slots", str(slots), "--threads", str(threads),
    ]  # fmt: skip
    with (log or Path(os.devnull)).open("wb") as messages:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,  # Ctrl-C is for its parent, which closes its input
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = process.stdout.readline().decode().strip()
        if not address:
            raise ChildProcessError(
                f"llama.cpp did not start{f', see {log}' if log else ''}: code {process.wait()}"
            )
        yield address
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def main() -> None:
    """Serve until the standard input ends; print the address when requests can be sent."""
    import xllamacpp

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gguf", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--context", type=int, default=8192)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path = str(given.gguf)
    params.hostnames = ["127.0.0.1"]
    params.port = given.port
    params.n_ctx = given.context * given.slots
    params.n_parallel = given.slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = given.threads
    params.n_gpu_layers = 0
    params.cache_ram_mib = 0
    params.ui = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.buffer.read()
    os._exit(0)  # threads that compute are not waited for


if __name__ == "__main__":
    main()
