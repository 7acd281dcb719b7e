"""Compare the speed of `semqa.metrics` and a plain scorer based on rouge-score.

    python benchmarks/score.py [--smoke] [--repeats N]

Both score the answers of several systems to all questions on all metrics, and the human row (each
reference against the others). Questions come from SEMQA_TEST_DATA (default: ../shared next to the
checkout), or from the examples. Before timing, all scores must agree to 1e-9.

"one system a run" corresponds to `semqa score`: no question is compiled beforehand. "systems in a
row" reuses the compiled questions, as when comparing prediction files. The plain scorer caches
nothing. Times are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from machine import describe_machine  # noqa: E402

from semqa.data import Question, read_quotesum  # noqa: E402
from semqa.metrics import Example, ExampleScores, leave_one_out, score_example, summarise  # noqa: E402
from semqa.metrics.scores import target_for  # noqa: E402
from tests.reference import scores as reference  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOLERANCE = 1e-9


def read_questions() -> list[Question]:
    """Read the released questions, or the examples if the data is missing."""
    shared = Path(os.environ.get("SEMQA_TEST_DATA", ROOT.parent / "shared"))
    released = shared / "data/quotesum/dev_a.jsonl"
    return read_quotesum(released if released.exists() else ROOT / "examples/quotesum.jsonl")


def answer(question: Question, k: int) -> str:
    """Return the answer of system k: 12 + 6k words of each source, from word 5k."""
    return " ".join(
        f"[ {number} {' '.join(question.sources[number - 1].text.split()[5 * k : 12 + 11 * k])} ] ."
        for number in question.numbers
    )


def fast(questions: Sequence[Question], answers: Sequence[str]) -> list[ExampleScores]:
    """Score one system with `semqa.metrics`."""
    return [
        score_example(Example(q.qid, text, q.texts, q.short_answers, q.numbers))
        for q, text in zip(questions, answers, strict=True)
    ]


def plain(questions: Sequence[Question], answers: Sequence[str]) -> list[dict[str, float | None]]:
    """Score one system with the plain scorer."""
    return [
        reference.scores(text, q.texts, q.short_answers, q.numbers)
        for q, text in zip(questions, answers, strict=True)
    ]


def fast_humans(questions: Sequence[Question]) -> list[ExampleScores]:
    """Score the human row with `semqa.metrics`."""
    return [
        row
        for question in questions
        if len(question.texts) > 1
        for row in leave_one_out(
            question.qid, question.texts, question.short_answers, question.numbers
        )
    ]


def plain_humans(questions: Sequence[Question]) -> list[dict[str, float | None]]:
    """Score the human row with the plain scorer."""
    return [
        reference.scores(
            text,
            question.texts[:k] + question.texts[k + 1 :],
            question.short_answers[:k] + question.short_answers[k + 1 :],
            list(question.numbers),
        )
        for question in questions
        if len(question.texts) > 1
        for k, text in enumerate(question.texts)
    ]


def check(got: Sequence[ExampleScores], expected: Sequence[dict[str, float | None]]) -> int:
    """Return the number of compared scores; exit if one differs."""
    figures = 0
    for row, reference_scores in zip(got, expected, strict=True):
        for metric, value in reference_scores.items():
            ours = row.value(metric)
            if (ours is None) != (value is None) or abs((ours or 0) - (value or 0)) > TOLERANCE:
                sys.exit(f"question {row.qid}: {metric}: got {ours}, expected {value}")
            figures += 1
    return figures


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of one run that starts without compiled questions."""
    target_for.cache_clear()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, time and print; the last line is JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--smoke", action="store_true", help="four questions, one run each")
    parser.add_argument("--repeats", type=int, default=5, help="runs of the plain scorer")
    options = parser.parse_args(arguments)
    questions = read_questions()
    repeats = 1 if options.smoke else options.repeats
    questions = questions[:4] if options.smoke else questions
    runs = [[answer(q, k) for q in questions] for k in range(2 if options.smoke else 5)]

    figures = sum(check(fast(questions, run), plain(questions, run)) for run in runs)
    figures += check(fast_humans(questions), plain_humans(questions))
    machine = describe_machine()
    versions = {name: version(name) for name in ("rapidfuzz", "rouge-score", "numpy")}
    print(", ".join(f"{name} {value}" for name, value in (machine | versions).items()))
    print(f"{len(questions)} questions, {len(runs)} systems; {figures} scores agree\n")

    def apart(scorer: Callable[..., object]) -> float:
        return sum(timed(partial(scorer, questions, run)) for run in runs)

    def in_a_row(scorer: Callable[..., object]) -> float:
        return timed(lambda: [scorer(questions, run) for run in runs])

    humans = len(fast_humans(questions))
    work: dict[str, tuple[Callable[[], float], Callable[[], float], int]] = {
        "one system a run": (lambda: apart(plain), lambda: apart(fast), len(runs) * len(questions)),
        "systems in a row": (
            lambda: in_a_row(plain),
            lambda: in_a_row(fast),
            len(runs) * len(questions),
        ),
        "human row": (
            lambda: timed(lambda: plain_humans(questions)),
            lambda: timed(lambda: fast_humans(questions)),
            humans,
        ),
    }
    result: dict[str, object] = {"benchmark": "score", "questions": len(questions)}
    print(f"{'work':18} {'answers':>7} {'plain ms':>9} {'semqa ms':>9} {'ratio':>6}")
    for name, (slow, ours, answers) in work.items():
        # Ours is fast, so it gets more runs for a stable median.
        slow_seconds = statistics.median(slow() for _ in range(repeats))
        our_seconds = statistics.median(ours() for _ in range(4 * repeats))
        ratio = slow_seconds / our_seconds
        print(
            f"{name:18} {answers:7} {1e3 * slow_seconds:9.1f} {1e3 * our_seconds:9.2f} {ratio:6.1f}"
        )
        result[name] = {
            "answers": answers,
            "plain_ms": round(1e3 * slow_seconds, 2),
            "semqa_ms": round(1e3 * our_seconds, 3),
            "ratio": round(ratio, 1),
        }
    rows = fast(questions, runs[0])
    intervals = statistics.median(timed(lambda: summarise(rows)) for _ in range(repeats))
    print(f"means and intervals for one system, 1,000 resamples: {1e3 * intervals:.1f} ms")
    result |= {"intervals_ms": round(1e3 * intervals, 2), "versions": versions, **machine}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
