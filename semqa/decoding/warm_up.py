"""Compiling ahead, so that no request waits for it."""

from __future__ import annotations

from threading import Timer
from typing import TYPE_CHECKING

from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["warm_up"]

PATIENCE = 3.0
"""Seconds after which it is said what takes so long; loading what is compiled takes one."""


def warm_up(say: Callable[[str], None] | None = None) -> None:
    """Compile the constraint's code, or load it: the first time on a machine takes half a minute.

    Args:
        say: told in words, from another thread, when it takes long.

    Raises:
        MissingExtraError: numba is not installed.
    """
    require("numba", extra="decoding", purpose="the copy constraint")
    from semqa.decoding.core.entries import entries

    if say is None:
        entries()
        return
    message = "Compiling the copy constraint (once on this machine, about half a minute) …"
    timer = Timer(PATIENCE, say, [message])
    timer.daemon = True
    timer.start()
    try:
        entries()
    finally:
        timer.cancel()
