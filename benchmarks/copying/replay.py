"""Check the masks, then time all implementations on human answers."""

from __future__ import annotations

import gc
import sys
import time
from typing import TYPE_CHECKING, Any

from copying.agreement import unexplained
from copying.contestants import Clock, Llguidance, Semqa, new_clock
from copying.tables import clock_table, print_clocks, ratios

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copying.contestants import Boundary
    from copying.workload import Bench, Request

BOUNDARIES: tuple[Boundary, Boundary] = ("char", "word")
Contestant = Semqa | Llguidance


def build_timed(contestant: Contestant, prepared: Any, clock: Clock) -> Any:
    """Build the constraint and record the time."""
    start = time.perf_counter_ns()
    built = contestant.build(prepared)
    clock.build.append(time.perf_counter_ns() - start)
    return built


def agree(bench: Bench, ours: Semqa, peer: Llguidance, requests: Sequence[Request]) -> int:
    """Return the number of compared masks; exit if a difference is unexplained."""
    compared = 0
    for request in requests:
        mine = ours.build(ours.prepare(request))
        other = peer.build(peer.prepare(request))
        for ids in request.answers:
            steps = zip(ours.step_masks(mine, ids), peer.step_masks(other, ids), ids, strict=True)
            before = b""
            for our_mask, their_mask, token in steps:
                wrong = unexplained(
                    our_mask, their_mask, before, request.sources, bench.vocabulary, ours.boundary
                )
                if wrong:
                    sys.exit(
                        f"Masks differ from {peer.name}, {ours.boundary}:\n" + "\n".join(wrong)
                    )
                before += bench.vocabulary.token_bytes(token)
                compared += 1
    return compared


def in_all_languages(
    contestants: Sequence[Contestant], requests: Sequence[Request]
) -> tuple[list[Request], dict[str, int]]:
    """Keep the answers that all implementations accept; also count those that each accepts."""
    kept, counts = [], dict.fromkeys([c.name for c in contestants], 0)
    for request in requests:
        built = [c.build(c.prepare(request)) for c in contestants]
        answers = []
        for ids in request.answers:
            verdicts = [c.accepts(b, ids) for c, b in zip(contestants, built, strict=True)]
            for contestant, verdict in zip(contestants, verdicts, strict=True):
                counts[contestant.name] += verdict
            if all(verdicts):
                answers.append(ids)
        kept.append(request._replace(answers=tuple(answers)))
    return kept, counts


def race(
    contestants: Sequence[Contestant], requests: Sequence[Request], rounds: int
) -> dict[str, Clock]:
    """Time builds, masks and advances in turn, with one build per answer."""
    clocks = {c.name: new_clock() for c in contestants}
    prepared = [[c.prepare(request) for c in contestants] for request in requests]
    for turn in range(-1, rounds):  # turn -1 warms up
        for request, made in zip(requests[:3] if turn < 0 else requests, prepared, strict=False):
            for ids in request.answers:
                order = list(zip(contestants, made, strict=True))
                shift = turn % len(order)
                for contestant, text in order[shift:] + order[:shift]:
                    clock = new_clock() if turn < 0 else clocks[contestant.name]
                    gc.collect(0)
                    built = build_timed(contestant, text, clock)
                    contestant.replay(built, ids, clock)
                    del built
    return clocks


def replay_part(bench: Bench, requests: Sequence[Request], rounds: int) -> dict[str, object]:
    """Check and time the replay with both boundaries."""
    result: dict[str, object] = {}
    for boundary in BOUNDARIES:
        ours = Semqa(bench.vocabulary, boundary)
        peer = Llguidance(bench.mistral, bench.vocabulary.size, boundary)
        shared, counts = in_all_languages([ours, peer], requests)
        compared = agree(bench, ours, peer, shared)
        answers = sum(len(request.answers) for request in shared)
        total = sum(len(request.answers) for request in requests)
        print(
            f"replay, {boundary}: {answers} of {total} answers are in both languages (semqa "
            f"{counts['semqa']}, llguidance {counts['llguidance']}); {compared} masks agree"
        )
        clocks = race([ours, peer], shared, rounds)
        tables = {name: clock_table(clock, rounds) for name, clock in clocks.items()}
        print_clocks(tables)
        rounded = ratios(tables["llguidance"], tables["semqa"])
        print("llguidance / semqa: " + ", ".join(f"{k} {v:g}x" for k, v in rounded.items()) + "\n")
        result[boundary] = {
            "answers": answers, "of": total, "masks_compared": compared, "accepted": counts,
            "ratios": rounded, **tables,
        }  # fmt: skip
    return result | {"glue": _glue_replay(bench, requests, rounds)}


def _glue_replay(bench: Bench, requests: Sequence[Request], rounds: int) -> dict[str, object]:
    """Time glue against any free text on the answers that both accept."""
    both = [Semqa(bench.vocabulary, "word"), Semqa(bench.vocabulary, "word", "glue")]
    shared, counts = in_all_languages(both, requests)
    answers = sum(len(request.answers) for request in shared)
    total = sum(len(request.answers) for request in requests)
    print(f"replay, word, glue against any: {answers} of {total} answers are in both languages")
    clocks = race(both, shared, rounds)
    tables = {name: clock_table(clock, rounds) for name, clock in clocks.items()}
    print_clocks(tables)
    print()
    return {"answers": answers, "of": total, "accepted": counts, **tables}
