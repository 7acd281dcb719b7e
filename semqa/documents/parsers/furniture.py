"""What stands at the edges of pages without being of their text: running heads, page numbers."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["without_furniture"]

LEAST = 3
"""Pages on which a line stands before it is taken for more than chance."""

DEEP = 3
"""Lines at an edge that may be furniture."""

LONGEST = 200
"""Characters of such a line."""

NUMBERS = 4
"""Numbers in a line that may count the pages."""

_NUMBER = re.compile(r"\d{1,6}")


def without_furniture(pages: Sequence[str]) -> list[str]:
    r"""Return pages without the lines that stand at the same edge of most of them.

    A line is the same on another page where it has the same text, but for one number that counts
    the pages. Left and right pages may have lines of their own. What is left out reaches to the
    edge; and if nothing else were left, all stays.

    Args:
        pages: a text a page, a line of print a line.

    Example:
        >>> without_furniture([f"A report\nText {word}.\n{i}" for i, word in enumerate("abc", 7)])
        ['Text a.', 'Text b.', 'Text c.']
    """
    lines = [[line for line in page.split("\n") if line.strip()] for page in pages]
    written = sum(map(bool, lines))
    if written < LEAST:
        return list(pages)
    left = [page.split("\n") for page in pages]
    for last in (False, True):
        known = _repeated(lines, written, last=last)
        left = [
            _peeled(page, number, known, last=last) if page else page
            for number, page in enumerate(left)
        ]
    found = ["\n".join(page) for page in left]
    return found if any(page.strip() for page in found) else list(pages)


def _repeated(lines: Sequence[Sequence[str]], written: int, *, last: bool) -> set[str]:
    """Return what lines at an edge have in common with those of most pages, or of every other."""
    seen: Counter[str] = Counter()
    sided: Counter[tuple[str, int]] = Counter()
    for number, page in enumerate(lines):
        edge = page[-DEEP:] if last else page[:DEEP]
        for key in {key for line in edge for key in _keys(line, number)}:
            seen[key] += 1
            sided[key, number % 2] += 1
    often = {key for key, times in seen.items() if times >= LEAST and 2 * times > written}
    return often | {
        key for (key, _), times in sided.items() if times >= LEAST and times > 0.4 * written
    }


def _peeled(page: list[str], number: int, known: set[str], *, last: bool) -> list[str]:
    """Return a page's lines without those at an edge that are known, from the edge on."""
    at, step = (len(page) - 1, -1) if last else (0, 1)
    cut, seen = at, 0
    while 0 <= at < len(page) and seen < DEEP:
        if page[at].strip():
            seen += 1
            if known.isdisjoint(_keys(page[at], number)):
                break
            cut = at + step
        at += step
    return page[: cut + 1] if last else page[cut:]


def _keys(line: str, number: int) -> Iterator[str]:
    """Yield what the line has in common with its likes: itself, and itself with a number that counts."""
    line = " ".join(line.split()).casefold()
    if len(line) > LONGEST:
        return
    yield line
    for found in list(_NUMBER.finditer(line))[:NUMBERS]:
        counted = int(found[0]) - number
        yield f"{line[: found.start()]}\0{counted}\0{line[found.end() :]}"
