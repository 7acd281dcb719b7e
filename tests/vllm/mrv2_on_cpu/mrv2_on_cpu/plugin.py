"""What Triton's interpreter lacks: masks that are not of truth values, top-k on its own, and speed."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
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
    _make_fast(interpreter)


def _make_fast(interpreter: Any) -> None:
    """Let kernels take a third of the time; what they compute stays the same."""
    import triton.language as tl

    # At each call of a function the interpreter looks through Triton's language and patches it. Once
    # is enough, because nothing is compiled.
    patch = interpreter._patch_lang
    language = SimpleNamespace(__globals__={"tl": tl, "core": tl.core})

    @cache
    def patch_once() -> None:
        patch(language)

    def patch_lang(_function: Any) -> Any:
        patch_once()
        return interpreter._LangPatchScope()  # with nothing to restore

    interpreter._patch_lang = patch_lang
    # It also repeats integer arithmetic in 64 bits, to find overflows that it reports in debug mode only.
    interpreter.interpreter_builder.options = interpreter.InterpreterOptions(
        sanitize_overflow=False
    )
