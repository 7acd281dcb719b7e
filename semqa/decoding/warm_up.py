"""Compiling ahead, so that no request waits for it."""

from __future__ import annotations

import logging
from threading import Lock, Timer
from typing import TYPE_CHECKING

from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable

    from semqa.decoding.vocabulary import Vocabulary

PATIENCE = 3.0
"""Seconds after which it is said what takes so long; loading what is compiled takes one."""


_COMPILING = Lock()


def warm_up(say: Callable[[str], None] | None = None, vocabulary: Vocabulary | None = None) -> None:
    """Compile the constraint's code, or load it: the first time takes up to a minute.

    What is compiled is kept beside the package, for this installation. Whoever does not call this
    compiles with the first constraint.

    Args:
        say: told in words, from another thread, when it takes long; a warning is logged otherwise.
        vocabulary: make the tables too that all constraints over it share, a fifth of a second.
    """
    require("numba", extra="decoding", purpose="the copy constraint")
    from semqa.decoding.automaton.entries import entries, is_compiled

    if not is_compiled():
        with _COMPILING:  # so that of many threads one compiles, and one speaks
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
