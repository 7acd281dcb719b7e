"""A folder is brought into a collection, kept up to date, and survives what kills it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from semqa.errors import InputError
from semqa.retrieval.passages import Collection, Library
from semqa.retrieval.passages import folder as folder_module
from semqa.retrieval.passages.folder import index_folder

INDEX = """
import sys
from pathlib import Path
from semqa.retrieval.passages import Library, folder
folder.BATCH_PASSAGES = 6
collection = Library(sys.argv[1], encoder=False).obtain("", "notes")
print("ready", flush=True)
folder.index_folder(collection, Path(sys.argv[2]))
print("done", flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    (made / "sub").mkdir(parents=True)
    (made / "a.txt").write_text("The harbour was built in 1890.")
    (made / "sub" / "b.md").write_text("# Zebras\n\nThey eat grass.")
    (made / "picture.png").write_bytes(b"\x89PNG")
    (made / ".hidden.txt").write_text("hidden")
    long_ago(made)
    return made


@pytest.fixture
def notes(tmp_path: Path) -> Collection:
    return Library(tmp_path / "library", encoder=False).create("", "notes")


def long_ago(folder: Path, seconds: float = 1000) -> None:
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - seconds, time.time() - seconds))


def test_unchanged_files_are_indexed_once(
    notes: Collection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int | None]] = []
    first = index_folder(notes, folder, lambda done, total: told.append((done, total)))
    assert (first.added, first.unchanged, first.skipped, first.failed) == (2, 0, 1, {})
    assert told[-1] == (2, 2)
    assert [each.name for each in notes.documents()] == ["a.txt", "sub/b.md"]
    versions = notes._documents.version, notes._passages.version
    monkeypatch.setattr(
        folder_module, "_read", lambda *_: pytest.fail("an unchanged file was read")
    )
    second = index_folder(notes, folder)
    assert (second.added, second.unchanged, second.removed) == (0, 2, 0)
    assert (notes._documents.version, notes._passages.version) == versions


def test_changes_are_indexed(notes: Collection, folder: Path) -> None:
    notes.put("upload.txt", b"An upload stays.")
    index_folder(notes, folder)
    (folder / "a.txt").write_text("The harbour was built in 1891.")
    (folder / "c.txt").write_text("Ferries.")
    (folder / "sub" / "b.md").unlink()
    report = index_folder(notes, folder)
    assert (report.added, report.unchanged, report.removed) == (2, 0, 1)
    assert [each.name for each in notes.documents()] == ["a.txt", "c.txt", "upload.txt"]
    assert "1891" in notes.search("harbour")[0].source.text


