"""Plain text and its encodings, and lines of text for tables and numbered items."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.documents.document import Limits

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_LARGEST = 3999


def numeral(number: int, style: str) -> str:
    """Return a number in a style of HTML's lists: ``1``, ``a``, ``A``, ``i`` or ``I``.

    A number that the style cannot write is decimal.

    Example:
        >>> numeral(4, "i"), numeral(28, "A"), numeral(0, "a")
        ('iv', 'AB', '0')
    """
    if style.lower() not in ("a", "i") or not 0 < number <= _LARGEST:
        return str(number)
    text = ""
    if style.lower() == "a":
        while number:
            number, rest = divmod(number - 1, 26)
            text = chr(ord("a") + rest) + text
    else:
        for value, sign in _ROMAN:
            text += sign * (number // value)
            number %= value
    return text.upper() if style.isupper() else text


def table_lines(rows: Iterable[Sequence[str]], *, headless: bool = False) -> list[str]:
    """Return the lines of a table; the first row with any text is its header, if it has more rows.

    Args:
        headless: whether the table has no header; an empty one stands in its place.

    Example:
        >>> table_lines([["Year", "Ships"], ["1890", "12"]])
        ['| Year | Ships |', '| --- | --- |', '| 1890 | 12 |']
    """
    cleaned = ([" ".join(cell.split()) for cell in row] for row in rows)
    lines = [(_line(cells), len(cells)) for cells in cleaned if any(cells)]
    if not lines:
        return []
    width = lines[0][1]
    if headless or len(lines) == 1:
        lines.insert(0, (_line([""] * width), width))
    lines.insert(1, (_line(["---"] * width), width))
    return [line for line, _ in lines]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


_SAMPLE = 2**16
_TELLING = 200
"""Bytes below which nothing can be told from how often they are met."""

_TO_BROKEN = 8
"""Characters beyond ASCII that are whole, to each that is broken, from which bytes are UTF-8."""

_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the text as it is."""
    del limits
    return "", decode(name, data), ()


def decode(name: str, data: bytes, stated: str | None = None) -> str:
    """Return bytes as text.

    Args:
        stated: the encoding that the file states for itself, tried where the bytes do not tell.
    """
    for bom, marked in _BOMS:
        if data.startswith(bom):
            return _checked(name, _decoded(data, marked))
    # UTF-8 is hardly ever met by chance.
    for encoding in ("utf-8", stated):
        text = _decoded(data, encoding) if encoding else None
        if text is not None:
            return _checked(name, text)
    # Cut within a character, or damaged in a place or two: any other encoding would spoil the rest.
    mended = data.decode("utf-8", "replace")
    broken = mended.count("\ufffd")
    if len(mended) - len(mended.encode("ascii", "ignore")) > _TO_BROKEN * broken:
        return _checked(name, mended)
    if len(data) < _TELLING:
        return _checked(name, _decoded(data, "cp1252"))
    detector = require("charset_normalizer", extra="documents", purpose=f"reading {name}")
    best = detector.from_bytes(data[:_SAMPLE]).best()
    # The sample may end within a character; what it says holds for all of it or is not used.
    return _checked(name, _decoded(data, best.encoding) if best is not None else None)


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _checked(name: str, text: str | None) -> str:
    if text is None or len(_CONTROLS.findall(text[:_SAMPLE])) > len(text[:_SAMPLE]) // 50:
        raise InputError("The file is not text in a known encoding. Save it as UTF-8.", where=name)
    return text
