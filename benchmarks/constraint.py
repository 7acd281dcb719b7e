"""Time the copy constraint against llguidance (and xgrammar), in one process on the same requests.

    python benchmarks/constraint.py [--smoke] [--data FILE] [--rounds N] [--budget SECONDS]
                                    [--parts replay,policies,…]

The vocabulary is tekken's, 131,072 tokens. The parts:

    vocabulary  reading it, building its trie, and loading that from the disk's cache
    replay      human answers fed token by token, after a check that masks agree where the languages do
    scaling     one source of generated text, 1,000 to 1,000,000 characters, with quotes cut at random
    hostile     texts that make suffix structures large
    policies    random answers under each of our rules and in other vocabularies, to the last token

Each contestant is used as its documentation says is fastest (`copying.contestants`), all are warmed
up, take turns request by request, and are timed with the garbage collector off; nothing is
subtracted from a time. A contestant that refuses a text, or has used up its budget, is left out
from there on, and that is printed. llguidance takes part in long texts with its default limits and,
as "llg. raised", with limits that never bind.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
HERE = str(ROOT / "benchmarks")
# This folder comes last, so that no benchmark stands in for the package it is named after.
sys.path = [str(ROOT), *(path for path in sys.path if path != HERE), HERE]

from copying.contestants import Semqa, new_clock, xgrammar_version  # noqa: E402
from copying.long_texts import hostile_part, scaling_part  # noqa: E402
from copying.policies import policies_part  # noqa: E402
from copying.replay import BOUNDARIES, replay_part  # noqa: E402
from copying.workload import Bench, Request  # noqa: E402
from machine import describe_machine  # noqa: E402

from semqa import Source  # noqa: E402
from semqa.data.fetch import CACHE_SETTING  # noqa: E402
from semqa.decoding import Vocabulary  # noqa: E402
from semqa.decoding.tokenizers import read_tokenizer  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence


def default_data() -> Path:
    """Return the released questions where they are, else the examples."""
    shared = Path(os.environ.get("SEMQA_TEST_DATA", ROOT.parent / "shared"))
    released = shared / "data/quotesum/dev_a.jsonl"
    return released if released.exists() else ROOT / "examples/quotesum.jsonl"


def vocabulary_part(bench: Bench) -> dict[str, object]:
    """Time the vocabulary: reading the tokenizer, and the rest with and without the disk's cache."""
    start = time.perf_counter()
    read = read_tokenizer(bench.mistral)
    times = {"read_tokenizer_ms": time.perf_counter() - start}
    kept = os.environ.get(CACHE_SETTING)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[CACHE_SETTING] = folder
        for name in ("built_ms", "from_cache_ms"):
            start = time.perf_counter()
            made = Vocabulary.from_tokens(read.tokens, read.eos_ids, read.special_ids)
            times[name] = time.perf_counter() - start
            if made != bench.vocabulary:
                sys.exit(f"vocabulary, {name}: not the one that was read first")
    del os.environ[CACHE_SETTING]
    if kept is not None:
        os.environ[CACHE_SETTING] = kept
    result = {name: round(1e3 * seconds, 1) for name, seconds in times.items()}
    print("vocabulary: " + ", ".join(f"{name} {value}" for name, value in result.items()))
    return dict(result)


def first_use(bench: Bench) -> float:
    """Return the seconds of the first answer in this process, compilation included."""
    start = time.perf_counter()
    for boundary in BOUNDARIES:
        ours = Semqa(bench.vocabulary, boundary)
        request = Request((Source("Bing Crosby sang it.", "White Christmas"),), ())
        built = ours.build(request)
        ours.replay(built, bench.encode("By [ 1 Bing Crosby ] ."), new_clock())
    return time.perf_counter() - start


PARTS = ("vocabulary", "replay", "scaling", "hostile", "policies")


def _part(name: str, bench: Bench, requests: list[Request], options: argparse.Namespace) -> Any:
    smoke = options.smoke
    match name:
        case "vocabulary":
            return vocabulary_part(bench)
        case "replay":
            return replay_part(bench, requests, 1 if smoke else options.rounds, 1 if smoke else 10)
        case "scaling":
            sizes = (300, 1_000) if smoke else (1_000, 10_000, 100_000, 1_000_000)
            return scaling_part(bench, sizes, 3 if smoke else 200)
        case "hostile":
            return hostile_part(
                bench, (3_000,) if smoke else (100_000, 1_000_000), 3 if smoke else 50
            )
        case _:
            return policies_part(bench, bench.questions, 1 if smoke else 3)


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, time and print; the last line is one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--smoke", action="store_true", help="few tokens, the examples, short texts, one round"
    )
    parser.add_argument("--data", type=Path, default=None, help="a file in QuoteSum's format")
    parser.add_argument("--rounds", type=int, default=3, help="how often all answers are replayed")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for one text")
    parser.add_argument(
        "--parts", type=lambda names: names.split(","), default=PARTS, help=", ".join(PARTS)
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"--parts: got {', '.join(unknown)}, expected some of {', '.join(PARTS)}")
    examples = ROOT / "examples/quotesum.jsonl"
    path = options.data or (examples if options.smoke else default_data())

    bench = Bench(options.budget, few_tokens=options.smoke)
    requests = bench.requests(path, 1 if options.smoke else None)
    machine = describe_machine()
    versions = {name: version(name) for name in ("llguidance", "mistral-common", "numba", "numpy")}
    versions["xgrammar"] = xgrammar_version()
    print(", ".join(f"{name} {value}" for name, value in (machine | versions).items()))
    seconds = first_use(bench)
    print(f"{path.name}, {len(requests)} questions; first use in this process: {seconds:.2f} s\n")
    result: dict[str, object] = {"benchmark": "constraint", "data": path.name}
    result["first_use_s"] = round(seconds, 3)
    gc.collect()
    gc.disable()
    try:
        for name in options.parts:
            result[name] = _part(name, bench, requests, options)
    finally:
        gc.enable()
    print(json.dumps(result | {"versions": versions, **machine}))


if __name__ == "__main__":
    main()
