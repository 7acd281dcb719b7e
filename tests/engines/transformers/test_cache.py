"""Reading with a cache equals reading without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.engines.transformers.spans import Reader
from tests.models import tiny

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKENS = st.lists(st.integers(5, 90), min_size=1, max_size=12)


def logits_after(model: torch.nn.Module, ids: Sequence[int]) -> torch.Tensor:
    """Return the logits after each token, read in one pass without a cache."""
    with torch.inference_mode():
        logits: torch.Tensor = model(torch.tensor([list(ids)]), use_cache=False).logits
    return logits[0].float()


def log_probabilities(
    model: torch.nn.Module, prompt: Sequence[int], row: Sequence[int]
) -> list[float]:
    scores = logits_after(model, [*prompt, *row]).log_softmax(-1)
    return [float(scores[len(prompt) - 1 + i, token]) for i, token in enumerate(row)]


@pytest.mark.parametrize("family", ["gpt2", "llama-chat"])
@settings(deadline=None, max_examples=8)
@given(
    prompts=st.lists(TOKENS, min_size=1, max_size=3), rows=st.lists(TOKENS, min_size=1, max_size=10)
)
def test_equals_reading_without_a_cache(
    family: str, prompts: list[list[int]], rows: list[list[int]]
) -> None:
    model = tiny(family).model.eval()
    reader = Reader(model)
    with torch.inference_mode():
        for prompt in prompts:  # each prompt reuses the prefix it shares with the one before
            reader.start([7, 8, 9, *prompt])
        ids = [7, 8, 9, *prompts[-1]]
        assert reader.ids == ids
        scored = reader.score(rows)
        for scores, row in zip(scored, rows, strict=True):
            assert scores == pytest.approx(log_probabilities(model, ids, row), abs=1e-3)
        fork = reader.fork()
        fork.feed([3, 4])
        assert reader.ids == ids
        ids += [*rows[-1], 5]
        reader.start(ids)
    assert reader.ids == ids
    torch.testing.assert_close(reader.logits, logits_after(model, ids)[-1], atol=1e-3, rtol=1e-3)
    with torch.inference_mode():
        reader.feed([6])
    after = logits_after(model, [*ids, 6])[-1]
    torch.testing.assert_close(reader.logits, after, atol=1e-3, rtol=1e-3)
