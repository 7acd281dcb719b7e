"""Time making the device's tables of constraints, and count what they hold.

    python benchmarks/device_programs.py [--smoke] [--data FILE] [--rounds N]

The vocabulary is tekken's, 131,072 tokens. Each program is checked before it is timed: on random walks
it allows what its constraint allows. Then the questions of a file in QuoteSum's format, and hostile
texts of 100,000 characters. Times are the best of some rounds, in processor time of one thread, which
other programs disturb less; compiling the constraint itself is not part of them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
HERE = str(ROOT / "benchmarks")
sys.path = [str(ROOT), *(path for path in sys.path if path != HERE), HERE]

import torch  # noqa: E402
from copying.tekken import tekken_file  # noqa: E402
from machine import describe_machine  # noqa: E402

from semqa import Source  # noqa: E402
from semqa.decoding import CopyConstraint, QuotePolicy, Vocabulary  # noqa: E402
from semqa.decoding.device import DeviceSlots  # noqa: E402
from semqa.decoding.program import DeviceProgram, build_program, shared_program  # noqa: E402
from semqa.kernels.mask.naive import allowed_tokens  # noqa: E402
from semqa.kernels.naive_step import Standing, row_of, step  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence


def tekken(*, few: bool) -> Vocabulary:
    """Return the vocabulary, or few tokens of it."""
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    with tempfile.TemporaryDirectory() as folder:
        path = tekken_file(Path(folder) if few else None)
        return Vocabulary.from_tokenizer(Tekkenizer.from_file(path))


def requests_in(path: Path) -> list[list[Source]]:
    """Return the sources of each question of a file, once a question."""
    found: dict[str, list[Source]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        found[str(item["qid"])] = [
            Source(item[f"source{n}"], title=item.get(f"title{n}") or "")
            for n in range(1, 9)
            if item.get(f"source{n}")
        ]
    return list(found.values())


def check(
    constraint: CopyConstraint, program: DeviceProgram, steps: int, rng: random.Random
) -> None:
    """Walk both ways at once; end the program where they differ."""
    slots = DeviceSlots(program.shared, 1, torch.device("cpu"), fast=False)
    slots.admit(0, program, begin=0, max_tokens=200)
    slots.flush()
    state = constraint.start(200)
    at = Standing(*slots.tables.registers[0, :3].tolist())
    for _ in range(steps):
        allowed = constraint.allowed(state)
        found = allowed_tokens(slots.tables, row_of(slots.tables, 0, at)).nonzero().flatten()
        if found.tolist() != allowed.tolist():
            sys.exit(f"not what the constraint allows, at {state}")
        going = set(allowed.tolist()) - set(constraint.vocabulary.eos_ids)
        if not constraint.in_quote(state) and rng.random() < 0.5:
            going = going.intersection(constraint.quote_openers.tolist()) or going
        token = rng.choice(sorted(going))
        state, at = constraint.advance(state, token), step(slots.tables, 0, at, token)


def timed(constraint: CopyConstraint, rounds: int) -> tuple[DeviceProgram, float]:
    """Return a program and the milliseconds that making it takes."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        made = build_program(constraint)
        times.append(1e3 * (time.process_time() - start))
    if not isinstance(made, DeviceProgram):
        sys.exit(f"no program: {made.reason}")
    return made, min(times)


def questions_part(
    vocabulary: Vocabulary, requests: list[list[Source]], policy: QuotePolicy, rounds: int
) -> dict[str, Any]:
    """Make the programs of all questions, which hold two numbers."""
    rng, times, rows = random.Random(1), [], []
    for sources in requests:
        constraint = CopyConstraint(vocabulary, sources, policy, question="In 1943 and 1950?")
        program, milliseconds = timed(constraint, rounds)
        check(constraint, program, 12, rng)
        times.append(milliseconds)
        rows.append((len(program.rows), len(program.tokens), program.nbytes / 1e3))
    states, entries, kilobytes = (statistics.mean(column) for column in zip(*rows, strict=True))
    return {
        "ms_mean": round(statistics.mean(times), 2),
        "ms_max": round(max(times), 2),
        "states": round(states),
        "entries": round(entries),
        "kb": round(kilobytes),
    }


def hostile_texts(requests: list[list[Source]], size: int) -> dict[str, str]:
    """Return texts that repeat themselves, and one that does so no more than others."""
    text = " ".join(source.text for sources in requests for source in sources)
    return {
        "questions": text[:size],
        "doubled": f"{text[: size // 2]} " * 2,
        "twenty times": f"{text[: size // 20]} " * 20,
        "ab ab": "ab " * (size // 3),
        "a a": "a " * (size // 2),
        "aaa": "a" * size,
        "digits": ",".join(str(number) for number in range(size))[:size],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, time and print; the last line is one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--smoke", action="store_true", help="few tokens, the examples, short texts, one round"
    )
    parser.add_argument("--data", type=Path, default=None, help="a file in QuoteSum's format")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    shared = Path(os.environ.get("SEMQA_TEST_DATA", ROOT.parent / "shared"))
    path = options.data or shared / "data/quotesum/dev_a.jsonl"
    if options.smoke or not path.exists():
        path = ROOT / "examples/quotesum.jsonl"
    rounds = 1 if options.smoke else options.rounds
    vocabulary = tekken(few=options.smoke)
    requests = requests_in(path)[: 2 if options.smoke else None]
    machine = describe_machine()
    versions = {name: version(name) for name in ("mistral-common", "numba", "numpy", "torch")}
    print(", ".join(f"{name} {value}" for name, value in (machine | versions).items()))
    start = time.perf_counter()
    tables = shared_program(vocabulary)
    print(
        f"shared part: {time.perf_counter() - start:.2f} s, with loading or compiling what makes it"
    )
    result: dict[str, Any] = {"benchmark": "device_programs", "data": path.name}
    result["shared_mb"] = round((tables.bits.nbytes + tables.targets.nbytes) / 1e6, 1)
    boundaries: tuple[Any, ...] = ("word", "char")
    policies = {boundary: QuotePolicy(boundary=boundary) for boundary in boundaries}
    for name, policy in (policies | {"numbers quoted": QuotePolicy(numbers="quoted")}).items():
        row = questions_part(vocabulary, requests, policy, rounds)
        result[name] = row
        print(f"{path.name}, {name}: " + ", ".join(f"{k} {v}" for k, v in row.items()))
    for name, text in hostile_texts(requests, 1_000 if options.smoke else 100_000).items():
        for boundary in boundaries:
            constraint = CopyConstraint(vocabulary, [Source(text)], QuotePolicy(boundary=boundary))
            program, milliseconds = timed(constraint, min(rounds, 2))
            check(constraint, program, 6, random.Random(2))
            row = {
                "characters": len(text),
                "ms": round(milliseconds),
                "states": len(program.rows),
                "entries": len(program.tokens),
                "mb": round(program.nbytes / 1e6, 1),
            }
            result[f"{name}, {boundary}"] = row
            print(f"{name}, {boundary}: " + ", ".join(f"{k} {v}" for k, v in row.items()))
    print(json.dumps(result | {"versions": versions, **machine}))


if __name__ == "__main__":
    main()
