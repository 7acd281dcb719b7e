"""Files and databases that several processes share; digests of folders."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from semqa.data.files import (
    EVERY,
    WHOLE,
    folder_digest,
    locked,
    use_write_ahead_log,
    write_atomic,
)
from semqa.errors import InputError, UnavailableError


@pytest.mark.parametrize("path", ["no/such/folder/x", ".", "/", "", "x\0y", "f/x"])
def test_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f").touch()
    with pytest.raises(InputError, match="cannot be written"):
        write_atomic(path, [b"x"])
    assert [entry.name for entry in Path().iterdir()] == ["f"]


def test_links_devices_and_permissions_are_kept(tmp_path: Path) -> None:
    real, link, plain = (tmp_path / name for name in ("real", "link", "plain"))
    real.write_text("old", "utf-8")
    link.symlink_to("real")
    write_atomic(link, [b"new"])
    assert link.is_symlink()
    assert real.read_text("utf-8") == "new"
    plain.touch()
    assert real.stat().st_mode == plain.stat().st_mode
    if Path("/dev/null").exists():
        write_atomic("/dev/null", [b"x"])
        assert not Path("/dev/null").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")
def test_a_full_disk_is_outside_trouble() -> None:
    with pytest.raises(UnavailableError, match=r"No space left on device"):
        write_atomic("/dev/full", [b"x"])


def test_a_lock_that_stays_held_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    failure = pytest.raises(UnavailableError, match="lock")
    with locked(path), failure, locked(path, 0):
        pytest.fail("two hold one lock")
    with locked(path, 0):
        pass


def test_several_processes_open_a_new_database(tmp_path: Path) -> None:
    """SQLite itself fails for some of them, one time in 40."""
    failures: list[Exception] = []

    def open_at_once(path: Path, ready: threading.Barrier) -> None:
        connection = sqlite3.connect(path, timeout=60, isolation_level=None)
        ready.wait()
        try:
            use_write_ahead_log(connection, 60)
        except sqlite3.Error as error:
            failures.append(error)
        connection.close()

    for number in range(40):
        given = (tmp_path / f"{number}.sqlite", threading.Barrier(6))
        threads = [threading.Thread(target=open_at_once, args=given) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_a_locked_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "locked.sqlite"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("CREATE TABLE t (x)")
    other.execute("BEGIN EXCLUSIVE")
    mine = sqlite3.connect(path, timeout=0.01, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        use_write_ahead_log(mine, 0.2)
    other.execute("COMMIT")
    use_write_ahead_log(mine, 0.2)
    assert mine.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
    mine.close()


def test_every_byte_of_a_small_file_counts(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    path = tmp_path / "a" / "b" / "weights.bin"
    seen = set()
    for content in (b"", b"one", b"two", bytes(WHOLE), bytes(WHOLE - 1) + b"1"):
        path.write_bytes(content)
        seen.add(folder_digest(tmp_path))
    path.rename(tmp_path / "a" / "weights.bin")
    seen.add(folder_digest(tmp_path))
    assert len(seen) == 6
    (tmp_path / "README.md").write_text("about")
    (tmp_path / ".lock").write_text("")
    assert folder_digest(tmp_path) in seen


def test_a_matrix_that_was_trained_further_shows_wherever_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    weights = bytearray(WHOLE + EVERY + 12_345)
    path.write_bytes(weights)
    seen = {folder_digest(tmp_path)}
    starts = [*range(0, len(weights) - EVERY, EVERY // 2 + 1), len(weights) - EVERY]
    with path.open("r+b") as stream:
        for start in starts:
            stream.seek(start)
            stream.write(b"\1" * EVERY)
            stream.flush()
            seen.add(folder_digest(tmp_path))
            stream.seek(start)
            stream.write(bytes(EVERY))
    os.truncate(path, len(weights) - 1)
    seen.add(folder_digest(tmp_path))
    assert len(seen) == len(starts) + 2
