"""Ray on one machine, as a user starts it: by a flag; it is private, and it ends with the command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from semqa.bench import Plan, run
from tests.bench.test_run import Seen, many_questions
from tests.distributed.test_ray_runs import record_of, record_rows

pytestmark = pytest.mark.slow

MARK = "SEMQA_TEST_MARK"
PATIENCE_SECONDS = 90.0


def marked(mark: str) -> Iterator[int]:
    """The processes that have a mark in their environment, as whatever a command starts has."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
        except OSError:
            continue


def wait_until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_killed_command_leaves_nothing_and_goes_on(tmp_path: Path) -> None:
    import psutil

    plan = Plan(many_questions(tmp_path / "many.jsonl", 96), "extractive")
    run(plan, tmp_path / "here")
    mark = uuid.uuid4().hex
    out = tmp_path / "ray"
    arguments = ["--data", plan.data, "--out", out, "--distributed", "ray", "--workers", "1"]
    command = [sys.executable, "-m", "semqa", "bench", "quotesum", *map(str, arguments)]
    environment = {**os.environ, MARK: mark}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as first:
        journal = out / "examples.jsonl"
        wait_until(lambda: journal.exists() and journal.stat().st_size > 0)
        first.send_signal(signal.SIGSTOP)  # so that it does not end meanwhile
        listening = {
            connection.laddr.ip
            for pid in marked(mark)
            for connection in psutil.Process(pid).net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }
        first.send_signal(signal.SIGKILL)
    assert listening
    assert listening <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    done = len(record_rows(out))
    assert 0 < done < 96
    wait_until(lambda: not [*marked(mark)])

    # It may go on without Ray as well.
    watch = Seen()
    run(plan, out, watch)
    assert watch.seen[0].resumed == done
    assert record_of(out) == record_of(tmp_path / "here")
