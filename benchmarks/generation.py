"""Tokens per second of transformers' `generate`, with the copy constraint and without, on a CPU.

    python benchmarks/generation.py [--smoke] [--pairs N] [--new-tokens N] [--hidden N]
        [--threads N]

The model is a small Llama with random weights over the 131,072 tokens of mistral-common's tekken. The
sources are made up, of QuoteSum's size (three of 100 words), others for each prompt of a batch. Both
runs of a pair write the same number of tokens, for end tokens are held back until then; pairs follow
each other, the order within them alternates, and the ratio is the median over pairs: of the wall
clock, and of processor time, which other programs disturb less (with --threads 1). Before anything
is timed the constrained text is checked: it holds quotes, and each of them is verified.

A small model is the hard case: what the constraint costs a token does not depend on the model.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from copying.made_up import made_up_sources  # noqa: E402
from copying.tekken import tekken_file  # noqa: E402
from machine import describe_machine  # noqa: E402

from semqa import QuotedAnswer  # noqa: E402
from semqa.decoding import CopyConstraint, QuotePolicy, Vocabulary, warm_up  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

GOAL = 0.97
POLICIES = {
    "any": QuotePolicy(free="any", quote_bias=10.0),
    "glue": QuotePolicy(quote_bias=10.0),
}


class Setting(NamedTuple):
    """What one row of the table measures."""

    batch: int
    policy: str


class Seconds(NamedTuple):
    """How long a run took, by the wall clock and in processor time."""

    wall: float
    cpu: float


class Pair(NamedTuple):
    """Two runs that wrote as many tokens."""

    free: Seconds
    constrained: Seconds


class Bench:
    """A model, prompts and sources."""

    def __init__(self, *, hidden: int, new_tokens: int, batch: int, few_tokens: bool) -> None:
        import torch
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer
        from transformers import LlamaConfig, LlamaForCausalLM

        with tempfile.TemporaryDirectory() as folder:
            self.tokenizer = Tekkenizer.from_file(tekken_file(Path(folder) if few_tokens else None))
        self.vocabulary = Vocabulary.from_tokenizer(self.tokenizer)
        torch.manual_seed(0)
        self.model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=self.vocabulary.size,
                hidden_size=hidden,
                intermediate_size=3 * hidden,
                num_hidden_layers=4,
                num_attention_heads=4,
                max_position_embeddings=4096,
                tie_word_embeddings=True,
                initializer_range=0.1,
            )
        ).eval()
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.new_tokens = new_tokens
        chance = random.Random(0)
        self.sources = [made_up_sources(chance) for _ in range(batch)]
        texts = ["\n".join(source.text for source in sources) for sources in self.sources]
        ids = [self.tokenizer.encode(text, bos=True, eos=False) for text in texts]
        width = max(map(len, ids))
        pad = self.tokenizer.pad_id
        self.ids = torch.tensor([[pad] * (width - len(row)) + row for row in ids])
        self.attention = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids])

    def run(self, batch: int, policy: QuotePolicy | None) -> tuple[Seconds, list[list[int]]]:
        """Generate; return the seconds, constraints built within them, and the new tokens."""
        from transformers import GenerationConfig

        from semqa.decoding.transformers import CopyConstraintLogitsProcessor

        processors: list[Any] = []
        started, cpu = time.perf_counter(), time.process_time()
        if policy is not None:
            constraints = [
                CopyConstraint(self.vocabulary, sources, policy) for sources in self.sources[:batch]
            ]
            # A larger budget than what is written: the end is not what is measured here.
            budget = 10 * self.new_tokens
            processors = [CopyConstraintLogitsProcessor(constraints, max_new_tokens=budget)]
        output = self.model.generate(
            input_ids=self.ids[:batch],
            attention_mask=self.attention[:batch],
            logits_processor=processors,
            generation_config=GenerationConfig(
                max_new_tokens=self.new_tokens,
                min_new_tokens=self.new_tokens,
                do_sample=False,
                eos_token_id=list(self.vocabulary.eos_ids),
                pad_token_id=self.tokenizer.pad_id,
            ),
        )
        seconds = Seconds(time.perf_counter() - started, time.process_time() - cpu)
        return seconds, output[:, self.ids.shape[1] :].tolist()

    def check(self, batch: int, policy: QuotePolicy) -> int:
        """Return how many quotes the constrained texts hold; exit where one is not verified."""
        quotes = 0
        for row, sources in zip(self.run(batch, policy)[1], self.sources, strict=False):
            if len(row) != self.new_tokens:
                sys.exit(f"wrote {len(row)} tokens, expected {self.new_tokens}")
            text = self.vocabulary.decode(row)
            if text.count("[") > text.count("]"):  # cut off within a quote
                text = text[: text.rindex("[")]
            answer = QuotedAnswer.parse(text, sources)
            if not all(quote.verified for quote in answer.quotes):
                sys.exit(f"a quote is not verified: {answer.to_dict()['quotes']}")
            quotes += len(answer.quotes)
        if not quotes:
            sys.exit("no quote was written, so that nothing is measured")
        return quotes


def measure(bench: Bench, setting: Setting, pairs: int) -> list[Pair]:
    """Time pairs of runs; which comes first alternates."""
    policy = POLICIES[setting.policy]
    measured = []
    for number in range(pairs):
        order: Sequence[QuotePolicy | None] = (None, policy) if number % 2 else (policy, None)
        seconds = {rules is None: bench.run(setting.batch, rules)[0] for rules in order}
        measured.append(Pair(seconds[True], seconds[False]))
    return measured


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, time and print; the last line is one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--smoke", action="store_true", help="one pair of 96 tokens, a tiny model")
    parser.add_argument("--pairs", type=int, default=11, help="pairs of runs for each row")
    parser.add_argument("--new-tokens", type=int, default=96, help="tokens that each run writes")
    parser.add_argument("--hidden", type=int, default=128, help="width of the model")
    parser.add_argument("--threads", type=int, help="torch's threads (default: its own choice)")
    options = parser.parse_args(arguments)
    import torch

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    if options.smoke:
        options.pairs, options.new_tokens, options.hidden = 1, 96, 16
    settings = [Setting(batch, policy) for batch in (1, 8) for policy in POLICIES]
    settings = settings[:1] if options.smoke else settings
    most = max(setting.batch for setting in settings)

    warm_up()
    bench = Bench(
        hidden=options.hidden, new_tokens=options.new_tokens, batch=most, few_tokens=options.smoke
    )
    machine = describe_machine()
    versions = {name: version(name) for name in ("torch", "transformers", "numba")}
    print(", ".join(f"{name} {value}" for name, value in (machine | versions).items()))
    print(
        f"Llama of {bench.parameters / 1e6:.1f} M parameters, {bench.vocabulary.size:,} tokens; "
        f"prompts of {bench.ids.shape[1]} tokens, {options.new_tokens} new ones, float32, "
        f"{torch.get_num_threads()} threads\n"
    )
    print(
        f"{'batch':>5}  {'free text':<12}{'free':>9}{'constr.':>9}  tokens/s{'ratio':>8}{'of CPU':>8}  quotes"
    )
    rows = []
    for setting in settings:
        quotes = bench.check(setting.batch, POLICIES[setting.policy])
        pairs = measure(bench, setting, options.pairs)
        tokens = setting.batch * options.new_tokens
        free, constrained = (
            tokens / statistics.median(run.wall for run in runs)
            for runs in zip(*pairs, strict=True)
        )
        ratio = statistics.median(pair.free.wall / pair.constrained.wall for pair in pairs)
        cpu_ratio = statistics.median(pair.free.cpu / pair.constrained.cpu for pair in pairs)
        print(
            f"{setting.batch:>5}  {setting.policy:<12}{free:>9.1f}{constrained:>9.1f}"
            f"{ratio:>18.3f}{cpu_ratio:>8.3f}  {quotes:>6}"
        )
        rows.append(
            {
                **setting._asdict(),
                "free_tokens_per_second": round(free, 2),
                "constrained_tokens_per_second": round(constrained, 2),
                "ratio": round(ratio, 4),
                "cpu_ratio": round(cpu_ratio, 4),
                "pairs": options.pairs,
                "quotes": quotes,
            }
        )
    least = min(float(str(row["ratio"])) for row in rows)
    print(f"\nleast ratio {least:.3f} (goal {GOAL})")
    record = {
        "benchmark": "generation",
        **machine,
        **versions,
        "parameters": bench.parameters,
        "prompt_tokens": bench.ids.shape[1],
        "new_tokens": options.new_tokens,
        "threads": torch.get_num_threads(),
        "rows": rows,
        "least_ratio": least,
        "goal": GOAL,
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
