"""A folder of files brought into a collection, and kept so."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from semqa.documents import SUFFIXES
from semqa.documents.document import check_name
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from semqa.retrieval.passages.collection import Collection, Prepared

PASSAGES = 256
"""Passages that are put there at a time: what a kill may cost."""

SECONDS = 20.0
"""Documents wait no longer than this for others."""

RACY_SECONDS = 2.0
"""A file that was changed so shortly before may change again without its time telling."""


@dataclass(slots=True)
class FolderReport:
    """What was done.

    Attributes:
        added: documents that were put there, new or in the place of others.
        unchanged: documents that were there already.
        removed: documents whose files are gone.
        skipped: files of kinds that are not read.
        failed: what is wrong with files that cannot be read, by name.
        passages: passages of the documents that were added.
        stopped: whether it ended before all files were looked at, as was wished.
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
    """Bring the files of a folder and those below it into a collection.

    Files that are there unchanged are not read. What was put there from this folder before and is
    no longer in it is removed. Documents of a folder that is gone are taken over if the same files are
    here. When this is cut off, what was done is done.

    Args:
        folder: the folder; hidden files and folders do not count, nor links that lead out of it.
        should_stop: asked before each file; when it says so, the rest is left for another time.

    Raises:
        InputError: it is no folder, or none of its files are of a kind that is read.
    """
    if not folder.is_dir():
        raise InputError("No such folder.", where=str(folder))
    origin = str(folder.resolve())
    report = FolderReport()
    names: dict[str, Path] = {}
    shut: list[str] = []
    for name, path in _files(folder.resolve(), report, shut):
        if path.suffix.lower() in SUFFIXES:
            names[name] = path
        else:
            report.skipped += 1
    if not names:
        raise InputError(
            f"No documents here; files of other kinds: {report.skipped}.",
            where=str(folder),
            hint=f"Documents end in {' '.join(SUFFIXES)}.",
        )
    there = {row["name"]: row for row in collection.stamps()}
    batch = _Batch(collection)
    for done, (name, path) in enumerate(sorted(names.items())):
        on_progress(done, len(names))
        if should_stop():
            report.stopped = True
            break
        _bring(batch, there.get(name), origin, name, path, report)
    batch.write()
    if report.stopped:
        return report
    gone = [
        row
        for row in there.values()
        if row["origin"] == origin
        and row["name"] not in names
        and not row["name"].startswith(tuple(shut))  # who knows what is in there
    ]
    collection.remove_all([row["id"] for row in gone])
    report.removed = len(gone)
    if report.added or report.removed:
        collection.optimize()
    on_progress(len(names), len(names))
    return report


def _bring(
    batch: _Batch,
    there: Mapping[str, str] | None,
    origin: str,
    name: str,
    path: Path,
    report: FolderReport,
) -> None:
    collection = batch.collection
    try:
        check_name(name)
        stamp = _stamp(path)
        own = there is not None and there["origin"] == origin
        fresh = there is not None and own and there["recipe"] == collection.recipe
        if there is not None and fresh and stamp and there["stamp"] == stamp:
            report.unchanged += 1
            return
        data = _read(path, collection.limits.size)
        same = there is not None and there["sha256"] == hashlib.sha256(data).hexdigest()
        if there is not None and not own and not (same and _is_gone(there["origin"])):
            raise InputError(
                f"The collection has a document of this name from {there['origin'] or 'an upload'}.",
                where=name,
                hint="Choose another collection.",
            )
        if there is not None and fresh and same:
            report.unchanged += 1
            if stamp:
                batch.stamps[there["id"]] = stamp
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
    batch.add(prepared)


def _is_gone(origin: str) -> bool:
    """Whether a folder that documents came from is no longer there: it may have been moved."""
    return bool(origin) and not Path(origin).is_dir()


class _Batch:
    """Documents that are put there together: one commit costs as much as one for many."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.stamps: dict[str, str] = {}
        """New stamps of documents that are there as they were."""
        self._waiting: list[Prepared] = []
        self._since = 0.0

    def add(self, prepared: Prepared) -> None:
        self._since = self._since if self._waiting else time.monotonic()
        self._waiting.append(prepared)
        passages = sum(len(each.passages) for each in self._waiting)
        if passages >= PASSAGES or time.monotonic() - self._since >= SECONDS:
            self.write()

    def write(self) -> None:
        self.collection.commit(self._waiting, more=True)
        self._waiting = []
        self.collection.stamp(self.stamps)
        self.stamps = {}


def _files(folder: Path, report: FolderReport, shut: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield the files of a folder and below, by their names with ``/`` between folders.

    Folders that cannot be looked into are reported, and noted with a ``/``.
    """

    def note(error: OSError) -> None:
        name = Path(error.filename).relative_to(folder).as_posix()
        shut.append("" if name == "." else f"{name}/")
        report.failed[shut[-1]] = f"{name!a}: cannot be read: {error.strerror or error}"

    for where, folders, files in os.walk(folder, onerror=note):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for each in files:
            path = Path(where, each)
            if each.startswith(".") or not path.is_file():
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(folder):
                continue
            yield path.relative_to(folder).as_posix(), path


def _stamp(path: Path) -> str:
    """Return what changes when a file does; nothing where that cannot be relied upon."""
    found = path.stat()
    if time.time() - found.st_mtime < RACY_SECONDS:
        return ""
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ino}"


def _read(path: Path, most: int) -> bytes:
    # Who put a pipe in the file's place must not make this wait for its other end.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no file any more")
        return stream.read(most + 1)
