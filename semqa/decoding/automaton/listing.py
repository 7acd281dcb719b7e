"""Precomputed token lists: tokens of free text, and tokens that begin spans."""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.automaton.explore import MARK, child_of, explore, list_spans
from semqa.decoding.automaton.memory import *
from semqa.decoding.automaton.pointers import ints_of
from semqa.decoding.automaton.step import begin_run


@jit
def list_free(h: Any, out: Any) -> None:
    """Compute the mask of free text and the mask of tokens that close a span.

    Args:
        h: a handle without sources, with ANY_QUOTABLE set and POOR not set.
        out: int32[2 * W], zeros; two masks are written. The first is for free text without limits
            and includes tokens up to ``"[ "``. The second is for tokens that begin with ``"]"`` or
            ``" ]"`` and do not open another quote.
    """
    s, space = new_state(), child_of(h, 0, 0x20)
    clear_state(s)
    s[QUOTED], s[TOKENS] = 1, UNLIMITED
    begin_run(h, s, AFTER_OPEN)
    explore(h, s, 0, ints_of(out, 0), MARK, False)
    s[MODE] = CLOSED
    for node in (0, space):
        bracket = child_of(h, node, 0x5D) if node >= 0 else -1
        if bracket >= 0:
            explore(h, s, bracket, ints_of(out, h[WIDTH]), MARK, False)


@jit
def list_beginnings(h: Any, at: Any) -> Any:
    """List the tokens that begin a span with the space before it (`explore.list_spans`).

    Args:
        h: a handle with the tables of the vocabulary and the sources.
        at: int32[N + 1], zeros; written: the records of source k are at[k] to at[k + 1].

    Returns:
        int32[4 * n], n records.
    """
    starts, space = ints_at(h, STARTS), child_of(h, 0, 0x20)
    found = np.empty(0, np.int32)
    for source in range(at.size - 1 if space >= 0 else 0):
        if starts[source] < starts[source + 1]:
            spans = list_spans(h, space, starts[source], starts[source + 1], 0)
            found = np.concatenate((found, spans))
        at[source + 1] = found.size >> 2
    return found
