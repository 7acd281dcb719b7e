"""`apply_bitmask`: both forms, bit for bit, against what is worked out token by token."""

from __future__ import annotations

import pytest
import torch

from semqa.kernels.bitmask import apply_bitmask
from tests.kernels.implementations import DTYPES, Form, forms


def poisoned(
    rows: int, columns: int, dtype: torch.dtype, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits within larger memory, and that memory, to see that nothing else is written.

    There are NaN, infinities and zeros of both signs among the logits.
    """
    memory = torch.randn((rows + 2, columns + 7), device=device).to(dtype)
    for value in (torch.nan, torch.inf, -torch.inf, -0.0):
        memory[torch.rand(memory.shape, device=device) < 0.05] = value
    return memory[1 : rows + 1, 3 : columns + 3], memory


def bits_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bits of floats as integers, so that NaN equals itself and -0 does not equal 0."""
    return (
        tensor.cpu().contiguous().view(torch.int32 if tensor.element_size() == 4 else torch.int16)
    )


@forms
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("width", "columns"), [(1, 1), (1, 33), (9, 270), (9, 259), (130, 4161)])
def test_bits_say_what_is_kept(form: Form, dtype: torch.dtype, width: int, columns: int) -> None:
    torch.manual_seed(columns)
    logits, memory = poisoned(9, columns, dtype, form.device)
    rows = torch.tensor([7, 0, -1, 3, 8])
    masks = torch.randint(-(2**31), 2**31, (5, 2 * width), dtype=torch.int32)[:, :width]
    masks[0, : width // 2] = 0
    masks[3, : width // 2] = -1
    before = memory.clone()
    apply_bitmask(logits, masks.to(form.device), rows.to(form.device), fast=form.fast)
    for mask, row in zip(masks.tolist(), rows.tolist(), strict=True):
        for token in range(columns if row >= 0 else 0):
            if token >= 32 * width or not mask[token // 32] >> (token % 32) & 1:
                before[row + 1, token + 3] = -torch.inf
    assert torch.equal(bits_of(memory), bits_of(before))


@forms
@pytest.mark.parametrize(("masks", "columns"), [(0, 40), (2, 0)])
def test_nothing_to_do(form: Form, masks: int, columns: int) -> None:
    logits = torch.zeros((2, columns), device=form.device)
    bits = torch.zeros((masks, 2), dtype=torch.int32, device=form.device)
    apply_bitmask(logits, bits, torch.arange(masks, device=form.device), fast=form.fast)
    assert not logits.isinf().any()
