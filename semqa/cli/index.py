"""``semqa index``: index a folder of documents as a collection."""

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

from semqa.cli.collections import OwnerOptions, size_text
from semqa.cli.options import AsJson
from semqa.cli.output import STOPPED, json_line, progress_bar, say, write_result
from semqa.data.files import data_folder
from semqa.documents import Limits
from semqa.errors import InputError

SECONDS = 600.0
"""Timeout for reading one file."""

MAX_SHOWN_FAILURES = 20
"""Maximum number of unreadable files to list."""


def index(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with documents.")],
    collection: Annotated[
        str | None, typer.Option(help="Name of the collection.", show_default="the folder's name")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Index a folder of documents as a collection, or update the collection.

    Reads txt, md, html, pdf, docx, csv, jsonl and eml. Unchanged files are skipped.
    If you stop it, run the same command again to continue.
    """
    from semqa.engines.extractive import ExtractiveEngine
    from semqa.retrieval.passages import Library
    from semqa.retrieval.passages.folder import index_folder

    if not folder.is_dir():
        raise InputError(
            "This is a file, not a folder." if folder.exists() else "No such folder.",
            where=str(folder),
        )
    name = collection if collection is not None else (folder.resolve().name or "documents")
    options: OwnerOptions = ctx.obj[OwnerOptions]
    library = Library(
        data_folder(options.data) / "library",
        read_ahead=ExtractiveEngine().read_ahead,
        limits=Limits(seconds=SECONDS),  # local files may take longer than uploads
    )
    owner_id = options.owner_id()
    existed = name in library.names(owner_id)
    target = library.obtain(owner_id, name)
    started = time.perf_counter()
    try:
        with progress_bar(name, "files") as progress, _interruptible() as interrupted:
            report = index_folder(target, folder, progress, interrupted.is_set)
    except InputError:
        if not existed:  # the folder has no documents
            library.delete(owner_id, name)
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
            "unsupported": report.skipped,
        }
        done = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        size = size_text(total.documents, total.passages)
        write_result(f"{name}: {done or 'nothing to do'}; {size} in {seconds:.1f} s")
        for message in list(report.failed.values())[:MAX_SHOWN_FAILURES]:
            say(message)
        if len(report.failed) > MAX_SHOWN_FAILURES:
            say(f"… and {len(report.failed) - MAX_SHOWN_FAILURES} more unreadable files")
    if report.stopped:
        say(STOPPED)
        raise typer.Exit(130)
    if report.failed:
        raise typer.Exit(1)


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Let the first Ctrl-C request a clean stop, and the second one interrupt at once."""
    stop_requested = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop_requested.is_set():
            signal.default_int_handler(number, frame)
        stop_requested.set()
        say("stopping after the files in progress; press Ctrl-C again to stop now")

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield stop_requested
    finally:
        signal.signal(signal.SIGINT, previous)
