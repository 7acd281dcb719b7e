"""Scores of many predictions, block by block; a worker's part of it."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from semqa.bench.results import score_item
from semqa.distributed.answering import Failure, told
from semqa.metrics import Example, ExampleScores, score_example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.plan import Item

__all__ = ["BLOCK", "ScoreTask", "pack_row", "score_block", "unpack_scores"]

BLOCK = 2_000
"""Predictions of a block: tenths of a second of work, many times what handing it out costs."""

ScoreTask = tuple["Sequence[tuple[object, ...]]", bool, bool]
"""What is scored, and whether with the official scorer's defects, and beyond source 7."""

_EXAMPLE = attrgetter(*Example.__slots__)
_SCORES = attrgetter(*ExampleScores.__slots__)
"""As plain tuples, rows go through pickle in a third of the time; the command does that alone."""


def pack_row(row: Example | tuple[Item, str]) -> tuple[object, ...]:
    """Return what is scored as a block holds it."""
    return _EXAMPLE(row) if isinstance(row, Example) else row


def unpack_scores(block: Sequence[Sequence[object]]) -> list[ExampleScores]:
    """Return what `score_block` found."""
    return [ExampleScores(*row) for row in block]  # type: ignore[arg-type]  # their own fields


def score_block(task: ScoreTask) -> list[tuple[object, ...]] | Failure:
    """Return the scores of a block, in its order, for `unpack_scores`."""
    rows, official, all_sources = task
    try:
        return [_SCORES(_score(row, official, all_sources)) for row in rows]
    except Exception as error:  # noqa: BLE001  (raised by who is told)
        return told(error)


def _score(row: Sequence[Any], official: bool, all_sources: bool) -> ExampleScores:
    if len(row) == len(Example.__slots__):
        return score_example(Example(*row), official=official, all_sources=all_sources)
    return score_item(*row)
