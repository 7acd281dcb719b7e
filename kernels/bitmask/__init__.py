"""Masks that come from the host, applied to rows of logits."""

from semqa.kernels.bitmask.choose import apply_bitmask

__all__ = ["apply_bitmask"]
