"""`advance_rows`: both forms, against the definition taken step by step."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from semqa.kernels.advance import advance_rows
from semqa.kernels.naive_step import Standing, row_of, step
from semqa.kernels.tables import DEAD, NOT_OURS, ROW_FIELDS, UNLIMITED, ProgramTables, Row
from tests.kernels.implementations import Form, forms
from tests.kernels.programs import invented, invented_shared, tables_of

SLOTS, LENGTH = 8, 60


class Batch:
    """What an engine hands over: histories, and rows of requests in any order, some with drafts."""

    def __init__(self, rng: random.Random, form: Form, size: int) -> None:
        self.rng, self.form, self.size = rng, form, size
        shared = invented_shared(rng, size)
        programs = [invented(rng, shared, quotes=quotes) for quotes in (0, 2)]
        self.tables = tables_of(SLOTS, form.device, *programs)
        self.tables.registers[:, 3] = 3
        self.tables.registers[2, 1] = 6
        self.standing = {
            slot: Standing(*self.tables.registers[slot, :3].tolist())
            for slot in range(SLOTS)
            if slot % 3 != 1
        }
        memory = torch.full((SLOTS, LENGTH + 9), -7, dtype=torch.int32)
        self.history = memory[:, :LENGTH]
        self.lengths = torch.full((SLOTS,), 3, dtype=torch.int32)
        self.cpu = ProgramTables(*[tensor.cpu() for tensor in self.tables])

    def token(self, slot: int, at: Standing | None) -> int:
        """Choose a token, one that is allowed as a rule."""
        if at is not None and self.rng.random() < 0.97:
            for token in self.rng.sample(range(self.size), self.size):
                if step(self.cpu, slot, at, token).state != DEAD:
                    return token
        return self.rng.choice([-1, self.size, 2**31 - 1, self.rng.randrange(self.size)])

    def write(self, slot: int, count: int) -> None:
        for _ in range(count):
            at = self.standing.get(slot)
            token = self.token(slot, at)
            self.history[slot, self.lengths[slot]] = token
            self.lengths[slot] += 1
            if at is not None:
                self.standing[slot] = step(self.cpu, slot, at, token)

    def run(
        self, slots: list[int], positions: list[int], input_ids: list[int], dtype: torch.dtype
    ) -> Tensor:
        device = self.form.device
        out = torch.full((len(slots) + 2, ROW_FIELDS), -99, dtype=torch.int32, device=device)
        advance_rows(
            self.tables,
            torch.tensor(slots, dtype=dtype, device=device),
            torch.tensor(positions, dtype=torch.int32, device=device),
            torch.tensor(input_ids, dtype=torch.int32, device=device),
            self.history.to(device) if device.type != "cpu" else self.history,
            self.lengths.to(device),
            out[1:-1],
            fast=self.form.fast,
        )
        assert (out[[0, -1]] == -99).all()
        return out[1:-1].cpu()


@forms
@pytest.mark.parametrize(
    ("size", "dtype"), [(5, torch.int64), (33, torch.int32), (300, torch.int64)], ids=str
)
def test_rows_stand_where_their_tokens_lead(form: Form, size: int, dtype: torch.dtype) -> None:
    rng = random.Random(size)
    batch = Batch(rng, form, size)
    alive = 0
    for _ in range(8):
        for slot in range(SLOTS):
            batch.write(slot, rng.choice([0, 1, 1, 3]))
        slots, positions, input_ids, expected = [], [], [], []
        for slot in rng.sample(range(SLOTS), rng.randint(1, SLOTS)):
            at = batch.standing.get(slot)
            for position in range(rng.choice([1, 1, 4])):
                token = batch.token(slot, at) if position else 12_345  # the first is in the history
                if at is not None and position:
                    at = step(batch.cpu, slot, at, token)
                slots.append(slot)
                positions.append(position)
                input_ids.append(token)
                row = Row(NOT_OURS) if at is None else row_of(batch.cpu, slot, at)
                expected.append(list(row))
        registers = batch.tables.registers.clone()
        for _ in range(2):  # nothing changes when called again
            assert batch.run(slots, positions, input_ids, dtype).tolist() == expected
        alive += sum(row[0] >= 0 and row[1] != DEAD for row in expected)
        for slot in range(SLOTS):
            if slot not in slots or slot not in batch.standing:
                assert torch.equal(batch.tables.registers[slot], registers[slot])
            else:
                kept = [*batch.standing[slot], int(batch.lengths[slot])]
                assert batch.tables.registers[slot].tolist() == kept
    assert alive > 8


@forms
def test_drafts_without_their_beginning_are_dead(form: Form) -> None:
    batch = Batch(random.Random(1), form, 33)
    rows = batch.run([0, 0, 2, 5, -1], [2, 3, 0, 0, 0], [1, 1, 1, 1, 1], torch.int64)
    assert rows[:, 0].tolist() == [0, 0, 2, 5, NOT_OURS]
    assert rows[:, 1].tolist() == [DEAD, DEAD, 0, 0, 0]
    assert batch.tables.registers[0].tolist() == [0, UNLIMITED, 0, 3]


@forms
def test_a_history_that_shrank_is_not_read_again(form: Form) -> None:
    batch = Batch(random.Random(1), form, 33)
    batch.write(0, 5)
    batch.run([0], [0], [0], torch.int64)
    kept = batch.tables.registers[0].tolist()
    batch.lengths[0] -= 2
    batch.run([0], [0], [0], torch.int64)
    assert batch.tables.registers[0].tolist() == kept


@forms
def test_no_rows(form: Form) -> None:
    assert Batch(random.Random(1), form, 33).run([], [], [], torch.int64).shape == (0, ROW_FIELDS)
