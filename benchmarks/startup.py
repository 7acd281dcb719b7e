"""Time the commands `semqa --help` and `semqa answer` on the sample, including process startup.

Prints medians of several runs, after a run whose output is checked, with ``python -c pass`` for
comparison.

    python benchmarks/startup.py [--runs 20] [--smoke]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from machine import describe_machine

SAMPLE = Path(__file__).resolve().parents[1] / "examples" / "antarctica.jsonl"
SEMQA = [sys.executable, "-m", "semqa"]
ANSWER = [*SEMQA, "answer", "Who crossed Antarctica alone?", "--sources", str(SAMPLE)]
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "semqa --help": [*SEMQA, "--help"],
    "semqa answer": [*ANSWER, "--format", "terminal"],
}
EXPECTED = {"semqa --help": "Usage:", "semqa answer": "verified character for character"}


def main() -> None:
    """Check the output of the commands, time them, and print a table and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument(
        "--smoke", action="store_true", help="one run, to check that the benchmark works"
    )
    options = parser.parse_args()
    runs = 1 if options.smoke else options.runs
    machine = describe_machine()
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    seconds = {name: _median_seconds(name, runs) for name in COMMANDS}
    for name, value in seconds.items():
        print(f"{name:<22} {value * 1000:7.0f} ms (median of {runs})")
    print(json.dumps({"benchmark": "startup", "runs": runs, "seconds": seconds, **machine}))


def _median_seconds(name: str, runs: int) -> float:
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        shown = subprocess.run(COMMANDS[name], capture_output=True, check=True, encoding="utf-8")
        times.append(time.perf_counter() - started)
        if EXPECTED.get(name, "") not in shown.stdout:
            sys.exit(f"{name} did not print {EXPECTED[name]!r}")
    return median(times)


if __name__ == "__main__":
    main()
