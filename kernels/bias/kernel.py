"""`bias_rows` in Triton: one program a row and some openers, of which a vocabulary has few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from semqa.kernels.tables import IN_FREE_TEXT, NOT_OURS, ROW_FIELDS

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["bias_rows"]

_IN_FREE_TEXT = tl.constexpr(IN_FREE_TEXT)
_NOT_OURS = tl.constexpr(NOT_OURS)
_ROW_FIELDS = tl.constexpr(ROW_FIELDS)

CHUNK = 128


@triton.jit
def _bias_kernel(  # type: ignore[no-untyped-def]
    logits, row_stride, columns, rows, openers, count, biases, most,
    CHUNK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(rows + row * _ROW_FIELDS).to(tl.int64)
    flags = tl.load(rows + row * _ROW_FIELDS + 9)
    if (slot != _NOT_OURS) & ((flags & _IN_FREE_TEXT) != 0):
        bias = tl.load(biases + slot)
        offsets = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
        token = tl.load(openers + offsets, mask=offsets < count, other=2147483647)
        at = logits + row * row_stride + token
        biased = tl.load(at, mask=token < columns, other=0.0).to(tl.float32) + bias
        biased = tl.where(biased > most, most, biased)  # NaN stays
        if logits.dtype.element_ty == tl.bfloat16:
            # Rounded here, to the nearest, ties to even: the interpreter's own conversion truncates.
            bits = biased.to(tl.int32, bitcast=True)
            rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & -0x10000
            biased = tl.where(biased == biased, rounded.to(tl.float32, bitcast=True), biased)
        tl.store(at, biased.to(logits.dtype.element_ty), mask=token < columns)


def bias_rows(logits: Tensor, rows: Tensor, openers: Tensor, biases: Tensor) -> None:
    """See `semqa.kernels.bias.bias_rows`."""
    count, columns = logits.shape
    if count == 0 or columns == 0 or openers.shape[0] == 0:
        return
    _bias_kernel[(count, triton.cdiv(openers.shape[0], CHUNK))](
        logits, logits.stride(0), columns, rows, openers, openers.shape[0], biases,
        torch.finfo(logits.dtype).max, CHUNK=CHUNK, num_warps=4,
    )  # fmt: skip
