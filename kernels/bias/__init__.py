"""Something added to the logits of tokens that open a quote, where a row may open one."""

from semqa.kernels.bias.choose import bias_rows

__all__ = ["bias_rows"]
