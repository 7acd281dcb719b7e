"""The compiled entry points, and where numba keeps them between runs.

Compiling takes many seconds, once a machine; afterwards the code is loaded from numba's cache. Numba
notices when the file of an entry changes, but not when a file that it calls into does. So a digest of
all files of this package, and of those whose constants it uses, is part of every entry.
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
from semqa.decoding.core.alive import alive, cost_of
from semqa.decoding.core.descend import ANY, ASKING
from semqa.decoding.core.explore import MARK, UNFINISHED, spend
from semqa.decoding.core.layout import (
    BLOB,
    KIND,
    KIND_END,
    KIND_NONE,
    OFFSETS,
    SELF,
    SIZE,
    WIDTH,
    bytes_at,
    ints_at,
    jit,
    open_handle,
)
from semqa.decoding.core.mask import fill_mask
from semqa.decoding.core.pointers import ints_of, longs_pointer
from semqa.decoding.core.state import (
    ENDED,
    FREE,
    MODE,
    OWNER,
    PART,
    QUOTES,
    STATE_WIDTH,
    TOKENS,
    clear_state,
    new_state,
    row_of,
)
from semqa.decoding.core.step import runs_may_end, step_bytes

__all__ = ["Entries", "entries", "is_compiled"]

_HANDLE = types.Array(types.int64, 1, "C")
_INTS = types.Array(types.int32, 1, "C")
_ROWS = types.Array(types.int32, 2, "C")
_BYTES = types.Array(types.uint8, 1, "C")
_BYTE_ROWS = types.Array(types.uint8, 2, "C")
_LONGS = types.Array(types.int64, 1, "C")
_KEYS = types.Array(types.uint64, 1, "C")
_FIXED = types.Array(types.uint8, 1, "C", readonly=True)
_CHARACTERS = types.Array(types.uint32, 1, "C", readonly=True)
_STATE = types.UniTuple(types.int64, STATE_WIDTH)


class Entries(NamedTuple):
    """What Python calls; `h` is a handle, states are rows (int32) or tuples.

    Each entry carries its own copy of everything it calls, and compiling takes its time; hence few
    entries, of which some do several things.

    Attributes:
        mask: (h, state, out int32[W]) -> FOREIGN for the state of another constraint, else 0.
        advance: (h, state, token) -> state; its first field is REFUSED if the token is not allowed,
            FOREIGN for the state of another constraint.
        step: (addresses of handles int64[B], states int32[B, S], tokens int64[T], starts
            int64[B + 1], masks int32[B, W] or int32[B, 0], status int64[B]). Each row on its own,
            by a constraint of its own: advances states[b], in place, by tokens[starts[b]:starts[b +
            1]], then fills masks[b], if there is room for masks. status[b] is DONE, FOREIGN, or
            which of its tokens was not allowed, from 0; then the state is lost and no mask filled.
        ask: (h, task, states int32[1, S]) -> int64. ACCEPTS tells whether a state accepts; FINISH
            returns its cost. Both return FOREIGN, as above.
        build: (h, task, number, ints, out int32[*]). DISTANCES fills distances and the costs of
            runs, `ints` being the digits of each word node.
            FREE_TEXT marks what free text may go on with in context `number`, UNFINISHED_TEXT those
            after which it cannot end; with `ints` not empty only candidates, see `ASKING`.
            CLOSING_TEXT marks row `number` of CLOSER_LISTS.
        lists: (h, starts int32[N + 1], most, ends int32[N + 1], ends int32[N + 1]) -> BEGUN_LISTS
            and SPACED_LISTS, whose starts are written to `ends`, and the three HEAVY tables, of at
            most so many intervals; see `lists.py`.
        lay_out: (encoded, characters, classes, in_words, ends, allowed, starts int32[N + 1]) ->
            text, flags, positions, keys, the longest way to an end of a span; see `passages.py`.
        order, pick: see `passages.py`.
        name_pieces, induce: see `suffixes.py`.
        classify, count_words: see `vocabulary_tables.py`.
    """

    mask: Any
    advance: Any
    step: Any
    ask: Any
    build: Any
    lists: Any
    lay_out: Any
    order: Any
    pick: Any
    name_pieces: Any
    induce: Any
    classify: Any
    count_words: Any


REFUSED, FOREIGN = -1, -2
DONE = -1
ACCEPTS, FINISH = range(2)
DISTANCES, FREE_TEXT, UNFINISHED_TEXT, CLOSING_TEXT = range(4)

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
    if token < 0 or token >= h[SIZE]:
        return False
    if kinds[token] == KIND_NONE or s[TOKENS] < 1:
        return s[MODE] == ENDED and kinds[token] == KIND_END
    if kinds[token] == KIND_END:
        if not _accepts(h, s):
            return False
        if s[MODE] != ENDED:
            owner = s[OWNER]
            clear_state(s)
            s[MODE], s[OWNER] = ENDED, owner
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
    here = Path(__file__).parent
    for path in (*sorted(here.glob("*.py")), here.parent / "characters.py"):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:7], "little")


_DIGEST = _sources_digest()  # while the files are still those that were just imported


def is_compiled() -> bool:
    """Tell whether `entries` will return at once."""
    return entries.cache_info().currsize > 0


@cache
def entries() -> Entries:
    """Compile the entry points, or load them: once a process."""
    digest = _DIGEST  # in a closure, so that numba's cache is keyed by it

    def mask(handle: Any, state: Any, out: Any) -> int:
        h = open_handle(handle)
        s = new_state()
        _unpack(state, s)
        if s[OWNER] != h[SELF]:
            return digest * 0 + FOREIGN
        fill_mask(h, s, ints_of(out, 0))
        return 0

    def advance(handle: Any, state: Any, token: int) -> Any:
        h = open_handle(handle)
        s = new_state()
        _unpack(state, s)
        first = digest * 0
        if s[OWNER] != h[SELF]:
            first = FOREIGN
        elif not _advance(h, s, token):
            first = REFUSED
        else:
            first += s[0]
        return (
            first, s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13]
        )  # fmt: skip

    def step(
        addresses: Any, states: Any, tokens: Any, starts: Any, masks: Any, status: Any
    ) -> None:
        width = masks.shape[1]
        for row in range(addresses.shape[0]):
            h, s = longs_pointer(addresses[row]), row_of(states, row)
            status[row] = digest * 0 + DONE
            if s[OWNER] != h[SELF] or (width and width != h[WIDTH]):
                status[row] = FOREIGN
                continue
            for place in range(starts[row], starts[row + 1]):
                if not _advance(h, s, tokens[place]):
                    status[row] = place - starts[row]
                    break
            if width and status[row] == DONE:
                fill_mask(h, s, ints_of(masks, row * width))

    def ask(handle: Any, task: int, states: Any) -> int:
        h, s = open_handle(handle), row_of(states, 0)
        if s[OWNER] != h[SELF]:
            return digest * 0 + FOREIGN
        return int(_accepts(h, s)) if task == ACCEPTS else cost_of(h, s)

    def build(handle: Any, task: int, number: int, ints: Any, out: Any) -> int:
        h = open_handle(handle)
        if task == DISTANCES:
            distances.fill_distances(h, ints)
        elif task == CLOSING_TEXT:
            lists.mark_closers(h, number, out)
        else:
            kind = MARK if task == FREE_TEXT else UNFINISHED
            lists.mark_free(h, number, kind, ASKING if ints.size else ANY, out)
        return digest

    def make_lists(handle: Any, starts: Any, most: int, begun: Any, spaced: Any) -> Any:
        h = open_handle(handle)
        begun[0] = digest * 0
        first = lists.list_starts(h, starts, False, begun)
        second = lists.list_starts(h, starts, True, spaced)
        keys, values, tokens = lists.list_heavy(h, starts, most, MOST_LISTED)
        return first, second, keys, values, tokens

    def lay_out(
        encoded: Any, characters: Any, classes: Any, in_words: bool, ends: Any, allowed: Any,
        starts: Any,
    ) -> Any:  # fmt: skip
        text, flags = encoded.copy(), np.zeros(encoded.size + 1, np.uint8)
        passages.flag_positions(characters, classes, in_words, text, flags)
        longest = passages.prune_dead_tails(text, flags) + digest * 0
        positions, keys = passages.find_starts(text, flags, ends, allowed, starts)
        return text, flags, positions, keys, longest

    def order(
        text: Any, positions: Any, keys: Any, by_key: Any, starts: Any, suffixes: Any
    ) -> bool:
        done = passages.order_starts(text, positions, keys, by_key, starts, suffixes)
        return done and digest > 0

    def pick(by_suffix: Any, positions: Any, starts: Any, suffixes: Any) -> int:
        passages.pick_starts(by_suffix, positions, starts, suffixes)
        return digest

    def name_pieces(symbols: Any, size: int) -> Any:
        return suffixes.name_pieces(symbols, size + digest * 0)

    def induce(symbols: Any, size: int, valleys: Any) -> Any:
        return suffixes.induce(symbols, size + digest * 0, valleys)

    def classify(blob: Any, offsets: Any, classes: Any, traits: Any, asking: Any) -> int:
        vocabulary_tables.classify_tokens(blob, offsets, classes, traits, asking)
        return digest

    def count_words(blob: Any, offsets: Any, classes: Any, words: Any) -> int:
        return vocabulary_tables.count_words(blob, offsets, classes, words) + digest * 0

    number, truth = types.int64, types.boolean
    laid_out = types.Tuple((_BYTES, _BYTES, _INTS, _KEYS, number))
    listed = types.Tuple((_INTS, _INTS, _LONGS, _INTS, _INTS))
    return Entries(
        _compile(mask, number(_HANDLE, _STATE, _INTS)),
        _compile(advance, _STATE(_HANDLE, _STATE, number)),
        _compile(step, types.void(_LONGS, _ROWS, _LONGS, _LONGS, _ROWS, _LONGS)),
        _compile(ask, number(_HANDLE, number, _ROWS)),
        _compile(build, number(_HANDLE, number, number, _INTS, _INTS)),
        _compile(make_lists, listed(_HANDLE, _INTS, number, _INTS, _INTS)),
        _compile(lay_out, laid_out(_FIXED, _CHARACTERS, _FIXED, truth, _LONGS, _BYTES, _INTS)),
        _compile(order, truth(_BYTES, _INTS, _KEYS, _LONGS, _INTS, _INTS)),
        _compile(pick, number(_INTS, _INTS, _INTS, _INTS)),
        _compile(name_pieces, types.Tuple((_INTS, _INTS, number))(_INTS, number)),
        _compile(induce, _INTS(_INTS, number, _INTS)),
        _compile(classify, number(_FIXED, _INTS, _FIXED, _BYTES, _INTS)),
        _compile(count_words, number(_FIXED, _INTS, _FIXED, _BYTE_ROWS)),
    )
