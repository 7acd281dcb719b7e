"""One step of an engine, made of real constraints or made up, for the benchmark of the kernels."""

from __future__ import annotations

import importlib
import json
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "Batch",
    "Kernels",
    "advance",
    "bits_of_batch",
    "import_kernels",
    "made_up_batch",
    "real_batch",
]

ROOT = Path(__file__).resolve().parents[2]
BASES = 11


class Kernels(NamedTuple):
    """The modules under test; imported when it is known what Triton is to make of them."""

    tables: Any
    advance: Any
    mask: Any
    bitmask: Any


class Batch(NamedTuple):
    """One step of an engine: where all rows stand, and the token that each writes next.

    Attributes:
        tables: of all programs, a slot a row.
        registers: int32[R, 4], before the token.
        history: int32[R, 1].
        slots: int64[R].
        positions: int32[R], all 0.
        lengths: int32[R], all 1.
        rows: int32[R, ROW_FIELDS], behind the token.
        source: what the tables are of.
    """

    tables: Any
    registers: Tensor
    history: Tensor
    slots: Tensor
    positions: Tensor
    lengths: Tensor
    rows: Tensor
    source: str


def import_kernels() -> Kernels:
    """Import the kernels, from this clone if semqa is not installed."""
    try:
        importlib.import_module("semqa.kernels")
    except ImportError:
        for name, folder in (("semqa", "semqa"), ("semqa.kernels", "kernels")):
            package = types.ModuleType(name)
            package.__path__ = [str(ROOT / folder)]
            sys.modules[name] = package
    if not torch.cuda.is_available():
        importlib.import_module("triton.experimental.gluon")
    names = ("tables", "advance", "mask", "bitmask")
    return Kernels(*[importlib.import_module(f"semqa.kernels.{name}") for name in names])


def real_batch(kernels: Kernels, rows: int, device: torch.device) -> Batch | None:
    """Make the batch from constraints over real sources; None where packages are missing."""
    try:
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer

        from semqa import Source
        from semqa.decoding import CopyConstraint, Vocabulary
        from semqa.decoding.device import DeviceSlots
        from semqa.decoding.program import DeviceProgram, build_program, shared_program
    except ImportError:
        return None
    import mistral_common

    path = Path(mistral_common.__file__).parent / "data/tekken_240911.json"
    vocabulary = Vocabulary.from_tokenizer(Tekkenizer.from_file(path))
    lines = (ROOT / "examples/quotesum.jsonl").read_text(encoding="utf-8").splitlines()
    programs = []
    for line in lines[:16]:
        item = json.loads(line)
        texts = [
            (item[f"source{n}"], item.get(f"title{n}") or "")
            for n in range(1, 9)
            if item.get(f"source{n}")
        ]
        made = build_program(
            CopyConstraint(vocabulary, [Source(t, title=name) for t, name in texts])
        )
        if isinstance(made, DeviceProgram):
            programs.append(made)
    slots = DeviceSlots(shared_program(vocabulary), rows, device)
    for slot in range(rows):
        slots.admit(slot, programs[slot % len(programs)], begin=0, max_tokens=1_000)
    slots.flush()
    return stand(kernels, slots.tables, [p.rows.shape[0] for p in programs], "quotesum, tekken")


