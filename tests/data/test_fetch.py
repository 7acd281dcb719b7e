"""Public files: chosen by name, kept in the cache, checked, and fetched once by all who want them."""

from __future__ import annotations

import hashlib
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from semqa.cli.data import app
from semqa.data import fetch as fetching
from semqa.data.fetch import (
    Pin,
    RemoteFile,
    download,
    fetch,
)
from semqa.data.files import cache_folder
from semqa.errors import InputError, UnavailableError
from tests.data.server import Reply, serving

DATA = random.Random(3).randbytes(100_000)


def pin(content: bytes) -> Pin:
    return Pin("sha256", hashlib.sha256(content).hexdigest(), len(content))


def small_file(split: str = "dev") -> RemoteFile:
    return RemoteFile(split, pin(DATA))


@pytest.fixture(autouse=True)
def _small_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("SEMQA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetching, "_sleep", lambda _: None)
    monkeypatch.setattr(fetching, "REMOTE_FILES", (small_file("train"), small_file("dev")))


def test_a_file_is_downloaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    with serving(Reply(DATA)) as server:
        monkeypatch.setenv("SEMQA_QUOTESUM_URL", server.base + "/")
        path = fetch("quotesum", "dev", lambda done, _: seen.append(done))
        assert path == cache_folder() / "quotesum" / "dev.jsonl"
        assert seen[-1] == len(DATA)
        seen.clear()
        assert fetch("quotesum", "dev", lambda done, _: seen.append(done)) == path
        assert server.requests == 1
    assert path.read_bytes() == DATA
    assert seen == []


@pytest.mark.parametrize("damage", [b"", DATA[:-1] + b"?"])
def test_a_damaged_file_is_fetched_again(monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    path = small_file().path()
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    assert small_file().state() == "damaged"
    with serving(Reply(DATA)) as server:
        monkeypatch.setenv("SEMQA_QUOTESUM_URL", server.base)
        fetch()
    assert path.read_bytes() == DATA
    assert small_file().state() == "cached"


def test_the_git_name_of_the_content_is_a_pin_as_well() -> None:
    # `git hash-object` of "hello\n", a widely known value.
    with serving(Reply(b"hello\n")) as server:
        wanted = Pin("git-blob", "ce013625030ba8dba906f756967f9e9ca394464a")
        assert download(server.base, wanted) == b"hello\n"
        with pytest.raises(UnavailableError, match="expected content"):
            download(server.base, Pin("git-blob", "0" * 40))


def test_transient_failures_are_retried() -> None:
    with serving(Reply(DATA, cut_after=9), Reply(status=503), Reply(DATA)) as server:
        assert download(server.base, pin(DATA)) == DATA
        assert server.requests == 3
    with serving(Reply(status=429)) as server:
        with pytest.raises(UnavailableError, match="HTTP status 429"):
            download(server.base, pin(DATA))
        assert server.requests == fetching.ATTEMPTS


@pytest.mark.parametrize("reply", [Reply(status=404), Reply(DATA + b"x"), Reply(DATA[:-1])])
def test_permanent_failures_leave_no_file(reply: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(reply) as server:
        monkeypatch.setenv("SEMQA_QUOTESUM_URL", server.base)
        with pytest.raises(UnavailableError):
            fetch()
        assert server.requests == 1
    assert small_file().state() == "absent"


def test_no_server_and_broken_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Reply(DATA)) as server:
        url = server.base
    with pytest.raises(UnavailableError, match="ConnectError"):
        download(url, pin(DATA))
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://x")
    with pytest.raises(UnavailableError, match="HTTPS_PROXY"):
        download("https://x.example/f", pin(DATA))


def test_endless_redirects_are_reported() -> None:
    with (
        serving(Reply(status=302, headers={"Location": "/again"})) as server,
        pytest.raises(UnavailableError, match="redirects too many times"),
    ):
        download(server.base, pin(DATA))


@pytest.mark.parametrize("url", ["ftp://x.example/f", "http://[::1", f"http://{'a' * 80}.com/a"])
def test_invalid_urls_are_input_errors(url: str) -> None:
    with pytest.raises(InputError, match="is not a valid URL"):
        download(url, pin(DATA))


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(UnavailableError, match="SEMQA_CACHE"):
        fetch()


def test_the_cache_folder_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("SEMQA_CACHE", "~/own")
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("SEMQA_CACHE")
    assert cache_folder() == tmp_path / "xdg" / "semqa"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / ".cache" / "semqa"
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # no home
    with pytest.raises(InputError, match="No home folder"):
        cache_folder()


def test_of_two_threads_one_downloads_and_the_other_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Reply(DATA, cut_after=30_000), Reply(DATA)) as server:
        monkeypatch.setenv("SEMQA_QUOTESUM_URL", server.base)
        with ThreadPoolExecutor(2) as executor:
            paths = [each.result() for each in [executor.submit(fetch) for _ in range(2)]]
        assert server.requests == 2  # the first one is cut off
    assert paths == [small_file().path()] * 2
    assert small_file().state() == "cached"


def run(*args: str) -> Any:
    return CliRunner().invoke(app, list(args), catch_exceptions=False)


def test_the_command_prints_where_the_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError):
        run("fetch", "nothing", "--split", "all")
    with pytest.raises(InputError):
        run("fetch", "quotesum", "--split", "none")
    with serving(Reply(DATA)) as server:
        monkeypatch.setenv("SEMQA_QUOTESUM_URL", server.base)
        result = run("fetch", "quotesum")
        assert (result.exit_code, result.stdout) == (0, f"{small_file().path()}\n")
        listed = json.loads(run("list", "--json").stdout)["files"]
        assert [(entry["split"], entry["state"]) for entry in listed] == [
            ("train", "absent"),
            ("dev", "cached"),
        ]
        result = run("fetch", "quotesum", "--split", "all", "--json")
    files = json.loads(result.stdout)["files"]
    assert [file["split"] for file in files] == ["train", "dev"]
    assert {file["sha256"] for file in files} == {hashlib.sha256(DATA).hexdigest()}
    assert all(Path(file["path"]).read_bytes() == DATA for file in files)
    text = run("list").stdout.splitlines()
    assert len(text) == 2
    assert all("cached" in line and "100,000 bytes" in line for line in text)
