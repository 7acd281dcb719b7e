"""Time the extractive engine per question, and score it where the released data is.

    python benchmarks/extractive.py [--data QUOTESUM.jsonl] [--repeats 5] [--smoke]

Without --data, questions come from SEMQA_TEST_DATA (default ../shared beside the checkout), or else
from a seeded generator, and then only the time is printed. Every quote must verify and every answer
keep to its number of words before anything is timed. The time of a question is the median of its
repeats: reading the sources, choosing, writing, and checking the quotes; no process start.
"""

from __future__ import annotations

import argparse
import json
import os
import random
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
from semqa.metrics import Example, score  # noqa: E402
from semqa.quotes import Source  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

GOAL_MS = 5.0


def made_up_questions(count: int) -> list[Question]:
    """Make questions over three sources of about 110 words each, without references."""
    draw = random.Random(0)
    nouns = ("bridge", "harbour", "tower", "river", "library", "museum")
    verbs = ("opened", "closed", "moved", "painted", "flooded", "restored")
    questions = []
    for number in range(count):
        sources = []
        for _ in range(3):
            sentences = [
                f"The {draw.choice(nouns)} of {draw.choice(nouns).title()} was "
                f"{draw.choice(verbs)} in {draw.randint(1700, 2020)}, and the "
                f"{draw.choice(nouns)} near it was {draw.choice(verbs)} by the people of the town."
                for _ in range(5)
            ]
            sources.append(Source(" ".join(sentences), title=draw.choice(nouns).title()))
        asked = f"When was the {draw.choice(nouns)} {draw.choice(verbs)}?"
        questions.append(Question(f"made-{number}", asked, tuple(sources), ()))
    return questions


def load(data: Path | None, *, smoke: bool) -> tuple[list[Question], bool]:
    """Return the questions, and whether they are real."""
    shared = Path(os.environ.get("SEMQA_TEST_DATA", ROOT.parent / "shared"))
    path = data or shared / "data/quotesum/dev_a.jsonl"
    if data is None and (smoke or not path.exists()):
        return made_up_questions(5 if smoke else 45), False
    return read_quotesum(path), True


def check(engine: ExtractiveEngine, questions: Sequence[Question]) -> list[Example]:
    """Answer all questions; stop the benchmark at a quote that is not verified."""
    examples = []
    for question in questions:
        answer = engine.answer(question.question, question.sources)
        bad = [quote.text for quote in answer.quotes if quote.status.value != "verified"]
        if bad or not answer.quotes:
            sys.exit(f"{question.qid}: quotes are not verified: {bad}; nothing is timed")
        if len(answer.plain.split()) > engine.max_words:
            sys.exit(f"{question.qid}: more than {engine.max_words} words; nothing is timed")
        if question.references:
            examples.append(
                Example(
                    question.qid,
                    answer.marked,
                    question.texts,
                    question.short_answers,
                    question.numbers,
                )
            )
    return examples


def main() -> None:
    """Check, time, score, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a QuoteSum file (JSON lines)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--smoke", action="store_true", help="five made-up questions, once")
    options = parser.parse_args()
    repeats = 1 if options.smoke else options.repeats
    questions, real = load(options.data, smoke=options.smoke)
    engine = ExtractiveEngine()
    examples = check(engine, questions)
    machine = describe_machine()
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    times = sorted(_milliseconds(engine, question, repeats) for question in questions)
    p50, p99 = median(times), times[min(len(times) - 1, int(0.99 * len(times)))]
    print(
        f"{len(questions)} {'real' if real else 'made-up'} questions: "
        f"p50 {p50:.2f} ms, p99 {p99:.2f} ms a question (goal: p50 at most {GOAL_MS:.0f} ms)"
    )
    record: dict[str, object] = {
        "benchmark": "extractive",
        "questions": len(questions),
        "real": real,
        "p50_ms": p50,
        "p99_ms": p99,
    }
    if examples:
        report = score(examples, resamples=0)
        names = ("semqa", "sem_f1", "rougeLsum", "sem_recall")
        record["scores"] = {name: report.value(name) for name in names}
        for name in names:
            print(f"{name:<12} {report.value(name):6.2f}")
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
