"""The states that rows of logits are for, from the tokens that were written since."""

from semqa.kernels.advance.choose import advance_rows

__all__ = ["advance_rows"]
