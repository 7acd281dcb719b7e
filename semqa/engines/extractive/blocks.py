"""Blocks: which part of a long body is read, so that time is bounded whatever the sources weigh."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MAX_CHARACTERS", "read_blocks"]

MAX_CHARACTERS = 8_000
"""Longest body that is read whole; of a longer one, this many characters are read."""

_BLOCK = 1_000
_SPACE = re.compile(r"\s")


def read_blocks(text: str, stems: Iterable[str]) -> list[tuple[int, int]]:
    """Return the stretches of a body to read, as ranges of code points in order.

    All of a short body; of a longer one its beginning and the blocks with most of the stems.
    """
    if len(text) <= MAX_CHARACTERS:
        return [(0, len(text))]
    starts = [re.escape(s) for s in sorted(stems) if len(s) >= 2]
    counts: dict[int, set[str]] = {}
    if starts:
        for match in re.finditer("|".join(starts), text, re.IGNORECASE):
            counts.setdefault(match.start() // _BLOCK, set()).add(match.group().lower())
    ranked = sorted(counts, key=lambda b: (-len(counts[b]), b))
    blocks = sorted({0, *ranked[: MAX_CHARACTERS // _BLOCK - 1]})
    stretches: list[tuple[int, int]] = []
    for block in blocks:
        start, end = block * _BLOCK, min((block + 1) * _BLOCK, len(text))
        if stretches and stretches[-1][1] == start:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
    return [_whole_words(text, start, end) for start, end in stretches]


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Shrink a stretch to the nearest white space on each side, if there is any near."""
    if start > 0:
        space = _SPACE.search(text, start, min(start + 100, end))
        start = space.end() if space else start
    if end < len(text):
        tail = text[max(start, end - 100) : end]
        space_at = max((m.start() for m in _SPACE.finditer(tail)), default=-1)
        if space_at >= 0:
            end = end - len(tail) + space_at
    return start, end
