"""Span-by-span decoding with a causal model of transformers, on one key-value cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import torch

from semqa.engines.base import Request
from semqa.engines.model.hub import quiet_log
from semqa.engines.model.spans import ContinuationEncoder, Score, SpanWriter, Tokens, Words

if TYPE_CHECKING:
    from semqa.decoding import CopyConstraint, Vocabulary

_ROWS = 8
"""Number of continuations scored in one batch; each needs a copy of the cache."""


class _Scored(NamedTuple):
    """A batch of scored continuations: tokens, logits [rows, tokens, V] and cache."""

    rows: list[list[int]]
    logits: torch.Tensor
    cache: Any


class Reader:
    """A causal model with the tokens it has read, its cache, and the logits [V] of the next."""

    def __init__(self, model: Any) -> None:
        self._model = model
        parameters = signature(model.forward).parameters
        self._can_skip = "logits_to_keep" in parameters
        # transformers 5.24 renamed it.
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"
        self._cache: Any = None
        self._scored: _Scored | None = None
        self.ids: list[int] = []
        self.logits: torch.Tensor = torch.empty(0)

    def start(self, ids: Sequence[int]) -> None:
        """Read a sequence of tokens, reusing the cache of any shared prefix."""
        ids = list(ids)
        self._reuse(ids)
        if ids == self.ids:
            return
        longest = min(len(ids) - 1, len(self.ids))  # the last token must be read for its logits
        shared = next((n for n in range(longest) if ids[n] != self.ids[n]), longest)
        beyond = len(self.ids) - shared
        if not shared or (beyond and not _can_crop(self._cache)):
            self._cache, self.ids = None, []
        elif beyond:
            self._cache.crop(-beyond)
            self.ids = self.ids[:shared]
        self.feed(ids[len(self.ids) :])

    def feed(self, ids: Sequence[int]) -> None:
        """Read more tokens."""
        cache, read = self._cache, [*self.ids, *ids]
        self._cache, self.ids = None, []  # a failed forward pass leaves an incomplete cache
        logits, self._cache = self._read([ids], cache, last_only=True)
        self.ids = read
        self.logits = logits[0, -1].float()

    def fork(self) -> Self:
        """Return an independent copy, with the same tokens read."""
        other = copy(self)
        other._cache, other._scored = deepcopy(self._cache), None
        return other

    def score(self, rows: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the log-probability of each token of several continuations; state is unchanged."""
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        found: dict[int, list[float]] = {}
        for begin in range(0, len(order), _ROWS):
            places = order[begin : begin + _ROWS]
            cache = deepcopy(self._cache)
            cache.batch_repeat_interleave(len(places))
            part = [list(rows[place]) for place in places]
            logits, cache = self._read(part, cache)
            for row, place in enumerate(places):
                found[place] = self._scores(part[row], logits[row])
            # The answer often continues with one of the rows.
            self._scored = _Scored(part, logits, cache) if len(order) <= _ROWS else None
        return [found[place] for place in range(len(rows))]

    def _scores(self, row: Sequence[int], logits: torch.Tensor) -> list[float]:
        tokens = torch.tensor(row, device=logits.device)
        before = torch.cat([self.logits[None], logits[: len(row) - 1].float()])
        chosen = before.gather(1, tokens[:, None])[:, 0] - before.logsumexp(-1)
        return [float(score) for score in chosen]

    def _reuse(self, ids: Sequence[int]) -> None:
        """Reuse the cache of a scored continuation if `ids` begin with it."""
        scored, self._scored = self._scored, None
        if scored is None or not _can_crop(scored.cache):
            return
        for number, row in enumerate(scored.rows):
            read = [*self.ids, *row]
            if list(ids[: len(read)]) == read:
                number_in_batch = torch.tensor([number], device=scored.logits.device)
                scored.cache.batch_select_indices(number_in_batch)
                if beyond := scored.logits.shape[1] - len(row):
                    scored.cache.crop(-beyond)
                self._cache, self.ids = scored.cache, read
                self.logits = scored.logits[number, len(row) - 1].float()
                return

    def _read(
        self, rows: Sequence[Sequence[int]], cache: Any, *, last_only: bool = False
    ) -> tuple[torch.Tensor, Any]:
        """Return logits [rows, tokens, V] and the cache after them."""
        # Attention is causal, so padding at the end of a row does not affect its tokens.
        ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long)
        for line, row in zip(ids, rows, strict=True):
            line[: len(row)] = torch.tensor(row)
        skip = {"logits_to_keep": 1} if last_only and self._can_skip else {}
        ids = ids.to(self._model.device)
        output = self._model(ids, use_cache=True, **{self._cache_name: cache}, **skip)
        return output.logits, output[self._cache_name]


def _can_crop(cache: Any) -> bool:
    """Whether every layer keeps all keys and values, so that the cache can be cropped."""
    layers = getattr(cache, "layers", ())
    return bool(layers) and all(type(layer).__name__ == "DynamicLayer" for layer in layers)


class SpanDecoder:
    """Writes answers span by span; tokens read to score a quote are not read again."""

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
        on_token: Callable[[int], bool] | None = None,
    ) -> list[int]:
        """Return the tokens of one answer; `on_token` gets each and returns whether to continue."""
        writer = SpanWriter(
            self._vocabulary, self._encode, constraint, request, budget=budget, stops=stops
        )
        work = writer.write(prompt, generic)
        reply: Any = None
        reported = 0
        # Some models warn about padded rows.
        with torch.inference_mode(), quiet_log():
            while True:
                try:
                    ask = work.send(reply)
                except StopIteration:
                    ask = None
                for token in writer.tokens[reported:]:
                    reported += 1
                    if on_token is not None and not on_token(token):
                        return writer.tokens
                if ask is None:
                    return writer.tokens
                if isinstance(ask, Score):
                    self._reader.start(ask.before)
                    reply = self._reader.score(ask.rows)
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
        """Return the most likely tokens under the constraint."""
        self._reader.start(prompt)
        state, tokens = constraint.start(budget), list[int]()
        while not constraint.has_ended(state):
            if tokens:
                self._reader.feed(tokens[-1:])
            logits = self._reader.logits
            allowed = torch.from_numpy(constraint.allowed(state)).to(logits.device)
            tokens.append(int(allowed[logits[allowed].argmax()]))
            state = constraint.advance(state, tokens[-1])
        return tokens
