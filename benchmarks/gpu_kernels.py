"""Check and time the device kernels on a GPU: masks in place, states by the tokens that were written.

    python benchmarks/gpu_kernels.py [--smoke] [--rows N] [--vocabulary N] [--rounds N] [--sweep]

Needs torch and Triton only; semqa need not be installed. Where numba and mistral-common are, the
tables are those of real constraints over tekken's 131,072 tokens, else made up with the same shape:
a third of the rows in free text, the others in quotes, at places with a few tokens each.

Before anything is timed, every kernel is held against its definition, bit for bit. Then:

    copy       a gigabyte, read and written: what this GPU's memory does
    mask       rows by their states, in float32, bfloat16 and float16; its bytes are those that it must
               write, and its share is their rate over that of the copy
    bitmask    the same masks as bits from the host, and xgrammar's Triton kernel on the same
    step       advancing all rows by a token, and masking them: beyond the time its bytes would take
               (registers are put back before each, which is timed by itself and not counted)
    syncs      what the profiler saw of it: nothing may wait

Times are of captured graphs that go through several buffers, so that no cache holds them; the median
over rounds. Without a GPU it says so, and with --smoke checks a small size with Triton's interpreter.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import sys
import types
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
HERE = str(ROOT / "benchmarks")
sys.path = [str(ROOT), *(path for path in sys.path if path != HERE), HERE]

import torch  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
BUFFERS = 4
BASES = 11
WAITING = (
    "cudaStreamSynchronize", "cudaEventSynchronize", "Memcpy DtoH", "Memcpy HtoD", "aten::item"
)  # fmt: skip
"""What waits shows in a trace by one of these; cudaDeviceSynchronize is the profiler's own."""


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


def describe() -> dict[str, Any]:
    """Return machine, GPU and versions."""
    import triton

    found: dict[str, Any] = {"torch": torch.__version__, "triton": triton.__version__, "gpu": None}
    if torch.cuda.is_available():
        gpu = torch.cuda.get_device_properties(0)
        found |= {"gpu": gpu.name, "cuda": torch.version.cuda, "sms": gpu.multi_processor_count}
    try:
        from machine import describe_machine

        return found | describe_machine()
    except ImportError:
        import platform

        return found | {"python": platform.python_version(), "cores": os.cpu_count() or 0}


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


def equal(left: Tensor, right: Tensor) -> bool:
    """Compare floats by their bits."""
    kind = torch.int32 if left.element_size() == 4 else torch.int16
    return torch.equal(left.cpu().view(kind), right.cpu().view(kind))


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


def check(kernels: Kernels, batch: Batch) -> None:
    """Hold every kernel against its definition; end the program where they differ."""
    rows = torch.full_like(batch.rows, -9)
    advance(kernels, batch, batch.registers.clone(), rows, fast=True)
    if not torch.equal(rows, batch.rows):
        sys.exit("advance: not what its definition says")
    masks, device = bits_of_batch(batch), batch.rows.device
    size = batch.tables.traits.numel()
    for dtype in DTYPES:
        logits = torch.randn((len(masks), size + 3), device=device).to(dtype)[:, : size + 1]
        expected, ours, by_bits = logits.clone(), logits.clone(), logits.clone()
        kernels.mask.mask_rows(expected, batch.rows, batch.tables, fast=False)
        kernels.mask.mask_rows(ours, batch.rows, batch.tables, fast=True)
        kernels.bitmask.apply_bitmask(by_bits, masks, batch.slots, fast=True)
        if not equal(ours, expected):
            sys.exit(f"mask, {dtype}: not what its definition says")
        if not equal(by_bits, expected):
            sys.exit(f"bitmask, {dtype}: not what its definition says")
    print(f"checked: advance, mask and bitmask on {len(masks)} rows of {size:,} ({batch.source})")


def time_graph(calls: Sequence[Callable[[], object]], rounds: int) -> float:
    """Return the microseconds of one call: of a captured graph of all, the median over rounds."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for call in calls:
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    times: list[float] = []
    for _ in range(rounds):
        start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / len(calls))
    return statistics.median(times)


def copy_rate(rounds: int) -> float:
    """Return bytes a second of copying a gigabyte, those read and those written."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.numel() / (time_graph([lambda: target.copy_(source)], rounds) * 1e-6)


def time_masks(kernels: Kernels, batch: Batch, rate: float, rounds: int) -> dict[str, Any]:
    """Time both ways to mask, and xgrammar's, in each type."""
    masks, found = bits_of_batch(batch), {}
    count, size = len(masks), batch.tables.traits.numel()
    peer = None
    try:
        name = "apply_token_bitmask_inplace_triton"
        peer = getattr(importlib.import_module(f"xgrammar.kernels.{name}"), name)
    except ImportError:
        print("xgrammar: not installed, not compared")
    for dtype in DTYPES:
        logits = [torch.zeros((count, size), dtype=dtype, device="cuda") for _ in range(BUFFERS)]
        contestants: dict[str, Callable[[Tensor], object]] = {
            "mask": lambda one: kernels.mask.mask_rows(one, batch.rows, batch.tables),
            "bitmask": lambda one: kernels.bitmask.apply_bitmask(one, masks, batch.slots),
        }
        if peer is not None:
            contestants["xgrammar"] = lambda one: peer(one, masks)
        row: dict[str, Any] = {}
        for name, contestant in contestants.items():
            calls = [partial(contestant, one) for one in logits]
            row[f"{name}_us"] = round(time_graph(calls, rounds), 2)
        written = int(logits[0].isinf().sum()) * dtype.itemsize
        row["bytes"] = written
        for name in contestants:
            row[f"{name}_share"] = round(written / (row[f"{name}_us"] * 1e-6) / rate, 3)
        found[str(dtype).removeprefix("torch.")] = row
        print(f"{dtype}: " + ", ".join(f"{name} {value}" for name, value in row.items()))
    return found


