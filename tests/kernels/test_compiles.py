"""The kernels compile for real GPUs, which needs none: Triton brings the assembler along.

The interpreter, under which they run elsewhere, lets pass what a compiler does not: types that change in
a loop, masks of the wrong shape.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

CODE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from semqa.kernels.advance import kernel as advance
from semqa.kernels.bitmask import kernel as bitmask
from semqa.kernels.mask import kernel as mask

POINTERS = {
    "slots": "*i64", "positions": "*i32", "input_ids": "*i32", "history": "*i32", "lengths": "*i32",
    "out": "*i32", "targets": "*i16", "traits": "*u8", "arena": "*i32", "places": "*i64",
    "limits": "*i32", "registers": "*i32", "bits": "*i32", "masks": "*i32",
}

def compile(function, architecture, constants, warps, **types):
    types = {**POINTERS, **types}
    names = function.arg_names
    signature = {
        name: "constexpr" if name in constants else types.get(name, "i32") for name in names
    }
    source = ASTSource(
        function, signature, {(names.index(name),): value for name, value in constants.items()}
    )
    target = GPUTarget("cuda", architecture, 32)
    made = triton.compile(source, target=target, options={"num_warps": warps})
    assert made.asm["cubin"]
    print(function.__name__, architecture)

for architecture in (80, 90):
    compile(advance._advance_kernel, architecture, {}, 1)
    for kind in ("*fp32", "*bf16", "*fp16"):
        tiles = {"TILE": mask.TILE, "TILES": mask.TILES, "CHUNK": mask.CHUNK}
        compile(mask._mask_kernel, architecture, tiles, mask.WARPS, logits=kind, rows="*i32")
        compile(bitmask._bitmask_kernel, architecture, {"TILE": bitmask.TILE}, 4, logits=kind, rows="*i64")
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_every_kernel_compiles_for_two_generations_of_gpus(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-P", "-c", CODE], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert len(done.stdout.splitlines()) == 14
