"""Compile all kernels for a GPU that need not be there; run as a program, without the interpreter."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from typing import Any

TYPES = {
    "row_stride": "i64",
    "history_stride": "i64",
    "places": "*i64",
    "slots": "*i64",
    "targets": "*i16",
    "traits": "*u8",
    "biases": "*fp32",
    "most": "fp32",
}
NUMBERS = {
    "bits_stride", "columns", "count", "mask_stride", "row_count", "size", "targets_stride", "width"
}  # fmt: skip


def stores_of(kernel: Any, logits: str, constants: dict[str, int], warps: int) -> dict[str, int]:
    """Compile one kernel for an H100, with aligned tensors; count the kinds of stores it has."""
    from triton import compile as compile_kernel
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {}
    for name in kernel.arg_names:
        kind = "i32" if name in NUMBERS else TYPES.get(name, "*i32")
        kind = logits if name == "logits" else kind
        if name == "rows" and "masks" in kernel.arg_names:
            kind = "*i64"
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
    """Print the stores of each kernel; imported here, for Triton decides at import what they are."""
    from semqa.kernels.advance.kernel import _advance_kernel
    from semqa.kernels.bias.kernel import _bias_kernel
    from semqa.kernels.bitmask.kernel import _bitmask_kernel
    from semqa.kernels.mask.kernel import CHUNK, TILE, TILES, WARPS, _mask_kernel

    tiles = {"TILE": TILE, "TILES": TILES, "CHUNK": CHUNK}
    found = {
        f"mask {logits}": stores_of(_mask_kernel, logits, tiles, WARPS)
        for logits in ("*fp32", "*bf16", "*fp16")
    }
    found["bitmask"] = stores_of(_bitmask_kernel, "*bf16", {"TILE": 4096}, 8)
    found["bias"] = stores_of(_bias_kernel, "*bf16", {"CHUNK": 128}, 4)
    found["advance"] = stores_of(_advance_kernel, "", {}, 1)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
