"""`bias_rows`: both forms, against sums taken one by one."""

from __future__ import annotations

import pytest
import torch

from semqa.kernels.bias import bias_rows
from semqa.kernels.tables import IN_FREE_TEXT, MAY_END, NEAR, NOT_OURS, ROW_FIELDS, Row
from tests.kernels.implementations import DTYPES, Form, forms
from tests.kernels.programs import poisoned

FLAGS = [IN_FREE_TEXT, IN_FREE_TEXT + NEAR, IN_FREE_TEXT + MAY_END, 0, MAY_END, NEAR]


@forms
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("size", "columns"), [(7, 7), (300, 190), (300, 700)])
def test_openers_gain_where_quotes_may_open(
    form: Form, dtype: torch.dtype, size: int, columns: int
) -> None:
    torch.manual_seed(size)
    rows = [Row(slot, flags=flags) for slot in (0, 2) for flags in FLAGS] + [Row(NOT_OURS)]
    openers = torch.randperm(size)[: size // 2 + 1].sort().values.int()
    biases = torch.tensor([2.5, 99.0, -60_000.0])
    logits, memory = poisoned(len(rows), columns, dtype, form.device)
    logits[:, openers[0]] = torch.finfo(dtype).max
    expected = memory.cpu().clone()
    for number, row in enumerate(rows):
        for token in openers.tolist():
            if row.slot != NOT_OURS and row.flags in FLAGS[:3] and token < columns:
                value = expected[number + 1, token + 3].float() + biases[row.slot]
                expected[number + 1, token + 3] = value.clamp(max=torch.finfo(dtype).max).to(dtype)
    bias_rows(
        logits,
        torch.tensor(rows, dtype=torch.int32, device=form.device),
        openers.to(form.device),
        biases.to(form.device),
        fast=form.fast,
    )
    assert torch.equal(memory.cpu().isnan(), expected.isnan())
    assert torch.equal(memory.cpu().nan_to_num(7.0), expected.nan_to_num(7.0))


@forms
@pytest.mark.parametrize(("rows", "openers"), [(0, 3), (2, 0)])
def test_nothing_to_do(form: Form, rows: int, openers: int) -> None:
    logits = torch.zeros((rows, 40), device=form.device)
    bias_rows(
        logits,
        torch.zeros((rows, ROW_FIELDS), dtype=torch.int32, device=form.device),
        torch.arange(openers, dtype=torch.int32, device=form.device),
        torch.ones(3, device=form.device),
        fast=form.fast,
    )
    assert not logits.any()
