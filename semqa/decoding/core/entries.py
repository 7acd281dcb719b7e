"""The compiled entry points, and where numba keeps them between runs.

Compiling takes many seconds, once a machine; afterwards the code is loaded from numba's cache. Numba
notices when the file of an entry changes, but not when a file that it calls into does. So a digest of
all files of this package is part of every entry.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from semqa.decoding.core import distances, lists, passages, suffixes, vocabulary_tables
from semqa.decoding.core.cost import alive, cost_of
from semqa.decoding.core.explore import spend
from semqa.decoding.core.layout import (
    BLOB,
    KIND,
    KIND_END,
    OFFSETS,
    bytes_at,
    ints_at,
    jit,
)
from semqa.decoding.core.mask import fill_mask
from semqa.decoding.core.state import (
    ENDED,
    FREE,
    MODE,
    PART,
    QUOTES,
    STATE_WIDTH,
    TOKENS,
    copy_state,
)
from semqa.decoding.core.step import runs_may_end, step_bytes

__all__ = ["Entries", "entries"]

_HANDLE = types.Array(types.int64, 1, "C")
_INTS = types.Array(types.int32, 1, "C")
_ROWS = types.Array(types.int32, 2, "C")
_BYTES = types.Array(types.uint8, 1, "C")
_BYTE_ROWS = types.Array(types.uint8, 2, "C")
_LONGS = types.Array(types.int64, 1, "C")
_FIXED = types.Array(types.uint8, 1, "C", readonly=True)
_CHARACTERS = types.Array(types.uint32, 1, "C", readonly=True)
_STATE = types.UniTuple(types.int64, STATE_WIDTH)


class Entries(NamedTuple):
    """What Python calls; `h` is a handle, states are rows (int32) or tuples.

    Each entry carries its own copy of everything it calls, and compiling takes its time; hence few
    entries, of which some do several things.

    Attributes:
        mask: (h, state, out int32[W]).
        advance: (h, state, token) -> state; its first field is -1 if the token is not allowed.
        rows: (h, task, states int32[B, S], tokens int64[B], out int32[B, *]) -> int64. MASKS fills
            masks; ADVANCE fills states and returns the first bad row, or -1; ACCEPTS tells whether
            the first state accepts; FINISH returns its cost.
        build: (h, task, number, ints, out int32[*]). RUN_COSTS fills the costs of runs, `ints` being
            the digits of each word node; DISTANCES fills distances, and the costs of runs again; FREE_TEXT writes the mask of
            context `number` without the tokens `ints`.
        lists: (h, task, starts int32[N + 1], number, ends int32[*]) -> (int64[*], int32[*],
            int32[*]); see `lists.py`. BEGUN and AFTER_SPACE list starts, CLOSING closers; WIDE lists
            wide intervals, at most `number`.
        flag, prune, sort: see `passages.py`.
        name_pieces, induce: see `suffixes.py`.
        classify, count_words: see `vocabulary_tables.py`.
    """

    mask: Any
    advance: Any
    rows: Any
    build: Any
    lists: Any
    flag: Any
    prune: Any
    sort: Any
    name_pieces: Any
    induce: Any
    classify: Any
    count_words: Any


MASKS, ADVANCE, ACCEPTS, FINISH = range(4)
RUN_COSTS, DISTANCES, FREE_TEXT = range(3)
BEGUN, AFTER_SPACE, CLOSING, WIDE = range(4)

MOST_LISTED = 4_000_000
"""Tokens in the lists of wide intervals, of one constraint: 16 MB."""


@jit
def _unpack(state: Any, s: Any) -> None:
    for field in range(STATE_WIDTH):
        s[field] = state[field]


@jit
def _advance(h: Any, s: Any, token: int) -> bool:
    """Go on by one token, in place; tell whether it was allowed."""
    kinds = bytes_at(h, KIND)
    if token < 0 or token >= kinds.size or kinds[token] == 0 or s[TOKENS] < 1:
        return s[MODE] == ENDED and 0 <= token < kinds.size and kinds[token] == KIND_END
    if kinds[token] == KIND_END:
        if not _accepts(h, s):
            return False
        if s[MODE] != ENDED:
            s[:] = 0
            s[MODE] = ENDED
        return True
    s[TOKENS] = spend(s[TOKENS])
    offsets = ints_at(h, OFFSETS)
    if not step_bytes(h, s, bytes_at(h, BLOB), offsets[token], offsets[token + 1]):
        return False
    return alive(h, s)


@jit
def _accepts(h: Any, s: Any) -> bool:
    if s[MODE] == ENDED:
        return True
    return s[MODE] == FREE and s[PART] == 0 and s[QUOTES] == 0 and runs_may_end(h, s)


def _compile(function: Any, signature: Any) -> Any:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    compiler: Any = numba.njit
    try:
        return compiler(signature, cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return compiler(signature, **options)(function)  # no folder to write to


def _sources_digest() -> int:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:7], "little")


_DIGEST = _sources_digest()  # while the files are still those that were just imported


@cache
def entries() -> Entries:
    """Compile the entry points, or load them: once a process."""
    digest = _DIGEST  # in a closure, so that numba's cache is keyed by it

    def mask(h: Any, state: Any, out: Any) -> int:
        s = np.empty(STATE_WIDTH, np.int32)
        _unpack(state, s)
        fill_mask(h, s, out)
        return digest

    def advance(h: Any, state: Any, token: int) -> Any:
        s = np.empty(STATE_WIDTH, np.int32)
        _unpack(state, s)
        first = digest * 0
        if not _advance(h, s, token):
            first = -1
        else:
            first += s[0]
        return (first, s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12])

    def rows(h: Any, task: int, states: Any, tokens: Any, out: Any) -> int:
        result = digest * 0 - 1
        if task == ACCEPTS:
            return int(_accepts(h, states[0]))
        if task == FINISH:
            return cost_of(h, states[0])
        for row in range(states.shape[0]):
            if task == MASKS:
                fill_mask(h, states[row], out[row])
            else:
                copy_state(states[row], out[row])
                if not _advance(h, out[row], tokens[row]) and result < 0:
                    result = row
        return result

    def build(h: Any, task: int, number: int, ints: Any, out: Any) -> int:
        if task == RUN_COSTS:
            distances.fill_run_costs(h, ints)
        elif task == DISTANCES:
            distances.fill_distances(h, ints)
        else:
            lists.mark_free(h, number, ints, out)
        return digest

    def make_lists(h: Any, task: int, starts: Any, number: int, ends: Any) -> Any:
        ends[0] = digest * 0
        if task == WIDE:
            return lists.list_heavy(h, starts, number, MOST_LISTED)
        if task == CLOSING:
            tokens = lists.list_closers(h, ends)
        else:
            tokens = lists.list_starts(h, starts, task == AFTER_SPACE, ends)
        return np.empty(0, np.int64), np.empty(0, np.int32), tokens

    def flag(characters: Any, classes: Any, in_words: bool, text: Any, flags: Any) -> int:
        passages.flag_positions(characters, classes, in_words, text, flags)
        return digest

    def prune(text: Any, flags: Any) -> int:
        return passages.prune_dead_tails(text, flags) + digest * 0

    def sort(
        order: Any, text: Any, flags: Any, bounds: Any, allowed: Any, suffixes: Any, begins: Any
    ) -> int:
        count = passages.sort_starts(order, text, flags, bounds, allowed, suffixes, begins)
        return count + digest * 0

    def name_pieces(symbols: Any, size: int) -> Any:
        return suffixes.name_pieces(symbols, size + digest * 0)

    def induce(symbols: Any, size: int, valleys: Any) -> Any:
        return suffixes.induce(symbols, size + digest * 0, valleys)

    def classify(blob: Any, offsets: Any, classes: Any, traits: Any) -> int:
        vocabulary_tables.classify_tokens(blob, offsets, classes, traits)
        return digest

    def count_words(blob: Any, offsets: Any, classes: Any, words: Any) -> int:
        return vocabulary_tables.count_words(blob, offsets, classes, words) + digest * 0

    number, truth = types.int64, types.boolean
    three = types.Tuple((_LONGS, _INTS, _INTS))
    return Entries(
        _compile(mask, number(_HANDLE, _STATE, _INTS)),
        _compile(advance, _STATE(_HANDLE, _STATE, number)),
        _compile(rows, number(_HANDLE, number, _ROWS, _LONGS, _ROWS)),
        _compile(build, number(_HANDLE, number, number, _INTS, _INTS)),
        _compile(make_lists, three(_HANDLE, number, _INTS, number, _INTS)),
        _compile(flag, number(_CHARACTERS, _FIXED, truth, _BYTES, _BYTES)),
        _compile(prune, number(_BYTES, _BYTES)),
        _compile(sort, number(_INTS, _BYTES, _BYTES, _LONGS, _BYTES, _INTS, _INTS)),
        _compile(name_pieces, types.Tuple((_INTS, _INTS, number))(_INTS, number)),
        _compile(induce, _INTS(_INTS, number, _INTS)),
        _compile(classify, number(_FIXED, _INTS, _FIXED, _BYTES)),
        _compile(count_words, number(_FIXED, _INTS, _FIXED, _BYTE_ROWS)),
    )
