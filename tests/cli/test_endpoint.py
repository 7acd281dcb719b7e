"""`semqa answer` and `semqa bench` with a model behind an endpoint."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.engines.openai.server import Answer, error, serving

SOURCE = "Bing Crosby released it in 1942."
WRITTEN = "By [ 1 bing crosby ], in [ 1 1999 ]."
KEY = {"SEMQA_API_KEY": "sk-very-secret"}
ASK = ("answer", "Who sang it?", "--engine", "openai:tiny")


def test_an_answer_reports_its_constraint_method(semqa: Command) -> None:
    with serving(Answer(WRITTEN)) as server:
        told = semqa(*ASK, "--base-url", server.url, "--json", stdin=SOURCE.encode(), env=KEY)
        assert told.code == 0
        assert told.err == ""
        record = told.json
        assert record["answer"] == "By [ 1 Bing Crosby ], in 1999."
        assert (record["verdict"], record["verified"]) == ("unverified", False)
        assert record["constraint"] == "repair"
        assert record["breach"] == "'1999' is not allowed outside quotes"
        assert record["written"] == WRITTEN
        assert record["quotes"][0]["repaired"]["text"] == "bing crosby"
        assert record["dropped"][0]["text"] == "1999"
        assert (record["finished"], record["new_tokens"]) == (True, 7)
        assert record["options"]["base_url"] == server.url
        assert server.asked[-1].headers["authorization"] == "Bearer sk-very-secret"
        assert "secret" not in told.out
        # In a pipe: only the answer; notes go to standard error.
        env = {**KEY, "OPENAI_BASE_URL": server.url}
        told = semqa(*ASK, stdin=SOURCE.encode(), env=env)
        assert told.out == "By [ 1 Bing Crosby ], in 1999.\n"
        assert told.err.startswith("✗ 2 quotes: 1 verified, 1 dropped. 1 was repaired.")
        assert told.err.endswith(
            "(constraint: repair) (breaks a rule: '1999' is not allowed outside quotes)\n"
        )


def test_failures_have_their_exit_codes(semqa: Command) -> None:
    with serving(error(401, "Incorrect API key provided: sk-very-secret")) as server:
        told = semqa(*ASK, "--base-url", server.url, stdin=b"x", env=KEY)
        assert told.code == 2
        assert "Incorrect API key provided: <key>" in told.err
    with serving(Answer(body=b"<html>", kind="text/html")) as server:
        told = semqa(*ASK, "--base-url", server.url, stdin=b"x", env=KEY)
        assert told.code == 1
        assert "got text/html" in told.err


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_an_interrupt_stops_at_once(tmp_path: Path) -> None:
    with serving(Answer(WRITTEN, stall_after=0)) as server:
        asked = subprocess.Popen(
            [sys.executable, "-m", "semqa", *ASK, "--base-url", server.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
        )
        assert asked.stdin is not None
        asked.stdin.write(b"x")
        asked.stdin.close()
        asked.stdin = None
        while not server.asked:  # earlier, Python itself ends on the signal
            assert asked.poll() is None
            time.sleep(0.02)
        asked.send_signal(signal.SIGINT)
        out, err = asked.communicate(timeout=200)  # the endpoint stalls for longer
        assert (asked.returncode, out) == (130, b"")
        assert b"Traceback" not in err
