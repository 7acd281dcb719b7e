"""Cooperative cancellation of an answer, for example when the client disconnects.

Engines call `check_cancelled` regularly during long work. A caller that runs an engine in a thread
sets the condition with `cancelled_when`; without a condition, nothing is cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import TypeVar

from semqa.errors import UnavailableError

_T = TypeVar("_T")
POLL_INTERVAL = 0.2
"""Seconds between checks for cancellation while waiting for a model."""

_CANCELLED: ContextVar[Callable[[], bool] | None] = ContextVar("semqa_cancelled", default=None)


class CancelledError(UnavailableError):
    """The answer is no longer needed."""


@contextmanager
def cancelled_when(cancelled: Callable[[], bool]) -> Iterator[None]:
    """Make `check_cancelled` raise inside the block as soon as a function returns true.

    Args:
        cancelled: called often, from the thread that computes the answer.

    Example:
        >>> with cancelled_when(lambda: False):
        ...     check_cancelled()
    """
    token = _CANCELLED.set(cancelled)
    try:
        yield
    finally:
        _CANCELLED.reset(token)


def check_cancelled() -> None:
    """Raise CancelledError if the answer is cancelled."""
    cancelled = _CANCELLED.get()
    if cancelled is not None and cancelled():
        raise CancelledError("Cancelled: the client disconnected.")


def take(queue: SimpleQueue[_T]) -> _T:
    """Wait for the next item of a queue, or raise as soon as the answer is cancelled."""
    while True:
        try:
            return queue.get(timeout=POLL_INTERVAL)
        except Empty:
            check_cancelled()
