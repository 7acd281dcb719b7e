"""Apply masks to scores: with compiled code on the CPU, or on a device without synchronising."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import torch

NO_TOKENS = np.empty(0, np.int64)
_NO_BIASES = np.empty(0, np.float32)
_SIGNATURE = "void(f4[::1], i8[::1], i8, i4[:, ::1], i8[::1], f4[::1], b1[::1])"


def packed(tokens: ArrayLike, width: int) -> NDArray[np.int32]:
    """Return the mask of some tokens: int32[width], bit ``t % 32`` of word ``t // 32`` for token t.

    Example:
        >>> packed([0, 33], 2).tolist(), np.flatnonzero(unpacked(packed([0, 33], 2))).tolist()
        ([1, 2], [0, 33])
    """
    bits = np.zeros(32 * width, np.bool_)
    bits[np.asarray(tokens, np.int64)] = True
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)


def unpacked(mask: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the bits of a mask."""
    return np.unpackbits(mask.view(np.uint8), bitorder="little").view(np.bool_)


def mask_in_place(
    scores: NDArray[np.float32],
    rows: NDArray[np.int64],
    masks: NDArray[np.int32],
    lifted: NDArray[np.int64] = NO_TOKENS,
    biases: NDArray[np.float32] = _NO_BIASES,
) -> NDArray[np.bool_]:
    """Set scores to minus infinity where the masks do not allow a token, in some rows.

    Allowed scores in partly forbidden blocks of 32 tokens are made finite too (NaN is forbidden),
    because one infinite or NaN score would make softmax ignore the mask.

    Args:
        scores: [R, S], contiguous columns and any row stride; modified in place.
        rows: [M], the rows to mask, without duplicates.
        masks: [M, W], C-contiguous; bit ``t % 32`` of word ``t // 32`` is 1 if token t is allowed.
            Columns beyond the masks are not allowed.
        lifted: tokens that get a bias first, without duplicates.
        biases: [M], the bias in each of `rows`; needed only if there are such tokens.

    Returns:
        [M], whether each row still has a score above minus infinity.

    Example:
        >>> scores = np.ones((2, 3), np.float32)
        >>> mask_in_place(scores, np.array([1]), np.array([[5]], np.int32)).tolist()
        [True]
        >>> scores.tolist()
        [[1.0, 1.0, 1.0], [1.0, -inf, 1.0]]
    """
    alive = np.zeros(rows.size, np.bool_)
    height, width = scores.shape
    if rows.size and width:
        between = scores.strides[0] // scores.itemsize if height > 1 else width
        if between == width:
            whole = scores.reshape(-1)
        else:
            whole = np.lib.stride_tricks.as_strided(
                scores, ((height - 1) * between + width,), (scores.itemsize,)
            )
        starts = rows * between
        compile_masking()(whole, starts, width, masks, lifted, biases, alive)
    return alive


@cache
def compile_masking() -> Any:
    """Compile the loop of `mask_in_place`, or load it from the cache. Compiling takes a second."""
    import numba

    try:
        return numba.njit(_SIGNATURE, cache=True, nogil=True)(_loop)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return numba.njit(_SIGNATURE, nogil=True)(_loop)  # the cache folder is not writable


def _loop(
    scores: Any, starts: Any, width: Any, masks: Any, lifted: Any, biases: Any, alive: Any
) -> None:
    nothing, most = np.float32(-np.inf), np.finfo(np.float32).max
    words = masks.shape[1]
    for row in range(starts.size):
        start = starts[row]
        found: Any = False
        for token in lifted:
            if token < width:
                scores[start + token] += biases[row]
        whole = min(words, width // 32)
        word = 0
        while word < whole:
            bits, first = masks[row, word], start + 32 * word
            word += 1
            if bits == 0:  # the usual case in a quote: clear all consecutive empty words at once
                while word < whole and masks[row, word] == 0:
                    word += 1
                scores[first : start + 32 * word] = nothing
            elif bits != -1 or not found:
                left, block = 0, scores[first : first + 32]
                for bit in range(32):  # branch-free, for speed
                    score = block[bit]
                    score = score if (bits >> bit) & 1 else nothing
                    score = most if score > most else score
                    score = score if score == score else nothing  # noqa: PLR0124  (NaN is not)
                    block[bit] = score
                    left += 1 if score > nothing else 0
                found |= left > 0
        for column in range(32 * min(words, width // 32), width):
            word = column >> 5
            kept = word < words and (masks[row, word] >> (column & 31)) & 1
            score = scores[start + column] if kept else nothing
            if not score <= most:
                score = nothing if np.isnan(score) else most
            scores[start + column] = score
            found |= score > nothing
        alive[row] = found


def forbid(scores: torch.Tensor, rows: torch.Tensor, masks: torch.Tensor) -> None:
    """Set forbidden scores to minus infinity, in place: with Triton on a GPU, or with plain torch.

    Args:
        scores: [R, V] float, contiguous columns.
        rows: [M] int64, the row of scores for each mask, without duplicates.
        masks: [M, W] int32, on the same device.
    """
    import torch

    if scores.is_cuda and find_spec("triton"):  # Triton is not available for Windows
        from semqa.kernels.bitmask import apply_bitmask

        apply_bitmask(scores, masks, rows)
        return
    width = scores.shape[1]
    shifts = torch.arange(32, dtype=torch.int32, device=masks.device)
    # [M, W, 32]: the shift keeps the sign bit; "& 1" drops it.
    allowed = (((masks[:, :, None] >> shifts) & 1) != 0).flatten(1)[:, :width]
    beyond = width - allowed.shape[1]
    allowed = torch.nn.functional.pad(allowed, (0, beyond), value=False)
    scores[rows] = scores[rows].masked_fill(~allowed, -torch.inf)


def mask_on_device(
    scores: torch.Tensor, rows: NDArray[np.int64], masks: NDArray[np.int32], end: int
) -> None:
    """Set forbidden scores to minus infinity in some rows, in place, on any device.

    Args:
        end: the only token allowed in rows that have no other finite score.

    Example:
        >>> import numpy as np, torch
        >>> scores = torch.zeros(2, 3)
        >>> mask_on_device(scores, np.array([1]), np.array([[5]], np.int32), 0)
        >>> scores.tolist()
        [[0.0, 0.0, 0.0], [0.0, -inf, 0.0]]
    """
    import torch

    places = torch.from_numpy(rows).to(scores.device, non_blocking=True)
    uploaded = torch.from_numpy(masks).to(scores.device, non_blocking=True)
    forbid(scores, places, uploaded)
    # A row without scores, or with one that is not finite, may only end, because softmax would turn
    # it into NaN. Nothing is read back: that would wait for the device.
    dead = torch.zeros(scores.shape[0], dtype=torch.bool, device=scores.device)
    dead[places] = ~scores[places].amax(dim=-1).isfinite()  # the maximum of a row with NaN is NaN
    scores.masked_fill_(dead[:, None], -torch.inf)
    scores[:, end].masked_fill_(dead, 0.0)
