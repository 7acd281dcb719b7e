"""Compiling ahead, so that no request waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["warm_up"]


def warm_up(say: Callable[[str], None] | None = None) -> None:
    """Compile the constraint's code, or load it: the first time on a machine takes half a minute.

    Args:
        say: told in words when it is going to take long.

    Raises:
        MissingExtraError: numba is not installed.
    """
    from semqa.extras import require

    require("numba", extra="decoding", purpose="the copy constraint")
    from semqa.decoding.core.entries import entries

    if say is not None:
        say("Compiling the copy constraint (once on this machine, about half a minute) …")
    entries()
