"""Released tables as inputs of a study: they are kept unchanged, and exported with new labels.

Records whose cells do not change are written byte for byte as read. `LabelledTables` is the base of
tasks in which each row, or each cell of some columns, gets one label.
"""

from __future__ import annotations

import io
from abc import abstractmethod
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.data.csv_rows import (
    CsvFile,
    CsvRecord,
    columns_of,
    csv_of,
    encode_csv,
    encode_record,
)
from semqa.data.files import ByteBudget, InputFile, open_input
from semqa.errors import InputError
from semqa.studies.kind import (
    ImportedRating,
    Item,
    Kind,
    has_raters,
    json_bytes,
    majority,
    tied,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from semqa.studies.kind import Format, Input, Rated, Study

_PREFIX = "released-"


def kept_tables(inputs: Sequence[Input]) -> dict[str, bytes]:
    """Return the CSV files among the inputs, except gold files, for `Kind.keep`."""
    kept: dict[str, bytes] = {}
    for each in inputs:
        if each.gold or each.path.suffix.lower() != ".csv":
            continue
        name = _PREFIX + each.path.name
        if name in kept:
            raise InputError(f"Two input files are named {each.path.name}.")
        with open_input(each.path) as file:
            kept[name] = file.read_all()
    return kept


def read_kept(study: Study) -> dict[str, CsvFile]:
    """Return the kept tables of a study, sorted by name."""
    found: dict[str, CsvFile] = {}
    for path in sorted(study.folder.glob(_PREFIX + "*")):
        name = path.name.removeprefix(_PREFIX)
        found[name] = csv_of(InputFile(name, io.BytesIO(path.read_bytes()), ByteBudget()))
    return found


def column(file: CsvFile, name: str) -> int | None:
    """Return the index of a column, ignoring case; None if it is missing."""
    names = [header.strip().casefold() for header in file.header]
    return names.index(name.casefold()) if name.casefold() in names else None


def row_ids(file: CsvFile, first: int) -> list[str]:
    """Return the ids of rows as the readers see them: the column ``id``, or else their number."""
    place = columns_of(file.header, file.name).get("id")
    return [
        (place is not None and record.cells[place]) or str(number)
        for number, record in enumerate(file.records, first)
    ]


def with_columns(file: CsvFile, names: Sequence[str]) -> CsvFile:
    """Return a table with these columns; missing ones are added at the end, empty."""
    new = [name for name in names if column(file, name) is None]
    if not new:
        return file
    records = tuple(
        CsvRecord(each.where, (*each.cells, *("" for _ in new))) for each in file.records
    )
    return CsvFile(file.name, (*file.header, *new), records, "", file.marked, file.tail)


def with_cells(record: CsvRecord, cells: Mapping[int, str]) -> CsvRecord:
    """Return a record with some cells replaced, by index; the same record if nothing changes."""
    new = tuple(cells.get(place, cell) for place, cell in enumerate(record.cells))
    return record if new == record.cells else CsvRecord(record.where, new)


def with_records(file: CsvFile, records: Iterable[CsvRecord]) -> CsvFile:
    """Return a table with its records replaced."""
    return CsvFile(file.name, file.header, tuple(records), file.header_raw, file.marked, file.tail)


ADJUDICATED, INDEPENDENT = "adjudicated", "independent"


class Entry(NamedTuple):
    """An item of an input file, its label (or None) and its position for error messages."""

    item: Item
    label: Any
    where: str


class LabelledTables(Kind):
    """A task in which each item of released tables gets one label.

    Two raters judge each item. If they disagree, a third one judges it without seeing their labels.
    The design ``independent`` asks any number of raters and does not adjudicate.

    Attributes:
        question: id of the question that asks for the label.
        texts: fields of an item's data that must match when labels are imported.
        plain: columns of a CSV export if there is not exactly one kept table.
    """

    designs = (ADJUDICATED, INDEPENDENT)
    per_item = 2
    adjudicated = (ADJUDICATED,)
    question: str
    texts: tuple[str, ...]
    plain: tuple[str, ...]

    @abstractmethod
    def entries(self, given: Input) -> list[Entry]:
        """Read the items of a file, in order."""

    @abstractmethod
    def row(self, rated: Rated) -> dict[str, Any]:
        """Return a rating as a row of JSON lines."""

    @abstractmethod
    def labelled(
        self, name: str, file: CsvFile, verdicts: Mapping[tuple[str, ...], Any]
    ) -> CsvFile:
        """Return a table with the labels of rated items filled in; other labels are kept."""

    @abstractmethod
    def cells(self, item: Item, label: Any, *, several: bool) -> Mapping[str, Any]:
        """Return an item's cells by column of `plain`; `several` if there are several files."""

    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        del design
        return [entry.item for each in inputs for entry in self.entries(each)]

    def keep(self, inputs: Sequence[Input]) -> dict[str, bytes]:
        return kept_tables(inputs)

    def undecided(self, item: Item, given: Sequence[Mapping[str, Any]]) -> bool:
        del item
        return tied(values[self.question] for values in given)

    def imported(self, study: Study, inputs: Sequence[Input]) -> list[ImportedRating]:
        """Read ratings by rater, or labels; if the study has one file, its name may differ."""
        rated = [each for each in inputs if has_raters(each)]
        found = super().imported(study, rated)
        places = study.places
        joined = {"/".join(filter(None, key)): place for key, place in places.items()}
        names = sorted({str(item.data["file"]) for item in study.ordinary_items})
        texts = [self._texts(item) for item in study.items]
        # Rows move to another file if their class is in its name.
        counts = Counter(texts)
        moved = {text: n for n, text in enumerate(texts, 1) if counts[text] == 1}
        for entry in (
            entry for each in inputs if each not in rated for entry in self.entries(each)
        ):
            item = entry.item
            if len(names) == 1:
                item = replace(item, data={**item.data, "file": names[0]})
            place = places.get(self.key(item)) or joined.get(item.item)
            if place is None or texts[place - 1] != self._texts(item):
                place = moved.get(self._texts(item))
            if place is None:
                raise InputError(
                    f"This row is not in the study, which has the rows of {', '.join(names)}.",
                    where=entry.where,
                )
            if entry.label is not None:
                found.append(ImportedRating(place, {self.question: entry.label}))
        return found

    def _texts(self, item: Item) -> tuple[Any, ...]:
        return tuple(item.data[name] for name in self.texts)

    def verdicts(self, ratings: Sequence[Rated]) -> dict[tuple[str, ...], Any]:
        """Return the majority label of each item by key, or None if there is a tie."""
        votes: dict[tuple[str, ...], list[Any]] = {}
        for each in ratings:
            votes.setdefault(self.key(each.item), []).append(each.values[self.question])
        return {key: majority(given) for key, given in votes.items()}

    def export(self, study: Study, ratings: Sequence[Rated], form: Format) -> Iterable[bytes]:
        """Return a JSON line per rating, or the input table with labels."""
        if form == "jsonl":
            return [json_bytes(self.row(each)) for each in ratings]
        kept = read_kept(study)
        verdicts = self.verdicts(ratings)
        if len(kept) == 1:
            ((name, file),) = kept.items()
            return encode_csv(self.labelled(name, file, verdicts))
        several = len({item.data["file"] for item in study.items}) > 1
        rows = [
            self.cells(item, verdicts.get(self.key(item)), several=several)
            for item in study.ordinary_items
        ]
        lines = [self.plain, *([str(row.get(name, "")) for name in self.plain] for row in rows)]
        return [encode_record(line).encode() for line in lines]

    def tables(self, study: Study, ratings: Sequence[Rated]) -> dict[str, Iterable[bytes]]:
        verdicts = self.verdicts(ratings)
        return {
            name: encode_csv(self.labelled(name, file, verdicts))
            for name, file in read_kept(study).items()
        }
