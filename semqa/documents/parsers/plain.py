"""Plain text and its encodings; helpers that format tables and item numbers."""

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
    """Format a number in the style of an HTML list: ``1``, ``a``, ``A``, ``i`` or ``I``.

    A number that the style cannot represent is formatted as decimal.

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
    """Return a Markdown table as lines. If there are several rows with text, the first is the header.

    Args:
        headless: whether the table has no header; an empty one is added then.

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
_MIN_DETECTABLE = 200
"""Shorter data is too short for encoding detection."""

_VALID_PER_BROKEN = 8
"""Damaged text is UTF-8 if it has more non-ASCII characters than this per invalid sequence."""

_SHIFTING = ("iso-2022-", "hz", "utf-7")
"""Encodings that write other letters in ASCII; Japanese e-mails often use one of these."""

_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the text as it is."""
    del limits
    return "", decode(name, data), ()


def decode(name: str, data: bytes, declared: str | None = None) -> str:
    """Decode bytes.

    Args:
        declared: the encoding declared in the file.
    """
    for bom, marked in _BOMS:
        if data.startswith(bom):
            return _checked(name, _decoded(data, marked))
    # Text in other encodings is hardly ever valid UTF-8, except those that use only ASCII.
    shifts = declared is not None and declared.lower().startswith(_SHIFTING)
    for encoding in (declared, "utf-8") if shifts else ("utf-8", declared):
        text = _decoded(data, encoding) if encoding else None
        if text is not None:
            return _checked(name, text)
    # Mostly valid UTF-8: truncated within a character, or damaged in a few places.
    replaced = data.decode("utf-8", "replace")
    broken = replaced.count("\ufffd")
    if len(replaced) - len(replaced.encode("ascii", "ignore")) > _VALID_PER_BROKEN * broken:
        return _checked(name, replaced)
    if len(data) < _MIN_DETECTABLE:
        return _checked(name, _decoded(data, "cp1252"))
    detector = require("charset_normalizer", extra="documents", purpose=f"reading {name}")
    best = detector.from_bytes(data[:_SAMPLE]).best()
    # The sample may end within a character; the encoding is used only if it decodes all the data.
    return _checked(name, _decoded(data, best.encoding) if best is not None else None)


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (ValueError, LookupError):
        return None


def _checked(name: str, text: str | None) -> str:
    if text is None or len(_CONTROLS.findall(text[:_SAMPLE])) > len(text[:_SAMPLE]) // 50:
        raise InputError("The file is not text in a known encoding. Save it as UTF-8.", where=name)
    return text
