"""Lines of text for tables and numbered items, as `semqa.documents.structure` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["numeral", "table_lines"]

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
    """Return the lines of a table; the first row with any text is its header.

    Args:
        rows: the cells of each row.
        headless: whether the table has no header; an empty one stands in its place.

    Example:
        >>> table_lines([["Year", "Ships"], ["1890", "12"]])
        ['| Year | Ships |', '| --- | --- |', '| 1890 | 12 |']
    """
    lines: list[str] = []
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        if not any(cells):
            continue
        if not lines:
            lines = [_line([""] * len(cells))] if headless else [_line(cells)]
            lines.append(_line(["---"] * len(cells)))
            if not headless:
                continue
        lines.append(_line(cells))
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
