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
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
HERE = str(ROOT / "benchmarks")
sys.path = [str(ROOT), *(path for path in sys.path if path != HERE), HERE]

import torch  # noqa: E402
from stepping.batch import (  # noqa: E402
    Batch,
    Kernels,
    advance,
    bits_of_batch,
    import_kernels,
    made_up_batch,
    real_batch,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
BUFFERS = 4
WAITING = (
    "cudaStreamSynchronize", "cudaEventSynchronize", "Memcpy DtoH", "Memcpy HtoD", "aten::item"
)  # fmt: skip
"""What waits shows in a trace by one of these; cudaDeviceSynchronize is the profiler's own."""


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


def equal(left: Tensor, right: Tensor) -> bool:
    """Compare floats by their bits."""
    kind = torch.int32 if left.element_size() == 4 else torch.int16
    return torch.equal(left.cpu().view(kind), right.cpu().view(kind))


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
