"""The files of a study, except for its database, and the registry of tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from semqa.data.files import make_folder, write_atomic
from semqa.data.jsonl import Row, as_row, decode_json, encode_row, read_rows
from semqa.errors import InputError
from semqa.studies.ais import Ais
from semqa.studies.answers import Answers
from semqa.studies.attrscore import AttrScore
from semqa.studies.explanations import Explanations
from semqa.studies.kind import Item, Kind, Settings, Study
from semqa.studies.q2 import Q2
from semqa.studies.tofueval import TofuEval
from semqa.studies.writing import Writing

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (Ais(), Answers(), TofuEval(), Explanations(), AttrScore(), Q2(), Writing())
}
"""Tasks by their name on the command line."""


def kind_of(name: str) -> Kind:
    """Return a task by name."""
    if name not in KINDS:
        raise InputError(f"must be one of {', '.join(KINDS)}, got {name!r}.", field="kind")
    return KINDS[name]


FORMAT = 1
STUDY_FILE = "study.json"
ITEMS_FILE = "items.jsonl"
GUIDELINES_FILE = "guidelines.md"
DATABASE_FILE = "study.db"


def create_study(
    folder: Path,
    settings: Settings,
    items: Sequence[Item],
    kept: Mapping[str, bytes] | None = None,
) -> Study:
    """Create a study folder with all files except `study.json`, which `finish_study` writes."""
    study = Study(folder, settings, tuple(items), settings.kind.guidelines(settings.design))
    _check(study)
    make_folder(folder, private=True)
    try:
        held = [each.name for each in folder.iterdir() if not each.name.startswith(".")]
    except OSError as error:
        raise InputError(f"Cannot read the folder {folder}: {error.strerror}.") from error
    if held:
        raise InputError(f"The folder {folder} is not empty. Choose another one.")
    for name, content in (kept or {}).items():
        write_atomic(folder / name, [content])
    rows = ({k: v for k, v in asdict(item).items() if v is not None} for item in items)
    write_atomic(folder / ITEMS_FILE, map(encode_row, rows))
    write_atomic(folder / GUIDELINES_FILE, [study.guidelines.encode()])
    return study


def finish_study(study: Study) -> None:
    """Write `study.json`, which makes the folder a valid study."""
    about = {"format": FORMAT, **asdict(study.settings), "kind": study.kind.name}
    write_atomic(study.folder / STUDY_FILE, [(json.dumps(about, indent=2) + "\n").encode()])


def open_study(folder: Path) -> Study:
    """Read a study folder."""
    path = folder / STUDY_FILE
    try:
        text = path.read_text(encoding="utf-8")
        guidelines = (folder / GUIDELINES_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(
            f"{folder} is not a study: {path.name} cannot be read: {why}.",
            hint="Create one with semqa study new.",
        ) from error
    about = as_row(decode_json(text, str(path)), str(path)).fields
    if about.pop("format", None) != FORMAT:
        raise InputError(f"must be {FORMAT}.", field="format", where=str(path))
    try:
        settings = Settings(kind_of(str(about.pop("kind", ""))), **about)  # type: ignore[arg-type]
    except (TypeError, InputError) as error:
        raise InputError(f"Invalid settings: {error}", where=str(path)) from error
    items = tuple(map(_item, read_rows(folder / ITEMS_FILE)))
    study = Study(folder, settings, items, guidelines)
    _check(study)
    return study


def _check(study: Study) -> None:
    if not study.ordinary:
        raise InputError("There are no items to rate.")
    if study.settings.qualify > len(study.gold):
        raise InputError(
            f"must be at most {len(study.gold)}, the number of gold items, got "
            f"{study.settings.qualify}.",
            field="qualify",
        )
    seen: dict[tuple[str, ...], int] = {}
    for number, item in enumerate(study.items, 1):
        first = seen.setdefault(study.kind.key(item), number)
        if first != number:
            raise InputError(
                f"Item {number} duplicates item {first}: {' '.join(study.kind.key(item))}."
            )
        try:
            stages = study.kind.stages(item, study.settings.design)
        except InputError as error:
            error.where = f"item {number}"
            raise
        if item.expected is not None:
            _check_gold(item, [q.id for s in stages for q in s.questions], number)


def _check_gold(item: Item, questions: Sequence[str], number: int) -> None:
    unknown = [name for name in item.expected or {} if name not in questions]
    if unknown or not item.expected:
        raise InputError(
            f"must have the expected answer to one or more of {', '.join(questions)}.",
            field="expected",
            where=f"item {number}",
        )


def _item(row: Row) -> Item:
    found = [row.fields.get(name) for name in ("data", "expected")]
    if not isinstance(found[0], dict) or not isinstance(found[1], dict | None):
        raise InputError("must be an object.", field="data", where=row.where)
    return Item(row.text("item"), row.text("system"), found[0], found[1])
