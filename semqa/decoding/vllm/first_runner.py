"""The constraint under vLLM's first model runner (V1): rows of a batch that come, go and move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from semqa.decoding.vllm.answers import Answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from semqa.decoding.vocabulary import Vocabulary

__all__ = ["FirstRunner"]


@dataclass(slots=True)
class _Row:
    """An answer in the batch.

    Attributes:
        slot: where its state is.
        prompt: how many tokens its prompt has; None if unknown.
        written: vLLM's list of its tokens, which grows; -1 stands for a token not known yet.
        taken: how many of them the state has seen.
    """

    slot: int
    prompt: int | None
    written: Sequence[int]
    taken: int = 0


class FirstRunner:
    """Follows the batch of the first model runner.

    Args:
        vocabulary: the tokens.
        most_rows: the most rows of a batch.
        most_tokens: the length of the model's context.
    """

    def __init__(self, vocabulary: Vocabulary, most_rows: int, most_tokens: int) -> None:
        # While a batch changes there may be more answers for a moment.
        self._answers = Answers(vocabulary, 2 * most_rows, most_tokens)
        self._free = list(range(2 * most_rows))
        self._rows: dict[int, _Row] = {}
        self._order: list[_Row] | None = None  # by place, until the batch changes
        self._places = self._slots = np.empty(0, np.int64)

    def update_state(self, update: Any) -> None:
        """Follow rows that were removed, added and moved, in this order."""
        if update is None:
            return
        self._order = None
        for place in update.removed:
            self._drop(place)
        for place, params, prompt, written in update.added:
            self._drop(place)  # a row that is taken over is not among the removed
            slot = self._free[-1]
            if self._answers.admit(slot, params):
                self._free.pop()
                length = None if prompt is None else len(prompt)
                self._rows[place] = _Row(slot, length, written)
        for first, second, direction in update.moved:
            one, other = self._rows.pop(first, None), self._rows.pop(second, None)
            if one is not None:
                self._rows[second] = one
            if other is not None:
                if direction.name == "SWAP":
                    self._rows[first] = other
                else:
                    self._give_back(other)

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        """Mask the rows of constrained answers, in place.

        Only here are the tokens known: rows that still read their prompt come along as well, and
        have nothing new.
        """
        if not self._rows:
            return logits
        if self._order is None:
            places = sorted(self._rows)
            self._order = [self._rows[place] for place in places]
            self._places = np.array(places, np.int64)
            self._slots = np.array([row.slot for row in self._order], np.int64)
        new = [self._new_tokens(row) for row in self._order]
        self._answers.begin(self._slots, [row.prompt for row in self._order])
        self._answers.go(logits, self._places, self._slots, new)
        return logits

    def close(self, logits: torch.Tensor) -> None:
        """Let all constrained answers end, when nothing else is left to do."""
        places = np.array([place for place in self._rows if place < len(logits)], np.int64)
        self._answers.close(logits, places)

    def _new_tokens(self, row: _Row) -> Sequence[int]:
        written, taken = row.written, row.taken
        count = len(written)
        if count < taken:
            self._answers.restart(row.slot)
            taken = 0
        new = written[taken:count]
        if -1 in new:
            new = new[: new.index(-1)]
        row.taken = taken + len(new)
        return new

    def _drop(self, place: int) -> None:
        row = self._rows.pop(place, None)
        if row is not None:
            self._give_back(row)

    def _give_back(self, row: _Row) -> None:
        self._answers.release(row.slot)
        self._free.append(row.slot)