def made_up_batch(kernels: Kernels, rows: int, size: int, device: torch.device) -> Batch:
    """Make the batch of tables with the shape of real ones, without any constraint."""
    noise = torch.Generator().manual_seed(1)
    states, each = 2_000, 6
    targets = torch.full((BASES, size), -1, dtype=torch.int16)
    targets[0] = torch.where(torch.rand(size, generator=noise) < 0.99, 0, -1).short()
    targets[8:, torch.randperm(size, generator=noise)[:60]] = 0
    targets[:, 0] = -1
    words = -(-size // 32)
    allowed = torch.zeros((BASES + 1, words * 32), dtype=torch.int64)
    allowed[:BASES, :size] = targets >= 0
    allowed[BASES, 0] = 1
    bits = (allowed.view(BASES + 1, words, 32) << torch.arange(32)).sum(2)
    tokens = [
        (torch.randperm(size - 1, generator=noise)[:each] + 1).sort().values for _ in range(states)
    ]
    records = torch.zeros((states, 4), dtype=torch.int64)
    records[:, 0] = torch.arange(states) * each
    records[:, 1] = each
    records[:, 2] = torch.where(torch.rand(states, generator=noise) < 0.3, 8, -1)
    records[:, 3] = 5
    records[0] = torch.tensor([0, 0, 0, 0])
    behind = torch.randint(10, states, (states * each,), generator=noise)
    arena = torch.cat([records.flatten(), *tokens, behind]).int()
    traits = torch.zeros(size, dtype=torch.uint8)
    traits[0] = kernels.tables.END_TRAIT
    edges = states * each
    place = torch.tensor([0, 4 * states, 4 * states + edges])
    registers = torch.tensor([0, 1_000, 0, 0]).repeat(rows, 1)
    tables = kernels.tables.ProgramTables(
        bits=bits.to(torch.int32).to(device),
        targets=targets.to(device),
        traits=traits.to(device),
        arena=arena.to(device),
        places=place.repeat(rows, 1).to(device),
        limits=torch.tensor([2, 4]).repeat(rows, 1).int().to(device),
        registers=registers.int().to(device),
    )
    return stand(kernels, tables, [states], "made up")


def stand(kernels: Kernels, tables: Any, states: list[int], source: str) -> Batch:
    """Put each row somewhere, a third of them into free text, and choose a token that is allowed."""
    from semqa.kernels.mask.naive import allowed_tokens
    from semqa.kernels.naive_step import Standing, row_of

    noise = torch.Generator().manual_seed(2)
    here = type(tables)(*[tensor.cpu() for tensor in tables])
    registers = here.registers.clone()
    tokens = []
    for row in range(len(registers)):
        state = 0
        if torch.rand(1, generator=noise) > 0.35:
            state = int(torch.randint(10, states[row % len(states)], (1,), generator=noise))
        registers[row, 0] = state
        records, first, _ = here.places[row].tolist()
        start, count = here.arena[records + 4 * state :][:2].tolist()
        found = allowed_tokens(here, row_of(here, row, Standing(*registers[row, :3].tolist())))
        listed = here.arena[first + start : first + start + count].long()
        some = listed[found[listed]]  # these go on with a span, the others close it
        if not some.numel():
            registers[row, 0] = 0
            some = (here.targets[0] >= 0).nonzero().flatten()
        tokens.append(int(some[torch.randint(some.numel(), (1,), generator=noise)]))
    device = tables.registers.device
    history = torch.tensor(tokens, dtype=torch.int32).reshape(-1, 1).to(device)
    zeros = torch.zeros((len(registers), kernels.tables.ROW_FIELDS), dtype=torch.int32)
    batch = Batch(
        tables,
        registers.to(device),
        history,
        torch.arange(len(registers), device=device),
        zeros[:, 0].to(device).contiguous(),
        (zeros[:, 0] + 1).to(device),
        zeros.to(device),
        source,
    )
    advance(kernels, batch, batch.registers.clone(), batch.rows, fast=False)
    return batch


def advance(kernels: Kernels, batch: Batch, registers: Tensor, rows: Tensor, *, fast: bool) -> None:
    """Advance all rows by their token."""
    kernels.advance.advance_rows(
        batch.tables._replace(registers=registers),
        batch.slots,
        batch.positions,
        batch.history.flatten(),
        batch.history,
        batch.lengths,
        rows,
        fast=fast,
    )


def bits_of_batch(batch: Batch) -> Tensor:
    """Return the masks of all rows as the host would make them: int32[R, W]."""
    from semqa.kernels.mask.naive import allowed_tokens
    from semqa.kernels.tables import Row

    here = type(batch.tables)(*[tensor.cpu() for tensor in batch.tables])
    words = here.bits.shape[1]
    bits = torch.zeros((len(batch.rows), words * 32), dtype=torch.int64)
    for number, row in enumerate(batch.rows.tolist()):
        bits[number, : here.traits.numel()] = allowed_tokens(here, Row(*row))
    packed = (bits.view(-1, words, 32) << torch.arange(32)).sum(2)
    return packed.to(torch.int32).to(batch.rows.device)
