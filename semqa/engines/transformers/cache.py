"""A model and what it has read: feed tokens, and try several continuations at once.

Knows nothing of questions, answers or the constraint.
"""

from __future__ import annotations

from copy import copy, deepcopy
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Reader", "Tried"]

_ROWS = 8
"""Continuations that are read together: each needs a copy of the cache."""


class Reader:
    """A causal model, the tokens that it has read, and its cache of them.

    Args:
        model: a causal model of transformers.

    Attributes:
        ids: the tokens read so far.
        logits: scores [V] of the next token, float32.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._can_skip = "logits_to_keep" in signature(model.forward).parameters
        self._cache: Any = None
        self.ids: list[int] = []
        self.logits: torch.Tensor = torch.empty(0)

    def start(self, ids: Sequence[int]) -> None:
        """Read a prompt; what it begins with that is read already is not read again."""
        most = min(len(ids) - 1, len(self.ids))  # the scores after the last token are needed
        shared = next((n for n in range(most) if ids[n] != self.ids[n]), most)
        beyond = len(self.ids) - shared
        if not shared or (beyond and not _is_plain(self._cache)):
            self._cache, self.ids = None, []
        elif beyond:
            self._cache.crop(-beyond)
            self.ids = self.ids[:shared]
        self.feed(ids[len(self.ids) :])

    def feed(self, ids: Sequence[int]) -> None:
        """Read more tokens."""
        logits, self._cache = self._read([ids], self._cache, last_only=True)
        self.ids = [*self.ids, *ids]
        self.logits = logits[0, -1].float()

    def fork(self) -> Self:
        """Return a reader that has read the same, to go on with alone."""
        other = copy(self)
        other._cache = deepcopy(self._cache)
        return other

    def tries(self, rows: Sequence[Sequence[int]]) -> list[Tried]:
        """Read several continuations, each by itself; the reader stays where it is."""
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        found: dict[int, Tried] = {}
        for begin in range(0, len(order), _ROWS):
            places = order[begin : begin + _ROWS]
            cache = deepcopy(self._cache)
            cache.batch_repeat_interleave(len(places))
            part = [rows[place] for place in places]
            logits, cache = self._read(part, cache)
            for row, place in enumerate(places):
                found[place] = Tried(self, rows[place], row, logits, cache)
        return [found[place] for place in range(len(rows))]

    def take(self, tried: Tried) -> None:
        """Go on after a continuation, without reading it again if its cache can be cut.

        Uses up what was tried with it.
        """
        if not _is_plain(tried.cache):
            self.feed(tried.ids)
            return
        cache, beyond = tried.cache, tried.logits.shape[1] - len(tried.ids)
        cache.batch_select_indices(torch.tensor([tried.row], device=tried.logits.device))
        if beyond:
            cache.crop(-beyond)
        self._cache = cache
        self.ids = [*self.ids, *tried.ids]
        self.logits = tried.logits[tried.row, len(tried.ids) - 1].float()

    def _read(
        self, rows: Sequence[Sequence[int]], cache: Any, *, last_only: bool = False
    ) -> tuple[torch.Tensor, Any]:
        """Return scores [rows, tokens, V] and the cache after them."""
        # Attention is causal: what pads a row at its end changes nothing before it.
        ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long)
        for line, row in zip(ids, rows, strict=True):
            line[: len(row)] = torch.tensor(row)
        skip = {"logits_to_keep": 1} if last_only and self._can_skip else {}
        ids = ids.to(self._model.device)
        output = self._model(ids, past_key_values=cache, use_cache=True, **skip)
        return output.logits, output.past_key_values


class Tried:
    """A continuation that was read after what a reader had read.

    Attributes:
        ids: its tokens.
        row: its place in `logits` and `cache`, which hold others too.
        logits: scores [rows, tokens, V] after each token.
        cache: the model's.
    """

    def __init__(
        self, reader: Reader, ids: Sequence[int], row: int, logits: torch.Tensor, cache: Any
    ) -> None:
        self.ids, self.row, self.logits, self.cache = list(ids), row, logits, cache
        tokens = torch.tensor(self.ids, device=logits.device)
        before = torch.cat([reader.logits[None], logits[row, : len(ids) - 1].float()])
        chosen = before.gather(1, tokens[:, None])[:, 0] - before.logsumexp(-1)
        self.log_probability = float(chosen.sum())


def _is_plain(cache: Any) -> bool:
    """Whether every layer keeps all keys and values, so that it can be cut anywhere."""
    layers = getattr(cache, "layers", ())
    return bool(layers) and all(type(layer).__name__ == "DynamicLayer" for layer in layers)
