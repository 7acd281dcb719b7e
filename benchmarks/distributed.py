"""Time scoring on Ray with 1, 2, … workers, beside scoring in one process.

    python benchmarks/distributed.py [--smoke] [--predictions N] [--workers 1,2,4]

The work: predictions of the length of people's answers, three quotes and 44 words each, made by
seed for questions that are made up as in `score.py`; the same ones for everybody. All must get
the same scores to the last digit, or nothing is printed. Ray is started once for each number of
workers, on this machine; what that takes is told apart.

"a core" is predictions a second and worker. "overhead" is the share of the workers' time that is not
scoring as one process does it: handing out, bringing back, waiting; and on more workers than free
processors, their waiting for one.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from machine import describe_machine  # noqa: E402
from score import made_up_questions  # noqa: E402

from semqa.distributed import RaySettings, open_ray  # noqa: E402
from semqa.distributed.tasks import BLOCK  # noqa: E402
from semqa.metrics import Example, score_example  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

QUESTIONS = 500


def made_up_examples(count: int, seed: int = 0) -> list[Example]:
    """Make predictions: a quote of each source, where it begins and how long it is by chance."""
    chance = random.Random(seed)
    questions = made_up_questions(QUESTIONS, seed)
    words = [{k: text.split() for k, text in q.sources.items()} for q in questions]
    examples = []
    for number in range(count):
        question = questions[number % QUESTIONS]
        quotes = []
        for k, source in words[number % QUESTIONS].items():
            start = chance.randrange(len(source) - 18)
            quotes.append(f"[ {k} {' '.join(source[start : start + chance.randint(6, 18)])} ]")
        text = "It is said that {} , and then {} , while {} .".format(*quotes)
        examples.append(
            Example(
                question.qid,
                text,
                question.references,
                question.short_answers,
                tuple(question.sources),
            )
        )
    return examples


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, time and print; the last line is one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--smoke", action="store_true", help="few predictions, one worker")
    parser.add_argument("--predictions", type=int, default=1_000_000)
    parser.add_argument("--workers", default="1,2", help="how many, one after the other")
    options = parser.parse_args(arguments)
    count = 2 * BLOCK + 1 if options.smoke else options.predictions  # one block alone stays here
    sizes = [1] if options.smoke else [int(size) for size in options.workers.split(",")]

    examples = made_up_examples(count)
    started, burnt = time.perf_counter(), time.process_time()
    expected = [score_example(example) for example in examples]
    here, here_cpu = time.perf_counter() - started, time.process_time() - burnt
    machine = describe_machine()
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    print(f"{count:,} predictions; {here_cpu:.1f} s of processor time in one process\n")
    print(
        f"{'workers':>9} {'start s':>8} {'score s':>8} {'a second':>9} {'a core':>8} {'overhead':>8}"
    )
    print(f"{'none':>9} {0:8.1f} {here:8.1f} {count / here:9.0f} {count / here:8.0f} {0:8.0%}")
    result: dict[str, object] = {
        "benchmark": "distributed",
        "predictions": count,
        "one process": {
            "seconds": round(here, 3),
            "cpu_seconds": round(here_cpu, 3),
            "predictions_a_second": round(count / here),
        },
    }
    for size in sizes:
        began = time.perf_counter()
        with open_ray(RaySettings(workers=(size, size))) as ray:
            ray.score_examples(examples[: BLOCK + 1])  # what starts late, starts now
            started, burnt = time.perf_counter(), time.process_time()
            found = ray.score_examples(examples)
            seconds, driver = time.perf_counter() - started, time.process_time() - burnt
        if found != expected:
            sys.exit(f"{size} workers: other scores than in one process")
        rate = count / seconds
        overhead = max(0.0, 1 - here / (seconds * size))
        print(
            f"{size:>9} {started - began:8.1f} {seconds:8.1f} {rate:9.0f} {rate / size:8.0f} "
            f"{overhead:8.0%}"
        )
        result[f"workers {size}"] = {
            "start_seconds": round(started - began, 3),
            "seconds": round(seconds, 3),
            "driver_cpu_seconds": round(driver, 3),
            "predictions_a_second": round(rate),
            "predictions_a_second_and_worker": round(rate / size),
            "speed_up": round(here / seconds, 3),
            "overhead": round(overhead, 4),
        }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"peak memory of the driver: {peak:,} MiB")
    print(json.dumps(result | {"driver_peak_mib": peak, **machine}))


if __name__ == "__main__":
    main()
