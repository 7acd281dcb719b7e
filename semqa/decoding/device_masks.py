"""Masks applied to scores on the device where they are, with one upload and no wait.

Loads torch; knows nothing of constraints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["mask_on_device", "unpack_on_device"]

_WORD_BITS = 32


def unpack_on_device(masks: torch.Tensor) -> torch.Tensor:
    """Turn masks [R, W] int32, bit 1 = allowed, into [R, 32 W] bool, true = not allowed."""
    shifts = torch.arange(_WORD_BITS, dtype=torch.int32, device=masks.device)
    # [R, W, 32]: token t is bit t % 32 of word t // 32. The shift keeps the sign, the and drops it.
    bits = torch.bitwise_and(torch.bitwise_right_shift(masks[:, :, None], shifts), 1)
    return (bits == 0).flatten(1)


def mask_on_device(
    scores: torch.Tensor, rows: NDArray[np.int64], masks: NDArray[np.int32], end: int
) -> None:
    """Forbid what the masks do not allow, in some rows of scores on any device, in place.

    Args:
        scores: [R, S], float.
        rows: [M], which rows, each once.
        masks: [M, W] int32, as for `semqa.decoding.masking.apply_masks`.
        end: the token that is left to rows in which nothing else is.

    Example:
        >>> import numpy as np
        >>> scores = torch.zeros(2, 3)
        >>> mask_on_device(scores, np.array([1]), np.array([[5]], np.int32), 0)
        >>> scores.tolist()
        [[0.0, 0.0, 0.0], [0.0, -inf, 0.0]]
    """
    from semqa.kernels.bitmask import apply_bitmask

    places = torch.from_numpy(rows).to(scores.device, non_blocking=True)
    apply_bitmask(scores, torch.from_numpy(masks).to(scores.device, non_blocking=True), places)
    # A row in which no score is left, or one is not finite, may only end: softmax would make of it
    # one in which nothing is forbidden. Nothing is read back, for that would wait for the device.
    dead = torch.zeros(scores.shape[0], dtype=torch.bool, device=scores.device)
    dead[places] = ~scores[places].amax(dim=-1).isfinite()  # of a row with NaN it is NaN
    scores.masked_fill_(dead[:, None], -torch.inf)
    scores[:, end].masked_fill_(dead, 0.0)
