"""The copy constraint inside vLLM: ``--logits-processors semqa.decoding.vllm:CopyConstraintProcessor``.

Code that needs vLLM is imported on first use. Clients can use the request format without vLLM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.decoding.vllm.request import ConstraintRequest, to_extra_args
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.decoding.vllm.processor import CopyConstraintProcessor

__all__ = ["ConstraintRequest", "CopyConstraintProcessor", "to_extra_args"]


def __getattr__(name: str) -> object:
    if name == "CopyConstraintProcessor":
        require("vllm", extra="vllm", purpose="semqa.decoding.vllm")
        require("numba", extra="vllm", purpose="the copy constraint")
        from semqa.decoding.vllm.processor import CopyConstraintProcessor

        return CopyConstraintProcessor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
