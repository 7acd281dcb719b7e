"""What a report says of its runs in words, each thing once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Note", "grouped"]

MOST_NAMED = 5
"""How many runs a note names."""


class Note(NamedTuple):
    """What is said of one run.

    Attributes:
        label: the run's.
        text: what is said.
    """

    label: str
    text: str


def grouped(notes: Sequence[Note]) -> list[str]:
    """Return notes to print: what holds for several runs is said once."""
    of: dict[str, list[str]] = {}
    for note in notes:
        of.setdefault(note.text, []).append(note.label)
    return [
        f"{labels[0]}: {text}"
        if len(labels) == 1
        else f"{len(labels)} runs: {text} ({_listed(labels)})"
        for text, labels in of.items()
    ]


def _listed(labels: Sequence[str]) -> str:
    more = [f"and {len(labels) - MOST_NAMED} more"] if len(labels) > MOST_NAMED else []
    return "; ".join([*labels[:MOST_NAMED], *more])
