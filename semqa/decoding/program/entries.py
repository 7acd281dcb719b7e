"""The compiled entry points of programs; kept apart, so that nobody else compiles them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from numba import types

from semqa.decoding.core.entries import _DIGEST, _compile
from semqa.decoding.core.layout import open_handle
from semqa.decoding.program import explore
from semqa.decoding.program.workspace import MOST

__all__ = ["ProgramEntries", "program_entries"]


class ProgramEntries(NamedTuple):
    """What Python calls; see the functions of these names in `explore`.

    Attributes:
        bases: (h, loose, kinds uint8[V], unfinished int32[P, 2], samples int32[K],
            targets int16[BASES + K, V]) -> deep int32[*, 3].
        explore: (h, workspace, below, path, deep, openers, near, most edges) -> rows, tokens, targets.
        settle: (rows, tokens, targets, traits uint8[V], order int64[n], reaches int64[BASES + K],
            first) -> quote cost.
    """

    bases: Any
    explore: Any
    settle: Any


def _digest_of_sources() -> int:
    digest = hashlib.sha256(str(_DIGEST).encode())
    for name in ("edges", "entries", "explore", "runs", "states", "unfinished", "workspace"):
        digest.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return int.from_bytes(digest.digest()[:7], "little")


_OWN_DIGEST = _digest_of_sources()
_COMPILING = Lock()


def program_entries() -> ProgramEntries:
    """Compile the entry points, or load them: once a process, whoever else asks meanwhile."""
    with _COMPILING:
        return _compiled_entries()


@cache
def _compiled_entries() -> ProgramEntries:
    digest = _OWN_DIGEST  # in a closure, so that numba's cache is keyed by it

    def bases(
        handle: Any, loose: Any, kinds: Any, unfinished: Any, samples: Any, targets: Any
    ) -> Any:
        targets[0, 0] = digest * 0
        h, free = open_handle(handle), open_handle(loose)
        return explore.fill_bases(h, free, kinds, unfinished, samples, targets)

    def explore_all(
        handle: Any,
        work: Any,
        below: Any,
        path: Any,
        deep: Any,
        openers: Any,
        near: Any,
        most_edges: int,
    ) -> Any:
        h, w, most = open_handle(handle), open_handle(work), most_edges + digest * 0
        return explore.explore_all(h, w, below, path, deep, openers, near, w[MOST], most)

    def settle(
        rows: Any, tokens: Any, targets: Any, traits: Any, order: Any, reaches: Any, first: int
    ) -> int:
        cost = explore.settle_costs(rows, tokens, targets, traits, order, reaches, first)
        return cost + digest * 0

    number, longs = types.int64, types.Array(types.int64, 1, "C")
    ints, pairs = types.Array(types.int32, 1, "C"), types.Array(types.int32, 2, "C")
    kinds, table = types.Array(types.uint8, 1, "C"), types.Array(types.int16, 2, "C")
    explored = types.Tuple((pairs, ints, ints))
    return ProgramEntries(
        _compile(bases, pairs(longs, longs, kinds, pairs, ints, table)),
        _compile(explore_all, explored(longs, longs, pairs, pairs, pairs, pairs, pairs, number)),
        _compile(settle, number(pairs, ints, ints, kinds, longs, longs, number)),
    )
