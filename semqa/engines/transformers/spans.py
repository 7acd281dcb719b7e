"""Decoding span by span with a causal model of transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from semqa.engines.model.continuation import ContinuationEncoder
from semqa.engines.model.quiet import quiet_log
from semqa.engines.model.span_writer import Score, SpanWriter, Tokens, Words
from semqa.engines.transformers.cache import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.decoding import CopyConstraint, Vocabulary
    from semqa.engines.base import Request

__all__ = ["SpanDecoder"]


class SpanDecoder:
    """Writes answers span by span; what was read to choose a quote is not decoded again.

    Args:
        model: a causal model of transformers.
        tokenizer: its tokenizer.
        vocabulary: the tokens.
    """

    def __init__(self, model: Any, tokenizer: Any, vocabulary: Vocabulary) -> None:
        self._reader = Reader(model)
        self._vocabulary = vocabulary
        self._encode = ContinuationEncoder(tokenizer, vocabulary)

    def run(
        self,
        prompt: Sequence[int],
        generic: Sequence[int],
        constraint: CopyConstraint,
        request: Request,
        *,
        budget: int | None = None,
        stops: Sequence[str] = (),
        say: Callable[[int], bool] | None = None,
    ) -> list[int]:
        """Return the tokens of one answer, up to and with its end token.

        Args:
            prompt: the tokens of the prompt.
            generic: the same with the generic question.
            constraint: which tokens may come next.
            request: the question and its sources.
            budget: the largest number of tokens; None for no limit.
            stops: texts that end an answer.
            say: called with each token, returns whether to go on.
        """
        writer = SpanWriter(
            self._vocabulary, self._encode, constraint, request, budget=budget, stops=stops
        )
        work = writer.write(prompt, generic)
        reply: Any = None
        said = 0
        # Rows are padded, which makes some models warn.
        with torch.inference_mode(), quiet_log():
            while True:
                try:
                    ask = work.send(reply)
                except StopIteration:
                    ask = None
                for token in writer.tokens[said:]:
                    said += 1
                    if say is not None and not say(token):
                        return writer.tokens
                if ask is None:
                    return writer.tokens
                if isinstance(ask, Score):
                    self._reader.start(ask.before)
                    reply = self._reader.tries(ask.rows)
                elif isinstance(ask, Words):
                    reply = self._words(ask)
                elif isinstance(ask, Tokens):
                    reply = self._tokens(prompt, constraint, budget)

    def _words(self, ask: Words) -> list[int]:
        self._reader.start(ask.before)
        reader, tokens = self._reader.fork(), list[int]()
        while True:
            tokens.append(int(reader.logits.argmax()))
            if len(tokens) >= ask.most or not ask.goes_on(tokens):
                return tokens
            reader.feed(tokens[-1:])

    def _tokens(
        self, prompt: Sequence[int], constraint: CopyConstraint, budget: int | None
    ) -> list[int]:
        """Return the likeliest tokens under the constraint."""
        self._reader.start(prompt)
        state, tokens = constraint.start(budget), list[int]()
        while not constraint.has_ended(state):
            if tokens:
                self._reader.feed(tokens[-1:])
            logits = self._reader.logits
            bits = np.unpackbits(constraint.mask(state).view(np.uint8), bitorder="little")
            allowed = torch.from_numpy(bits[: len(logits)].astype(bool)).to(logits.device)
            masked = logits[: len(allowed)].masked_fill(~allowed, -torch.inf)
            tokens.append(int(masked.argmax()))
            state = constraint.advance(state, tokens[-1])
        return tokens
