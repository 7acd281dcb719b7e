"""Many answers side by side, each under a constraint of its own, taken forward in one compiled call.

Knows nothing of engines and scores: it sees tokens and fills masks. A row that cannot be gone on
with may only end: it never disturbs its neighbours.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np

from semqa.decoding.core.entries import DONE, entries
from semqa.decoding.core.state import ENDED, FREE, MODE, STATE_WIDTH, TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from semqa.decoding.constraint import CopyConstraint
    from semqa.decoding.vocabulary import Vocabulary

__all__ = ["ConstraintRows", "ends_mask"]

_WORD_BITS = 32
_AHEAD = 16
"""How many tokens before other tables are needed they are asked for: most answers end before."""


class ConstraintRows:
    """The states of answers that are being written, by slot.

    Args:
        vocabulary: the tokens, of all constraints.
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
        b'.1I'
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        slots: int,
        later: Callable[[Callable[[], object]], object] | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self._later = later
        self.width = -(-vocabulary.size // _WORD_BITS)
        self._ends = ends_mask(vocabulary)
        self._states = np.zeros((slots, STATE_WIDTH), np.int32)
        self._addresses = np.zeros(slots, np.int64)
        self._scarce = np.full(slots, -1, np.int64)  # with so few tokens left, other tables
        self._soon = np.full(slots, -1, np.int64)  # with so few they are asked for, or taken
        self._live = np.zeros(slots, np.bool_)
        self._bias = np.zeros(slots, np.float32)
        self._constraints: list[CopyConstraint | None] = [None] * slots
        self._owners: list[Any] = [None] * slots  # of the addresses

    def admit(self, slot: int, constraint: CopyConstraint, budget: int | None) -> None:
        """Begin an answer.

        Args:
            slot: where; whatever was there is forgotten.
            constraint: its rules.
            budget: the most tokens of it, its end token included; None for no limit.

        Raises:
            InputError: no answer is so short. Then the slot is empty.
        """
        self.release(slot)
        state = constraint.start(budget)
        self._constraints[slot] = constraint
        self._take_tables(slot, state[TOKENS])
        self._states[slot] = state
        self._bias[slot] = constraint.policy.quote_bias
        self._live[slot] = True

    def release(self, slot: int) -> None:
        """Forget an answer; rows of an empty slot may only end."""
        self._live[slot] = False
        self._bias[slot] = 0
        self._scarce[slot] = self._soon[slot] = -1
        self._addresses[slot] = 0
        self._constraints[slot] = self._owners[slot] = None

    def advance(self, slots: NDArray[np.int64], tokens: Sequence[Sequence[int]]) -> NDArray[Any]:
        """Take answers forward, for good.

        Args:
            slots: [R], which, each once.
            tokens: the new tokens of each.

        Returns:
            [R] int64, for each the place in `tokens` of the first that is not allowed, or -1. Such
            an answer is released, as is one whose state is broken (-2).
        """
        status = np.full(len(slots), DONE, np.int64)
        places = np.flatnonzero(self._live[slots])
        if not places.size:
            return status
        live = slots[places]
        flat, starts = _flat([tokens[place] for place in places.tolist()])
        states = self._states[live]
        self._prepare(live, states, np.diff(starts))
        told = np.empty(live.size, np.int64)
        none = np.empty((live.size, 0), np.int32)
        entries().step(self._addresses[live], states, flat, starts, none, told)
        self._states[live] = states
        status[places] = told
        self._release_broken(live, told)
        return status

    def fill(
        self,
        slots: NDArray[np.int64],
        masks: NDArray[np.int32],
        ahead: Sequence[Sequence[int]] | None = None,
    ) -> NDArray[Any]:
        """Write which tokens may come next.

        Args:
            slots: [R], which; a slot may be there several times.
            masks: [R, W] int32, C-contiguous, written. Empty slots, and rows that are not allowed
                to go ahead, may only end.
            ahead: tokens of each row to suppose after its answer, which itself stays where it is.

        Returns:
            [R] int64, as `advance`; the place in `ahead`.
        """
        states = self._states[slots]
        count = len(slots)
        flat, starts = _flat(ahead) if ahead is not None else (_NO_TOKENS, np.zeros(count + 1, int))
        live = self._live[slots]
        told = np.full(count, DONE, np.int64)
        if live.all():
            self._prepare(slots, states, np.diff(starts))
            entries().step(self._addresses[slots], states, flat, starts, masks, told)
        elif live.any():
            places = np.flatnonzero(live).tolist()
            some = np.empty((len(places), self.width), np.int32)
            given = None if ahead is None else [ahead[place] for place in places]
            told[places] = self.fill(slots[places], some, given)
            masks[places] = some
        masks[(told != DONE) | ~live] = self._ends
        return told

    def go(
        self, slots: NDArray[np.int64], tokens: Sequence[Sequence[int]], masks: NDArray[np.int32]
    ) -> NDArray[Any]:
        """Take answers forward for good and write which tokens may come next, in one call.

        Args:
            slots: [R], which, each once.
            tokens: the new tokens of each.
            masks: [R, W] int32, C-contiguous, written, as by `fill`.

        Returns:
            As `advance`.
        """
        if not self._live[slots].all():
            status = self.advance(slots, tokens)
            self.fill(slots, masks)
            return status
        states = self._states[slots]
        flat, starts = _flat(tokens)
        self._prepare(slots, states, np.diff(starts))
        status = np.empty(len(slots), np.int64)
        entries().step(self._addresses[slots], states, flat, starts, masks, status)
        self._states[slots] = states
        self._release_broken(slots, status, masks)
        return status

    def biases(self, slots: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Return what is to be added to the scores of tokens that open a quote.

        Returns:
            [R], 0 in rows that stand in a quote; None where it is 0 everywhere.
        """
        biases = self._bias[slots]
        if not biases.any():
            return None
        biases[self._states[slots, MODE] != FREE] = 0
        return biases

    @property
    def quote_openers(self) -> NDArray[np.int64]:
        """The tokens that open a quote, in every constraint over the vocabulary."""
        return next((one.quote_openers for one in self._constraints if one is not None), _NO_TOKENS)

    def _release_broken(
        self, slots: NDArray[np.int64], status: NDArray[Any], masks: NDArray[np.int32] | None = None
    ) -> None:
        broken = status != DONE
        if broken.any():
            for slot in slots[broken].tolist():
                self.release(slot)
            if masks is not None:
                masks[broken] = self._ends

    def _prepare(
        self, slots: NDArray[np.int64], states: NDArray[np.int32], taken: NDArray[np.int64]
    ) -> None:
        """See to it that where few tokens are left the tables know what it costs to finish."""
        left = states[:, TOKENS] - taken
        soon = (left <= self._soon[slots]) & (states[:, MODE] != ENDED)
        for place in np.flatnonzero(soon).tolist():
            slot, tokens_left = int(slots[place]), max(0, int(left[place]))
            if tokens_left <= self._scarce[slot]:
                self._take_tables(slot, tokens_left)
            elif self._later is not None and (constraint := self._constraints[slot]) is not None:
                self._soon[slot] = self._scarce[slot]
                self._later(partial(constraint.tables, 0))

    def _take_tables(self, slot: int, tokens_left: int) -> None:
        constraint = self._constraints[slot]
        if constraint is None:
            return
        tables, scarce = constraint.tables(tokens_left)
        self._owners[slot] = tables
        self._addresses[slot] = tables.handle.__array_interface__["data"][0]
        self._scarce[slot] = scarce if tokens_left > scarce else -1
        ahead = _AHEAD if self._later is not None and self._scarce[slot] >= 0 else 0
        self._soon[slot] = self._scarce[slot] + ahead


_NO_TOKENS = np.empty(0, np.int64)


def ends_mask(vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return the mask of the end tokens: int32[W]."""
    bits = np.zeros(_WORD_BITS * -(-vocabulary.size // _WORD_BITS), np.bool_)
    bits[list(vocabulary.eos_ids)] = True
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)


def _flat(tokens: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts = np.array([*accumulate(map(len, tokens), initial=0)], np.int64)
    return np.array([*chain.from_iterable(tokens)], np.int64), starts
