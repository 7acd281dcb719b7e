"""CSV and TSV files as Markdown tables."""

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
_SAMPLE_ROWS = 20
_SEP_LINE = re.compile(r"sep=([^\w\s\"]|\t)\r?\n", re.IGNORECASE)


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the rows as a table with the first one as the header."""
    csv.field_size_limit(max(limits.characters, _SAMPLE))
    text = decode(name, data)
    declared = _SEP_LINE.match(text)  # a line that Excel writes and reads
    delimiter = declared[1] if declared else _delimiter(text)
    text = text[declared.end() :] if declared else text
    rows = _rows(text, delimiter)
    try:
        lines = table_lines(_limited(rows, limits.characters))
    except csv.Error as error:
        raise InputError(f"Invalid CSV: {error}.", where=f"{name}:{rows.line_num}") from error
    return "", "\n".join(lines), ()


def _limited(rows: Iterator[list[str]], characters: int) -> Iterator[list[str]]:
    """Yield rows until the limit is exceeded; the caller then rejects the document."""
    size = 0
    for row in rows:
        yield row
        size += sum(map(len, row))
        if size > characters:
            return


def _delimiter(text: str) -> str:
    """Return the delimiter that splits most of the first rows into the same number of cells (> 1).

    Quoting is respected. Ties go to the delimiter that is rarer in prose.
    """

    def regular(delimiter: str) -> int:
        sizes: Counter[int] = Counter()
        with suppress(csv.Error):
            sizes.update(map(len, islice(_rows(text[:_SAMPLE], delimiter), _SAMPLE_ROWS)))
        return max((count for size, count in sizes.items() if size > 1), default=0)

    return max(_DELIMITERS, key=regular)


def _rows(text: str, delimiter: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
