"""Decoding span by span: the model chooses among whole quotes, and writes the words between them.

Masking token by token chooses the first token of a quote blind to what it leads to. Here the model
reads each candidate to its closing bracket, and what it has read is not decoded again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from semqa.engines.abstention import ABSTENTION
from semqa.engines.model.continuation import ContinuationEncoder
from semqa.engines.model.quiet import quiet_log
from semqa.engines.model.spans import closing, connectors, plan, propose
from semqa.engines.model.text import find_stop
from semqa.engines.transformers.cache import Reader
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.decoding import CopyConstraint, Vocabulary
    from semqa.decoding.constraint import State
    from semqa.engines.base import Request
    from semqa.engines.model.spans import Place
    from semqa.engines.transformers.cache import Tried

__all__ = ["SpanDecoder"]

_START = 8
"""How many tokens of a candidate tell whether the model favours it: number and first words."""

_OWN_TOKENS = 12
"""The longest run of its own words that the model may put before a quote."""

_HOPELESS = -5.0
"""Log-probability below which the model's own words are not followed further."""


class SpanDecoder:
    """Writes answers span by span with a causal model.

    Args:
        model: a causal model of transformers.
        tokenizer: its tokenizer.
        vocabulary: the tokens.
    """

    def __init__(self, model: Any, tokenizer: Any, vocabulary: Vocabulary) -> None:
        self.reader = Reader(model)
        self.vocabulary = vocabulary
        self.encode = ContinuationEncoder(tokenizer, vocabulary)

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
            request: what is asked.
            budget: most tokens of the answer; None for no limit.
            stops: texts that end an answer; the model's own words hold none of them.
            say: told each token, returns whether to go on.
        """
        answer = _Answer(self, constraint, request, constraint.start(budget), stops, say)
        # Rows are padded, which makes some models warn.
        with torch.inference_mode(), quiet_log():
            return answer.write(prompt, generic)


class _Answer:
    """One answer while it is written."""

    def __init__(
        self,
        decoder: SpanDecoder,
        constraint: CopyConstraint,
        request: Request,
        start: State,
        stops: Sequence[str],
        say: Callable[[int], bool] | None,
    ) -> None:
        self._encode, self._reader = decoder.encode, decoder.reader
        self._vocabulary = decoder.vocabulary
        self._constraint, self._request = constraint, request
        self._state, self._stops, self._say = start, tuple(stops), say
        self._tokens: list[int] = []
        self._wanted = True

    def write(self, prompt: Sequence[int], generic: Sequence[int]) -> list[int]:
        """Write the answer, and return its tokens."""
        places = self._plan(prompt, generic)
        for place in places:
            self._quote(place, last=place is places[-1])
            if not self._wanted:
                return self._tokens
        if places and not self._tokens:
            return self._token_by_token()
        return self._end()

    @property
    def _written(self) -> str:
        return self._vocabulary.decode(self._tokens)

    def _plan(self, prompt: Sequence[int], generic: Sequence[int]) -> list[Place]:
        """Choose what to quote: by what the proposals are worth, and what the question adds."""
        question, sources = self._request
        places = propose(question, sources, self._constraint.policy.sources)
        if not places:
            return []
        starts = [
            [tuple(self._encode(candidate.text) or ())[:_START] for candidate in place.candidates]
            for place in places
        ]
        distinct = list(dict.fromkeys(start for row in starts for start in row if start))
        asked = []
        for ids in (generic, prompt):  # the answer follows the second
            self._reader.start(ids)
            tried = self._reader.tries(distinct)
            found = {start: one.log_probability for start, one in zip(distinct, tried, strict=True)}
            asked.append([[found.get(start, 0.0) for start in row] for row in starts])
        return plan(places, *asked)

    def _quote(self, place: Place, *, last: bool) -> None:
        """Add a quote and the words before it, or nothing if the constraint refuses all."""
        for candidate in place.candidates:
            fixed = connectors(self._written, place, candidate, last=last)
            rows = [self._encoded(words + candidate.text) for words in fixed]
            if not any(rows):
                continue
            listed = place.kind == "expansion" and self._tokens
            own = None if listed else self._own_words()
            if own is not None and own not in fixed:
                rows.append(self._encoded(own + candidate.text))
            tried = self._reader.tries([row for row in rows if row])
            self._take(max(tried, key=lambda one: one.log_probability))
            return

    def _own_words(self) -> str | None:
        """Return the words that the model itself would put before a quote, if there are any soon."""
        reader, state, tokens, score = self._reader.fork(), self._state, list[int](), 0.0
        while len(tokens) < _OWN_TOKENS and score > _HOPELESS:
            token = self._likeliest(reader.logits, state)
            state = self._constraint.advance(state, token)
            if self._constraint.has_ended(state):
                return None
            tokens.append(token)
            if self._constraint.in_quote(state):
                text = self._vocabulary.decode([*self._tokens, *tokens])[len(self._written) :]
                text = text[: text.rindex("[")]
                says = any(map(str.isalnum, text))
                return text if says and find_stop(text, len(text), self._stops) is None else None
            score += float(reader.logits.log_softmax(-1)[token])
            reader.feed([token])
        return None

    def _likeliest(self, logits: torch.Tensor, state: State) -> int:
        bits = np.unpackbits(self._constraint.mask(state).view(np.uint8), bitorder="little")
        allowed = torch.from_numpy(bits[: len(logits)].astype(bool)).to(logits.device)
        return int(logits[: len(allowed)].masked_fill(~allowed, -torch.inf).argmax())

    def _encoded(self, text: str) -> list[int] | None:
        """Return a text's tokens, if the constraint allows them here."""
        strips = self._vocabulary.strips_leading_space and not self._tokens
        for written in (text, f" {text}") if strips else (text,):
            tokens = self._encode(written)
            if tokens and self._allows(tokens):
                return tokens
        return None

    def _allows(self, tokens: Sequence[int]) -> bool:
        state = self._state
        try:
            for token in tokens:
                state = self._constraint.advance(state, token)
        except InputError:
            return False
        return True

    def _take(self, tried: Tried) -> None:
        self._reader.take(tried)
        self._add(tried.ids)

    def _add(self, tokens: Sequence[int] | None) -> None:
        for token in tokens or ():
            self._state = self._constraint.advance(self._state, token)
            self._tokens.append(token)
            self._wanted = self._wanted and (self._say is None or self._say(token))

    def _token_by_token(self) -> list[int]:
        """Write the answer without a plan, since the constraint refuses all that was planned."""
        while self._wanted and not self._constraint.has_ended(self._state):
            token = self._likeliest(self._reader.logits, self._state)
            self._add([token])
            self._reader.feed([token])
        return self._tokens

    def _end(self) -> list[int]:
        """End the last sentence and the answer; without a quote, abstain."""
        last = closing(self._written) if self._tokens else ABSTENTION
        self._add(self._encoded(last))
        if not self._constraint.is_accepting(self._state):
            self._add(self._constraint.shortest_completion(self._state))
        else:
            ends = set(self._constraint.allowed(self._state).tolist())
            self._add([next(end for end in self._vocabulary.eos_ids if end in ends)])
        return self._tokens
