"""The folder of a run: its files, and the one run that it holds."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from semqa.data.atomic import write_atomic
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "ABOUT_FILE",
    "EXAMPLES_FILE",
    "JUDGED_FILE",
    "RESULTS_FILE",
    "RUN_FILE",
    "claim",
    "make_folder",
    "other_key",
    "own_errors",
    "pretty",
    "read_object",
    "release",
]

ABOUT_FILE = "about.json"
EXAMPLES_FILE = "examples.jsonl"
JUDGED_FILE = "judged.jsonl"
RESULTS_FILE = "results.json"
RUN_FILE = "run.json"

_NAMES = ("data", "train")
"""Keys of an identity that may differ: a renamed copy is the same data, which its digest tells."""

_CHANGED = {
    "data_sha256": " (the data has other content now)",
    "train_sha256": " (the training data has other content now)",
    "engines_sha256": " (semqa's engines have changed since)",
    "asking_sha256": " (how semqa asks a model has changed since)",
}
"""What a digest that differs means, beside the others, which say it themselves."""


def make_folder(out: Path) -> None:
    """Make a folder where there is none.

    Raises:
        InputError: it cannot be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{out}: cannot be made: got {error.strerror!r}, expected a folder that can be written; "
            "choose another --out"
        ) from error


@contextmanager
def own_errors(out: Path) -> Iterator[None]:
    """Name the folder where its files cannot be read or written.

    What fails elsewhere while the block runs, such as in an engine, is left as it is.

    Args:
        out: the folder.

    Raises:
        InputError: the system refused a file of the folder.
    """
    try:
        yield
    except OSError as error:
        if not _lies_in(error.filename, out):
            raise
        raise InputError(
            f"{out}: cannot be used: got {error.strerror!r} for {error.filename}, expected a folder "
            "whose files can be read and written; choose another --out"
        ) from error


def claim(out: Path, identity: Mapping[str, object], about: Mapping[str, object]) -> bool:
    """Make the folder a run's, or see that it is.

    Args:
        out: the folder.
        identity: of the run, as `Plan.identity` tells it.
        about: what else is said of it, as `Plan.about` does.

    Returns:
        Whether the run has just begun.

    Raises:
        InputError: the folder holds another run.
    """
    path = out / RUN_FILE
    if not path.exists():
        if (out / EXAMPLES_FILE).exists():
            raise InputError(
                f"{out}: holds examples of an unknown run: got {EXAMPLES_FILE} without {RUN_FILE}, "
                "expected both or neither; use another folder"
            )
        started = datetime.now(UTC).isoformat(timespec="seconds")
        write_atomic(out / ABOUT_FILE, [pretty({**about, "started": started})])
        write_atomic(path, [pretty(identity)])
        return True
    found = read_object(path)
    if (key := other_key(found, identity)) is not None:
        raise InputError(
            f"{out}: holds another run: got {key} {found.get(key)!r} in {RUN_FILE}, expected "
            f"{identity.get(key)!r}{_CHANGED.get(key, '')}; use another folder, or remove this one to "
            "start afresh"
        )
    return False


def release(out: Path) -> None:
    """Give back a folder in which nothing was done."""
    for name in (RUN_FILE, ABOUT_FILE, EXAMPLES_FILE):
        (out / name).unlink(missing_ok=True)


def other_key(found: Mapping[str, object], identity: Mapping[str, object]) -> str | None:
    """Return the first key in which a run's file is not of this identity, or None.

    Args:
        found: what ``run.json`` holds.
        identity: as `Plan.identity` tells it.
    """
    expected = json.loads(json.dumps(identity))  # as the file went
    keys = (key for key in {**expected, **found} if key not in _NAMES)
    return next((key for key in keys if found.get(key) != expected.get(key)), None)


def read_object(path: Path) -> dict[str, object]:
    """Read a file of a run that holds one JSON object.

    Raises:
        InputError: it holds something else.
    """
    from semqa.data.files import decode_text, open_input
    from semqa.data.jsonl import as_row, decode_json

    with open_input(path) as file:
        return as_row(
            decode_json(decode_text(file.read_all(), file.name), file.name), file.name
        ).fields


def pretty(value: Mapping[str, object]) -> bytes:
    """Return an object as a file of a run holds it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    return (text + "\n").encode("utf-8")


def _lies_in(name: object, folder: Path) -> bool:
    return isinstance(name, str) and Path(os.path.realpath(folder)) in Path(_place(name)).parents


def _place(name: str) -> str:
    """Return where a file stands; a link that stands there is not followed."""
    folder, own = os.path.split(name)
    return f"{os.path.realpath(folder)}/{own}"
