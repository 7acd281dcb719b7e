"""Reading documents apart from all else: it takes long, and must not keep other requests waiting."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

from semqa.server.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Reading"]

AT_ONCE = 8
WAITING = 256

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Reading:
    """Threads of their own for requests that bring documents.

    Args:
        at_once: most requests under way.
        waiting: most requests that wait for their turn.
    """

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._turns = CapacityLimiter(at_once)
        self._waiting = waiting

    async def run(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call something that blocks, when its turn comes.

        Raises:
            BusyError: too many wait.
        """
        waiting = self._turns.statistics().tasks_waiting
        if waiting >= self._waiting:
            raise BusyError(
                f"too many documents at once: got {waiting + 1} requests that wait, expected at "
                f"most {self._waiting}; try again"
            )
        return await to_thread.run_sync(partial(call, *args, **kwargs), limiter=self._turns)
