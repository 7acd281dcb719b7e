"""Cost of policies, token budgets and other vocabularies, for semqa only: no peer has them.

Generates random answers under each policy until a token budget is used up. Tokens are drawn from
the masks, with a preference for tokens that open or close a quote. Each build has a question of its
own, so nothing about its words is cached.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copying.tables import percentiles
from semqa.decoding import CopyConstraint, QuotePolicy, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from copying.workload import Bench
    from semqa.data.quotesum import Question

BUDGET = 60
LAST_TOKENS = 10
"""Number of tokens at the end of a budget that are reported separately."""

POLICIES = {
    "glue": QuotePolicy(),
    "any": QuotePolicy(free="any"),
}


def without_bytes(vocabulary: Vocabulary) -> Vocabulary:
    """Return a vocabulary that cannot generate every byte, like those of T5 and BERT."""
    kept = b" []().,;:'\"-"
    tokens = [vocabulary.token_bytes(token) for token in range(vocabulary.size)]
    tokens = [t if len(t) != 1 or t.isalnum() or t in kept else b"" for t in tokens]
    return Vocabulary.from_tokens(tokens, vocabulary.eos_ids, vocabulary.special_ids)


def vocabularies(bench: Bench) -> dict[str, Vocabulary]:
    """Return the vocabularies to time, by name."""
    import mistral_common
    from mistral_common.tokens.tokenizers.sentencepiece import SentencePieceTokenizer

    path = Path(mistral_common.__file__).parent / "data/tokenizer.model.v1"
    pieces = Vocabulary.from_tokenizer(SentencePieceTokenizer(path))
    return {
        "tekken, 131k": bench.vocabulary,
        "SentencePiece, 32k": pieces,
        "the same without bytes": without_bytes(pieces),
    }


def sample_tokens(mask: NDArray[np.int32], rng: random.Random) -> list[int]:
    """Sample tokens from a mask without reading all of it, which would evict the CPU caches."""
    words = np.flatnonzero(mask)
    drawn = words[[rng.randrange(words.size) for _ in range(32)]]
    bits = np.unpackbits(mask[drawn].view(np.uint8), bitorder="little").reshape(-1, 32)
    rows, columns = np.nonzero(bits)
    tokens: list[int] = (32 * drawn[rows] + columns).tolist()
    return tokens


def answer(constraint: CopyConstraint, rng: random.Random) -> tuple[list[int], list[int]]:
    """Generate an answer; return the mask times in ns of early tokens and of the last tokens."""
    vocabulary = constraint.vocabulary
    buffer = np.zeros((vocabulary.size + 31) // 32, np.int32)
    early: list[int] = []
    late: list[int] = []
    state = constraint.start(BUDGET)
    for left in range(BUDGET, 0, -1):
        start = time.perf_counter_ns()
        constraint.mask(state, buffer)
        spent = time.perf_counter_ns() - start
        (late if left <= LAST_TOKENS else early).append(spent)
        sample = sample_tokens(buffer, rng)
        bracket = b"]" if constraint.in_quote(state) else b"["
        continuing = [t for t in sample if t not in vocabulary.eos_ids] or sample
        switching = [t for t in continuing if bracket in vocabulary.token_bytes(t)]
        state = constraint.advance(state, rng.choice(switching or continuing))
        if constraint.has_ended(state):
            break
    return early, late


def policies_part(bench: Bench, questions: Sequence[Question], rounds: int) -> list[dict[str, Any]]:
    """Time builds and masks; print one row per vocabulary and policy."""
    rows = []
    heads = ("build ms", "p99", "mask p50", "p99", "max us", "last p50", "p99", "max us")
    print(f"{'vocabulary':26}{'policy':24}" + "".join(f"{head:>10}" for head in heads))
    for name, vocabulary in vocabularies(bench).items():
        for label, policy in POLICIES.items():
            builds: list[int] = []
            early: list[int] = []
            late: list[int] = []
            CopyConstraint(vocabulary, questions[0].sources, policy)  # fill shared caches
            for question in questions:
                start = time.perf_counter_ns()
                constraint = CopyConstraint(
                    vocabulary, question.sources, policy, question=question.question
                )
                builds.append(time.perf_counter_ns() - start)
                for seed in range(rounds):
                    early_times, late_times = answer(constraint, random.Random(seed))
                    early += early_times
                    late += late_times
            build, mask = percentiles(builds, 1e6), percentiles(early, 1e3)
            last = percentiles(late, 1e3) if late else None
            figures = [build["p50"], build["p99"], mask["p50"], mask["p99"], mask["max"]]
            figures += [last["p50"], last["p99"], last["max"]] if last else []
            print(f"{name:26}{label:24}" + "".join(f"{figure:10.4g}" for figure in figures))
            rows.append(
                {"vocabulary": name, "policy": label, "build_ms": build, "mask_us": mask,
                 "mask_us_in_the_last_tokens": last}
            )  # fmt: skip
    print()
    return rows
