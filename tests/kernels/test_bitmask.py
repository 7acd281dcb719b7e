"""`apply_bitmask`: both forms, bit for bit, against what is worked out token by token."""

from __future__ import annotations

import pytest
import torch

from semqa.kernels.bitmask import apply_bitmask
from tests.kernels.implementations import DTYPES, Form, forms
from tests.kernels.programs import bits_of, poisoned


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
