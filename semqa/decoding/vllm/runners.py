"""Adapters for the model runners of vLLM: V1 addresses answers by batch row, V2 by slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from semqa.decoding.vllm.answers import Answers
from semqa.decoding.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch


@dataclass(slots=True)
class _Row:
    """An answer in the batch.

    Attributes:
        prompt: the number of prompt tokens; None if unknown.
        written: vLLM's growing list of output tokens; -1 is a token that is not known yet.
        taken: how many of them the state has seen.
    """

    slot: int
    prompt: int | None
    written: Sequence[int]
    taken: int = 0


class FirstRunner:
    """Tracks the batch of Model Runner V1."""

    def __init__(self, vocabulary: Vocabulary, max_rows: int, max_tokens: int) -> None:
        # While a batch changes, there may briefly be more answers.
        self._answers = Answers(vocabulary, 2 * max_rows, max_tokens)
        self._free = list(range(2 * max_rows))
        self._rows: dict[int, _Row] = {}
        self._order: list[_Row] | None = None  # by row; None if the batch has changed
        self._places = self._slots = np.empty(0, np.int64)

    def update_state(self, update: Any) -> None:
        """Process the rows that were removed, added and moved, in this order."""
        if update is None:
            return
        self._order = None
        for place in update.removed:
            self._drop(place)
        for place, params, prompt, written in update.added:
            self._drop(place)  # vLLM does not list a replaced row as removed
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
                    self._release(other)

    def apply(self, logits: torch.Tensor, _context: Any = None) -> None:
        """Mask the rows of constrained answers, in place.

        New tokens are known only here. Rows that are still processing their prompt have none.
        """
        if not self._rows:
            return
        if self._order is None:
            places = sorted(self._rows)
            self._order = [self._rows[place] for place in places]
            self._places = np.array(places, np.int64)
            self._slots = np.array([row.slot for row in self._order], np.int64)
        new = [self._new_tokens(row) for row in self._order]
        self._answers.begin(self._slots, [row.prompt for row in self._order])
        self._answers.advance_and_mask(logits, self._places, self._slots, new)

    def close(self, logits: torch.Tensor, _context: Any = None) -> None:
        """End all constrained answers after an error."""
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
            self._release(row)

    def _release(self, row: _Row) -> None:
        self._answers.release(row.slot)
        self._free.append(row.slot)


class _Step(NamedTuple):
    """The rows of a step, on the CPU: [N] int64 each unless noted.

    Attributes:
        slots: the slot of each row's request.
        drafts: the number of drafts of its request up to this row.
        fed: the model's input token for the row: a draft, or the last accepted token.
        lengths: the number of accepted tokens of its request, including the prompt.
        reading: bool, whether its request is still processing the prompt, so nothing is sampled.
        tails: [N, K], the last accepted tokens of its request.
    """

    slots: NDArray[np.int64]
    drafts: NDArray[np.int64]
    fed: NDArray[np.int64]
    lengths: NDArray[np.int64]
    reading: NDArray[np.bool_]
    tails: NDArray[np.int64]


class SecondRunner:
    """Tracks the requests of Model Runner V2."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        requests: Any,
        max_tokens: int,
        drafts: int,
    ) -> None:
        self._answers = Answers(vocabulary, requests.max_num_reqs, max_tokens)
        self._requests = requests
        self._tail = drafts + 1
        self._taken = np.zeros(requests.max_num_reqs, np.int64)  # tokens seen by the states

    def add_request(self, slot: int, params: Any) -> bool:
        """Begin the answer to a request, possibly one that was preempted."""
        self._taken[slot] = 0
        return self._answers.admit(slot, params)

    def apply(self, logits: torch.Tensor, context: Any) -> None:
        """Mask the rows of constrained answers, in place."""
        answers, slots = self._answers, context.idx_mapping_np
        slots = slots[answers.own[slots]]
        if not slots.size:
            return
        step = self._read(context)
        rows = np.flatnonzero(np.isin(step.slots, slots) & ~step.reading)
        if rows.size:
            slots, first = np.unique(step.slots[rows], return_index=True)
            new = self._new_tokens(slots, rows[first], step)
            if not step.drafts[rows].any():
                answers.advance_and_mask(logits, rows[first], slots, new)
            else:
                answers.advance(slots, new)
                answers.mask(logits, rows, step.slots[rows], _ahead(step, rows))

    def close(self, logits: torch.Tensor, context: Any) -> None:
        """End all constrained answers after an error."""
        slots = context.expanded_idx_mapping.cpu().numpy()
        self._answers.close(logits, np.flatnonzero(self._answers.own[slots]))

    def _read(self, context: Any) -> _Step:
        """Copy the data of a step to the CPU, in one transfer."""
        import torch

        slots = context.expanded_idx_mapping.long()
        lengths = self._requests.total_len.gpu[slots].long()
        back = torch.arange(-self._tail, 0, device=slots.device)
        places = (lengths[:, None] + back).clamp(min=0)
        tails = self._requests.all_token_ids.gpu[slots[:, None], places].long()
        columns = (slots, context.expanded_local_pos, context.input_ids, context.pos, lengths)
        whole = torch.cat([torch.stack([one.long() for one in columns], 1), tails], 1)
        read: NDArray[np.int64] = whole.cpu().numpy()
        on_host = read[:, 0]
        reading = read[:, 3] - read[:, 1] + 1 < self._requests.prefill_len.np[on_host]
        return _Step(on_host, read[:, 1], read[:, 2], read[:, 4], reading, read[:, 5:])

    def _new_tokens(
        self, slots: NDArray[np.int64], rows: NDArray[np.int64], step: _Step
    ) -> list[list[int]]:
        """Return the tokens accepted since the last step, and begin new answers."""
        prompts = self._requests.prompt_len.np[slots].astype(np.int64)
        written = step.lengths[rows] - prompts
        for slot in slots[written < self._taken[slots]].tolist():
            self._answers.restart(slot)
            self._taken[slot] = 0
        counts = written - self._taken[slots]
        new = []
        for place in range(len(slots)):
            count = int(counts[place])
            if count <= self._tail:
                new.append(step.tails[rows[place], self._tail - count :].tolist())
            else:  # after preemption: all tokens again
                end = int(step.lengths[rows[place]])
                slot = int(slots[place])
                tokens = self._requests.all_token_ids.gpu[slot, end - count : end]
                new.append(tokens.cpu().tolist())
        self._answers.begin(slots, prompts.tolist())
        self._taken[slots] = written
        return new


def _ahead(step: _Step, rows: NDArray[np.int64]) -> list[list[int]]:
    """Return the drafts before each row."""
    fed = {(int(step.slots[row]), int(step.drafts[row])): int(step.fed[row]) for row in rows}
    return [
        [fed.get((int(step.slots[row]), place), -1) for place in range(1, step.drafts[row] + 1)]
        for row in rows.tolist()
    ]
