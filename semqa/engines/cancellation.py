"""Cancellation of an answer that is being computed, because its client disconnected.

An engine that computes for long calls `check_cancelled` now and then. Whoever runs it in a thread says
when it is cancelled, with `cancelled_when`; without that, it never is.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from queue import Empty
from typing import TYPE_CHECKING, TypeVar

from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from queue import SimpleQueue

_T = TypeVar("_T")
BETWEEN_LOOKS = 0.2
"""Seconds between two looks whether an answer is cancelled that waits for a model."""

_CANCELLED: ContextVar[Callable[[], bool] | None] = ContextVar("semqa_cancelled", default=None)


class CancelledError(UnavailableError):
    """The answer is not needed any more."""


@contextmanager
def cancelled_when(cancelled: Callable[[], bool]) -> Iterator[None]:
    """Let `check_cancelled` raise inside the block as soon as a function returns true.

    Args:
        cancelled: called often, from the thread that computes.

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
    """Raise if this answer is cancelled."""
    cancelled = _CANCELLED.get()
    if cancelled is not None and cancelled():
        raise CancelledError("Cancelled: the client disconnected.")


def take(queue: SimpleQueue[_T]) -> _T:
    """Return the next item of a queue, or raise as soon as this answer is cancelled."""
    while True:
        try:
            return queue.get(timeout=BETWEEN_LOOKS)
        except Empty:
            check_cancelled()
