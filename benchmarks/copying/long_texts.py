"""Sources of up to a million characters, generated and hostile, with quotes cut from them."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from copying.contestants import (
    Contestant,
    Llguidance,
    RefusedError,
    Semqa,
    Xgrammar,
    new_clock,
    xgrammar_version,
)
from copying.memory import memory_of
from copying.replay import BOUNDARIES, build_timed
from copying.tables import percentiles, print_head, print_row
from copying.texts import HOSTILE, cut_quotes, markov_text
from copying.workload import Request
from semqa import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copying.workload import Bench


def time_text(
    bench: Bench, contestant: Contestant, text: str, quotes: int
) -> dict[str, float | str]:
    """Build on one source and replay quotes of it, in the budget; what it refuses is a row too."""
    answers = [bench.encode(a, end=False) for a in cut_quotes(text, contestant.boundary, quotes)]
    clock = new_clock()
    prepared = contestant.prepare(Request((Source(text),), ()))
    row: dict[str, float | str] = {}
    begin = time.monotonic()
    try:
        if contestant.own_words:
            other = contestant.build(prepared)
            answers = [ids for ids in answers if contestant.accepts(other, ids)] or answers
            row["accepted"] = f"{len(answers)} of {quotes}"
            del other
        built = build_timed(contestant, prepared, clock)
        contestant.replay(built, answers[0], new_clock())  # what is made on first use
        for ids in answers:
            contestant.replay(built, ids, clock)
            if time.monotonic() - begin > bench.budget:
                row["stopped"] = f"after {bench.budget:g} s"
                break
        del built
    except RefusedError as err:
        row["refused"] = str(err)
    if clock.build:
        row["build_ms"] = round(clock.build[0] / 1e6, 3)
    if clock.mask:
        mask, advance = percentiles(clock.mask, 1e3), percentiles(clock.advance, 1e3)
        row |= {f"mask_{name}_us": mask[name] for name in ("p50", "p99", "max")}
        row |= {"advance_p99_us": advance["p99"], "masks": len(clock.mask)}
    if clock.mask and "refused" not in row:
        memory = memory_of(lambda: _used(contestant, prepared, answers[:10]))
        if memory:
            row |= {"kept_mb": memory[0], "peak_mb": memory[1]}
    return row


def _used(contestant: Contestant, prepared: Any, answers: Sequence[Sequence[int]]) -> Any:
    """Return a constraint that has served some answers: much is made when it is asked for."""
    built = contestant.build(prepared)
    for ids in answers:
        contestant.replay(built, ids, new_clock())
    return built


def scaling_part(bench: Bench, sizes: Sequence[int], quotes: int) -> dict[str, object]:
    """Time longer and longer sources; a peer leaves when it refuses or its budget is used up."""
    result: dict[str, Any] = defaultdict(dict)
    print_head("characters", "boundary", "")
    out: set[tuple[str, str]] = set()
    for boundary in BOUNDARIES:
        field: list[Contestant] = [
            Semqa(bench.vocabulary, boundary),
            Llguidance(bench.mistral, bench.vocabulary.size, boundary),
            Llguidance(bench.mistral, bench.vocabulary.size, boundary, raised=True),
        ]
        if boundary == "char" and xgrammar_version():
            field.append(Xgrammar(bench.vocabulary, boundary))
        for size in sizes:
            text = markov_text(bench.passages, size)
            for contestant in field:
                if (contestant.name, boundary) in out:
                    continue
                row = time_text(bench, contestant, text, quotes)
                print_row(f"{size:,}", boundary, contestant.name, row=row)
                result[f"{size} {boundary}"][contestant.name] = row
                slow = contestant.name != "semqa" and float(row.get("build_ms", 0)) > 2e3
                if "refused" in row or slow:
                    out.add((contestant.name, boundary))
    print()
    return dict(result)


def hostile_part(bench: Bench, sizes: Sequence[int], quotes: int) -> dict[str, object]:
    """Time texts that were made to be hard."""
    result: dict[str, object] = {}
    print_head("hostile", "characters", "boundary")
    for name, make in HOSTILE.items():
        for size in sizes:
            text = make(size)
            for boundary in BOUNDARIES:
                row = time_text(bench, Semqa(bench.vocabulary, boundary), text, quotes)
                print_row(name, f"{size:,}", boundary, row=row)
                result[f"{name} {size} {boundary}"] = row
    print()
    return result
