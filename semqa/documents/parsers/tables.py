"""Tables: the rows of a file of comma-separated values."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from semqa.documents.parsers.plain import decode, table_lines
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.documents.document import Limits

_DELIMITERS = ",;\t|"
_STATED = re.compile(r"sep=([^\w\s\"]|\t)\r?\n", re.IGNORECASE)


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the rows as a table; the first one names the columns."""
    csv.field_size_limit(limits.characters)
    text = decode(name, data)
    stated = _STATED.match(text)  # a line that Excel writes and reads
    sign = stated[1] if stated else _delimiter(text)
    text = text[stated.end() :] if stated else text
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=sign)
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
    """Return the sign that stands equally often in the first lines, the most frequent one."""
    lines = [line for line in text[:20_000].splitlines()[:20] if line.strip()]
    if not lines:
        return ","
    counts = {sign: [line.count(sign) for line in lines] for sign in _DELIMITERS}
    return max(
        _DELIMITERS, key=lambda sign: (counts[sign][0] > 0, min(counts[sign]), counts[sign][0])
    )
