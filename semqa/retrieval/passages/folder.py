"""Index a folder: bring a collection up to date with its files."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from semqa.documents import SUFFIXES
from semqa.documents.document import check_name
from semqa.errors import InputError
from semqa.retrieval.passages.collection import Collection, Prepared

BATCH_PASSAGES = 256
"""Passages per commit."""

BATCH_SECONDS = 20.0
"""Maximum time between commits. A killed process loses the documents of one commit at most."""

RACY_SECONDS = 2.0
"""A file changed more recently may change again without a new modification time."""


@dataclass(slots=True)
class FolderReport:
    """The result of indexing a folder.

    Attributes:
        added: number of new and replaced documents; `passages` is the number of their passages.
        removed: number of documents whose files no longer exist.
        skipped: number of files of unsupported types.
        failed: error messages of unreadable files and folders, by name.
        stopped: whether `should_stop` ended the indexing early.
    """

    added: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    passages: int = 0
    stopped: bool = False


def index_folder(
    collection: Collection,
    folder: Path,
    on_progress: Callable[[int, int | None], None] = lambda _done, _total: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> FolderReport:
    """Bring a collection up to date with the files in a folder and its subfolders.

    Unchanged files are not read again. Documents that came from this folder are removed if their
    files no longer exist. If a folder was moved, its documents are taken over. An interrupted run
    keeps the documents committed so far.

    Args:
        folder: the folder; hidden files, hidden folders and links to files outside are ignored.
        on_progress: called with the number of files done and their total.
        should_stop: called before each file; True ends the indexing.
    """
    if not folder.is_dir():
        raise InputError("No such folder.", where=str(folder))
    origin = str(folder.resolve())
    report = FolderReport()
    names: dict[str, Path] = {}
    unreadable: list[str] = []
    for name, path in _files(folder.resolve(), report, unreadable):
        if path.suffix.lower() in SUFFIXES:
            names[name] = path
        else:
            report.skipped += 1
    if not names:
        raise InputError(
            f"No documents found; {report.skipped} files have unsupported types.",
            where=str(folder),
            hint=f"Supported types: {' '.join(SUFFIXES)}.",
        )
    documents = {row["name"]: row for row in collection.stamps()}
    batch = _Batch(collection)
    for done, (name, path) in enumerate(sorted(names.items())):
        on_progress(done, len(names))
        if should_stop():
            report.stopped = True
            break
        _index_file(batch, documents.get(name), origin, name, path, report)
    batch.write()
    if report.stopped:
        return report
    gone = [
        row
        for row in documents.values()
        if row["origin"] == origin
        and row["name"] not in names
        and not row["name"].startswith(tuple(unreadable))  # these files may still exist
    ]
    collection.remove_all([row["id"] for row in gone])
    report.removed = len(gone)
    if report.added or report.removed:
        collection.optimize()
    on_progress(len(names), len(names))
    return report


def _index_file(
    batch: _Batch,
    document: Mapping[str, str] | None,
    origin: str,
    name: str,
    path: Path,
    report: FolderReport,
) -> None:
    collection = batch.collection
    try:
        check_name(name)
        stamp = _stamp(path)
        own = document is not None and document["origin"] == origin
        fresh = document is not None and own and document["recipe"] == collection.recipe
        if document is not None and fresh and stamp and document["stamp"] == stamp:
            report.unchanged += 1
            return
        data = _read(path, collection.limits.size)
        same = document is not None and document["sha256"] == hashlib.sha256(data).hexdigest()
        if document is not None and not own and not (same and _is_gone(document["origin"])):
            raise InputError(
                f"The collection has a document of this name from {document['origin'] or 'an upload'}.",
                where=name,
                hint="Choose another collection.",
            )
        if document is not None and fresh and same:
            report.unchanged += 1
            if stamp:
                batch.stamps[document["id"]] = stamp
            return
        prepared = collection.prepare(name, data, origin=origin, stamp=stamp)
    except InputError as error:
        report.failed[name] = str(error)
        return
    except OSError as error:
        report.failed[name] = f"{name}: cannot be read: {error.strerror or error}"
        return
    report.added += 1
    report.passages += len(prepared.passages)
    collection.read_ahead(prepared)  # here, because it takes long and progress counts files
    batch.add(prepared)


def _is_gone(origin: str) -> bool:
    """Return whether the folder that documents came from no longer exists."""
    return bool(origin) and not Path(origin).is_dir()


class _Batch:
    """Documents to commit together, because a commit costs the same for one or many."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.stamps: dict[str, str] = {}
        """New stamps of unchanged documents."""
        self._waiting: list[Prepared] = []
        self._since = 0.0

    def add(self, prepared: Prepared) -> None:
        self._since = self._since if self._waiting else time.monotonic()
        self._waiting.append(prepared)
        passages = sum(len(each.passages) for each in self._waiting)
        if passages >= BATCH_PASSAGES or time.monotonic() - self._since >= BATCH_SECONDS:
            self.write()

    def write(self) -> None:
        self.collection.commit(self._waiting, more=True)
        self._waiting = []
        self.collection.stamp(self.stamps)
        self.stamps = {}


def _files(folder: Path, report: FolderReport, unreadable: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield the relative POSIX path and the path of each file in a folder and its subfolders.

    Unreadable folders are reported, and their names are added to `unreadable` with a final ``/``.
    """

    def on_error(error: OSError) -> None:
        name = Path(error.filename).relative_to(folder).as_posix()
        unreadable.append("" if name == "." else f"{name}/")
        report.failed[unreadable[-1]] = f"{name!a}: cannot be read: {error.strerror or error}"

    for where, folders, files in os.walk(folder, onerror=on_error):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for each in files:
            path = Path(where, each)
            if each.startswith(".") or not path.is_file():
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(folder):
                continue
            yield path.relative_to(folder).as_posix(), path


def _stamp(path: Path) -> str:
    """Return a stamp that changes with the file; empty if that is not certain."""
    found = path.stat()
    if time.time() - found.st_mtime < RACY_SECONDS:
        return ""
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ino}"


def _read(path: Path, most: int) -> bytes:
    # Non-blocking, in case the file has been replaced by a pipe.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return stream.read(most + 1)
