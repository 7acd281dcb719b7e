"""Ending an answer at a text, such as the label of the next question, where it may end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from transformers import LogitsProcessor

from semqa.engines.model import find_stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.decoding import Vocabulary

__all__ = ["StopTexts"]

_MARGIN = 4
"""Tokens before a stop, so that its first character is read whole."""


class StopTexts(LogitsProcessor):
    """Lets nothing but an end token follow a stop text, where an end token may follow at all.

    Stands after the constraint: in a quote no answer ends, whatever text it holds.

    Args:
        vocabulary: the tokens.
        stops: the texts.
    """

    def __init__(self, vocabulary: Vocabulary, stops: Sequence[str]) -> None:
        self._vocabulary = vocabulary
        self._stops = tuple(stops)
        self._ends = torch.tensor(vocabulary.eos_ids)
        self._reach = max(len(stop.encode()) for stop in stops) + _MARGIN
        self._prompt_length = -1

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores [R, S], of rows that stop minus infinity but for end tokens."""
        if self._prompt_length < 0:
            self._prompt_length = input_ids.shape[1]
        first = max(self._prompt_length, input_ids.shape[1] - self._reach)
        ends = self._ends.to(scores.device)
        for row, tokens in enumerate(input_ids[:, first:].tolist()):
            if self._completes(tokens) and scores[row, ends].max() > -torch.inf:
                kept = scores[row, ends].clone()
                scores[row] = -torch.inf
                scores[row, ends] = kept
        return scores

    def _completes(self, tokens: list[int]) -> bool:
        decode = self._vocabulary.decode
        text = decode(tokens)
        return find_stop(text, len(text) - len(decode(tokens[:-1])), self._stops) is not None
