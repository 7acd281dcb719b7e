"""Check and time on a GPU what applies masks from the host: our kernel and xgrammar's, in one process.

    python benchmarks/gpu_kernels.py [--rows N] [--vocabulary N] [--rounds N]

Needs torch and Triton only. Two thirds of the masks allow a few tokens, as in a quote; the others
4,000, as in glue. The result is held against the definition, bit for bit, before anything is timed.
Times are medians of captured graphs that go through several buffers, so that no cache holds them; the
copy of a gigabyte shows what the memory can do. Beside it, what a step costs that waits for the
tokens and uploads the masks. Without a GPU it says so.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from machine import describe_machine  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

BUFFERS = 4


def import_bitmask(form: str) -> Callable[..., None]:
    """Import one form of the kernel, with or without semqa installed."""
    try:
        module = importlib.import_module(f"semqa.kernels.bitmask.{form}")
    except ModuleNotFoundError:
        module = importlib.import_module(f"kernels.bitmask.{form}")
    found: Callable[..., None] = module.apply_bitmask
    return found


def made_up_masks(rows: int, vocabulary: int) -> Tensor:
    """Return masks [rows, W] int32 of the shape that constraints have."""
    torch.manual_seed(1)
    bits = torch.zeros((rows, -(-vocabulary // 32) * 32), dtype=torch.bool)
    for row in range(rows):
        count = 4_000 if row % 3 == 0 else 4
        bits[row, torch.randint(0, vocabulary, (count,))] = True
    packed = bits.view(rows, -1, 32).long() << torch.arange(32)
    return (
        packed.sum(-1).to(torch.int64).where(packed.sum(-1) < 2**31, packed.sum(-1) - 2**32).int()
    )


def time_graph(calls: Sequence[Callable[[], object]], rounds: int) -> float:
    """Return microseconds a call, the median over rounds of one graph of all calls."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    with torch.cuda.stream(stream):
        for call in calls:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    times: list[float] = []
    for _ in range(rounds):
        begin, end = (
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            for _ in range(2)
        )
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / len(calls))
    return statistics.median(times)


def time_step(masks: Tensor, apply: Callable[..., None], rounds: int) -> dict[str, float]:
    """Time what a step adds: waiting for the tokens, uploading the masks, applying them."""
    rows = torch.arange(len(masks), device="cuda")
    logits = torch.zeros((len(masks), 32 * masks.shape[1]), device="cuda")
    tokens, pinned = torch.zeros(len(masks), dtype=torch.long, device="cuda"), masks.pin_memory()
    took = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        tokens.cpu()
        apply(logits, pinned.to("cuda", non_blocking=True), rows)
        torch.cuda.synchronize()
        took.append(1e6 * (time.perf_counter() - begin))
    return {"step_us": round(statistics.median(took), 1)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, time and print; the last line is one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=131_072)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--smoke", action="store_true", help="few rows")
    options = parser.parse_args(arguments)
    if options.smoke:
        options.rows, options.rounds = 4, 2
    if not torch.cuda.is_available():
        print("no GPU: nothing was measured")
        record = {"benchmark": "gpu_kernels", **describe_machine(), "measured": False}
        print(json.dumps(record))
        return
    naive, fast = import_bitmask("naive"), import_bitmask("kernel")
    masks = made_up_masks(options.rows, options.vocabulary)
    on_device, rows = masks.cuda(), torch.arange(options.rows, device="cuda")
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    copying = time_graph([lambda: target.copy_(source)], options.rounds)
    result: dict[str, Any] = {
        "benchmark": "gpu_kernels",
        **describe_machine(),
        "measured": True,
        "gpu": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "rows": options.rows,
        "vocabulary": options.vocabulary,
        "copy_TB_s": round(2 * source.numel() / copying / 1e6, 2),
    }
    contestants: dict[str, Callable[[Tensor], object]] = {
        "semqa": lambda one: fast(one, on_device, rows)
    }
    try:
        name = "apply_token_bitmask_inplace_triton"
        peer = getattr(importlib.import_module(f"xgrammar.kernels.{name}"), name)
        contestants["xgrammar"] = lambda one: peer(one, on_device)
    except ImportError:
        print("xgrammar is not installed and not compared")
    for dtype in (torch.float32, torch.bfloat16):
        logits = [
            torch.randn((options.rows, options.vocabulary), device="cuda").to(dtype)
            for _ in range(BUFFERS)
        ]
        wanted, got = logits[0].clone(), logits[0].clone()
        naive(wanted, on_device, rows)
        fast(got, on_device, rows)
        assert torch.equal(wanted, got), f"wrong in {dtype}"
        for name, contestant in contestants.items():
            calls = [partial(contestant, one) for one in logits]
            key = f"{name}_{str(dtype).removeprefix('torch.')}_us"
            result[key] = round(time_graph(calls, options.rounds), 2)
    result |= time_step(masks, fast, options.rounds)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
