"""Compile all kernels for a GPU without needing one; run as a program, not in the interpreter."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from typing import Any

TYPES = {"row_stride": "i64", "rows": "*i64"}
NUMBERS = {"columns", "mask_stride", "width"}


def stores_of(kernel: Any, logits: str, constants: dict[str, int], warps: int) -> dict[str, int]:
    """Compile one kernel for an H100, with aligned tensors; count the kinds of stores it has."""
    from triton import compile as compile_kernel
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {}
    for name in kernel.arg_names:
        kind = "i32" if name in NUMBERS else TYPES.get(name, "*i32")
        kind = logits if name == "logits" else kind
        signature[name] = "constexpr" if name in constants else kind
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, name in enumerate(kernel.arg_names)
        if signature[name].startswith("*") or name in {"row_stride", "columns"}
    }
    source = ASTSource(kernel, signature, constexprs=constants, attrs=aligned)
    made = compile_kernel(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})
    assert made.asm["cubin"]
    return dict(Counter(re.findall(r"st\.global[\w.]*", made.asm["ptx"])))


def main() -> None:
    """Print the store instructions of each kernel; Triton must be imported in this process."""
    from semqa.kernels.bitmask import TILE, _bitmask_kernel

    found = {
        f"bitmask {logits}": stores_of(_bitmask_kernel, logits, {"TILE": TILE}, 8)
        for logits in ("*fp32", "*bf16", "*fp16")
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
