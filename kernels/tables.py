"""The tables that kernels look things up in, and the numbers that stand in them.

Knows nothing of quotes: these are states, tokens, and what it takes to finish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "DEAD",
    "ENDED",
    "ENDS_BASE",
    "END_TRAIT",
    "IN_FREE_TEXT",
    "MAY_END",
    "NEAR",
    "NOT_OURS",
    "ROW_FIELDS",
    "START",
    "UNLIMITED",
    "ProgramTables",
    "Row",
]

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
ENDS_BASE = 11
"""The row of `bits` with the end tokens."""

STATE, LEFT, QUOTES, CURSOR = range(4)
"""Columns of `registers`."""


class Row(NamedTuple):
    """What `advance` says of a row of logits, and all that `mask` asks: int32 each.

    Attributes:
        slot: NOT_OURS if it has no program; then nothing else is said.
        state: where the answer stands.
        left: tokens left, or UNLIMITED.
        quotes: still to make.
        records: where in the arena the records of the program begin.
        tokens: where in the arena the tokens of the state's entries begin.
        targets: where the states behind them begin.
        entries: how many there are.
        base: of the state, or -1.
        flags: MAY_END if end tokens are allowed, NEAR if tokens may not fit into what is left,
            IN_FREE_TEXT where a quote may open sooner or later.
        quote_cost: tokens of one quote.
        unused: 0.
    """

    slot: int
    state: int = 0
    left: int = 0
    quotes: int = 0
    records: int = 0
    tokens: int = 0
    targets: int = 0
    entries: int = 0
    base: int = -1
    flags: int = 0
    quote_cost: int = 0
    unused: int = 0


MAY_END, NEAR, IN_FREE_TEXT = 1, 2, 4
ROW_FIELDS = len(Row._fields)


class ProgramTables(NamedTuple):
    """All that kernels know; see `docs/device.md`. V tokens, W = ceil(V / 32), S slots.

    A token t is looked up among the entries of the state's record; where it is not there, in the
    record's base, if it has one. It is allowed if it leads somewhere, and if what is left suffices:
    ``cost + max(0, quotes - in quote) * quote_cost + 1``, of the state behind it, with the quotes
    that are still to be made there, must not exceed the tokens that are left behind it.

    Attributes:
        bits: int32[B, W], by base: bit ``t % 32`` of word ``t // 32`` is 1 if token t leads
            somewhere; in row ENDS_BASE, which is no base, if it is an end token.
        targets: int16[B, V], by base: the state behind each token, or -1; ENDS_BASE has none.
        traits: uint8[V].
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
    arena: Tensor
    places: Tensor
    limits: Tensor
    registers: Tensor
