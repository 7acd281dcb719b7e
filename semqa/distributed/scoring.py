"""Scores of many predictions, block by block; a worker's part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.bench.results import score_item
from semqa.distributed.answering import Failure, told
from semqa.metrics import Example, ExampleScores, score_example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.plan import Item

__all__ = ["BLOCK", "ScoreTask", "score_block"]

BLOCK = 500
"""Predictions of a block: tenths of a second of work, many times what handing it out costs."""

ScoreTask = tuple["Sequence[Example | tuple[Item, str]]", bool, bool]
"""What is scored, and whether with the official scorer's defects, and beyond source 7."""


def score_block(task: ScoreTask) -> list[ExampleScores] | Failure:
    """Return the scores of a block, in its order."""
    rows, official, all_sources = task
    try:
        return [
            score_example(row, official=official, all_sources=all_sources)
            if isinstance(row, Example)
            else score_item(*row)
            for row in rows
        ]
    except Exception as error:  # noqa: BLE001  (raised by who is told)
        return told(error)
