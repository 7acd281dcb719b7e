"""Watching `generate` from outside while it runs: each new token, and a way to stop it."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any

import torch
from transformers import StoppingCriteria

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Watcher"]


class Watcher(StoppingCriteria):
    """Hands the new tokens of the only row to another thread."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[int | BaseException | None] = SimpleQueue()
        self._cancelled = Event()

    def __call__(
        self,
        input_ids: torch.Tensor,
        scores: object,  # noqa: ARG002  (as transformers calls it)
        **_: Any,
    ) -> torch.Tensor:
        """Take the newest token; say for each row whether it is to stop."""
        self.put(int(input_ids[0, -1]))
        return torch.full(
            (input_ids.shape[0],),
            self._cancelled.is_set(),
            dtype=torch.bool,
            device=input_ids.device,
        )

    def put(self, token: int) -> bool:
        """Take one more token; say whether to go on."""
        self._queue.put(token)
        return not self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop after the next token."""
        self._cancelled.set()

    def finish(self, error: BaseException | None = None) -> None:
        """Say that no token will follow, because of an error perhaps."""
        self._queue.put(error)

    def tokens(self) -> Iterator[int]:
        """Give the tokens as they come; raise the error that ended them."""
        while (got := self._queue.get()) is not None:
            if isinstance(got, BaseException):
                raise got
            yield got
