"""`semqa serve` in its own process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.terminal import talking

ASKED = {"question": "When was it opened?", "sources": [{"text": "It was opened in 1932."}]}


Start = Callable[..., AbstractContextManager["Served"]]


class Served:
    """A server and its log."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)

    @property
    def url(self) -> str:
        until = time.monotonic() + 240
        while time.monotonic() < until:
            for line in list(self.said):
                if found := re.search(r"semqa is at (http://\S+)/ ", line):
                    return found[1]
            assert self.process.poll() is None, self.said
            time.sleep(0.02)
        raise AssertionError(self.said)

    def end(self, sent: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(sent)
        code = self.process.wait(30)
        self._thread.join(10)
        return code


@pytest.fixture
def serve(tmp_path: Path) -> Start:
    @contextmanager
    def start(*args: str | Path, **env: str) -> Iterator[Served]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SEMQA_")}
        process = subprocess.Popen(
            [sys.executable, "-m", "semqa", "serve", *map(str, args)],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            encoding="utf-8",
            cwd=tmp_path,
            env={**clean, "XDG_DATA_HOME": str(tmp_path / "home"), **env},
        )
        served = Served(process)
        try:
            yield served
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            served._thread.join(10)
            assert process.stderr is not None
            process.stderr.close()

    return start


def test_serve_needs_no_settings_and_ctrl_c_finishes_open_streams(tmp_path: Path) -> None:
    # Eight at once: the last ones are far from finished when the server stops.
    source = "It was opened in 1932 by the mayor. " * 60
    body = {"question": "When was it opened?", "sources": [{"text": source}] * 8, "stream": True}
    command = [sys.executable, "-m", "semqa", "serve", "--port", "0"]
    home = tmp_path / "home"
    with talking(command, tmp_path, {"XDG_DATA_HOME": str(home)}) as talk:
        first, *others = talk.until("stops it\r\n").splitlines()
        assert re.fullmatch(r"starting semqa \d\S+", first)
        told = re.fullmatch(
            r"semqa is at (http://127\.0\.0\.1:\d+)/ with its data in (.*); Ctrl-C stops it",
            "".join(others),
        )
        assert told, others
        assert told[2] == f"{home}/semqa"
        url = told[1]
        reply = httpx.post(f"{url}/v1/answers", json=ASKED, timeout=60)
        assert reply.json()["answer"] == "[ 1 It was opened in 1932. ]"
        httpx.get(f"{url}/nowhere/secret?key=secret", timeout=60)
        ended: list[bool] = []

        def ask() -> None:
            with httpx.stream("POST", f"{url}/v1/answers", json=body, timeout=60) as reply:
                begun.release()
                ended.append("event: done" in reply.read().decode())

        begun = threading.Semaphore(0)
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert begun.acquire(timeout=30)
        talk.keys("\x03")
        assert talk.end() == 0
        for thread in threads:
            thread.join(30)
        lines = talk.screen.replace("^C", "").splitlines()
    assert ended == [True] * 8
    shown = r"[0-9:]{8}  GET \(none\)  404  [0-9.]+ ms"
    assert any(re.fullmatch(shown, line) for line in lines)
    assert "secret" not in "".join(lines)


def test_workers_share_settings_and_data_and_one_that_is_killed_is_replaced(
    serve: Start, tmp_path: Path
) -> None:
    """Settings are those of flags, then those of the environment."""
    env = {
        "SEMQA_ENGINE": "lead-2 lead-1",
        "SEMQA_PORT": "2",
        "SEMQA_DATA": "from-environment",
        "SEMQA_SERVE_API_KEY": "from-environment-01 from-environment-02",
        "SEMQA_MAX_QUESTION": "100",
    }
    flags = ("--host", "0.0.0.0", "--port", "0", "--workers", "2", "--data", tmp_path / "here")
    with serve(*flags, **env) as served:
        assert httpx.post(f"{served.url}/v1/answers", json=ASKED, timeout=60).status_code == 401
        ask = partial(
            httpx.request, headers={"Authorization": "Bearer from-environment-02"}, timeout=240
        )
        url = f"{served.url}/v1"
        models = [model["id"] for model in ask("GET", f"{url}/models").json()["data"]]
        assert models[:3] == ["semqa", "lead-2", "lead-1"]
        long = ask("POST", f"{url}/answers", json={**ASKED, "question": "x" * 101})
        assert "at most 100" in long.text
        ask("POST", f"{url}/collections", json={"name": "c"}).raise_for_status()
        file = {"file": ("a.txt", b"The bridge was opened in 1932.")}
        ask("POST", f"{url}/collections/c/documents", files=file).raise_for_status()
        talk = ask("POST", f"{url}/conversations", json={"title": "t"}).json()["id"]
        body = {"question": "When was the bridge opened?", "collection": "c", "conversation": talk}
        for number in range(1, 5):
            assert "1932" in ask("POST", f"{url}/answers", json=body).json()["plain"]
            kept = ask("GET", f"{url}/conversations/{talk}").json()["messages"]
            assert len(kept) == 2 * number
        children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children")
        if children.exists():  # Linux
            killed, other = children.read_text().split()
            os.kill(int(killed), signal.SIGKILL)
            until = time.monotonic() + 240
            while killed in (now := children.read_text().split()) or len(now) < 2:
                assert time.monotonic() < until
                time.sleep(0.05)
            assert other in now
            assert "1932" in ask("POST", f"{url}/answers", json=body).json()["plain"]
        assert served.end(signal.SIGTERM) == 0
    told = f"/ and all other addresses of this machine, with its data in {tmp_path}/here;"
    assert told in "".join(served.said)
    assert "from-environment-02" not in "".join(served.said)
    # Without a terminal, the log is JSON lines, including the address.
    logged = [json.loads(line) for line in served.said]
    assert "request" in [line["message"] for line in logged]
    assert url.removesuffix("v1") in [line.get("address") for line in logged]
