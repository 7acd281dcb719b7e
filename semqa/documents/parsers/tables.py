"""Tables: each row as a paragraph that names its columns."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import TYPE_CHECKING

from semqa.documents.parsers.plain import decode
from semqa.documents.parsers.records import as_text
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.documents.limits import Limits

__all__ = ["parse"]

_DELIMITERS = ",;\t|"


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the rows as text; the first one names the columns."""
    csv.field_size_limit(limits.characters)
    text = decode(name, data)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    parts: list[str] = []
    size = 0
    try:
        header = _distinct([column.strip() for column in next(rows, [])])
        for row in rows:
            named = {
                header[i] if i < len(header) and header[i] else f"column {i + 1}": value
                for i, value in enumerate(row)
            }
            parts.append(as_text(named))
            size += len(parts[-1])
            if size > limits.characters:
                break  # too long, as whoever asked will say
    except csv.Error as error:
        raise InputError(
            f"{name}: line {rows.line_num}: cannot be read: got {error}, expected comma-separated "
            "values; correct it"
        ) from error
    if not parts:
        parts = [", ".join(header)]
    return "", "\n\n".join(filter(None, parts)), ()


def _distinct(names: list[str]) -> list[str]:
    """Return names of columns, those that are there before with a number.

    Example:
        >>> _distinct(["name", "", "name"])
        ['name', '', 'name (2)']
    """
    counts: Counter[str] = Counter()
    found = []
    for name in names:
        counts[name] += 1
        again = name and counts[name] > 1
        found.append(f"{name} ({counts[name]})" if again else name)
    return found


def _delimiter(text: str) -> str:
    """Return the sign that stands equally often in the first lines, the most frequent one."""
    lines = [line for line in text[:20_000].splitlines()[:20] if line.strip()]
    if not lines:
        return ","
    counts = {sign: [line.count(sign) for line in lines] for sign in _DELIMITERS}
    return max(
        _DELIMITERS, key=lambda sign: (counts[sign][0] > 0, min(counts[sign]), counts[sign][0])
    )
