"""The logits processor in `generate`: every answer is valid for any model and search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
import torch

from semqa import InputError, QuotedAnswer, Source
from semqa.decoding import CopyConstraint, QuotePolicy, Vocabulary, find_breach
from semqa.decoding.transformers import CopyConstraintLogitsProcessor
from tests.decoding.vocabularies import tokens_of
from tests.engines.transformers.tiny_engine import BRIDGE, RAIN
from tests.models import FAMILIES, tiny

if TYPE_CHECKING:
    from collections.abc import Sequence

BUDGET = 32
BATCH = (("Who built it?", BRIDGE), ("When was the bridge opened, and by whom?", RAIN))
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True, "temperature": 1.3},
    "beams": {"num_beams": 4, "num_return_sequences": 3},
    "several-samples": {"do_sample": True, "num_return_sequences": 3, "top_k": 20},
}
POLICIES = {
    "any": QuotePolicy(free="any", quote_bias=8.0),
    "any, char": QuotePolicy(free="any", boundary="char", quote_bias=4.0),
    "glue": QuotePolicy(),
    "glue, char": QuotePolicy(boundary="char", quote_from=(1,), quote_bias=2.0),
}


def vocabulary_of(family: str) -> Vocabulary:
    made = tiny(family)
    return Vocabulary.from_tokenizer(made.tokenizer, made.model.config.vocab_size, [1])


def processor(constraints: Any, **options: Any) -> CopyConstraintLogitsProcessor:
    return CopyConstraintLogitsProcessor(
        cast("list[CopyConstraint]", constraints), **({"max_new_tokens": BUDGET} | options)
    )


def generate(family: str, constraints: Sequence[Any], **options: Any) -> list[list[int]]:
    """Return the new tokens of each row, for as many of the questions as there are constraints."""
    made = tiny(family)
    questions = [question for question, _ in BATCH][: len(constraints)]
    inputs = made.tokenizer(
        questions,
        padding=True,
        padding_side="right" if made.model.config.is_encoder_decoder else "left",
        return_tensors="pt",
        return_token_type_ids=False,
    )
    forced = 3 if family == "bart" else None
    given = [processor(constraints, forced_bos_token_id=forced)]
    settings = {
        "logits_processor": given,
        "max_new_tokens": BUDGET,
        "eos_token_id": [1],
        "pad_token_id": 0,
    }
    output = made.model.generate(**inputs, **(settings | options))
    start = 1 if made.model.config.is_encoder_decoder else inputs.input_ids.shape[1]
    rows: list[list[int]] = output[:, start:].tolist()
    return rows


@pytest.mark.parametrize(
    ("family", "search", "rules"),
    [
        *((family, search, "any") for family in FAMILIES for search in ("greedy", "beams")),
        ("llama-sentencepiece", "greedy", "any, char"),
        ("llama-sentencepiece", "beams", "glue, char"),
        ("llama-sentencepiece", "sampling", "glue"),
        ("llama-sentencepiece", "several-samples", "any, char"),
    ],
)
def test_every_answer_parses_and_verifies(family: str, search: str, rules: str) -> None:
    torch.manual_seed(1)
    vocabulary, policy = vocabulary_of(family), POLICIES[rules]
    constraints = [CopyConstraint(vocabulary, s, policy, question=q) for q, s in BATCH]
    rows = generate(family, constraints, **SEARCHES[search])
    each = len(rows) // len(BATCH)
    quotes = 0
    for place, row in enumerate(rows):
        question, sources = BATCH[place // each]
        answer = check(vocabulary, row, sources)
        assert find_breach(answer.marked, sources, policy, question) is None
        quotes += len(answer.quotes)
    assert quotes


def check(vocabulary: Vocabulary, row: Sequence[int], sources: Sequence[Source]) -> QuotedAnswer:
    assert 1 in row, "the answer is finished within its budget"
    text = vocabulary.decode(row[: row.index(1)])
    answer = QuotedAnswer.parse(text, sources)
    assert answer.verified or answer.abstained
    assert answer.marked == text
    assert answer.counts["verified"] == text.count("[") == text.count("]")
    assert "\N{REPLACEMENT CHARACTER}" not in text
    return answer


@pytest.mark.parametrize(
    ("family", "beams"), [("gpt2", 2), ("llama-sentencepiece", 4), ("t5", 3), ("bart", 3)]
)
def test_beams_equal_a_stateless_search(family: str, beams: int) -> None:
    vocabulary = vocabulary_of(family)
    question, sources = BATCH[0]
    policy = QuotePolicy(free="any", quote_bias=2.0)
    budget = 14
    constraint = CopyConstraint(vocabulary, sources, policy, question=question)
    forced = 3 if family == "bart" else None
    given = [processor([constraint], max_new_tokens=budget, forced_bos_token_id=forced)]
    made = tiny(family)
    inputs = made.tokenizer(question, return_tensors="pt", return_token_type_ids=False)
    output = made.model.generate(
        **inputs,
        logits_processor=given,
        max_new_tokens=budget,
        num_beams=beams,
        num_return_sequences=beams,
        eos_token_id=[1],
        pad_token_id=0,
        return_dict_in_generate=True,
        output_scores=True,
    )
    start = 1 if made.model.config.is_encoder_decoder else inputs.input_ids.shape[1]
    got = [tuple(_up_to_end(row)) for row in output.sequences[:, start:].tolist()]
    expected = plain_beam_search(family, inputs, constraint, beams, budget, forced)
    assert got == [tokens for tokens, _ in expected]
    assert output.sequences_scores.tolist() == pytest.approx([s for _, s in expected], rel=1e-3)


def plain_beam_search(
    family: str,
    inputs: Any,
    constraint: CopyConstraint,
    beams: int,
    budget: int,
    forced: int | None,
) -> list[tuple[tuple[int, ...], float]]:
    """Search without state: each history is replayed from its first token.

    Returns:
        The best finished answers with their log probability per token, best first.
    """
    model = tiny(family).model
    is_encoder_decoder = model.config.is_encoder_decoder
    openers = constraint.quote_openers.tolist()
    running: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    finished: list[tuple[tuple[int, ...], float]] = []
    for step in range(budget):
        candidates = []
        for tokens, total in running:
            if is_encoder_decoder:
                head = [[model.generation_config.decoder_start_token_id, *tokens]]
                logits = model(**inputs, decoder_input_ids=torch.tensor(head)).logits
            else:
                ids = torch.cat([inputs.input_ids, torch.tensor([tokens], dtype=torch.long)], dim=1)
                logits = model(input_ids=ids).logits
            scores = logits[0, -1].log_softmax(-1).tolist()
            skipped = int(forced is not None)
            if step < skipped:
                candidates.append(((*tokens, cast("int", forced)), total))
                continue
            state = constraint.start(budget - skipped)
            for token in tokens[skipped:]:
                state = constraint.advance(state, token)
            bias = 0.0 if constraint.in_quote(state) else constraint.policy.quote_bias
            candidates += [
                ((*tokens, token), total + scores[token] + (bias if token in openers else 0.0))
                for token in constraint.allowed(state).tolist()
            ]
        candidates.sort(key=lambda pair: -pair[1])
        best = candidates[: 2 * beams]
        finished += [(t, s / len(t)) for t, s in best[:beams] if t[-1] == 1]
        running = [(t, s) for t, s in best if t[-1] != 1][:beams]
    return sorted(finished, key=lambda pair: -pair[1])[:beams]


def _up_to_end(row: list[int]) -> list[int]:
    return row[: row.index(1) + 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("extra", [0, 33])
def test_only_allowed_scores_are_kept(dtype: torch.dtype, extra: int) -> None:
    vocabulary = vocabulary_of("gpt2")
    constraint = CopyConstraint(vocabulary, BRIDGE)
    scores = torch.randn(2, vocabulary.size + extra, dtype=torch.float32).to(dtype)
    before = scores.clone()
    masked = processor([constraint])(torch.zeros(2, 5, dtype=torch.long), scores)
    allowed = torch.zeros(vocabulary.size + extra, dtype=torch.bool)
    allowed[constraint.allowed(constraint.start(BUDGET))] = True
    assert masked.dtype == dtype
    assert torch.equal(masked[:, allowed], before[:, allowed])
    assert bool((masked[:, ~allowed] == -torch.inf).all())
    assert torch.equal(scores, before), "the given tensor is left as it was"


def test_scores_narrower_than_the_vocabulary_are_refused() -> None:
    vocabulary = vocabulary_of("llama-chat")
    step = processor([CopyConstraint(vocabulary, BRIDGE)])
    with pytest.raises(InputError, match=r"^scores must be at least"):
        step(torch.zeros(1, 5, dtype=torch.long), torch.zeros(1, 300))


def test_scores_may_lack_ids_without_text() -> None:
    vocabulary = vocabulary_of("gpt2")  # 13 ids beyond the tokenizer
    step = processor([CopyConstraint(vocabulary, BRIDGE)])
    masked = step(torch.zeros(1, 5, dtype=torch.long), torch.zeros(1, vocabulary.size - 13))
    assert masked.shape == (1, vocabulary.size - 13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_bias_opens_quotes_in_free_text_only(dtype: torch.dtype) -> None:
    vocabulary = vocabulary_of("gpt2")
    opener = next(t for t in range(vocabulary.size) if vocabulary.token_bytes(t) == b" [")
    biased = CopyConstraint(vocabulary, RAIN, QuotePolicy(quote_bias=3.0))
    step = processor([biased, CopyConstraint(vocabulary, RAIN)])
    scores = torch.ones(2, vocabulary.size, dtype=dtype)
    first = step(torch.zeros(2, 4, dtype=torch.long), scores)
    openers = biased.quote_openers[first[1, biased.quote_openers].isfinite().numpy()]
    assert opener in openers
    assert set(first[0, openers].tolist()) == {4.0}
    assert set(first[1, openers].tolist()) == {1.0}
    assert first[0].isfinite().sum() > len(openers)
    assert set(np.delete(first[0].float().numpy(), biased.quote_openers)) == {1.0, -np.inf}
    opened = step(torch.tensor([[0, 0, 0, 0, opener]] * 2), scores)
    assert torch.equal(opened[0], opened[1])


def test_a_bias_does_not_overflow_half_precision() -> None:
    vocabulary = vocabulary_of("gpt2")
    constraint = CopyConstraint(vocabulary, RAIN, QuotePolicy(quote_bias=60_000.0))
    scores = torch.full((1, vocabulary.size), 60_000.0, dtype=torch.float16)
    masked = processor([constraint])(torch.zeros(1, 4, dtype=torch.long), scores)
    assert not masked.isposinf().any()
    assert not masked.isnan().any()


def test_a_finished_row_stays_finished_with_any_padding() -> None:
    vocabulary = vocabulary_of("gpt2")
    step = processor(CopyConstraint(vocabulary, RAIN, QuotePolicy(free="any")))
    scores = torch.zeros(2, vocabulary.size)
    first, second = [5, 6, 7], [5, 6, 7]
    for padding in (*tokens_of(vocabulary, b"[ 1 Bob ]"), 1, 0, 1, 300):
        masked = step(torch.tensor([first, second]), scores)
        assert masked[1].isfinite().sum() > 1
        first, second = [*first, padding], [*second, 40]
    assert masked[0].isfinite().nonzero().flatten().tolist() == [1]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(3, 4)], r"^constraints "),
        ([(0, 4)], r"^constraints "),
        ([(2, 4), (4, 5)], r"^input_ids must have 2 rows"),
        ([(2, 4), (2, 4)], r"^input_ids must have 5 tokens per row"),
        ([(2, 4), (2, 7)], r"^input_ids must have 5 tokens per row"),
    ],
)
def test_a_wrong_batch_is_refused(shapes: list[tuple[int, int]], message: str) -> None:
    vocabulary = vocabulary_of("gpt2")
    step = processor([CopyConstraint(vocabulary, BRIDGE), CopyConstraint(vocabulary, RAIN)])
    for rows, length in shapes[:-1]:
        step(torch.full((rows, length), 40), torch.zeros(rows, vocabulary.size))
    rows, length = shapes[-1]
    with pytest.raises(InputError, match=message):
        step(torch.full((rows, length), 40), torch.zeros(rows, vocabulary.size))


def test_a_processor_serves_one_call() -> None:
    vocabulary = vocabulary_of("gpt2")
    used = processor([CopyConstraint(vocabulary, RAIN)])
    constraint = CopyConstraint(vocabulary, RAIN)
    generate("gpt2", [constraint], logits_processor=[used])
    with pytest.raises(InputError, match="Create a new processor for each call of generate"):
        generate("gpt2", [constraint], logits_processor=[used])


def test_assisted_decoding_is_refused() -> None:
    with pytest.raises(InputError, match=r"(^input_ids must have|was not allowed).+assisted"):
        generate(
            "gpt2",
            [CopyConstraint(vocabulary_of("gpt2"), RAIN, POLICIES["any"])],
            prompt_lookup_num_tokens=3,
        )


def test_constraints_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"^constraints "):
        processor([])
    several = [CopyConstraint(vocabulary_of(family), RAIN) for family in ("gpt2", "t5")]
    with pytest.raises(InputError, match=r"^constraints "):
        processor(several)
    with pytest.raises(InputError, match="max_tokens must be at least"):
        processor([CopyConstraint(vocabulary_of("gpt2"), RAIN)], max_new_tokens=3)


def test_a_token_forced_by_another_is_reported() -> None:
    class Forcing:
        def __call__(self, _: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            forced = torch.full_like(scores, -torch.inf)
            forced[:, 2] = 0.0  # <unk>
            return forced

    constraint = CopyConstraint(vocabulary_of("gpt2"), RAIN)
    with pytest.raises(
        InputError,
        match=r"^generate took a token that was not allowed",
    ):
        generate("gpt2", [constraint], logits_processor=[processor([constraint]), Forcing()])


def test_a_row_without_any_token_left_is_reported() -> None:
    constraint = CopyConstraint(vocabulary_of("gpt2"), RAIN)
    with pytest.raises(InputError, match=r"^No token is left for row 0 after 31 new tokens: "):
        generate("gpt2", [constraint], min_new_tokens=BUDGET)
    step = processor([constraint])
    scores = torch.zeros(2, constraint.vocabulary.size)
    scores[1] = torch.nan
    with pytest.raises(InputError, match=r"^No token is left for row 1 after 0 .+ NaN"):
        step(torch.zeros(2, 3, dtype=torch.long), scores)
