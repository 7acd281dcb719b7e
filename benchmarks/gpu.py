"""The copy constraint on a GPU: time of the mask kernel, and tokens per second of `generate`.

    python benchmarks/gpu.py [--smoke] [--model FOLDER] [--parts kernel,decoding]
        [--batches 1,8,32] [--rounds N] [--new-tokens N]

- kernel: `apply_bitmask` on 131,072 columns against plain torch, `masked_fill_` after unpacking the
  bits on the device. The masks are those of a constraint in a quote, in glue, and in any free text.
  Both must give equal bits first.
- decoding: `generate` of transformers in bfloat16, free and with the constraint ("any" free text,
  or only "glue"), with the model in a folder or with a random Llama of 1.2 billion parameters over
  mistral-common's tekken. As in `serving.py`, sources are synthetic and differ between requests,
  modes alternate on the same prompts, and the logits of "[" are raised, so that answers quote if
  they may. Constraints are compiled in the measured time. Ratios are medians over rounds. Before
  timing, constrained answers must have quotes, all of them verified.

Without a GPU nothing is measured; --smoke runs on the CPU, with the kernel in Triton's interpreter.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import sys
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
HERE = str(ROOT / "benchmarks")
# Both come last, because other packages import a module named `kernels`.
sys.path = [*(path for path in sys.path if path != HERE), str(ROOT), HERE]

from copying.synthetic import synthetic_sources  # noqa: E402
from copying.workload import Bench  # noqa: E402
from machine import describe_machine  # noqa: E402
from serving import OPENING_TOKEN, QUESTION, SEED, Task  # noqa: E402

from semqa import QuotedAnswer  # noqa: E402
from semqa.decoding import CopyConstraint, QuotePolicy, Vocabulary  # noqa: E402
from semqa.engines.model.options import default_prompts  # noqa: E402
from semqa.engines.model.text import PromptEncoder  # noqa: E402
from semqa.engines.options import TransformersOptions  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from semqa import Source

MODES = ("free", "any", "glue")
PLACES = {"quote": "any", "glue": "glue", "any": "any"}
"""A place in an answer that needs a mask, and the policy for free text."""


def masks_in(place: str, rows: int, bench: Bench) -> NDArray[np.int32]:
    """Return one mask per row, each for other sources: int32[rows, W]."""
    rng = random.Random(SEED)
    masks = []
    for _ in range(rows):
        sources = synthetic_sources(rng)
        policy = QuotePolicy(free="glue" if PLACES[place] == "glue" else "any")
        constraint = CopyConstraint(bench.vocabulary, sources, policy, question=QUESTION)
        state = constraint.start()
        if place == "quote":
            begun = " ".join(["[ 1", *sources[0].text.split()[:3]])
            for token in bench.encode(begun, end=False):
                state = constraint.advance(state, token)
        masks.append(constraint.mask(state))
    return np.stack(masks)


def kernel(bench: Bench, batches: Sequence[int], device: str) -> list[dict[str, Any]]:
    """Compare and time the two ways to mask logits; return microseconds."""
    import torch

    from semqa.kernels.bitmask import apply_bitmask

    shifts = torch.arange(32, dtype=torch.int32, device=device)

    def fill(logits: torch.Tensor, masks: torch.Tensor) -> None:
        forbidden = ((masks[:, :, None] >> shifts) & 1) == 0
        logits.masked_fill_(forbidden.flatten(1), -torch.inf)

    table = []
    for dtype in (torch.bfloat16, torch.float32):
        for rows in batches:
            every = torch.arange(rows, device=device)
            given = torch.randn((rows, bench.vocabulary.size), device=device).to(dtype)
            for place in PLACES:
                masks = torch.from_numpy(masks_in(place, rows, bench)).to(device)
                logits = [given.clone() for _ in range(2)]
                ways: dict[str, Callable[[], None]] = {
                    "kernel": partial(apply_bitmask, logits[0], masks, every),
                    "masked_fill_": partial(fill, logits[1], masks),
                }
                for run in ways.values():
                    run()
                if not torch.equal(logits[0].view(torch.uint8), logits[1].view(torch.uint8)):
                    raise SystemExit(f"The masked logits differ: {place}, {rows} rows, {dtype}")
                microseconds = {way: _microseconds(run, device) for way, run in ways.items()}
                allowed = 1 - float(logits[0].isinf().float().mean())
                name = str(dtype).removeprefix("torch.")
                table.append(
                    {"dtype": name, "rows": rows, "place": place, "allowed": round(allowed, 4)}
                    | {way: round(each, 2) for way, each in microseconds.items()}
                    | {"ratio": round(microseconds["masked_fill_"] / microseconds["kernel"], 2)}
                )
                show(table)
    return table


def _microseconds(run: Callable[[], None], device: str) -> float:
    if device == "cuda":
        from triton.testing import do_bench

        return float(do_bench(run, return_mode="median")) * 1e3
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1e6


class Model:
    """A model on a device, and requests for it."""

    def __init__(self, bench: Bench | None, options: argparse.Namespace, device: str) -> None:
        """Load the model in the folder `options.model`, or create one for the benchmark's tokens."""
        import torch

        self.new_tokens: int = options.new_tokens
        self.encoder: PromptEncoder | None = None
        if bench is None:
            from semqa.engines.transformers.decoding import Decoder
            from semqa.engines.transformers.loading import load_model

            settings = TransformersOptions(dtype="bfloat16", device=device)
            loaded = load_model(options.model, settings)
            self.model = loaded.model
            self.vocabulary: Vocabulary = Decoder(loaded, settings).vocabulary
            self.encoder = PromptEncoder(loaded.tokenizer, is_encoder_decoder=False)
            openers = [loaded.tokenizer.encode(text)[0] for text in ("[", " [")]
        else:
            from transformers import AutoModelForCausalLM, LlamaConfig

            torch.manual_seed(SEED)
            self.vocabulary = bench.vocabulary
            config = LlamaConfig(
                vocab_size=self.vocabulary.size,
                hidden_size=options.hidden,
                intermediate_size=4 * options.hidden,
                num_hidden_layers=options.layers,
                num_attention_heads=max(options.hidden // 64, 1),
                num_key_value_heads=max(options.hidden // 256, 1),
                tie_word_embeddings=True,
            )
            with torch.device(device):
                self.model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
            openers = [OPENING_TOKEN]
        from transformers import GenerationConfig

        ends = list(self.vocabulary.eos_ids)
        # Make all answers quote and none end early, so that all have the same number of tokens.
        bias = [[[token], 14.0] for token in openers] + [[[token], -100.0] for token in ends]
        self.model.generation_config = GenerationConfig(
            max_new_tokens=self.new_tokens,
            do_sample=False,
            eos_token_id=ends,
            pad_token_id=ends[0],
            sequence_bias=bias,
        )

    def tasks(self, count: int, seed: int = SEED) -> list[Task]:
        """Return requests with different sources."""
        rng = random.Random(seed)
        found = []
        for _ in range(count):
            sources: list[Source] = list(synthetic_sources(rng))
            if self.encoder is None:
                prompt = [rng.randrange(1_000, self.vocabulary.size) for _ in range(200)]
            else:
                prompt = self.encoder.encode(default_prompts().build(QUESTION, sources))
            found.append(Task(prompt, sources))
        return found

    def run(self, mode: str, tasks: Sequence[Task]) -> tuple[float, int, list[str]]:
        """Answer all tasks in one batch; return seconds, number of tokens, and texts."""
        import torch

        from semqa.decoding.transformers import CopyConstraintLogitsProcessor

        width = max(len(task.prompt) for task in tasks)
        padded = [[0] * (width - len(task.prompt)) + task.prompt for task in tasks]
        seen = [[int(at >= width - len(task.prompt)) for at in range(width)] for task in tasks]
        given = {"input_ids": padded, "attention_mask": seen}
        inputs = {name: torch.tensor(each).to(self.model.device) for name, each in given.items()}
        started = time.perf_counter()
        processors = []
        if mode != "free":
            policy = QuotePolicy(free="glue" if mode == "glue" else "any")
            constraints = [
                CopyConstraint(self.vocabulary, task.sources, policy, question=QUESTION)
                for task in tasks
            ]
            processors = [
                CopyConstraintLogitsProcessor(constraints, max_new_tokens=self.new_tokens)
            ]
        with torch.inference_mode():
            output = self.model.generate(**inputs, logits_processor=processors)
        rows = output[:, width:].tolist()  # waits for the device
        seconds = time.perf_counter() - started
        ends = self.vocabulary.eos_ids
        written = [1 + sum(token not in ends for token in row[:-1]) for row in rows]
        return seconds, sum(written), [self.vocabulary.decode(row) for row in rows]


def check(model: Model, tasks: Sequence[Task]) -> int:
    """Exit unless constrained answers have quotes, all verified; return the number of quotes."""
    answers = [
        QuotedAnswer.parse(text, task.sources)
        for mode in MODES[1:]
        for text, task in zip(model.run(mode, tasks)[2], tasks, strict=True)
    ]
    bad = [answer.marked for answer in answers if answer.quotes and not answer.verified]
    quotes = sum(len(answer.quotes) for answer in answers)
    if bad or not quotes:
        raise SystemExit(f"The constraint failed: {quotes} quotes, not verified in {bad[:1]}")
    return quotes


def decoding(model: Model, batches: Sequence[int], rounds: int) -> list[dict[str, Any]]:
    """Measure tokens per second."""
    table = []
    for batch in batches:
        for mode in MODES:
            model.run(mode, model.tasks(batch, 3))  # warm-up
        rates: dict[str, list[float]] = {mode: [] for mode in MODES}
        for number in range(rounds):
            for mode in MODES if number % 2 == 0 else MODES[::-1]:
                # New sources in each round, so that nothing compiled is reused.
                seconds, tokens, _ = model.run(mode, model.tasks(batch, 1000 * number + batch))
                rates[mode].append(tokens / seconds)
        row: dict[str, Any] = {"rows": batch}
        for mode in MODES:
            row[mode] = round(statistics.median(rates[mode]), 1)
        for mode in MODES[1:]:
            each = [a / b for a, b in zip(rates[mode], rates["free"], strict=True)]
            row[f"{mode} / free"] = round(statistics.median(each), 3)
            row[f"{mode} / free, range"] = [round(min(each), 3), round(max(each), 3)]
        table.append(row)
        show(table)
    return table


def show(table: Sequence[dict[str, Any]]) -> None:
    """Print the last row of a table, and the head before the first row."""
    if len(table) == 1:
        print(" | ".join(table[0]))
    print(" | ".join(map(str, table[-1].values())), flush=True)


def main() -> None:
    """Measure and print; the last line is JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="smallest size, on the CPU")
    parser.add_argument("--model", help="model folder (default: a random model)")
    parser.add_argument("--parts", default="kernel,decoding")
    parser.add_argument("--batches", default="1,8,32")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=2048, help="width of the random model")
    parser.add_argument("--layers", type=int, default=16, help="layers of the random model")
    options = parser.parse_args()
    if options.smoke:
        os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
        options.batches, options.rounds, options.new_tokens = "1", 1, 16
        options.hidden, options.layers = 64, 2
    import torch

    record: dict[str, Any] = {"benchmark": "gpu", **describe_machine()}
    if not (options.smoke or torch.cuda.is_available()):
        print("There is no GPU; nothing was measured.")
        print(json.dumps({**record, "skipped": "no GPU"}))
        return
    device = "cpu" if options.smoke else "cuda"
    record["gpu"] = "none" if options.smoke else torch.cuda.get_device_name()
    for name in ("torch", "transformers", "triton", "numba"):
        record[name] = version(name)
    print(", ".join(f"{name} {value}" for name, value in record.items()), flush=True)
    parts = options.parts.split(",")
    batches = [int(batch) for batch in options.batches.split(",")]
    bench = None
    if "kernel" in parts or options.model is None:
        bench = Bench(few_tokens=options.smoke)
    gc.collect()
    gc.disable()
    if "kernel" in parts and bench is not None:
        record["kernel_microseconds"] = kernel(bench, [*batches, 4 * batches[-1]], device)
    if "decoding" in parts:
        model = Model(None if options.model else bench, options, device)
        record["parameters"] = model.model.num_parameters()
        record["quotes_checked"] = check(model, model.tasks(4))
        about = f"{record['parameters']:,} parameters; {record['quotes_checked']} quotes checked"
        print(about, flush=True)
        record["tokens_per_second"] = decoding(model, batches, options.rounds)
    print(json.dumps(record))


if __name__ == "__main__":
    main()
