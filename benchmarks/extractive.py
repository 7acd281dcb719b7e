"""Time the extractive engine per question.

    python benchmarks/extractive.py [--data QUOTESUM.jsonl] [--repeats 5] [--smoke]

Without --data, questions come from SEMQA_TEST_DATA (default: ../shared next to the checkout), or
from the examples. Before timing, all quotes must be verified and all answers within the word limit.
The time of a question is the median of its repeats. It includes reading the sources, selecting and
verifying quotes, and writing the answer, but not process startup.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from machine import describe_machine

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from semqa.data import Question, read_quotesum  # noqa: E402
from semqa.engines.extractive import ExtractiveEngine  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

GOAL_MS = 5.0


def check(engine: ExtractiveEngine, questions: Sequence[Question]) -> None:
    """Answer all questions; exit if a quote is not verified or an answer is too long."""
    for question in questions:
        answer = engine.answer(question.question, question.sources)
        bad = [quote.text for quote in answer.quotes if quote.status.value != "verified"]
        if bad or not answer.quotes:
            sys.exit(f"{question.qid}: no quotes, or quotes not verified: {bad}; nothing was timed")
        if len(answer.plain.split()) > engine.max_words:
            sys.exit(f"{question.qid}: more than {engine.max_words} words; nothing was timed")


def main() -> None:
    """Check, time, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="QuoteSum file (JSON lines)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--smoke", action="store_true", help="time the examples once")
    options = parser.parse_args()
    repeats = 1 if options.smoke else options.repeats
    shared = Path(os.environ.get("SEMQA_TEST_DATA", ROOT.parent / "shared"))
    path = options.data or shared / "data/quotesum/dev_a.jsonl"
    if options.smoke or not (options.data or path.exists()):
        path = ROOT / "examples/quotesum.jsonl"
    questions = read_quotesum(path)
    engine = ExtractiveEngine()
    check(engine, questions)
    machine = describe_machine()
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    times = sorted(_milliseconds(engine, question, repeats) for question in questions)
    p50, p99 = median(times), times[min(len(times) - 1, int(0.99 * len(times)))]
    print(
        f"{len(questions)} questions of {path.name}: "
        f"p50 {p50:.2f} ms, p99 {p99:.2f} ms per question (goal: p50 at most {GOAL_MS:.0f} ms)"
    )
    record: dict[str, object] = {
        "benchmark": "extractive",
        "questions": len(questions),
        "p50_ms": p50,
        "p99_ms": p99,
    }
    print(json.dumps(record | machine))


def _milliseconds(engine: ExtractiveEngine, question: Question, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        engine.answer(question.question, question.sources)
        times.append(time.perf_counter() - started)
    return median(times) * 1000


if __name__ == "__main__":
    main()
