"""Tables for the kernels: made up, and those of real constraints."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import torch

from semqa.decoding.device import DeviceSlots
from semqa.decoding.program import DeviceProgram, SharedProgram
from semqa.decoding.program.shared import Bases
from semqa.decoding.program.unfinished import UnfinishedDigits
from semqa.kernels.tables import END_TRAIT, ENDED, ProgramTables

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["bits_of", "invented", "invented_shared", "poisoned", "tables_of"]

BASES = 11
_NO_PAIRS = np.empty((0, 2), np.int32)
NO_BASES = Bases(
    first=0,
    first_state=10,
    unfinished=UnfinishedDigits(_NO_PAIRS, np.empty(0, np.int32)),
    deep=_NO_PAIRS,
    numbers=_NO_PAIRS,
    openers=_NO_PAIRS,
    near=_NO_PAIRS,
    reaches=np.zeros(BASES, np.int64),
)


def invented_shared(rng: random.Random, size: int) -> SharedProgram:
    """Make bases that no vocabulary has: any token may lead anywhere."""
    noise = np.random.default_rng(rng.randrange(2**32))
    ends = np.sort(noise.choice(size, min(size, 1 + size // 50), replace=False)).astype(np.int32)
    traits = noise.integers(0, 3, size).astype(np.uint8)
    traits[ends] = END_TRAIT
    targets = noise.integers(0, 9, (BASES, size)).astype(np.int16)
    targets[noise.random((BASES, size)) < 0.4] = -1
    targets[:, ends] = -1
    allowed = np.zeros((BASES + 1, -(-size // 32) * 32), np.bool_)
    allowed[:BASES, :size] = targets >= 0
    allowed[BASES, ends] = True
    return SharedProgram(
        fingerprint=f"invented {rng.random()}",
        size=size,
        bits=np.packbits(allowed, axis=1, bitorder="little").view("<i4").astype(np.int32),
        targets=targets,
        traits=traits,
        quote_openers=np.empty(0, np.int32),
        free=NO_BASES,
        quoted=NO_BASES,
        most_closings=2,
    )


def invented(
    rng: random.Random,
    shared: SharedProgram,
    *,
    states: int = 40,
    longest: int = 60,
    quotes: int = 0,
) -> DeviceProgram:
    """Make a program that no constraint has: any token may lead anywhere, at any cost.

    Args:
        rng: chooses.
        shared: its bases.
        states: how many there are.
        longest: entries of the longest row.
        quotes: still to make at the start.
    """
    noise = np.random.default_rng(rng.randrange(2**32))
    others = np.flatnonzero(shared.traits != END_TRAIT)
    rows, tokens, behind = np.zeros((states, 4), np.int32), [], []
    start = 0
    for state in range(states):
        count = longest if state == 1 else int(noise.choice([0, 1, 3, 8, longest]))
        count = 0 if state == ENDED else min(count, others.size)
        tokens.append(np.sort(noise.choice(others, count, replace=False)))
        behind.append(noise.integers(-1, states, count))
        behind[-1][behind[-1] == ENDED] = -1
        cost = int(noise.integers(0, 12)) << 1 | int(noise.integers(0, 2)) if state else 0
        rows[state] = start, count, int(noise.integers(-1, BASES)), cost
        start += count
    return DeviceProgram(
        shared=shared,
        rows=rows,
        tokens=np.concatenate(tokens).astype(np.int32),
        targets=np.concatenate(behind).astype(np.int32),
        quote_cost=3,
        longest=int(rows[:, 3].max() >> 1),
        min_quotes=quotes,
        quote_bias=0.0,
        fingerprint=f"invented {rng.random()}",
    )


def tables_of(slots: int, device: torch.device, *programs: DeviceProgram) -> ProgramTables:
    """Put programs into slots, in turns; every third slot is left to others."""
    held = DeviceSlots(programs[0].shared, slots, device)
    for slot in range(slots):
        if slot % 3 != 1:
            assert held.admit(slot, programs[slot % len(programs)], begin=0)
    held.flush()
    return held.tables


def poisoned(
    rows: int, columns: int, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return logits within larger memory, and that memory, to see that nothing else is written.

    There are NaN, infinities and zeros of both signs among the logits.
    """
    memory = torch.randn((rows + 2, columns + 7), device=device).to(dtype)
    for value in (torch.nan, torch.inf, -torch.inf, -0.0):
        memory[torch.rand(memory.shape, device=device) < 0.05] = value
    return memory[1 : rows + 1, 3 : columns + 3], memory


def bits_of(tensor: Tensor) -> Tensor:
    """Return the bits of floats as integers, so that NaN equals itself and -0 does not equal 0."""
    return (
        tensor.cpu().contiguous().view(torch.int32 if tensor.element_size() == 4 else torch.int16)
    )
