"""What Triton's interpreter lacks: masks that are not of truth values, and top-k on its own."""

from __future__ import annotations

from typing import Any


def register() -> None:
    from triton.runtime import interpreter
    from vllm.v1.sample.ops import topk_topp_sampler

    topk_topp_sampler.HAS_TRITON = False  # so that it takes torch

    builder = interpreter.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store

    def truth(mask: Any) -> Any:
        if mask.data.dtype != bool:
            mask.data = mask.data.astype(bool)
        return mask

    def masked_load(self: Any, ptrs: Any, mask: Any, *rest: Any) -> Any:
        return load(self, ptrs, truth(mask), *rest)

    def masked_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
        return store(self, ptrs, value, truth(mask), *rest)

    builder.create_masked_load, builder.create_masked_store = masked_load, masked_store
