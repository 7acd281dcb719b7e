"""`apply_bitmask`, compared bit by bit with a plain implementation.

Triton decides what it makes of a kernel when the kernel is defined: code for a GPU, or a program for its
interpreter. Without a GPU the kernel is imported here with the interpreter switched on.
"""

from __future__ import annotations

from importlib import import_module

import pytest
import torch

from tests.kernels.interpreting import interpreting

pytest.importorskip("triton")
with interpreting():
    if not torch.cuda.is_available():
        import_module("triton.experimental.gluon")  # loaded at the first launch otherwise
    from semqa.kernels.bitmask import apply_bitmask

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def poisoned(
    rows: int, columns: int, dtype: torch.dtype, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits within a larger buffer, and that buffer, to detect writes outside the logits.

    There are NaN, infinities and zeros of both signs among the logits.
    """
    memory = torch.randn((rows + 2, columns + 7), device=device).to(dtype)
    for value in (torch.nan, torch.inf, -torch.inf, -0.0):
        memory[torch.rand(memory.shape, device=device) < 0.05] = value
    return memory[1 : rows + 1, 3 : columns + 3], memory


def bits_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return floats as integer bit patterns, so that NaN equals itself and -0 differs from 0."""
    return (
        tensor.cpu().contiguous().view(torch.int32 if tensor.element_size() == 4 else torch.int16)
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("width", "columns"), [(1, 1), (1, 33), (9, 270), (9, 259), (130, 4161)])
def test_bits_select_the_kept_logits(dtype: torch.dtype, width: int, columns: int) -> None:
    torch.manual_seed(columns)
    logits, memory = poisoned(9, columns, dtype, DEVICE)
    rows = torch.tensor([7, 0, -1, 3, 8])
    masks = torch.randint(-(2**31), 2**31, (5, 2 * width), dtype=torch.int32)[:, :width]
    masks[0, : width // 2] = 0
    masks[3, : width // 2] = -1
    before = memory.clone()
    apply_bitmask(logits, masks.to(DEVICE), rows.to(DEVICE))
    for mask, row in zip(masks.tolist(), rows.tolist(), strict=True):
        for token in range(columns if row >= 0 else 0):
            if token >= 32 * width or not mask[token // 32] >> (token % 32) & 1:
                before[row + 1, token + 3] = -torch.inf
    assert torch.equal(bits_of(memory), bits_of(before))


@pytest.mark.parametrize(("masks", "columns"), [(0, 40), (2, 0)])
def test_nothing_to_do(masks: int, columns: int) -> None:
    logits = torch.zeros((2, columns), device=DEVICE)
    bits = torch.zeros((masks, 2), dtype=torch.int32, device=DEVICE)
    apply_bitmask(logits, bits, torch.arange(masks, device=DEVICE))
    assert not logits.isinf().any()