def time_step(kernels: Kernels, batch: Batch, rate: float, rounds: int) -> dict[str, Any]:
    """Time advancing and masking together, and count what waited."""
    count, size = len(batch.rows), batch.tables.traits.numel()
    logits = [
        torch.zeros((count, size), dtype=torch.bfloat16, device="cuda") for _ in range(BUFFERS)
    ]
    registers = [batch.registers.clone() for _ in range(BUFFERS)]
    rows = torch.empty_like(batch.rows)

    def reset(number: int) -> None:
        registers[number].copy_(batch.registers)

    def step(number: int) -> None:
        reset(number)
        advance(kernels, batch, registers[number], rows, fast=True)
        kernels.mask.mask_rows(logits[number], rows, batch.tables, fast=True)

    resets = time_graph([partial(reset, number) for number in range(BUFFERS)], rounds)
    took = time_graph([partial(step, number) for number in range(BUFFERS)], rounds) - resets
    written = int(logits[0].isinf().sum()) * 2
    floor = written / rate * 1e6
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    torch.cuda.set_sync_debug_mode("error")
    with torch.profiler.profile(activities=activities) as profile:
        for number in range(BUFFERS):
            step(number)
    torch.cuda.set_sync_debug_mode("default")
    names = [event.name for event in profile.events()]
    waited = [name for name in names if name.startswith(WAITING)]
    kinds = sorted({name for name in names if "kernel" in name and "Launch" not in name})
    row = {
        "step_us": round(took, 2),
        "reset_us": round(resets, 2),
        "floor_us": round(floor, 2),
        "beyond_us": round(took - floor, 2),
        "syncs": len(waited),
    }
    print("step: " + ", ".join(f"{name} {value}" for name, value in row.items()))
    print(f"the profiler saw {', '.join(kinds)}; waiting: {waited or 'nothing'}")
    return row


def sweep(kernels: Kernels, batch: Batch, rounds: int) -> list[dict[str, Any]]:
    """Time the mask with other sizes of tiles and programs, fastest first."""
    kernel: Any = importlib.import_module("semqa.kernels.mask.kernel")
    count, size = len(batch.rows), batch.tables.traits.numel()
    logits = [
        torch.zeros((count, size), dtype=torch.bfloat16, device="cuda") for _ in range(BUFFERS)
    ]
    kept, found = (kernel.TILE, kernel.TILES, kernel.CHUNK, kernel.WARPS), []
    for setting in product((1024, 2048, 4096), (1, 2, 4, 8), (8, 16), (4, 8)):
        kernel.TILE, kernel.TILES, kernel.CHUNK, kernel.WARPS = setting
        calls = [partial(kernels.mask.mask_rows, one, batch.rows, batch.tables) for one in logits]
        names = ("tile", "tiles", "chunk", "warps")
        found.append({**dict(zip(names, setting, strict=True)), "us": time_graph(calls, rounds)})
    kernel.TILE, kernel.TILES, kernel.CHUNK, kernel.WARPS = kept
    found.sort(key=lambda row: float(row["us"]))
    for row in found[:8]:
        print("sweep: " + ", ".join(f"{name} {value}" for name, value in row.items()))
    return found[:8]


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, time and print; the last line is one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--smoke", action="store_true", help="check a small size, on any machine")
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=131_072, help="of made-up tables")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument(
        "--sweep", action="store_true", help="other sizes of tiles too, in bfloat16"
    )
    options = parser.parse_args(arguments)
    has_gpu = torch.cuda.is_available()
    if not has_gpu:
        os.environ["TRITON_INTERPRET"] = "1"
    try:
        kernels, record = import_kernels(), describe()
    except ImportError as error:
        print(f"nothing to run: {error}")
        print(json.dumps({"benchmark": "gpu_kernels", "gpu": None, "measured": False}))
        return
    print(", ".join(f"{name} {value}" for name, value in record.items()))
    result: dict[str, Any] = {"benchmark": "gpu_kernels", "measured": False}
    if not has_gpu and not options.smoke:
        print("no GPU: nothing was measured; --smoke checks the kernels with Triton's interpreter")
    elif options.smoke:
        check(kernels, made_up_batch(kernels, 6, 5_003, torch.device("cuda" if has_gpu else "cpu")))
        print("no times: this was a check only")
    else:
        device = torch.device("cuda")
        batch = real_batch(kernels, options.rows, device)
        if batch is None:
            batch = made_up_batch(kernels, options.rows, options.vocabulary, device)
        check(kernels, batch)
        rate = copy_rate(options.rounds)
        print(f"copy: {rate / 1e9:.0f} GB/s")
        result |= {
            "measured": True,
            "rows": options.rows,
            "vocabulary": batch.tables.traits.numel(),
            "tables": batch.source,
            "copy_gb_s": round(rate / 1e9),
            "masks": time_masks(kernels, batch, rate, options.rounds),
            "step": time_step(kernels, batch, rate, options.rounds),
        }
        if options.sweep:
            result["sweep"] = sweep(kernels, batch, options.rounds)
    print(json.dumps(result | record))


if __name__ == "__main__":
    main()
