"""Compile ahead of the first request."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock, Timer
from typing import TYPE_CHECKING

from semqa.extras import require

if TYPE_CHECKING:
    from semqa.decoding.vocabulary import Vocabulary

PATIENCE = 3.0
"""Seconds before a message says that code is being compiled; loading it takes one."""

_COMPILING = Lock()


def warm_up(say: Callable[[str], None] | None = None, vocabulary: Vocabulary | None = None) -> None:
    """Compile the constraint's code, which takes up to a minute, or load it from the cache.

    The cache is stored next to the package. Without this call, the first constraint compiles it.

    Args:
        say: called with a message, from another thread, if compiling takes long. By default, a
            warning is logged.
        vocabulary: also build the tables shared by all its constraints, which takes 0.2 s.
    """
    require("numba", extra="decoding", purpose="the copy constraint")
    from semqa.decoding.automaton.entries import entries, is_compiled

    if not is_compiled():
        with _COMPILING:  # only one thread compiles and reports
            message = "Compiling the copy constraint (once for this installation, up to a minute) …"
            timer = Timer(PATIENCE, say or logging.getLogger("semqa").warning, [message])
            timer.daemon = True
            timer.start()
            try:
                entries()
            finally:
                timer.cancel()
    if vocabulary is not None:
        from semqa.decoding.tables import free_tables

        free_tables(vocabulary, True, "")
