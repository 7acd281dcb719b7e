"""`mask_rows` in Triton: one program a row and tile of tokens, one pass, no scratch.

Logits are not read, only written, and only where a token is not allowed (`store_nothing`). What a tile keeps is put
together in registers, a word for 32 tokens: the base's words, less the tokens of the state's entries,
plus those entries that are allowed. However many entries there are, all are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from semqa.kernels.lookup import affords, lower_bound, store_nothing
from semqa.kernels.tables import ENDED, NOT_OURS, UNLIMITED

if TYPE_CHECKING:
    from torch import Tensor

    from semqa.kernels.tables import ProgramTables

__all__ = ["mask_rows"]

_ENDED = tl.constexpr(ENDED)
_NOT_OURS = tl.constexpr(NOT_OURS)
_UNLIMITED = tl.constexpr(UNLIMITED)

TILE = 4096
"""Tokens of one program."""
CHUNK = 16
"""Entries that are looked at together; a tile has few."""


@triton.jit
def _bits_of(tokens, kept, first_word, WORDS: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Turn some tokens into words of bits: int32[WORDS]; a token occurs once."""
    words = first_word + tl.arange(0, WORDS)
    bits = tl.where(kept, 1 << (tokens & 31), 0)
    return tl.sum(tl.where((tokens >> 5)[:, None] == words[None, :], bits[:, None], 0), axis=0)


@triton.jit
def _mask_kernel(  # type: ignore[no-untyped-def]
    logits, row_stride, columns, rows,
    bits, bits_stride, width, targets, targets_stride, traits, ends, end_count,
    arena, places, limits,
    TILE: tl.constexpr, CHUNK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    WORDS: tl.constexpr = TILE // 32  # noqa: N806
    row = tl.program_id(0).to(tl.int64)
    tile = tl.program_id(1)
    slot = tl.load(rows + row * 4).to(tl.int64)
    if slot != _NOT_OURS:
        state = tl.load(rows + row * 4 + 1)
        left = tl.load(rows + row * 4 + 2)
        quotes = tl.load(rows + row * 4 + 3)
        first_word = tile * WORDS
        words = first_word + tl.arange(0, WORDS)
        ids = words[:, None] * 32 + tl.arange(0, 32)[None, :]
        keep = tl.zeros([WORDS], tl.int32)
        may_end = True
        if (state >= 0) & (state != _ENDED):
            records = tl.load(places + slot * 3)
            tokens = tl.load(places + slot * 3 + 1)
            behind = tl.load(places + slot * 3 + 2)
            at = arena + records + 4 * state.to(tl.int64)
            start = tl.load(at)
            count = tl.load(at + 1)
            base = tl.load(at + 2)
            cost = tl.load(at + 3)
            may_end = (cost == 0) & (quotes == 0) & (left >= 1)
            quote_cost = tl.load(limits + slot * 2 + 1)
            most = tl.load(limits + slot * 2) + quotes * quote_cost + 1
            near = (left != _UNLIMITED) & (left - 1 < most)
            if base >= 0:
                keep = tl.load(
                    bits + base.to(tl.int64) * bits_stride + words, mask=words < width, other=0
                )
                if near:
                    kept = ((keep[:, None] >> tl.arange(0, 32)[None, :]) & 1) != 0
                    target = tl.load(
                        targets + base.to(tl.int64) * targets_stride + ids, mask=kept, other=0
                    )
                    costs = tl.load(
                        arena + records + 4 * target.to(tl.int64) + 3, mask=kept, other=0
                    )
                    trait = tl.load(traits + ids, mask=kept, other=0).to(tl.int32)
                    kept = kept & affords(
                        costs, tl.maximum(quotes - trait, 0), quote_cost, left - 1
                    )
                    keep = tl.sum(tl.where(kept, 1 << (ids & 31), 0), axis=1)
            listed = arena + tokens + start
            place = start * 0
            if count > CHUNK:
                place = lower_bound(listed, count, first_word * 32)
            going = place < count
            while going:
                offsets = place + tl.arange(0, CHUNK)
                inside = offsets < count
                token = tl.load(listed + offsets, mask=inside, other=2147483647)
                here = inside & (token >= first_word * 32) & (token < first_word * 32 + TILE)
                if tl.sum(here.to(tl.int32), axis=0) > 0:
                    target = tl.load(arena + behind + start + offsets, mask=here, other=-1)
                    fits = here & (target >= 0)
                    if near:
                        costs = tl.load(
                            arena + records + 4 * target.to(tl.int64) + 3, mask=fits, other=0
                        )
                        trait = tl.load(traits + token, mask=fits, other=0).to(tl.int32)
                        fits = fits & affords(
                            costs, tl.maximum(quotes - trait, 0), quote_cost, left - 1
                        )
                    keep &= ~_bits_of(token, here, first_word, WORDS)
                    keep |= _bits_of(token, fits, first_word, WORDS)
                place += CHUNK
                going = False
                if place < count:
                    going = tl.load(listed + place) < first_word * 32 + TILE
        place = tile * 0
        while place < end_count:
            offsets = place + tl.arange(0, CHUNK)
            token = tl.load(ends + offsets, mask=offsets < end_count, other=2147483647)
            end_bits = _bits_of(token, offsets < end_count, first_word, WORDS)
            if may_end:
                keep |= end_bits
            place += CHUNK
        store_nothing(logits + row * row_stride, keep, words, columns)


def mask_rows(logits: Tensor, rows: Tensor, tables: ProgramTables) -> None:
    """See `semqa.kernels.mask.mask_rows`."""
    count, columns = logits.shape
    if count == 0 or columns == 0:
        return
    _mask_kernel[(count, triton.cdiv(columns, TILE))](
        logits, logits.stride(0), columns, rows,
        tables.bits, tables.bits.stride(0), tables.bits.shape[1],
        tables.targets, tables.targets.stride(0),
        tables.traits, tables.ends, tables.ends.shape[0],
        tables.arena, tables.places, tables.limits,
        TILE=TILE, CHUNK=CHUNK,
    )  # fmt: skip
