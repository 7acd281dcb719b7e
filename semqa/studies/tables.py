"""Released tables as inputs of a study: they are kept unchanged, and exported with new labels.

Records whose cells do not change are written byte for byte as read. `LabelledTables` is the base of
tasks in which each row, or each cell of some columns, gets one label.
"""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from semqa.data.csv_rows import CsvFile, CsvRecord, columns_of, csv_of, encode_csv
from semqa.data.files import ByteBudget, InputFile, open_input
from semqa.errors import InputError
from semqa.studies.kind import Input, Item, Kind, Rated, Study, csv_lines, majority, tied

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


def filled(file: CsvFile, cells: Mapping[int, Mapping[str, str]]) -> CsvFile:
    """Return a table with some cells replaced, by row index and column; missing columns are added.

    Records whose cells do not change are kept as they were written.
    """
    named = sorted({name for own in cells.values() for name in own})
    new = [name for name in named if column(file, name) is None]
    records = file.records
    if new:
        file = replace(file, header=(*file.header, *new), header_raw="")
        empty = ("",) * len(new)
        records = tuple(CsvRecord(each.where, (*each.cells, *empty)) for each in records)
    places = {name: column(file, name) for name in named}
    found = []
    for row, record in enumerate(records):
        given = {places[name]: cell for name, cell in cells.get(row, {}).items()}
        changed = tuple(given.get(place, cell) for place, cell in enumerate(record.cells))
        found.append(record if changed == record.cells else CsvRecord(record.where, changed))
    return replace(file, records=tuple(found))


ADJUDICATED, INDEPENDENT = "adjudicated", "independent"


class LabelledTables(Kind):
    """A task in which each item of released tables gets one label, the answer to `question`.

    Two raters judge each item. If they disagree, a third one judges it without seeing their labels.
    The design ``independent`` asks any number of raters and does not adjudicate.
    """

    designs = (ADJUDICATED, INDEPENDENT)
    per_item = 2
    adjudicated = (ADJUDICATED,)
    question: str

    @abstractmethod
    def labels(
        self, name: str, file: CsvFile, verdicts: Mapping[tuple[str, ...], Any]
    ) -> Mapping[int, Mapping[str, str]]:
        """Return the labels of a table's items, by row index and column; empty if None."""

    @abstractmethod
    def cells(self, item: Item, label: Any, *, several: bool) -> Mapping[str, Any]:
        """Return an item's cells by column; `several` if there are several files."""

    def keep(self, inputs: Sequence[Input]) -> dict[str, bytes]:
        return kept_tables(inputs)

    def undecided(self, item: Item, given: Sequence[Mapping[str, Any]]) -> bool:
        return tied(values[self.question] for values in given)

    def verdicts(self, ratings: Sequence[Rated]) -> dict[tuple[str, ...], Any]:
        """Return the majority label of each item by key, or None if there is a tie."""
        votes: dict[tuple[str, ...], list[Any]] = {}
        for each in ratings:
            votes.setdefault(self.key(each.item), []).append(each.values[self.question])
        return {key: majority(given) for key, given in votes.items()}

    def table(self, study: Study, ratings: Sequence[Rated]) -> Iterable[bytes]:
        verdicts = self.verdicts(ratings)
        several = len({item.data["file"] for item in study.items}) > 1
        rows = (
            self.cells(item, verdicts.get(self.key(item)), several=several)
            for item in study.ordinary_items
        )
        return csv_lines(self.columns, rows)

    def tables(self, study: Study, ratings: Sequence[Rated]) -> dict[str, Iterable[bytes]]:
        # Items without ratings get an empty label, so that the file's own is not taken for theirs.
        verdicts: dict[tuple[str, ...], Any] = {
            self.key(each): None for each in study.ordinary_items
        }
        verdicts |= self.verdicts(ratings)
        return {
            name: encode_csv(filled(file, self.labels(name, file, verdicts)))
            for name, file in read_kept(study).items()
        }
