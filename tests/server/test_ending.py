"""A server that is told to end ends, whatever its threads are at."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STUCK = """
import time
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from semqa.server import ServerSettings, running

running.GRACE = 0.5

@asynccontextmanager
async def lifespan(_):
    yield
    await run_in_threadpool(time.sleep, 600)

settings = ServerSettings(port=0, drain=0.5, data=Path("/nonexistent"))
running.Running(FastAPI(lifespan=lifespan), settings, lambda: print("ready", flush=True)).run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_though_something_would_not(sent: signal.Signals, tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-P", "-c", STUCK], stdout=subprocess.PIPE, cwd=tmp_path, text=True
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        time.sleep(0.2)
        server.send_signal(sent)
        assert server.wait(timeout=30) == 1
    finally:
        server.kill()
        server.communicate()
