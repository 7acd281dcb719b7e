"""Minus infinity for what the states of rows do not allow."""

from semqa.kernels.mask.choose import mask_rows

__all__ = ["mask_rows"]
