"""`advance_rows` in Triton: one program a slot, token by token; nothing goes back to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from semqa.kernels.lookup import affords, lower_bound
from semqa.kernels.tables import (
    DEAD,
    END_TRAIT,
    ENDED,
    IN_FREE_TEXT,
    MAY_END,
    NEAR,
    NOT_OURS,
    ROW_FIELDS,
    UNLIMITED,
)

if TYPE_CHECKING:
    from torch import Tensor

    from semqa.kernels.tables import ProgramTables

__all__ = ["advance_rows"]

_DEAD = tl.constexpr(DEAD)
_ENDED = tl.constexpr(ENDED)
_END_TRAIT = tl.constexpr(END_TRAIT)
_IN_FREE_TEXT = tl.constexpr(IN_FREE_TEXT)
_MAY_END = tl.constexpr(MAY_END)
_NEAR = tl.constexpr(NEAR)
_NOT_OURS = tl.constexpr(NOT_OURS)
_ROW_FIELDS = tl.constexpr(ROW_FIELDS)
_UNLIMITED = tl.constexpr(UNLIMITED)


@triton.jit
def _step(  # type: ignore[no-untyped-def]
    state,
    left,
    quotes,
    token,
    arena,
    records,
    tokens,
    behind,
    quote_cost,
    targets,
    stride,
    traits,
    size,
):
    """Go on by one token: return state, tokens left, quotes still to make."""
    after = state * 0 + _DEAD
    left_after = left
    quotes_after = quotes
    if (state != _DEAD) & (token >= 0) & (token < size):
        trait = tl.load(traits + token).to(tl.int32)
        if state == _ENDED:
            if trait == _END_TRAIT:
                after = state
        elif left >= 1:
            at = records + 4 * state.to(tl.int64)
            cost = tl.load(arena + at + 3)
            if trait == _END_TRAIT:
                if (cost == 0) & (quotes == 0):
                    after = state * 0 + _ENDED
            else:
                start = tl.load(arena + at)
                count = tl.load(arena + at + 1)
                base = tl.load(arena + at + 2)
                place = lower_bound(arena + tokens + start, count, token)
                found = token - 1
                if place < count:
                    found = tl.load(arena + tokens + start + place)
                target = state * 0 + _DEAD
                if found == token:
                    target = tl.load(arena + behind + start + place)
                elif base >= 0:
                    target = tl.load(targets + base.to(tl.int64) * stride + token).to(tl.int32)
                if target >= 0:
                    if left != _UNLIMITED:
                        left_after = left - 1
                    quotes_after = tl.maximum(quotes - trait, 0)
                    cost = tl.load(arena + records + 4 * target.to(tl.int64) + 3)
                    if affords(cost, quotes_after, quote_cost, left_after):
                        after = target
                    else:
                        left_after = left
                        quotes_after = quotes
    return after, left_after, quotes_after


@triton.jit
def _write(  # type: ignore[no-untyped-def]
    out, row, slot, state, left, quotes, arena, records, tokens, behind, longest, quote_cost
):
    """Write all that is to be known of a row, see `semqa.kernels.tables.Row`."""
    at = out + row.to(tl.int64) * _ROW_FIELDS
    tl.store(at, slot.to(tl.int32))
    tl.store(at + 1, state)
    tl.store(at + 2, left)
    tl.store(at + 3, quotes)
    flags = state * 0 + _MAY_END
    start = state * 0
    count = state * 0
    base = state * 0 - 1
    known = (state != _DEAD) & (state != _ENDED)
    if known:
        record = arena + records + 4 * state.to(tl.int64)
        start = tl.load(record)
        count = tl.load(record + 1)
        base = tl.load(record + 2)
        cost = tl.load(record + 3)
        may_end = (cost == 0) & (quotes == 0) & (left >= 1)
        near = (left != _UNLIMITED) & (left - 1 < longest + quotes * quote_cost + 1)
        flags = may_end.to(tl.int32) * _MAY_END + near.to(tl.int32) * _NEAR
        flags += ((cost & 1) ^ 1) * _IN_FREE_TEXT
    some = known.to(tl.int32)
    tl.store(at + 4, records.to(tl.int32) * some)
    tl.store(at + 5, (tokens.to(tl.int32) + start) * some)
    tl.store(at + 6, (behind.to(tl.int32) + start) * some)
    tl.store(at + 7, count)
    tl.store(at + 8, base)
    tl.store(at + 9, flags)
    tl.store(at + 10, quote_cost * some)
    tl.store(at + 11, 0)


@triton.jit
def _advance_kernel(  # type: ignore[no-untyped-def]
    slots, positions, input_ids, history, history_stride, lengths, out, row_count,
    targets, targets_stride, traits, size, arena, places, limits, registers,
):  # fmt: skip
    row = tl.program_id(0)
    slot = tl.load(slots + row).to(tl.int64)
    before = slot - 1
    if row > 0:
        before = tl.load(slots + row - 1).to(tl.int64)
    if slot != before:
        records = slot * 0 + _NOT_OURS
        if slot >= 0:
            records = tl.load(places + slot * 3)
        going = True
        if records < 0:
            while going:
                fields = tl.arange(0, 16)
                nothing = tl.where(fields == 0, _NOT_OURS, tl.where(fields == 8, -1, 0))
                at = out + row.to(tl.int64) * _ROW_FIELDS + fields
                tl.store(at, nothing, mask=fields < _ROW_FIELDS)
                row += 1
                going = False
                if row < row_count:
                    going = tl.load(slots + row).to(tl.int64) == slot
        else:
            tokens = tl.load(places + slot * 3 + 1)
            behind = tl.load(places + slot * 3 + 2)
            longest = tl.load(limits + slot * 2)
            quote_cost = tl.load(limits + slot * 2 + 1)
            state = tl.load(registers + slot * 4)
            left = tl.load(registers + slot * 4 + 1)
            quotes = tl.load(registers + slot * 4 + 2)
            cursor = tl.load(registers + slot * 4 + 3)
            length = tl.load(lengths + slot)
            while cursor < length:
                token = tl.load(history + slot * history_stride + cursor)
                state, left, quotes = _step(
                    state, left, quotes, token, arena, records, tokens, behind, quote_cost,
                    targets, targets_stride, traits, size,
                )  # fmt: skip
                cursor += 1
            tl.store(registers + slot * 4, state)
            tl.store(registers + slot * 4 + 1, left)
            tl.store(registers + slot * 4 + 2, quotes)
            tl.store(registers + slot * 4 + 3, cursor)
            if tl.load(positions + row) != 0:
                state = state * 0 + _DEAD
            while going:
                _write(
                    out, row, slot, state, left, quotes, arena, records, tokens, behind,
                    longest, quote_cost,
                )  # fmt: skip
                row += 1
                going = False
                if row < row_count:
                    going = tl.load(slots + row).to(tl.int64) == slot
                if going:
                    token = tl.load(input_ids + row)
                    state, left, quotes = _step(
                        state, left, quotes, token, arena, records, tokens, behind, quote_cost,
                        targets, targets_stride, traits, size,
                    )  # fmt: skip


def advance_rows(
    tables: ProgramTables,
    slots: Tensor,
    positions: Tensor,
    input_ids: Tensor,
    history: Tensor,
    lengths: Tensor,
    out: Tensor,
) -> None:
    """See `semqa.kernels.advance.advance_rows`."""
    rows = slots.shape[0]
    if rows == 0:
        return
    _advance_kernel[(rows,)](
        slots, positions, input_ids, history, history.stride(0), lengths, out, rows,
        tables.targets, tables.targets.stride(0), tables.traits, tables.traits.shape[0],
        tables.arena, tables.places, tables.limits, tables.registers, num_warps=1,
    )  # fmt: skip
