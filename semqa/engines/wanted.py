"""Whether anybody still waits for an answer that is being computed.

An engine that computes for long looks now and then, and stops where nobody does; who runs it in a
thread of its own says when that is. Without `while_wanted` around it, an answer is always wanted.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["UnwantedError", "check_wanted", "while_wanted"]

_WANTED: ContextVar[Callable[[], bool] | None] = ContextVar("semqa_wanted", default=None)


class UnwantedError(UnavailableError):
    """Nobody waits for this answer any more."""


@contextmanager
def while_wanted(wanted: Callable[[], bool]) -> Iterator[None]:
    """Have what runs in the block give up as soon as a function says that nobody waits.

    Args:
        wanted: is asked often, from the thread that works.

    Example:
        >>> with while_wanted(lambda: True):
        ...     check_wanted()
    """
    before = _WANTED.set(wanted)
    try:
        yield
    finally:
        _WANTED.reset(before)


def check_wanted() -> None:
    """Go on if this answer is wanted.

    Raises:
        UnwantedError: nobody waits for it.
    """
    wanted = _WANTED.get()
    if wanted is not None and not wanted():
        raise UnwantedError("Cancelled: the client disconnected.")
