"""`semqa models`: found models, and the saved default engine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from semqa.cli import models
from semqa.engines.openai import client
from tests.cli.conftest import EXAMPLES, Command

SOURCES = ("--sources", EXAMPLES / "antarctica.jsonl")


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HOME", str(tmp_path))


def default(semqa: Command, **env: str) -> tuple[str, str, dict[str, object]]:
    found = semqa("models", "--json", env=env).json["default"]
    return found["engine"], found["from"], found["options"]


def test_a_saved_engine_is_the_default_until_it_is_removed(semqa: Command, tmp_path: Path) -> None:
    assert default(semqa) == ("extractive", "built in", {})
    assert semqa("models", "use", "lead-1").code == 0
    assert default(semqa) == ("lead-1", "saved", {})
    assert default(semqa, SEMQA_ENGINE="tail-1") == ("tail-1", "SEMQA_ENGINE", {})
    assert "lead-1" in semqa("models").out
    asked = ("answer", "Who?", *SOURCES, "--json")
    assert semqa(*asked).json["engine"] == "lead-1"
    assert semqa(*asked, "--engine", "tail-2").json["engine"] == "tail-2"
    assert semqa(*asked, env={"SEMQA_ENGINE": "tail-1"}).json["engine"] == "tail-1"
    data, out = EXAMPLES / "quotesum.jsonl", tmp_path / "run"
    assert semqa("bench", "quotesum", "--data", data, "--out", out, "--limit", "1").code == 0
    assert "lead-1" in (out / "run.json").read_text("utf-8")
    assert semqa("models", "use", "extractive").code == 0
    assert default(semqa) == ("extractive", "built in", {})
    assert semqa(*asked).json["engine"] == "extractive"


def test_options_are_saved_with_it_and_come_after_those_given(
    semqa: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = semqa("models", "use", "extractive", "--max-words", "12")
    assert (done.code, done.out) == (0, "")
    assert default(semqa)[2] == {"max_words": 12}
    short = semqa("answer", "Who crossed Antarctica alone?", *SOURCES).out
    long = semqa("answer", "Who crossed Antarctica alone?", *SOURCES, "--max-words", "60").out
    assert len(short) < len(long)
    other = semqa("answer", "Who?", *SOURCES, "--engine", "lead-1")
    assert other.code == 0  # saved options belong to the saved engine
    options = ("--base-url", "http://127.0.0.1:9/v1", "--constraint", "repair", "--quote-from", "1")
    assert semqa("models", "use", "openai:tiny", *options).code == 0
    monkeypatch.setattr(client, "_FIRST_DELAY", 0.0)  # nothing ever answers there
    dry = semqa("answer", "Who?", *SOURCES, "--constraint", "off", "--quote-from", "1,2")
    assert dry.code == 1
    assert "127.0.0.1:9" in dry.err


def test_invalid_engines_are_not_saved(semqa: Command, tmp_path: Path) -> None:
    for wrong in (("nonsense",), ("extractive", "--base-url", "http://x/v1")):
        assert semqa("models", "use", *wrong).code == 2
    assert default(semqa) == ("extractive", "built in", {})
    path = tmp_path / "config" / "semqa" / "engine.json"
    path.parent.mkdir(parents=True)
    for text in ("{", "[]", '{"engine": 1, "options": {}}', '{"engine": "a", "options": {"x": 1}}'):
        path.write_text(text)
        told = semqa("answer", "Who?", *SOURCES)
        assert (told.code, "engine.json" in told.err) == (2, True)
    assert semqa("models", "use", "lead-1").code == 0
    assert default(semqa)[0] == "lead-1"


def test_models_on_the_disk_are_found(semqa: Command, tmp_path: Path) -> None:
    for name, kind in (("me--Writer", "LlamaForCausalLM"), ("me--Encoder", "BertModel")):
        folder = tmp_path / "hub" / f"models--{name}" / "snapshots" / "0"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps({"architectures": [kind]}))
        (folder / "model.safetensors").write_bytes(b"x" * 10)
    found = semqa("models", "--json").json
    assert found["folders"] == [{"model": "me/Writer", "bytes": 10}]
    assert "transformers:me/Writer" in semqa("models").out


@contextmanager
def listing(status: int, body: bytes) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Location", "http://192.0.2.1/")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "found"),
    [
        (200, b'{"data": [{"id": "tiny"}]}', ["tiny"]),
        (200, b'{"data": [{"id": "extractive", "owned_by": "semqa"}]}', None),
        (200, b'{"data": [{"id": 1}]}', []),
        (200, b"[]", None),
        (302, b"", None),
    ],
)
def test_servers_of_this_machine_are_asked(
    status: int, body: bytes, found: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:9")
    with listing(status, body) as port:
        monkeypatch.setattr(models, "ENDPOINTS", {port: "a server", 9: "nothing"})
        endpoints = models._endpoints()
    assert [each["models"] for each in endpoints] == ([] if found is None else [found])
