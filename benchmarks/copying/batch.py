"""Many answers at once: one call for all rows, against a call a row."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from copying.contestants import Llguidance
from copying.tables import percentiles
from semqa.decoding import CopyConstraint, QuotePolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from copying.workload import Bench, Request

ROWS = 64


def batch_part(bench: Bench, request: Request, repeats: int) -> dict[str, object]:
    """Time one mask and one advance for many rows, against as many calls."""
    constraint = CopyConstraint(bench.vocabulary, request.sources, QuotePolicy(free="any"))
    rows: list[tuple[Any, int]] = []
    for ids in request.answers:
        state = constraint.start()
        for token in ids[:-1]:
            if token not in constraint.allowed(state):
                break  # the answer breaks a rule here
            rows.append((state, token))
            state = constraint.advance(state, token)
    rows = [rows[(17 * k) % len(rows)] for k in range(ROWS)]
    states = [state for state, _ in rows]
    masks = np.zeros((ROWS, (bench.vocabulary.size + 31) // 32), np.int32)
    single = np.zeros_like(masks)

    for row, (state, _) in enumerate(rows):
        constraint.mask(state, single[row])
    if not np.array_equal(constraint.mask_batch(states), single):
        sys.exit("batch: rows differ from single calls")

    peer = Llguidance(bench.mistral, bench.vocabulary.size, "word")
    jobs: dict[str, Callable[[], object]] = {
        "mask_batch": lambda: constraint.mask_batch(states, masks),
        "mask, 64 calls": lambda: [constraint.mask(s, single[k]) for k, (s, _) in enumerate(rows)],
        "advance, 64 calls": lambda: [constraint.advance(state, token) for state, token in rows],
        "llguidance, masks in parallel": _parallel_masks(peer, request, masks),
    }
    result = {}
    for name, job in jobs.items():
        times = []
        for _ in range(repeats):
            start = time.perf_counter_ns()
            job()
            times.append(time.perf_counter_ns() - start)
        result[name] = percentiles(times, 1e3)
        print(
            f"{ROWS} rows: {name:32} p50 {result[name]['p50']:9.1f} us, p99 {result[name]['p99']:9.1f}"
        )
    print()
    return dict(result)


def _parallel_masks(
    peer: Llguidance, request: Request, masks: np.ndarray[Any, Any]
) -> Callable[[], object]:
    """Return llguidance's own call for many rows, on rows of the same kind."""
    from llguidance import LLExecutor

    executor = LLExecutor()
    first = peer.build(peer.prepare(request))
    accepted = [ids for ids in request.answers if peer.accepts(first, ids)] or [()]
    matchers = []
    for row in range(ROWS):
        ids = accepted[row % len(accepted)]
        matcher = first.deep_copy()
        matcher.reset()
        matcher.consume_tokens(list(ids[: (17 * row) % max(len(ids), 1)]))
        matchers.append((matcher, row))
    address, width = masks.ctypes.data, masks.shape[1] * 4
    return lambda: executor.unsafe_compute_mask_ptr(matchers, address, width, ROWS)
