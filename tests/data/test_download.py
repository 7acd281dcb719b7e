"""Downloads end with the pinned content or a clear error, whatever the server does."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.data.download import Patience, download
from semqa.data.pin import Pin
from semqa.errors import InputError, UnavailableError
from tests.data.server import Reply, serving

DATA = random.Random(1).randbytes(200_000)
OTHER = random.Random(2).randbytes(200_000)
QUICK = Patience(attempts=3, pause_seconds=0.0, timeout_seconds=20.0)


def pin_of(data: bytes, *, sized: bool = True) -> Pin:
    return Pin("sha256", hashlib.sha256(data).hexdigest(), len(data) if sized else None)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "file.bin"


def left_over(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


@pytest.mark.parametrize("sized", [True, False])
def test_a_quiet_download_leaves_the_file_and_nothing_else(target: Path, sized: bool) -> None:
    seen: list[tuple[int, int | None]] = []
    with serving(Reply(DATA)) as server:
        download(server.url, target, pin_of(DATA, sized=sized), lambda *at: seen.append(at), QUICK)
        assert len(server.requests) == 1
        assert server.requests[0]["accept-encoding"] == "identity"
    assert target.read_bytes() == DATA
    assert left_over(target) == ["file.bin"]
    assert seen[0] == (0, len(DATA))
    assert seen[-1] == (len(DATA), len(DATA))
    assert seen == sorted(seen)


def test_the_git_name_of_the_content_is_a_pin_as_well(target: Path) -> None:
    # `git hash-object` of "hello\n", a widely known value.
    pin = Pin("git-blob", "ce013625030ba8dba906f756967f9e9ca394464a")
    with serving(Reply(b"hello\n")) as server:
        download(server.url, target, pin, None, QUICK)
        with pytest.raises(UnavailableError, match="got git-blob"):
            download(server.url, target, Pin("git-blob", "0" * 40), None, QUICK)
    assert target.read_bytes() == b"hello\n"


def test_an_empty_file_can_be_downloaded(target: Path) -> None:
    with serving(Reply(b"")) as server:
        download(server.url, target, pin_of(b""), None, QUICK)
    assert target.read_bytes() == b""


def test_cut_connections_are_continued_where_they_were_cut(target: Path) -> None:
    cuts = (Reply(DATA, cut_after=50_000),) * 3
    with serving(*cuts, Reply(DATA)) as server:
        download(server.url, target, pin_of(DATA), None, QUICK)
        assert server.ranges == ["", "bytes=50000-", "bytes=100000-", "bytes=150000-"]
        assert server.requests[1]["if-range"] == '"one"'
    assert target.read_bytes() == DATA


def test_many_cuts_are_no_failure_while_each_brings_something(target: Path) -> None:
    with serving(Reply(DATA, cut_after=10_000)) as server:
        download(server.url, target, pin_of(DATA), None, QUICK)
        assert len(server.requests) == 20
    assert target.read_bytes() == DATA


def test_a_body_that_ends_early_without_a_length_is_continued(target: Path) -> None:
    with serving(Reply(DATA, cut_after=9, length=False), Reply(DATA, length=False)) as server:
        download(server.url, target, pin_of(DATA), None, QUICK)
        assert server.ranges == ["", "bytes=9-"]
    assert target.read_bytes() == DATA


def test_a_server_without_ranges_starts_over(target: Path) -> None:
    cut = Reply(DATA, ranges=False, cut_after=70_000)
    with serving(cut, Reply(DATA, ranges=False)) as server:
        download(server.url, target, pin_of(DATA), None, QUICK)
    assert target.read_bytes() == DATA


def test_a_server_without_ranges_that_always_cuts_is_given_up(target: Path) -> None:
    with serving(Reply(DATA, ranges=False, cut_after=70_000)) as server:
        with pytest.raises(UnavailableError, match=r"interrupted: got .* after 70000 bytes"):
            download(server.url, target, pin_of(DATA), None, QUICK)
        assert len(server.requests) == 4
    assert not target.exists()


@pytest.mark.parametrize("if_range", [True, False])
def test_a_changed_remote_file_is_not_glued(target: Path, if_range: bool) -> None:
    old = Reply(OTHER, etag='"old"', cut_after=80_000)
    new = Reply(DATA, etag='"new"', if_range=if_range)
    seen: list[int] = []
    with serving(old, new) as server:
        download(server.url, target, pin_of(DATA), lambda done, _: seen.append(done), QUICK)
        # A server that ignores If-Range costs one request: the answer names another content.
        assert server.ranges == ["", "bytes=80000-"] + ([] if if_range else [""])
    assert target.read_bytes() == DATA
    assert seen.count(len(DATA)) == 1


def test_another_range_than_asked_for_is_not_glued(target: Path) -> None:
    seen: list[int] = []
    with serving(Reply(DATA, cut_after=80_000), Reply(DATA, shift=1), Reply(DATA)) as server:
        download(server.url, target, pin_of(DATA), lambda done, _: seen.append(done), QUICK)
        assert server.ranges == ["", "bytes=80000-", ""]
    assert target.read_bytes() == DATA
    assert seen.count(len(DATA)) == 1


def test_a_weak_validator_is_compared_but_not_sent(target: Path) -> None:
    with serving(
        Reply(DATA, etag='W/"one"', cut_after=5_000), Reply(DATA, etag='W/"one"')
    ) as server:
        download(server.url, target, pin_of(DATA), None, QUICK)
        assert server.ranges == ["", "bytes=5000-"]
        assert "if-range" not in server.requests[1]
    assert target.read_bytes() == DATA


def test_without_a_validator_nothing_is_continued(target: Path) -> None:
    with serving(Reply(OTHER, etag=None, cut_after=5_000), Reply(DATA, etag=None)) as server:
        download(server.url, target, pin_of(DATA), None, QUICK)
        assert server.ranges == ["", ""]
    assert target.read_bytes() == DATA


def test_parts_glued_by_a_lying_server_are_fetched_again(target: Path) -> None:
    with serving(Reply(OTHER, cut_after=5_000), Reply(DATA), Reply(DATA)) as server:
        download(server.url, target, pin_of(DATA), None, QUICK)
        assert server.ranges == ["", "bytes=5000-", ""]
    assert target.read_bytes() == DATA


def test_wrong_bytes_are_refused_and_removed(target: Path) -> None:
    expected = hashlib.sha256(DATA).hexdigest()
    got = hashlib.sha256(OTHER).hexdigest()
    with serving(Reply(OTHER)) as server:
        with pytest.raises(UnavailableError) as caught:
            download(server.url, target, pin_of(DATA), None, QUICK)
        assert str(caught.value) == (
            f"{server.url}: wrong content: got sha256 {got}, expected {expected}; "
            "the download was removed: try again later, or check the address"
        )
        assert len(server.requests) == 1
    assert left_over(target) == []


@pytest.mark.parametrize("length", [True, False])
@pytest.mark.parametrize("content", [DATA + b"x", DATA[:-1], b"<html>sign in</html>"])
def test_content_of_another_size_is_refused(target: Path, content: bytes, length: bool) -> None:
    with (
        serving(Reply(content, length=length)) as server,
        pytest.raises(UnavailableError, match=r"wrong content: got .*, expected "),
    ):
        download(server.url, target, pin_of(DATA), None, QUICK)
    # A length that is told and wrong ends it at once.
    assert len(server.requests) == 1 or not length
    assert left_over(target) == []


def test_an_endless_body_is_stopped(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semqa.data.download.MAX_DOWNLOAD_BYTES", 1000)
    with (
        serving(Reply(DATA, length=False)) as server,
        pytest.raises(UnavailableError, match="got more than 1000 bytes"),
    ):
        download(server.url, target, pin_of(DATA, sized=False), None, QUICK)
    assert left_over(target) == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_refusal_is_not_tried_again(target: Path, status: int) -> None:
    with serving(Reply(status=status)) as server:
        with pytest.raises(UnavailableError, match=f"not available: got HTTP status {status}"):
            download(server.url, target, pin_of(DATA), None, QUICK)
        assert len(server.requests) == 1
    assert left_over(target) == []


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_an_overloaded_server_is_asked_again(target: Path, status: int) -> None:
    with serving(Reply(status=status), Reply(status=status), Reply(DATA)) as server:
        download(server.url, target, pin_of(DATA), None, QUICK)
        assert len(server.requests) == 3
    assert target.read_bytes() == DATA


def test_an_overloaded_server_is_given_up(target: Path) -> None:
    with serving(Reply(status=500)) as server:
        with pytest.raises(UnavailableError, match=r"got HTTP status 500 .* after 0 bytes"):
            download(server.url, target, pin_of(DATA), None, QUICK)
        assert len(server.requests) == QUICK.attempts


def test_pauses_grow_and_obey_the_server_within_bounds(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("semqa.data.download._sleep", pauses.append)
    busy, told = Reply(status=503), Reply(status=503, headers={"Retry-After": "7"})
    long = Reply(status=503, headers={"Retry-After": "86400"})
    dated = Reply(status=503, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})
    with serving(busy, busy, told, long, dated, Reply(DATA)) as server:
        download(server.url, target, pin_of(DATA), None, Patience(attempts=9))
    assert pauses == [0.5, 1.0, 7.0, 15.0, 8.0]


def test_redirections_are_followed_but_not_without_end(target: Path) -> None:
    with (
        serving(Reply(DATA)) as server,
        serving(Reply(status=302, headers={"Location": server.url})) as first,
    ):
        download(first.url, target, pin_of(DATA), None, QUICK)
    assert target.read_bytes() == DATA
    with (
        serving(Reply(status=302, headers={"Location": "/again"})) as server,
        pytest.raises(UnavailableError, match="endless redirection"),
    ):
        download(server.url, target, pin_of(DATA), None, QUICK)


def test_coded_content_is_refused(target: Path) -> None:
    with (
        serving(Reply(DATA, headers={"Content-Encoding": "gzip"})) as server,
        pytest.raises(UnavailableError, match="coded content: got 'gzip'"),
    ):
        download(server.url, target, pin_of(DATA), None, QUICK)


def test_no_server_at_all(target: Path) -> None:
    with serving(Reply(DATA)) as server:
        url = server.url
    with pytest.raises(
        UnavailableError, match=r"interrupted: got ConnectError .* check the network"
    ):
        download(url, target, pin_of(DATA), None, QUICK)


@pytest.mark.parametrize("url", ["ftp://x.example/f", "nonsense", "http://[::1", "", "http://"])
def test_what_is_no_web_address_is_the_users_mistake(target: Path, url: str) -> None:
    with pytest.raises(
        InputError, match=r"not a web address: got .*, expected http:// or https://"
    ):
        download(url, target, pin_of(DATA), None, QUICK)


def test_a_broken_proxy_setting_is_named(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://x")
    with pytest.raises(UnavailableError, match="HTTPS_PROXY"):
        download("https://x.example/f", target, pin_of(DATA), None, QUICK)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")
def test_a_full_disk_is_named(target: Path) -> None:
    target.with_name("file.bin.part").symlink_to("/dev/full")
    with (
        serving(Reply(DATA)) as server,
        pytest.raises(UnavailableError, match=r"No space left on device.*free some space"),
    ):
        download(server.url, target, pin_of(DATA), None, QUICK)


def test_a_part_that_is_whole_already_is_only_checked(target: Path) -> None:
    def leave_whole_part(url: str) -> None:
        part = target.with_name("file.bin.part")
        part.write_bytes(DATA)
        note = f'{{"url": "{url}", "validator": "\\"one\\""}}'
        target.with_name("file.bin.part.json").write_text(note, "utf-8")

    with serving(Reply(DATA)) as server:
        leave_whole_part(server.url)
        download(server.url, target, pin_of(DATA), None, QUICK)
        assert server.requests == []
        target.unlink()
        # Where the size is not known, the server says that nothing is left to send.
        leave_whole_part(server.url)
        download(server.url, target, pin_of(DATA, sized=False), None, QUICK)
        assert server.ranges == [f"bytes={len(DATA)}-"]
    assert target.read_bytes() == DATA
    assert left_over(target) == ["file.bin"]


STRANGE_NOTES = [None, b"", b"[]", b"\xff", rb'{"url": "http://else", "validator": "\"one\""}']


@pytest.mark.parametrize("note", STRANGE_NOTES)
@pytest.mark.parametrize("junk", [OTHER[:100], OTHER, OTHER + b"more"])
def test_a_part_of_unknown_origin_is_not_trusted(
    target: Path, junk: bytes, note: bytes | None
) -> None:
    target.with_name("file.bin.part").write_bytes(junk)
    if note is not None:
        target.with_name("file.bin.part.json").write_bytes(note)
    with serving(Reply(DATA)) as server:
        download(server.url, target, pin_of(DATA), None, QUICK)
        assert server.ranges == [""]
    assert target.read_bytes() == DATA
    assert left_over(target) == ["file.bin"]


replies = st.builds(
    Reply,
    content=st.sampled_from([DATA[:5000], OTHER[:5000]]),
    etag=st.sampled_from(['"one"', '"two"', 'W/"one"', None]),
    status=st.sampled_from([200, 200, 200, 500]),
    cut_after=st.none() | st.integers(0, 5000),
    ranges=st.booleans(),
    if_range=st.booleans(),
)


@settings(max_examples=40, deadline=None)
@given(script=st.lists(replies, max_size=4))
def test_whatever_the_server_did_before_the_file_is_the_pinned_one(script: list[Reply]) -> None:
    wanted = DATA[:5000]
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(*script, Reply(wanted, ranges=False)) as server,
    ):
        target = Path(folder) / "file.bin"
        for _ in range(2 + len(script)):
            try:
                download(server.url, target, pin_of(wanted), None, QUICK)
            except UnavailableError:
                assert not target.exists()
            else:
                break
        assert target.read_bytes() == wanted
        assert left_over(target) == ["file.bin"]


def test_a_silent_connection_is_left_and_continued(target: Path) -> None:
    impatient = Patience(attempts=3, pause_seconds=0.0, timeout_seconds=0.3)
    with serving(Reply(DATA, stall_after=1_000), Reply(DATA)) as server:
        download(server.url, target, pin_of(DATA), None, impatient)
        assert server.ranges == ["", "bytes=1000-"]
    assert target.read_bytes() == DATA


CHILD = """
import sys
from pathlib import Path
from semqa.data.download import Patience, download
from semqa.data.pin import Pin
url, target, digest, size = sys.argv[1:]
download(url, Path(target), Pin("sha256", digest, int(size)), None, Patience(timeout_seconds=60))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_download_is_continued(target: Path) -> None:
    part = target.with_name("file.bin.part")
    pin = pin_of(DATA)
    with serving(Reply(DATA, stall_after=120_000), Reply(DATA)) as server:
        args = [sys.executable, "-c", CHILD, server.url, str(target), pin.digest, str(pin.size)]
        with subprocess.Popen(args) as child:
            while not (part.exists() and part.stat().st_size == 120_000):
                assert child.poll() is None, "the child ended by itself"
                time.sleep(0.01)
            os.kill(child.pid, signal.SIGKILL)
        assert child.returncode == -signal.SIGKILL
        assert not target.exists()
        download(server.url, target, pin, None, QUICK)
        assert server.ranges == ["", "bytes=120000-"]
    assert target.read_bytes() == DATA
    assert left_over(target) == ["file.bin"]


def test_readers_never_see_a_part_under_the_files_name(target: Path) -> None:
    seen: set[int] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            if target.exists():
                seen.add(target.stat().st_size)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with serving(Reply(DATA, cut_after=60_000)) as server:
        download(server.url, target, pin_of(DATA), None, QUICK)
    done.set()
    watcher.join()
    assert seen <= {len(DATA)}


@pytest.mark.parametrize("url", ["http://../a", f"http://{'a' * 80}.com/a", "http://xn--a/a"])
def test_a_host_name_that_cannot_be_is_no_address(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a web address"):
        download(url, tmp_path / "a", Pin("sha256", "0" * 64))
