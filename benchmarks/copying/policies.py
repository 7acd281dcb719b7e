"""What policies, token budgets and other vocabularies cost: no peer has them, so ours alone.

Random answers under each policy, with a budget that they use up: tokens are drawn from the masks,
often such as open or close a quote. A question's words are its own, so that every build meets them
for the first time.
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
SCARCE = 10
"""The last tokens of a budget, of which there are figures of their own."""

POLICIES = {
    "glue": QuotePolicy(),
    "any": QuotePolicy(free="any"),
}


def without_bytes(vocabulary: Vocabulary) -> Vocabulary:
    """Return a vocabulary that cannot write every byte, like those of T5 and BERT."""
    kept = b" []().,;:'\"-"
    tokens = [vocabulary.token_bytes(token) for token in range(vocabulary.size)]
    tokens = [t if len(t) != 1 or t.isalnum() or t in kept else b"" for t in tokens]
    return Vocabulary.from_tokens(tokens, vocabulary.eos_ids, vocabulary.special_ids)


def vocabularies(bench: Bench) -> dict[str, Vocabulary]:
    """Return what constraints are made for."""
    import mistral_common
    from mistral_common.tokens.tokenizers.sentencepiece import SentencePieceTokenizer

    path = Path(mistral_common.__file__).parent / "data/tokenizer.model.v1"
    pieces = Vocabulary.from_tokenizer(SentencePieceTokenizer(path))
    return {
        "tekken, 131k": bench.vocabulary,
        "SentencePiece, 32k": pieces,
        "the same without bytes": without_bytes(pieces),
    }


def some_of(mask: NDArray[np.int32], rng: random.Random) -> list[int]:
    """Draw tokens of a mask, without going through all of them: that would cool every cache."""
    words = np.flatnonzero(mask)
    drawn = words[[rng.randrange(words.size) for _ in range(32)]]
    bits = np.unpackbits(mask[drawn].view(np.uint8), bitorder="little").reshape(-1, 32)
    rows, columns = np.nonzero(bits)
    tokens: list[int] = (32 * drawn[rows] + columns).tolist()
    return tokens


def answer(constraint: CopyConstraint, rng: random.Random) -> tuple[list[int], list[int]]:
    """Draw one answer; return the nanoseconds of masks, and of those with few tokens left."""
    vocabulary = constraint.vocabulary
    buffer = np.zeros((vocabulary.size + 31) // 32, np.int32)
    far: list[int] = []
    near: list[int] = []
    state = constraint.start(BUDGET)
    for left in range(BUDGET, 0, -1):
        start = time.perf_counter_ns()
        constraint.mask(state, buffer)
        spent = time.perf_counter_ns() - start
        (near if left <= SCARCE else far).append(spent)
        some = some_of(buffer, rng)
        bracket = b"]" if constraint.in_quote(state) else b"["
        going_on = [t for t in some if t not in vocabulary.eos_ids] or some
        turning = [t for t in going_on if bracket in vocabulary.token_bytes(t)]
        state = constraint.advance(state, rng.choice(turning or going_on))
        if constraint.has_ended(state):
            break
    return far, near


def policies_part(bench: Bench, questions: Sequence[Question], rounds: int) -> list[dict[str, Any]]:
    """Time builds and masks; print a row for each vocabulary and policy."""
    rows = []
    heads = ("build ms", "p99", "mask p50", "p99", "max us", "last p50", "p99", "max us")
    print(f"{'vocabulary':26}{'policy':24}" + "".join(f"{head:>10}" for head in heads))
    for name, vocabulary in vocabularies(bench).items():
        for label, policy in POLICIES.items():
            builds: list[int] = []
            far: list[int] = []
            near: list[int] = []
            CopyConstraint(vocabulary, questions[0].sources, policy)  # what all requests share
            for question in questions:
                start = time.perf_counter_ns()
                made = CopyConstraint(
                    vocabulary, question.sources, policy, question=question.question
                )
                builds.append(time.perf_counter_ns() - start)
                for seed in range(rounds):
                    of_far, of_near = answer(made, random.Random(seed))
                    far += of_far
                    near += of_near
            build, mask = percentiles(builds, 1e6), percentiles(far, 1e3)
            last = percentiles(near, 1e3) if near else None
            figures = [build["p50"], build["p99"], mask["p50"], mask["p99"], mask["max"]]
            figures += [last["p50"], last["p99"], last["max"]] if last else []
            print(f"{name:26}{label:24}" + "".join(f"{figure:10.4g}" for figure in figures))
            rows.append(
                {"vocabulary": name, "policy": label, "build_ms": build, "mask_us": mask,
                 "mask_us_in_the_last_tokens": last}
            )  # fmt: skip
    print()
    return rows
