"""Tables: the rows of a file of comma-separated values."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from semqa.documents.parsers.plain import decode, table_lines
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.documents.document import Limits

_DELIMITERS = "\t|;,"
_SAMPLE = 20_000
_FIRST = 20
_STATED = re.compile(r"sep=([^\w\s\"]|\t)\r?\n", re.IGNORECASE)


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the rows as a table; the first one names the columns."""
    csv.field_size_limit(max(limits.characters, _SAMPLE))
    text = decode(name, data)
    stated = _STATED.match(text)  # a line that Excel writes and reads
    sign = stated[1] if stated else _delimiter(text)
    text = text[stated.end() :] if stated else text
    rows = _rows(text, sign)
    try:
        lines = table_lines(_within(rows, limits.characters))
    except csv.Error as error:
        raise InputError(f"Invalid CSV: {error}.", where=f"{name}:{rows.line_num}") from error
    return "", "\n".join(lines), ()


def _within(rows: Iterator[list[str]], characters: int) -> Iterator[list[str]]:
    """Yield rows until there are more characters than may be: the caller will refuse them."""
    size = 0
    for row in rows:
        yield row
        size += sum(map(len, row))
        if size > characters:
            return


def _delimiter(text: str) -> str:
    """Return the sign that cuts most of the first rows into the same number of cells, two or more.

    Quoted cells are read as such. Of equally good signs, the one that is rarer in prose is taken.
    """

    def regular(sign: str) -> int:
        sizes: Counter[int] = Counter()
        with suppress(csv.Error):
            sizes.update(map(len, islice(_rows(text[:_SAMPLE], sign), _FIRST)))
        return max((count for size, count in sizes.items() if size > 1), default=0)

    return max(_DELIMITERS, key=regular)


def _rows(text: str, sign: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=sign)
