"""CPU time of the constraint per vLLM step, with many answers and a real vocabulary.

Simulates vLLM's first model runner, so that nothing else is timed. Random answers are generated,
each with its own constraint. A step is one call of `apply` for all answers; its masks are compared
with those of the single constraints. vLLM is not needed.

    python benchmarks/vllm_host.py [--smoke]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from machine import describe_machine

from semqa import Source
from semqa.decoding import CopyConstraint, QuotePolicy, Vocabulary, warm_up
from semqa.decoding.vllm import to_extra_args
from semqa.decoding.vllm.runners import FirstRunner

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS = [
    "the",
    "bridge",
    "was",
    "opened",
    "in",
    "1932",
    "by",
    "a",
    "mayor",
    "who",
    "had",
    "never",
    "crossed",
    "it",
    "before",
    "that",
    "day",
    "and",
]
POLICY = QuotePolicy(free="any", quote_bias=4.0)
BATCHES = (1, 8, 32, 256)


def main() -> None:
    """Check, time, and print a table and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--smoke", action="store_true", help="few answers, to check that the benchmark works"
    )
    smoke = parser.parse_args().smoke
    vocabulary = small_vocabulary() if smoke else real_vocabulary()
    warm_up(vocabulary=vocabulary)
    torch.set_num_threads(1)
    results = [
        measure(vocabulary, rows, steps=4 if smoke else 60)
        for rows in (BATCHES[:2] if smoke else BATCHES)
    ]
    for one in results:
        print(
            f"{one['rows']:4} answers: {one['step_us']:9.0f} µs per step, of which masking takes "
            f"{one['scores_us']:9.0f}; {one['step_us'] / one['rows']:6.1f} per answer"
        )
    record = {"benchmark": "vllm_host", "vocabulary": vocabulary.size, "results": results}
    print(json.dumps({**record, **describe_machine()}))


def real_vocabulary() -> Vocabulary:
    """Return the vocabulary of a real tokenizer, with 131,072 tokens."""
    from pathlib import Path

    import mistral_common
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    data = Path(mistral_common.__file__).parent / "data"
    return Vocabulary.from_tokenizer(Tekkenizer.from_file(data / "tekken_240911.json"))


def small_vocabulary() -> Vocabulary:
    """Return a vocabulary of all bytes and an end token."""
    return Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), b""], [256])


def measure(vocabulary: Vocabulary, rows: int, steps: int) -> dict[str, Any]:
    """Return the median times of a step, in microseconds."""
    rng = np.random.default_rng(0)
    runner = FirstRunner(vocabulary, rows, 4096)
    sources = [[Source(" ".join(rng.choice(WORDS, 350)))] for _ in range(rows)]
    written: list[list[int]] = [[] for _ in range(rows)]
    added = [(row, request(sources[row]), [1], written[row]) for row in range(rows)]
    runner.update_state(SimpleNamespace(removed=[], added=added, moved=[]))
    constraints = [CopyConstraint(vocabulary, one, POLICY) for one in sources]
    states = [one.start(4000) for one in constraints]
    logits = torch.empty(rows, vocabulary.size)
    times, scores = [], []
    mask = runner._answers._write

    def timed(*given: Any) -> None:
        began = time.perf_counter()
        mask(*given)
        scores.append(time.perf_counter() - began)

    setattr(runner._answers, "_write", timed)  # noqa: B010
    noise = torch.randn(rows, vocabulary.size, generator=torch.Generator().manual_seed(1))
    for step in range(steps):
        logits.copy_(noise.roll(step, 1))
        began = time.perf_counter()
        runner.apply(logits)
        times.append(time.perf_counter() - began)
        taken = logits.argmax(1).tolist()
        for row, token in enumerate(taken):
            if token == vocabulary.eos_ids[0]:  # take the second-best token instead
                logits[row, token] = -torch.inf
                token = int(logits[row].argmax())  # noqa: PLW2901
            if step < 3 or row == 0:
                check(constraints[row], states[row], logits[row].numpy())
            states[row] = constraints[row].advance(states[row], token)
            written[row].append(token)
    return {
        "rows": rows,
        "step_us": 1e6 * statistics.median(times[2:]),
        "scores_us": 1e6 * statistics.median(scores[2:]),
    }


def request(sources: list[Source]) -> Any:
    """Return sampling parameters like those of vLLM."""
    extra = to_extra_args(sources, POLICY)
    return SimpleNamespace(extra_args=extra, stop=[], logit_bias=None, max_tokens=4000)


def check(constraint: CopyConstraint, state: Any, logits: NDArray[np.float32]) -> None:
    """Compare a row with its own constraint, except for the end token; exit if it differs."""
    allowed = set(np.flatnonzero(np.isfinite(logits)).tolist()) | set(constraint.vocabulary.eos_ids)
    expected = set(constraint.allowed(state).tolist()) | set(constraint.vocabulary.eos_ids)
    if allowed != expected:
        raise SystemExit("The mask of a row differs from its constraint.")


if __name__ == "__main__":
    main()
