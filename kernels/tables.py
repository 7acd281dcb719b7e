"""The tables that kernels look things up in, and the numbers that stand in them.

Knows nothing of quotes: these are states, tokens, and what it takes to finish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["DEAD", "ENDED", "END_TRAIT", "ROW_FIELDS", "UNLIMITED", "ProgramTables"]

START = 0
ENDED = 9
"""Behind an end token: only end tokens may follow."""
DEAD = -1
"""Behind a token that was not allowed. Fails closed: only end tokens may follow, and nothing leads out."""

END_TRAIT = 255
"""The trait of end tokens; that of others is how many quotes they close."""
UNLIMITED = 2**31 - 1
"""So many tokens left are no limit."""

NOT_OURS = -1
"""In `places`: no program has this slot. In a row: nothing is to be done to it."""

STATE, LEFT, QUOTES, CURSOR = range(4)
"""Columns of `registers`."""
ROW_SLOT, ROW_STATE, ROW_LEFT, ROW_QUOTES = range(4)
"""Columns of the rows that `advance` writes and `mask` reads."""
ROW_FIELDS = 4


class ProgramTables(NamedTuple):
    """All that kernels know; see `docs/device.md`. V tokens, W = ceil(V / 32), S slots.

    A token t is looked up among the entries of the state's record; where it is not there, in the
    record's base, if it has one. It is allowed if it leads somewhere, and if what is left suffices:
    ``cost + max(0, quotes - in quote) * quote_cost + 1``, of the state behind it, with the quotes
    that are still to be made there, must not exceed the tokens that are left behind it.

    Attributes:
        bits: int32[B, W], by base: bit ``t % 32`` of word ``t // 32`` is 1 if token t leads somewhere.
        targets: int16[B, V], by base: the state behind each token, or -1.
        traits: uint8[V].
        ends: int32[E], the end tokens.
        arena: int32[*], all programs. A state's record is four numbers: where its entries start,
            how many there are, its base or -1, and ``cost << 1 | in a quote``. Entries are ascending
            tokens in one place, and the states behind them (or -1) in another.
        places: int64[S, 3], by slot: where in the arena its records, tokens and targets begin; all
            NOT_OURS if it has none.
        limits: int32[S, 2], by slot: the highest cost of any state, and of one quote.
        registers: int32[S, 4], by slot: state, tokens left or UNLIMITED, quotes still to make, and
            how many tokens of the slot's history have been read.
    """

    bits: Tensor
    targets: Tensor
    traits: Tensor
    ends: Tensor
    arena: Tensor
    places: Tensor
    limits: Tensor
    registers: Tensor
