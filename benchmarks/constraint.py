"""Compare the speed of the copy constraint and llguidance on the same requests.

    python benchmarks/constraint.py [--smoke] [--data FILE] [--rounds N]

Human answers are fed token by token, after checking that the masks agree. The vocabulary is
tekken's, with 131,072 tokens.

Each implementation is used in the way its documentation recommends for speed
(`copying.contestants`). All are warmed up, alternate request by request, and are timed with the
garbage collector off. No overhead is subtracted.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
HERE = str(ROOT / "benchmarks")
# This folder comes last, so that no benchmark shadows a package of the same name.
sys.path = [str(ROOT), *(path for path in sys.path if path != HERE), HERE]

from copying.contestants import Semqa, new_clock  # noqa: E402
from copying.replay import BOUNDARIES, replay_part  # noqa: E402
from copying.workload import Bench, Request  # noqa: E402
from machine import describe_machine  # noqa: E402

from semqa import Source  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence


def default_data() -> Path:
    """Return the path of the released questions if available, otherwise of the examples."""
    shared = Path(os.environ.get("SEMQA_TEST_DATA", ROOT.parent / "shared"))
    released = shared / "data/quotesum/dev_a.jsonl"
    return released if released.exists() else ROOT / "examples/quotesum.jsonl"


def first_use(bench: Bench) -> float:
    """Return the seconds for the first answer in this process, including compilation."""
    start = time.perf_counter()
    for boundary in BOUNDARIES:
        ours = Semqa(bench.vocabulary, boundary)
        request = Request((Source("Bing Crosby sang it.", "White Christmas"),), ())
        built = ours.build(request)
        ours.replay(built, bench.encode("By [ 1 Bing Crosby ] ."), new_clock())
    return time.perf_counter() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, time and print; the last line is JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--smoke", action="store_true", help="small vocabulary, examples, one round"
    )
    parser.add_argument("--data", type=Path, default=None, help="QuoteSum file")
    parser.add_argument("--rounds", type=int, default=3, help="number of replays of all answers")
    options = parser.parse_args(arguments)
    examples = ROOT / "examples/quotesum.jsonl"
    path = options.data or (examples if options.smoke else default_data())

    bench = Bench(few_tokens=options.smoke)
    requests = bench.requests(path, 1 if options.smoke else None)
    machine = describe_machine()
    versions = {name: version(name) for name in ("llguidance", "mistral-common", "numba", "numpy")}
    print(", ".join(f"{name} {value}" for name, value in (machine | versions).items()))
    seconds = first_use(bench)
    print(f"{path.name}, {len(requests)} questions; first use in this process: {seconds:.2f} s\n")
    result: dict[str, object] = {"benchmark": "constraint", "data": path.name}
    result["first_use_s"] = round(seconds, 3)
    gc.collect()
    gc.disable()
    try:
        result["replay"] = replay_part(bench, requests, 1 if options.smoke else options.rounds)
    finally:
        gc.enable()
    print(json.dumps(result | {"versions": versions, **machine}))


if __name__ == "__main__":
    main()
