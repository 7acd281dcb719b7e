"""Nesting: in which brackets and quotation marks the words of a sentence stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from semqa.engines.extractive.passage import Passage

__all__ = ["nesting"]

_OPENING, _CLOSING = '("“', ')"”.,!?'
"""Marks that touch the word after them, and the word before."""

_MARKS = frozenset('()"“”')
_DEPTH = 1_000
"""Weight of a bracket in a number; no sentence has more quotation marks."""


class _Place(NamedTuple):
    """How many brackets are open, and how many quotation marks have been passed."""

    brackets: int = 0
    marks: int = 0

    def after(self, text: str) -> _Place:
        """Return the place after some text between words."""
        brackets, marks = self
        for char in text:
            if char == "(":
                brackets += 1
            elif char == ")":
                brackets = max(brackets - 1, 0)
            elif char in _MARKS:
                marks += 1
        return _Place(brackets, marks)

    def number(self) -> int:
        """Return 0 outside of all brackets and marks, and the same number inside of the same."""
        return self.brackets * _DEPTH + (self.marks if self.marks % 2 else 0)


def nesting(passage: Passage, first: int, last: int) -> tuple[list[int], list[int], list[int]]:
    """Say in which brackets and quotation marks each word of a sentence stands.

    Returns three lists over the words ``first <= i < last``: the nesting at the word, the nesting
    before the marks that touch its start, and after the marks that touch its end. Zero means in
    none; equal numbers mean in the same.

    Example:
        >>> from semqa.engines.extractive.passage import read_passage
        >>> nesting(read_passage("An (old) mill"), 0, 3)
        ([0, 1000, 0], [0, 0, 0], [0, 0, 0])
    """
    inside: list[int] = []
    before: list[int] = []
    after: list[int] = []
    place = _Place()
    for i in range(first, last):
        # Of the gap before a sentence only the marks that touch its first word are its own.
        gap = passage.gaps[i][-3:] if i == first else passage.gaps[i]
        following = passage.gaps[i + 1]
        if _MARKS.isdisjoint(gap) and _MARKS.isdisjoint(following):
            for numbers in (before, inside, after):
                numbers.append(place.number())
            continue
        outer = gap.rstrip(_OPENING)
        place = place.after(outer)
        before.append(place.number())
        place = place.after(gap[len(outer) :])
        inside.append(place.number())
        marks = following[: len(following) - len(following.lstrip(_CLOSING))]
        after.append(place.after(marks).number())
    return inside, before, after