def test_a_change_within_the_same_moment_is_seen(notes: Collection, folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("One.")
    index_folder(notes, folder)
    stat = path.stat()
    path.write_text("Two.")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert index_folder(notes, folder).added == 1
    assert notes.search("two")


def test_unreadable_files_are_named_and_keep_their_documents(
    notes: Collection, folder: Path
) -> None:
    index_folder(notes, folder)
    (folder / "a.txt").write_bytes(b"\0")
    (folder / "bad.pdf").write_bytes(b"no pdf")
    (folder / "c.txt").write_text("Ferries.")
    report = index_folder(notes, folder)
    assert (report.added, sorted(report.failed)) == (1, ["a.txt", "bad.pdf"])
    assert report.failed["bad.pdf"].startswith("bad.pdf: The file is not a PDF")
    assert "1890" in notes.search("harbour")[0].source.text


def test_links_to_files_outside_are_ignored(
    notes: Collection, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("The secret.")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "d.txt").write_text("The secret.")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to(tmp_path / "outside")
    (folder / "loop").symlink_to(folder)
    (folder / "inside.txt").symlink_to(folder / "a.txt")
    (folder / "broken.txt").symlink_to(folder / "nothing")
    os.mkfifo(folder / "pipe.txt")
    index_folder(notes, folder)
    assert [each.name for each in notes.documents()] == ["a.txt", "inside.txt", "sub/b.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="it takes no such names")
def test_unusual_names_are_indexed_or_reported_on_one_line(notes: Collection, folder: Path) -> None:
    good = ["\u202egnp.txt", "a 'b' \"c\".txt", "東京.txt", "%2e%2e.txt", "-rf.txt", "*.txt"]
    for name in [*good, "two\nlines.txt", "\x1b[31mred.txt", "back\\slash.txt"]:
        (folder / name).write_text(f"The {len(name)} zebras.")
    report = index_folder(notes, folder)
    assert {each.name for each in notes.documents()} == {*good, "a.txt", "sub/b.md"}
    assert len(report.failed) == 3
    assert all("\n" not in said and "\x1b" not in said for said in report.failed.values())


def test_an_unreadable_folder_keeps_its_documents(
    notes: Collection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_folder(notes, folder)
    (folder / "a.txt").unlink()
    (folder / "c.txt").write_text("More.")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr("os.scandir", refuse)
        report = index_folder(notes, folder)
    assert report.failed == {"sub/": "'sub': cannot be read: Permission denied"}
    assert [each.name for each in notes.documents()] == ["c.txt", "sub/b.md"]
    assert index_folder(notes, folder).unchanged == 2


def test_a_file_that_changes_while_it_is_read_is_read_again(
    notes: Collection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = folder_module._read

    def torn(path: Path, most: int) -> bytes:
        data = read(path, most)
        path.write_text("It was changed meanwhile, and is what counts.")
        return data

    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "_read", torn)
        index_folder(notes, folder)
    assert "1890" in notes.search("harbour")[0].source.text
    index_folder(notes, folder)
    assert notes.search("harbour") == []
    assert notes.search("meanwhile")[0].name == "a.txt"


def test_another_folders_document_is_not_replaced(
    notes: Collection, folder: Path, tmp_path: Path
) -> None:
    index_folder(notes, folder)
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("Another one.")
    assert "has a document of this name" in index_folder(notes, other).failed["a.txt"]
    assert "1890" in notes.search("harbour")[0].source.text


def test_a_folder_may_move(notes: Collection, folder: Path, tmp_path: Path) -> None:
    index_folder(notes, folder)
    moved = folder.rename(tmp_path / "moved")
    (moved / "sub" / "b.md").write_text("Other zebras.")
    report = index_folder(notes, moved)
    assert (report.added, list(report.failed)) == (1, ["sub/b.md"])  # it may be another file
    again = index_folder(notes, moved)
    assert (again.added, again.unchanged) == (0, 1)
    (moved / "a.txt").unlink()
    index_folder(notes, moved)
    assert [each.name for each in notes.documents()] == ["sub/b.md"]


def test_missing_folders_and_empty_folders_are_rejected(
    notes: Collection, folder: Path, tmp_path: Path
) -> None:
    index_folder(notes, folder)
    with pytest.raises(InputError, match="No such folder"):
        index_folder(notes, tmp_path / "nothing")
    for path in (folder / "a.txt", folder / "sub" / "b.md"):
        path.unlink()
    with pytest.raises(InputError, match=r"1 files have unsupported"):
        index_folder(notes, folder)
    assert len(notes.documents()) == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_kill_9_leaves_a_whole_collection(tmp_path: Path) -> None:
    folder, where = tmp_path / "docs", tmp_path / "library"
    folder.mkdir()
    for i in range(12):
        text = "\n\n".join(f"Zebra {i} of herd {j} eats grass. " * 12 for j in range(1 + i % 4))
        (folder / f"{i}.txt").write_text(text)
    long_ago(folder)
    seen: set[str] = set()
    ended = []
    for seconds in (0.1, 0.4):
        with start_indexing(where, folder) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
        ended.append(process.returncode)
        now = check_whole(where)
        assert seen <= now, "what was there is gone"
        seen = now
    assert -signal.SIGKILL in ended
    collection = Library(where, encoder=False).collection("", "notes")
    report = index_folder(collection, folder)
    assert (report.added, report.unchanged) == (12 - len(seen), len(seen))
    assert seen <= check_whole(where)
    assert index_folder(collection, folder).unchanged == 12
    (folder / "0.txt").write_text("Zebra 0 is new.")
    index_folder(collection, folder)  # clears away what the kills left
    infos = collection.documents()
    assert collection._passages.count_rows() == sum(each.passages for each in infos)


def start_indexing(where: Path, folder: Path) -> subprocess.Popen[str]:
    """Start a process that indexes a folder; return when it begins."""
    command = [sys.executable, "-c", INDEX, str(where), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def check_whole(where: Path) -> set[str]:
    """Check that each listed document has all of its passages; return the ids."""
    collection = Library(where, encoder=False).collection("", "notes")
    infos = {info.id: info for info in collection.documents()}
    rows = collection._passages.search().select(["document", "write", "start", "end"]).to_list()
    texts = {}
    for document in collection._select(("id", "write", "text")):
        texts[document["id"]] = text = document["text"]
        key = (document["id"], document["write"])
        mine = [row for row in rows if (row["document"], row["write"]) == key]
        assert len(mine) == infos[document["id"]].passages
        words = [word for row in mine for word in text[row["start"] : row["end"]].split()]
        assert len(words) == len(text.split())
    assert texts.keys() == infos.keys()
    for found in collection.search("zebra grass", 20) if infos else []:
        assert texts[found.document_id][found.start : found.end] == found.source.text
    return set(infos)


@pytest.mark.slow
def test_one_process_searches_while_another_writes(tmp_path: Path) -> None:
    folder, where = tmp_path / "docs", tmp_path / "library"
    folder.mkdir()
    for i in range(30):
        (folder / f"{i}.txt").write_text(f"Zebra {i} eats grass.")
    collection = Library(where, encoder=False).obtain("", "notes")
    counts = []
    with start_indexing(where, folder) as process:
        while process.poll() is None:
            counts.append(len(collection.documents()))
            found = collection.search("zebra grass", 20)
            assert all(each.source.text.startswith("Zebra") for each in found)
            time.sleep(0.02)  # searching all the time would only slow the writer down
    assert process.returncode == 0
    assert counts == sorted(counts)
    assert len(collection.search("zebra", 100)) == 30
