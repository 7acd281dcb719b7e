"""`mask_rows`: both forms, bit for bit, against what is worked out token by token."""

from __future__ import annotations

import random

import pytest
import torch

from semqa.kernels.mask import mask_rows
from semqa.kernels.naive_step import Standing, row_of, step
from semqa.kernels.tables import (
    DEAD,
    END_TRAIT,
    ENDED,
    NOT_OURS,
    ROW_FIELDS,
    UNLIMITED,
    ProgramTables,
    Row,
)
from tests.kernels.implementations import DTYPES, Form, forms
from tests.kernels.programs import bits_of, invented, invented_shared, poisoned, tables_of


def allowed_one_by_one(tables: ProgramTables, row: Row, columns: int) -> list[bool]:
    """Try each token; what `step` says is the definition."""
    at, traits = Standing(*row[1:4]), tables.traits.tolist()
    if at.state in (DEAD, ENDED):
        return [token < len(traits) and traits[token] == END_TRAIT for token in range(columns)]
    return [step(tables, row.slot, at, token).state != DEAD for token in range(columns)]


def some_rows(rng: random.Random, tables: ProgramTables, count: int, states: int) -> list[Row]:
    """Let rows stand anywhere, with anything left."""
    rows = []
    here = ProgramTables(*[tensor.cpu() for tensor in tables])
    for _ in range(count):
        slot = rng.choice([s for s in range(len(here.places)) if s % 3 != 1] + [NOT_OURS])
        state = rng.choice([DEAD, ENDED, 0, *range(states)])
        at = Standing(state, rng.choice([UNLIMITED, 1000, *range(25)]), rng.randrange(4))
        rows.append(Row(NOT_OURS) if slot == NOT_OURS else row_of(here, slot, at))
    return rows


def as_tensor(rows: list[Row], device: torch.device) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.int32, device=device).reshape(-1, ROW_FIELDS)


@forms
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("size", "columns"), [(1, 1), (31, 40), (259, 259), (1000, 77), (97, 4500)]
)
def test_masks_are_what_each_token_leads_to(
    form: Form, dtype: torch.dtype, size: int, columns: int
) -> None:
    if columns > 1000 and dtype != torch.float32:
        pytest.skip("many columns are masked alike in every type")
    rng = random.Random(size)
    shared = invented_shared(rng, size)
    tables = tables_of(5, form.device, invented(rng, shared), invented(rng, shared))
    rows = some_rows(rng, tables, 24, 40)
    logits, memory = poisoned(len(rows), columns, dtype, form.device)
    before = memory.clone()
    mask_rows(logits, as_tensor(rows, form.device), tables, fast=form.fast)
    reference = ProgramTables(*[tensor.cpu() for tensor in tables])
    for number, row in enumerate(rows):
        if row.slot != NOT_OURS:
            allowed = allowed_one_by_one(reference, row, columns)
            before[number + 1, 3 : columns + 3].masked_fill_(
                ~torch.tensor(allowed, device=form.device), -torch.inf
            )
    assert torch.equal(bits_of(memory), bits_of(before))


@forms
@pytest.mark.parametrize("size", [2_050, 8_300])
def test_long_rows_lose_no_token(form: Form, size: int) -> None:
    """Every token has an entry, over all tiles; the reference is the vectorised definition."""
    rng = random.Random(size)
    program = invented(rng, invented_shared(rng, size), states=14, longest=size)
    tables = tables_of(3, form.device, program)
    reference = ProgramTables(*[tensor.cpu() for tensor in tables])
    longest = int(program.rows[:, 1].argmax())
    assert program.rows[longest, 1] > 0.97 * size
    rows = [row_of(reference, 0, Standing(longest, left, 1)) for left in (UNLIMITED, 9)]
    rows += some_rows(rng, tables, 1, 9)
    logits, memory = poisoned(len(rows), size + 3, torch.float32, form.device)
    expected = memory.cpu().clone()
    mask_rows(expected[1:-1, 3:-4], as_tensor(rows, torch.device("cpu")), reference, fast=False)
    mask_rows(logits, as_tensor(rows, form.device), tables, fast=form.fast)
    assert torch.equal(bits_of(memory), bits_of(expected))


@forms
@pytest.mark.parametrize("shape", [(0, 100), (3, 0)])
def test_nothing_to_do(form: Form, shape: tuple[int, int]) -> None:
    rng = random.Random(1)
    tables = tables_of(3, form.device, invented(rng, invented_shared(rng, 100)))
    rows = as_tensor(some_rows(rng, tables, shape[0], 40), form.device)
    mask_rows(torch.zeros(shape, device=form.device), rows, tables, fast=form.fast)


@forms
@pytest.mark.parametrize(("rows", "stride"), [(2, 2**31 + 8), (3, 2**30 + 8)])
def test_rows_far_apart_are_found(form: Form, rows: int, stride: int) -> None:
    """32 bits do not hold the row's stride, or not its place; only memory that is used is there."""
    rng = random.Random(3)
    tables = tables_of(3, form.device, invented(rng, invented_shared(rng, 40)))
    reference = ProgramTables(*[tensor.cpu() for tensor in tables])
    standing = as_tensor([row_of(reference, 0, Standing(0, UNLIMITED, 0))] * rows, form.device)
    memory = torch.empty((rows - 1) * stride + 40, dtype=torch.float16, device=form.device)
    logits = memory.as_strided((rows, 40), (stride, 1))
    logits.zero_()
    mask_rows(logits, standing, tables, fast=form.fast)
    assert torch.equal(logits[0], logits[-1])
    assert logits.isinf().any()
    assert not logits.isinf().all()
