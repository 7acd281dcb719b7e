"""Many answers side by side, each under a constraint of its own, taken forward in one compiled call.

Knows nothing of engines and scores: it sees tokens and fills masks. A row that cannot be gone on
with may only end: it never disturbs its neighbours.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np

from semqa.decoding.automaton.entries import CLOSED_AT, DONE, TRY, entries
from semqa.decoding.automaton.memory import FREE, MODE, STATE_WIDTH, TOKENS
from semqa.decoding.constraint import State, record_of
from semqa.decoding.masks import NO_TOKENS, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from semqa.decoding.constraint import CopyConstraint, Used, View
    from semqa.decoding.vocabulary import Vocabulary

_AHEAD = 16
"""How many tokens before other tables are needed they are asked for: most answers end before."""


class ConstraintRows:
    """The states of answers that are being written, by slot.

    Args:
        slots: how many answers there may be at a time.
        later: called with work that can be done in the background: what it costs to finish is found
            out some tokens before it is needed. Without it a step does that.

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
        self._views: list[View | None] = [None] * slots  # the owners of the addresses
        self._addresses = np.zeros(slots, np.int64)
        self._scarce = np.full(slots, -1, np.int64)  # with so few tokens left a view needs costs
        self._soon = np.full(slots, -1, np.int64)  # with so few they are asked for
        self._live = np.zeros(slots, np.bool_)
        self._bias = np.zeros(slots, np.float32)
        self._constraints: list[CopyConstraint | None] = [None] * slots

    def admit(self, slot: int, constraint: CopyConstraint, budget: int | None) -> None:
        """Begin an answer; if none fits the budget, an error is raised and the slot is empty.

        Args:
            slot: its place; whatever was there is forgotten.
            budget: the most tokens of it, its end token included; None for no limit.
        """
        self.release(slot)
        state = constraint.start(budget)
        self._constraints[slot] = constraint
        self._fields[slot] = state.fields
        self._look_up(slot, state.used, state.fields[TOKENS])
        self._bias[slot] = constraint.policy.quote_bias
        self._live[slot] = True

    def release(self, slot: int) -> None:
        """Forget an answer; rows of an empty slot may only end."""
        self._live[slot] = False
        self._bias[slot] = 0
        self._scarce[slot] = self._soon[slot] = -1
        self._addresses[slot] = 0
        self._constraints[slot] = self._views[slot] = None
        self._used[slot] = ()

    def reorder(self, parents: NDArray[np.intp]) -> None:
        """Let each slot go on with the answer of another, or its own, as beam search does.

        Args:
            parents: [slots], whose answer each goes on with.
        """
        self._fields, self._addresses = self._fields[parents], self._addresses[parents]
        self._scarce, self._soon = self._scarce[parents], self._soon[parents]
        self._live, self._bias = self._live[parents], self._bias[parents]
        for kept in (self._used, self._views, self._constraints):
            kept[:] = [kept[parent] for parent in parents.tolist()]

    def advance(self, slots: NDArray[np.int64], tokens: Sequence[Sequence[int]]) -> NDArray[Any]:
        """Take answers forward, for good.

        Returns:
            [R] int64, for each the place in `tokens` of the first that is not allowed, or -1. Such
            an answer is released, as is one whose state is broken (-2).
        """
        return self._go(slots, tokens, np.empty((len(slots), 0), np.int32), keep=True)

    def fill(
        self,
        slots: NDArray[np.int64],
        masks: NDArray[np.int32],
        ahead: Sequence[Sequence[int]] | None = None,
    ) -> NDArray[Any]:
        """Write which tokens may come next; the status is as that of `advance`.

        Args:
            slots: [R]; a slot may be there several times.
            masks: [R, W] int32, C-contiguous, written. Empty slots, and rows that are not allowed
                to go ahead, may only end.
            ahead: tokens of each row to suppose after its answer, which itself stays where it is.
        """
        given = [()] * len(slots) if ahead is None else ahead
        return self._go(slots, given, masks, keep=False)

    def go(
        self, slots: NDArray[np.int64], tokens: Sequence[Sequence[int]], masks: NDArray[np.int32]
    ) -> NDArray[Any]:
        """`advance` and `fill` in one compiled call, with the status of the first."""
        return self._go(slots, tokens, masks, keep=True)

    def _go(
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
                status[places] = self._go(slots[places], given, some, keep=keep)
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
                *self._go_on(
                    int(slots[place]), tokens[place], place, fields, begins, masks, status
                ),
            )
            for place in np.flatnonzero(status <= TRY).tolist()
        ]
        if keep:
            self._fields[slots] = fields
            for place, used, left in changed:
                if status[place] == DONE and used is not self._used[slots[place]]:
                    self._look_up(int(slots[place]), used, left)
        broken = status != DONE
        if broken.any():
            if masks.shape[1]:
                masks[broken] = self._ends
            for slot in slots[broken].tolist() if keep else ():
                self.release(slot)
        return status

    def _go_on(
        self,
        slot: int,
        tokens: Sequence[int],
        place: int,
        fields: NDArray[np.int32],
        begins: NDArray[np.int64],
        masks: NDArray[np.int32],
        status: NDArray[np.int64],
    ) -> tuple[Used, int]:
        """Go on with a row whose quote has closed, by the tables of another view.

        Returns:
            What the row has quoted then, and the tokens it has left.
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
        """Return what is to be added to the scores of tokens that open a quote.

        Returns:
            [R], 0 in rows that stand in a quote; None where it is 0 everywhere.
        """
        biases = self._bias[slots]
        if not biases.any():
            return None
        biases[self._fields[slots, MODE] != FREE] = 0
        return biases

    @property
    def quote_openers(self) -> NDArray[np.int64]:
        """The tokens that open a quote, in every constraint over the vocabulary."""
        return next((one.quote_openers for one in self._constraints if one is not None), NO_TOKENS)

    def _prepare(self, slots: NDArray[np.int64], left: NDArray[np.int32]) -> None:
        """See to it that if few tokens are left the tables know what it costs to finish."""
        for place in np.flatnonzero(left <= self._soon[slots]).tolist():
            slot, tokens_left = int(slots[place]), max(0, int(left[place]))
            constraint = self._constraints[slot]
            if constraint is None:
                continue
            if tokens_left <= self._scarce[slot]:
                self._look_up(slot, self._used[slot], tokens_left)
            elif self._later is not None:
                self._soon[slot] = self._scarce[slot]
                self._later(partial(constraint.view, self._used[slot], 0))

    def _look_up(self, slot: int, used: Used, tokens_left: int) -> None:
        """Take the tables for what an answer has quoted."""
        constraint = self._constraints[slot]
        if constraint is None:
            return
        view = constraint.view(used, tokens_left)
        self._used[slot], self._views[slot], self._addresses[slot] = used, view, view.address
        costless = not constraint.needs_costs(tokens_left)
        self._scarce[slot] = constraint.scarce if costless else -1
        ahead = _AHEAD if self._later is not None and costless else 0
        self._soon[slot] = self._scarce[slot] + ahead


def _flat(tokens: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts = np.array([*accumulate(map(len, tokens), initial=0)], np.int64)
    return np.array([*chain.from_iterable(tokens)], np.int64), starts
