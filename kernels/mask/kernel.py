"""`mask_rows` in Triton: one program a row and some tiles of tokens, one pass, no scratch.

Logits are not read, only written, and only where a token is not allowed (`store_nothing`). What a tile
keeps is put together in registers, a word for 32 tokens: the base's words, less the tokens of the state's
entries, plus those entries that are allowed. However many entries there are, all are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from semqa.kernels.lookup import affords, lower_bound
from semqa.kernels.store import store_nothing
from semqa.kernels.tables import ENDS_BASE, MAY_END, NEAR, NOT_OURS, ROW_FIELDS

if TYPE_CHECKING:
    from torch import Tensor

    from semqa.kernels.tables import ProgramTables

__all__ = ["mask_rows"]

_ENDS_BASE = tl.constexpr(ENDS_BASE)
_MAY_END = tl.constexpr(MAY_END)
_NEAR = tl.constexpr(NEAR)
_NOT_OURS = tl.constexpr(NOT_OURS)
_ROW_FIELDS = tl.constexpr(ROW_FIELDS)

TILE = 2048
"""Tokens that are put together at once."""
TILES = 4
"""Tiles of one program: looking its row up takes as long as several of them."""
WARPS = 8
"""Of 32 threads, 8 tokens each: so that a thread needs few registers, and many programs run at once."""
CHUNK = 16
"""Entries that are looked at together; a tile has few."""


@triton.jit
def _bits_of(tokens, kept, words):  # type: ignore[no-untyped-def]
    """Turn some tokens into words of bits: int32[WORDS]; a token occurs once."""
    bits = tl.where(kept, 1 << (tokens & 31), 0)
    return tl.sum(tl.where((tokens >> 5)[:, None] == words[None, :], bits[:, None], 0), axis=0)


@triton.jit
def _mask_kernel(  # type: ignore[no-untyped-def]
    logits, row_stride, columns, rows, bits, bits_stride, width, targets, targets_stride, traits, arena,
    TILE: tl.constexpr, TILES: tl.constexpr, CHUNK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    WORDS: tl.constexpr = TILE // 32  # noqa: N806
    row = tl.program_id(0).to(tl.int64)
    at = rows + row * _ROW_FIELDS
    if tl.load(at) != _NOT_OURS:
        left = tl.load(at + 2) - 1
        quotes = tl.load(at + 3)
        records = arena + tl.load(at + 4).to(tl.int64)
        listed = arena + tl.load(at + 5).to(tl.int64)
        behind = arena + tl.load(at + 6).to(tl.int64)
        count = tl.load(at + 7)
        base = tl.load(at + 8).to(tl.int64)
        flags = tl.load(at + 9)
        quote_cost = tl.load(at + 10)
        first = tl.program_id(1) * TILE * TILES
        place = count * 0
        if count > CHUNK:
            place = lower_bound(listed, count, first)
        for tile in range(TILES):
            begin = first + tile * TILE
            if begin < columns:
                words = begin // 32 + tl.arange(0, WORDS)
                keep = tl.zeros([WORDS], tl.int32)
                if base >= 0:
                    keep = tl.load(bits + base * bits_stride + words, mask=words < width, other=0)
                    if flags & _NEAR:
                        ids = words[:, None] * 32 + tl.arange(0, 32)[None, :]
                        kept = ((keep[:, None] >> tl.arange(0, 32)[None, :]) & 1) != 0
                        target = tl.load(targets + base * targets_stride + ids, mask=kept, other=0)
                        cost = tl.load(records + 4 * target.to(tl.int64) + 3, mask=kept, other=0)
                        trait = tl.load(traits + ids, mask=kept, other=0).to(tl.int32)
                        kept &= affords(cost, tl.maximum(quotes - trait, 0), quote_cost, left)
                        keep = tl.sum(tl.where(kept, 1 << (ids & 31), 0), axis=1)
                going = False
                if place < count:
                    going = tl.load(listed + place) < begin + TILE
                while going:
                    offsets = place + tl.arange(0, CHUNK)
                    token = tl.load(listed + offsets, mask=offsets < count, other=2147483647)
                    here = (token >= begin) & (token < begin + TILE)
                    target = tl.load(behind + offsets, mask=here, other=-1)
                    fits = here & (target >= 0)
                    if flags & _NEAR:
                        cost = tl.load(records + 4 * target.to(tl.int64) + 3, mask=fits, other=0)
                        trait = tl.load(traits + token, mask=fits, other=0).to(tl.int32)
                        fits &= affords(cost, tl.maximum(quotes - trait, 0), quote_cost, left)
                    keep &= ~_bits_of(token, here, words)
                    keep |= _bits_of(token, fits, words)
                    going = False
                    if place + CHUNK <= count:
                        # The next tile looks at the chunk again that reaches into it.
                        if tl.load(listed + place + CHUNK - 1) < begin + TILE:
                            place += CHUNK
                            if place < count:
                                going = tl.load(listed + place) < begin + TILE
                if flags & _MAY_END:
                    keep |= tl.load(
                        bits + _ENDS_BASE * bits_stride + words, mask=words < width, other=0
                    )
                store_nothing(logits + row * row_stride, keep, words, columns)


def mask_rows(logits: Tensor, rows: Tensor, tables: ProgramTables) -> None:
    """See `semqa.kernels.mask.mask_rows`."""
    count, columns = logits.shape
    if count == 0 or columns == 0:
        return
    _mask_kernel[(count, triton.cdiv(columns, TILE * TILES))](
        logits, logits.stride(0), columns, rows,
        tables.bits, tables.bits.stride(0), tables.bits.shape[1],
        tables.targets, tables.targets.stride(0), tables.traits, tables.arena,
        TILE=TILE, TILES=TILES, CHUNK=CHUNK, num_warps=WARPS,
    )  # fmt: skip
