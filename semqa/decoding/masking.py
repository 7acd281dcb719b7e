"""Masks applied to scores on the host, compiled: one pass over what is in memory.

Knows nothing of constraints. Numpy needs several passes, and torch wakes its threads for each.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["apply_masks", "compile_masking"]

_SIGNATURE = "void(f4[:, ::1], i4[:, ::1], f4[:, ::1], b1[::1])"


def apply_masks(
    scores: NDArray[np.float32], masks: NDArray[np.int32], out: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Forbid what the masks do not allow.

    Args:
        scores: [R, S], C-contiguous.
        masks: [R, W], C-contiguous; bit ``t % 32`` of word ``t // 32`` is 1 if token t is allowed.
            Columns beyond the masks are not allowed.
        out: [R, S], C-contiguous, written: the scores, minus infinity where not allowed.

    Returns:
        For each row whether any allowed score is above minus infinity, and none of them NaN.

    Example:
        >>> kept = np.empty((1, 3), np.float32)
        >>> apply_masks(np.ones((1, 3), np.float32), np.array([[5]], np.int32), kept).tolist()
        [True]
        >>> kept.tolist()
        [[1.0, -inf, 1.0]]
    """
    alive = np.empty(len(scores), np.bool_)
    compile_masking()(scores, masks, out, alive)
    return alive


@cache
def compile_masking() -> Any:
    """Compile the loop, or load it: a second the first time on a machine."""
    import numba

    try:
        return numba.njit(_SIGNATURE, cache=True, nogil=True)(_loop)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return numba.njit(_SIGNATURE, nogil=True)(_loop)  # no folder to write to


def _loop(scores: Any, masks: Any, out: Any, alive: Any) -> None:
    rows, width = scores.shape
    nothing = np.float32(-np.inf)
    for row in range(rows):
        found: Any = False
        broken: Any = False
        whole = min(masks.shape[1], width // 32)
        for word in range(whole):
            bits, start = masks[row, word], 32 * word
            if bits == 0:
                for column in range(start, start + 32):
                    out[row, column] = nothing
            else:
                for bit in range(32):
                    score = scores[row, start + bit] if (bits >> bit) & 1 else nothing
                    out[row, start + bit] = score
                    found |= score > nothing
                    broken |= np.isnan(score)
        for column in range(32 * whole, width):
            word = column >> 5
            kept = word < masks.shape[1] and (masks[row, word] >> (column & 31)) & 1
            score = scores[row, column] if kept else nothing
            out[row, column] = score
            found |= score > nothing
            broken |= np.isnan(score)
        alive[row] = found and not broken
