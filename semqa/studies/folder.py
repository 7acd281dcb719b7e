"""The files of a study, except for its database."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from semqa.data.files import make_folder, write_atomic
from semqa.data.jsonl import as_row, decode_json, encode_row, read_rows
from semqa.errors import InputError
from semqa.studies.kind import Item, Kind
from semqa.studies.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from semqa.data.jsonl import Row

FORMAT = 1
STUDY_FILE = "study.json"
ITEMS_FILE = "items.jsonl"
GUIDELINES_FILE = "guidelines.md"
DATABASE_FILE = "study.db"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a study.

    Attributes:
        kind: name of the task.
        design: variant of the task.
        per_item: ratings per item.
        qualify: number of gold items that each rater must begin with.
        threshold: share of the qualifying items that a rater must get right to continue.
        pilot: number of items that every rater gets first. If the study has reviewers, they must
            accept these before the rater continues.
        batch: size of the batches in which items are assigned, one after the other; 0 for all.
    """

    kind: str
    title: str
    design: str
    per_item: int
    qualify: int = 0
    threshold: float = 0.8
    seed: int = 0
    pilot: int = 0
    batch: int = 0

    def __post_init__(self) -> None:
        kind = kind_of(self.kind)
        if self.design not in kind.designs:
            raise InputError(
                f"must be one of {', '.join(kind.designs)}, got {self.design!r}.", field="design"
            )
        for name, least in (("per_item", 1), ("qualify", 0), ("pilot", 0), ("batch", 0)):
            if (given := getattr(self, name)) < least:
                raise InputError(f"must be at least {least}, got {given}.", field=name)
        if not 0 <= self.threshold <= 1:
            raise InputError(f"must be from 0 to 1, got {self.threshold}.", field="threshold")


@dataclass(frozen=True, slots=True)
class Study:
    """A study's settings and items.

    Attributes:
        items: the items; item number *k* is ``items[k - 1]``.
    """

    folder: Path
    settings: Settings
    items: tuple[Item, ...] = field(repr=False)
    guidelines: str = field(repr=False)

    @property
    def kind(self) -> Kind:
        """The task."""
        return kind_of(self.settings.kind)

    @property
    def database(self) -> Path:
        """Path of the database."""
        return self.folder / DATABASE_FILE

    @property
    def places(self) -> dict[tuple[str, ...], int]:
        """The numbers of the items by key."""
        return {self.kind.key(item): number for number, item in enumerate(self.items, 1)}

    @property
    def gold(self) -> list[int]:
        """The numbers of the gold items."""
        return [n for n, item in enumerate(self.items, 1) if item.expected is not None]

    @property
    def ordinary(self) -> list[int]:
        """The numbers of the items to rate, without gold items and the survey."""
        return [n for n, item in enumerate(self.items, 1) if _ordinary(item)]

    @property
    def closing(self) -> list[int]:
        """The number of the survey, if there is one."""
        return [n for n, item in enumerate(self.items, 1) if item.closing]

    @property
    def ordinary_items(self) -> list[Item]:
        """The items to rate, without gold items and the survey."""
        return [item for item in self.items if _ordinary(item)]

    @property
    def pilot(self) -> list[int]:
        """The numbers of the pilot items."""
        return self.ordinary[: self.settings.pilot]

    @property
    def rounds(self) -> list[list[int]]:
        """The numbers of the items to rate by round: the (possibly empty) pilot, then batches."""
        rest = self.ordinary[self.settings.pilot :]
        size = self.settings.batch or max(1, len(rest))
        return [self.pilot, *(rest[at : at + size] for at in range(0, len(rest), size))]

    @classmethod
    def create(
        cls,
        folder: Path,
        settings: Settings,
        items: Sequence[Item],
        kept: Mapping[str, bytes] | None = None,
    ) -> Self:
        """Create a study folder with all files except `study.json`, which `finish` writes."""
        kind = kind_of(settings.kind)
        study = cls(folder, settings, tuple(items), kind.guidelines(settings.design))
        study._check()
        make_folder(folder, private=True)
        try:
            held = [each.name for each in folder.iterdir() if not each.name.startswith(".")]
        except OSError as error:
            raise InputError(f"Cannot read the folder {folder}: {error.strerror}.") from error
        if held:
            raise InputError(f"The folder {folder} is not empty. Choose another one.")
        for name, content in (kept or {}).items():
            write_atomic(folder / name, [content])
        write_atomic(folder / ITEMS_FILE, (encode_row(_row(item)) for item in items))
        write_atomic(folder / GUIDELINES_FILE, [study.guidelines.encode()])
        return study

    def finish(self) -> None:
        """Write `study.json`, which makes the folder a valid study."""
        about = {"format": FORMAT, **asdict(self.settings)}
        write_atomic(self.folder / STUDY_FILE, [(json.dumps(about, indent=2) + "\n").encode()])

    @classmethod
    def open(cls, folder: Path) -> Self:
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
            settings = Settings(**about)  # type: ignore[arg-type]
        except (TypeError, InputError) as error:
            raise InputError(f"Invalid settings: {error}", where=str(path)) from error
        items = tuple(map(_item, read_rows(folder / ITEMS_FILE)))
        study = cls(folder, settings, items, guidelines)
        study._check()
        return study

    def _check(self) -> None:
        if not self.ordinary:
            raise InputError("There are no items to rate.")
        if self.settings.qualify > len(self.gold):
            raise InputError(
                f"must be at most {len(self.gold)}, the number of gold items, got "
                f"{self.settings.qualify}.",
                field="qualify",
            )
        seen: dict[tuple[str, ...], int] = {}
        for number, item in enumerate(self.items, 1):
            first = seen.setdefault(self.kind.key(item), number)
            if first != number:
                raise InputError(
                    f"Item {number} duplicates item {first}: {' '.join(self.kind.key(item))}."
                )
            try:
                stages = self.kind.stages(item, self.settings.design)
            except InputError as error:
                error.where = f"item {number}"
                raise
            if item.expected is not None:
                _check_gold(item, [q.id for s in stages for q in s.questions], number)


def _ordinary(item: Item) -> bool:
    return item.expected is None and not item.closing


def _check_gold(item: Item, questions: Sequence[str], number: int) -> None:
    unknown = [name for name in item.expected or {} if name not in questions]
    if unknown or not item.expected:
        raise InputError(
            f"must have the expected answer to one or more of {', '.join(questions)}.",
            field="expected",
            where=f"item {number}",
        )


def _row(item: Item) -> dict[str, Any]:
    row: dict[str, Any] = {"item": item.item, "system": item.system, "data": dict(item.data)}
    if item.expected is not None:
        row["expected"] = dict(item.expected)
    if item.closing:
        row["closing"] = True
    return row


def _item(row: Row) -> Item:
    found = [row.fields.get(name) for name in ("data", "expected")]
    if not isinstance(found[0], dict) or not isinstance(found[1], dict | None):
        raise InputError("must be an object.", field="data", where=row.where)
    closing = row.fields.get("closing") is True
    return Item(row.text("item"), row.text("system"), found[0], found[1], closing)
