"""A batch of answers, each with its own constraint, advanced in one compiled call.

It takes tokens and fills masks; it is independent of engines and scores. A row that fails may only
end, and other rows are not affected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semqa.decoding.automaton.entries import CLOSED_AT, DONE, TRY, entries
from semqa.decoding.automaton.memory import FREE, MODE, STATE_WIDTH, TOKENS
from semqa.decoding.constraint import CopyConstraint, State, Used, View, record_of
from semqa.decoding.masks import NO_TOKENS, packed
from semqa.decoding.vocabulary import Vocabulary

_LOOKAHEAD = 16
"""Cost tables are requested this many tokens before they are needed; most answers end earlier."""


class ConstraintRows:
    """The states of answers in progress, by slot.

    Args:
        slots: the largest number of answers at a time.
        later: called with work to run in the background: it computes cost tables before they are
            needed. By default, the step that needs them computes them.

    Example:
        >>> from semqa import Source
        >>> from semqa.decoding import CopyConstraint, Vocabulary
        >>> vocabulary = Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [b""], [256])
        >>> rows = ConstraintRows(vocabulary, slots=4)
        >>> rows.admit(2, CopyConstraint(vocabulary, [Source("In 1943.")]), budget=50)
        >>> slots, masks = np.array([2]), np.empty((1, rows.width), np.int32)
        >>> rows.advance(slots, [list(b"[ 1 ")]).tolist()
        [-1]
        >>> rows.fill(slots, masks).tolist()
        [-1]
        >>> bits = np.unpackbits(masks.view(np.uint8), bitorder="little")
        >>> bytes(np.flatnonzero(bits).tolist())
        b'1I'
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        slots: int,
        later: Callable[[Callable[[], object]], object] | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self._later = later
        self.width = -(-vocabulary.size // 32)
        self._ends = packed(vocabulary.eos_ids, self.width)
        self._fields = np.zeros((slots, STATE_WIDTH), np.int32)
        self._used: list[Used] = [()] * slots
        self._views: list[View | None] = [None] * slots  # keep the addresses valid
        self._addresses = np.zeros(slots, np.int64)
        self._needed_at = np.full(slots, -1, np.int64)  # tokens left at which a view needs costs
        self._request_at = np.full(slots, -1, np.int64)  # tokens left at which costs are requested
        self._live = np.zeros(slots, np.bool_)
        self._bias = np.zeros(slots, np.float32)
        self._constraints: list[CopyConstraint | None] = [None] * slots

    def admit(self, slot: int, constraint: CopyConstraint, budget: int | None) -> None:
        """Begin an answer. The slot stays empty if no answer fits the budget.

        Args:
            slot: where to put it; any earlier answer there is discarded.
            budget: at most this many tokens, including the end token; None for no limit.
        """
        self.release(slot)
        state = constraint.start(budget)
        self._constraints[slot] = constraint
        self._fields[slot] = state.fields
        self._set_view(slot, state.used, state.fields[TOKENS])
        self._bias[slot] = constraint.policy.quote_bias
        self._live[slot] = True

    def release(self, slot: int) -> None:
        """Discard an answer; rows of an empty slot may only end."""
        self._live[slot] = False
        self._bias[slot] = 0
        self._needed_at[slot] = self._request_at[slot] = -1
        self._addresses[slot] = 0
        self._constraints[slot] = self._views[slot] = None
        self._used[slot] = ()

    def reorder(self, parents: NDArray[np.intp]) -> None:
        """Continue in each slot with the answer of another slot or its own, as in beam search.

        Args:
            parents: [slots], the slot whose answer each continues.
        """
        self._fields, self._addresses = self._fields[parents], self._addresses[parents]
        self._needed_at, self._request_at = self._needed_at[parents], self._request_at[parents]
        self._live, self._bias = self._live[parents], self._bias[parents]
        for kept in (self._used, self._views, self._constraints):
            kept[:] = [kept[parent] for parent in parents.tolist()]

    def advance(self, slots: NDArray[np.int64], tokens: Sequence[Sequence[int]]) -> NDArray[Any]:
        """Advance answers by their new tokens.

        Returns:
            [R] int64: -1, the index in a row's `tokens` of the first that is not allowed, or -2 if
            the state is invalid. Unless it is -1, the answer is released.
        """
        return self._step(slots, tokens, np.empty((len(slots), 0), np.int32), keep=True)

    def fill(
        self,
        slots: NDArray[np.int64],
        masks: NDArray[np.int32],
        ahead: Sequence[Sequence[int]] | None = None,
    ) -> NDArray[Any]:
        """Fill the masks of the next tokens, and return a status as `advance` does.

        Args:
            slots: [R]; may contain duplicates.
            masks: [R, W] int32, C-contiguous, overwritten. Empty slots, and rows with a token in
                `ahead` that is not allowed, may only end.
            ahead: draft tokens to append to each answer for this mask only.
        """
        given = [()] * len(slots) if ahead is None else ahead
        return self._step(slots, given, masks, keep=False)

    def advance_and_fill(
        self, slots: NDArray[np.int64], tokens: Sequence[Sequence[int]], masks: NDArray[np.int32]
    ) -> NDArray[Any]:
        """Call `advance` and `fill` in one step; return the status of `advance`."""
        return self._step(slots, tokens, masks, keep=True)

    def _step(
        self,
        slots: NDArray[np.int64],
        tokens: Sequence[Sequence[int]],
        masks: NDArray[np.int32],
        *,
        keep: bool,
    ) -> NDArray[Any]:
        live = self._live[slots]
        if not live.all():
            masks[~live] = self._ends
            status = np.full(len(slots), DONE, np.int64)
            places = np.flatnonzero(live)
            if places.size:
                some = np.empty((places.size, masks.shape[1]), np.int32)
                given = [tokens[place] for place in places.tolist()]
                status[places] = self._step(slots[places], given, some, keep=keep)
                masks[places] = some
            return status
        fields = self._fields[slots]
        flat, starts = _flat(tokens)
        self._prepare(slots, fields[:, TOKENS] - np.diff(starts))
        begins, status = np.zeros(len(slots), np.int64), np.empty(len(slots), np.int64)
        entries().step(self._addresses[slots], fields, flat, starts, begins, masks, status)
        changed = [
            (
                place,
                *self._continue(
                    int(slots[place]), tokens[place], place, fields, begins, masks, status
                ),
            )
            for place in np.flatnonzero(status <= TRY).tolist()
        ]
        if keep:
            self._fields[slots] = fields
            for place, used, left in changed:
                if status[place] == DONE and used is not self._used[slots[place]]:
                    self._set_view(int(slots[place]), used, left)
        broken = status != DONE
        if broken.any():
            if masks.shape[1]:
                masks[broken] = self._ends
            for slot in slots[broken].tolist() if keep else ():
                self.release(slot)
        return status

    def _continue(
        self,
        slot: int,
        tokens: Sequence[int],
        place: int,
        fields: NDArray[np.int32],
        begins: NDArray[np.int64],
        masks: NDArray[np.int32],
        status: NDArray[np.int64],
    ) -> tuple[Used, int]:
        """Continue a row whose quote has closed, with the tables of the next view.

        Returns:
            The quotes of the row so far, and its number of tokens left.
        """
        constraint = self._constraints[slot]
        assert constraint is not None  # noqa: S101
        row = slice(place, place + 1)
        used, done = self._used[slot], 0
        while status[place] <= CLOSED_AT:
            done += CLOSED_AT - int(status[place])
            used = (*used, record_of(fields[place].tolist()))
            rest = np.array(tokens[done:], np.int64)
            view = constraint.view(used, int(fields[place, TOKENS]) - len(rest))
            starts = np.array([0, len(rest)])
            entries().step(
                np.array([view.address]),
                fields[row],
                rest,
                starts,
                begins[row],
                masks[row],
                status[row],
            )
        if status[place] == TRY:
            constraint.allow_reopeners(State(tuple(fields[place].tolist()), used), masks[place])
            status[place] = DONE
        elif status[place] >= 0:
            status[place] += done
        return used, int(fields[place, TOKENS])

    def biases(self, slots: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Return the biases for tokens that open a quote.

        Returns:
            [R], 0 in rows inside a quote; None if all are 0.
        """
        biases = self._bias[slots]
        if not biases.any():
            return None
        biases[self._fields[slots, MODE] != FREE] = 0
        return biases

    @property
    def quote_openers(self) -> NDArray[np.int64]:
        """The tokens that open a quote, the same for every constraint over the vocabulary."""
        return next((one.quote_openers for one in self._constraints if one is not None), NO_TOKENS)

    def _prepare(self, slots: NDArray[np.int64], left: NDArray[np.int32]) -> None:
        """Ensure that rows with few tokens left have cost tables."""
        for place in np.flatnonzero(left <= self._request_at[slots]).tolist():
            slot, tokens_left = int(slots[place]), max(0, int(left[place]))
            constraint = self._constraints[slot]
            if constraint is None:
                continue
            if tokens_left <= self._needed_at[slot]:
                self._set_view(slot, self._used[slot], tokens_left)
            elif self._later is not None:
                self._request_at[slot] = self._needed_at[slot]
                self._later(partial(constraint.view, self._used[slot], 0))

    def _set_view(self, slot: int, used: Used, tokens_left: int) -> None:
        """Set the view of a slot from the quotes of its answer."""
        constraint = self._constraints[slot]
        if constraint is None:
            return
        view = constraint.view(used, tokens_left)
        self._used[slot], self._views[slot], self._addresses[slot] = used, view, view.address
        without_costs = not constraint.needs_costs(tokens_left)
        self._needed_at[slot] = constraint.scarce if without_costs else -1
        ahead = _LOOKAHEAD if self._later is not None and without_costs else 0
        self._request_at[slot] = self._needed_at[slot] + ahead


def _flat(tokens: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts = np.array([*accumulate(map(len, tokens), initial=0)], np.int64)
    return np.array([*chain.from_iterable(tokens)], np.int64), starts
