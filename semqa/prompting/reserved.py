"""Control tokens in other people's text: spelled out, so that a tokenizer reads them as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Spelling"]


class Spelling:
    """Spells reserved strings character by character, with spaces between.

    A reserved string of one character stays as it is: there is nothing to put between.

    Args:
        reserved: the strings; thousands are fine, as vocabularies have them.

    Example:
        >>> Spelling(["<s>", "</s>"])("a </s> b")
        'a < / s > b'
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = frozenset(r for r in reserved if len("".join(r.split())) > 1)
        # Where one may begin: few starts for thousands of strings; and how long those can be.
        self._lengths: dict[str, set[int]] = {}
        for string in self._reserved:
            self._lengths.setdefault(string[:2], set()).add(len(string))
        starts = "|".join(map(re.escape, sorted(self._lengths)))
        self._start = re.compile(f"(?=({starts}))")
        # More spaces than any reserved string has in a row, so that none can span a gap.
        gaps = (gap for string in self._reserved for gap in re.findall(r"\s+", string))
        self._gap = " " * (1 + max(map(len, gaps), default=0))

    def __call__(self, text: str) -> str:
        """Return the text with every reserved string spelled out."""
        if not self._reserved:
            return text
        # What is left of one may meet its neighbours as another: hence until there is none. Each
        # round parts at least two characters for good, so it ends.
        while present := self._present(text):
            for found in sorted(present, key=len, reverse=True):
                text = text.replace(found, self._gap.join("".join(found.split())))
        return text

    def _present(self, text: str) -> list[str]:
        found = {
            piece
            for match in self._start.finditer(text)
            for length in self._lengths[match[1]]
            if (piece := text[match.start() : match.start() + length]) in self._reserved
        }
        return sorted(found)
