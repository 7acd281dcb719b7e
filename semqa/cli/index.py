"""``semqa index``: a folder of documents, ready to be asked."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from semqa.cli.collections import told_size
from semqa.cli.keys import Database, OwnerId, OwnerKey, find_owner
from semqa.cli.options import AsJson, DataFolder
from semqa.cli.output import json_line, progress_bar, say, write_result
from semqa.data.home import data_folder
from semqa.errors import InputError

SECONDS = 600.0
"""Time to read a file."""

SHOWN = 20
"""Files that cannot be read which are named; more are counted."""


def index(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A folder with documents.", show_default=False),
    ],
    collection: Annotated[
        str | None,
        typer.Option(help="The collection to put them in.", show_default="the folder's name"),
    ] = None,
    data: DataFolder = None,
    encoder: Annotated[
        str,
        typer.Option(
            help="The model that compares passages with questions by their meaning; auto is the "
            "packaged one, none compares words only."
        ),
    ] = "auto",
    owner: OwnerId = None,
    api_key: OwnerKey = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Bring a folder of documents into a collection, or bring the collection up to date.

    Reads txt, md, html, pdf, docx, csv and jsonl. Files that did not change
    are not read again. Stop it when you like: it goes on where it was.
    """
    from semqa.documents import Limits
    from semqa.engines.extractive import ExtractiveEngine
    from semqa.retrieval.passages import Library
    from semqa.retrieval.passages.folder import index_folder

    if not folder.is_dir():
        raise InputError(
            "This is a file, not a folder." if folder.exists() else "No such folder.",
            where=str(folder),
        )
    name = collection if collection is not None else (folder.resolve().name or "documents")
    where = data_folder(data) / "library"
    library = Library(
        where,
        encoder=None if encoder == "none" else encoder,
        read_ahead=None if encoder == "none" else ExtractiveEngine().read_ahead,
        limits=Limits(seconds=SECONDS),  # one's own files are trusted to be worth the wait
    )
    whose = find_owner(owner, api_key, data, database)
    existed = name in library.names(whose)
    target = library.obtain(whose, name)
    started = time.perf_counter()
    try:
        with progress_bar(name, "files") as progress, _interruptible() as interrupted:
            report = index_folder(
                target, folder, progress or (lambda _done, _total: None), interrupted.is_set
            )
    except InputError:
        if not existed:  # the folder has no documents
            library.delete(whose, name)
        raise
    seconds = time.perf_counter() - started
    total = target.info()
    if as_json:
        record = {
            "collection": name,
            **asdict(report),
            "documents": total.documents,
            "total_passages": total.passages,
            "encoder": library.encoder,
            "seconds": round(seconds, 3),
        }
        write_result(json_line(record))
    else:
        counts = {
            "added": report.added,
            "unchanged": report.unchanged,
            "removed": report.removed,
            "failed": len(report.failed),
            "of other kinds": report.skipped,
        }
        done = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        held = told_size(total.documents, total.passages)
        write_result(f"{name}: {done or 'nothing to do'}; {held} in {seconds:.1f} s")
        for message in list(report.failed.values())[:SHOWN]:
            say(message)
        if len(report.failed) > SHOWN:
            say(f"… and {len(report.failed) - SHOWN} more files that cannot be read")
    if report.stopped:
        say("stopped; the same command goes on from here")
        raise typer.Exit(130)
    if report.failed:
        raise typer.Exit(1)


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Have the first Ctrl-C wish for an end, and the second one force it."""
    wished = threading.Event()

    def wish(number: int, frame: FrameType | None) -> None:
        if wished.is_set():
            signal.default_int_handler(number, frame)
        wished.set()
        say("stopping after what is under way; press Ctrl-C again to stop at once")

    before = signal.signal(signal.SIGINT, wish)
    try:
        yield wished
    finally:
        signal.signal(signal.SIGINT, before)
