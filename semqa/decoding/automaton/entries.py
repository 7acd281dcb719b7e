"""The compiled entry points, and their cache.

Compiling takes many seconds, once per machine; later runs load the code from numba's cache. Numba
notices changes to the file of an entry, but not to other files that it calls. Therefore every entry
includes a digest of all files in this package and of those whose constants it uses.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from semqa.decoding.automaton import costs, explore, passages, suffixes, words
from semqa.decoding.automaton.explore import spend
from semqa.decoding.automaton.finish import alive, cost_of
from semqa.decoding.automaton.mask import fill_mask
from semqa.decoding.automaton.memory import *
from semqa.decoding.automaton.pointers import ints_of, longs_pointer
from semqa.decoding.automaton.step import accepts, close, step_byte

_HANDLE = types.Array(types.int64, 1, "C")
_INTS = types.Array(types.int32, 1, "C")
_ROWS = types.Array(types.int32, 2, "C")
_BYTES = types.Array(types.uint8, 1, "C")
_LONGS = types.Array(types.int64, 1, "C")
_KEYS = types.Array(types.uint64, 1, "C")
_FIXED = types.Array(types.uint8, 1, "C", readonly=True)
_CHARACTERS = types.Array(types.uint32, 1, "C", readonly=True)
_STATE = types.UniTuple(types.int64, STATE_WIDTH)
_ADVANCED = types.UniTuple(types.int64, STATE_WIDTH + 1)


class Entries(NamedTuple):
    """The functions that Python calls; `h` is a handle, states are rows (int32) or tuples.

    Each entry contains a copy of everything it calls and is slow to compile. Therefore there are few
    entries, and some do several things.

    Attributes:
        mask: (h, state, out int32[W]) -> FOREIGN for the state of another constraint, REOPENS if
            tokens that close a quote and open another must be tried, else 0.
        advance: (h, state, token, begin) -> state and an index. The first field is REFUSED if the
            token is not allowed, and FOREIGN for the state of another constraint. If a quote closes
            within the token, the mode is CLOSED and the index is that of the byte after the bracket.
            Continue from there with the same token and the handle of the next view.
        step: (addresses of handles int64[B], states int32[B, S], tokens int64[T], starts
            int64[B + 1], begins int64[B], masks int32[B, W] or int32[B, 0], status int64[B]). For
            each row b with its own view, it advances states[b] in place by
            tokens[starts[b]:starts[b + 1]], the first of them from byte begins[b]. Then it fills
            masks[b] unless the masks have no columns. status[b] is one of: DONE; TRY, which is DONE
            with tokens to try (see `mask`); FOREIGN; the index, from 0, of the row's first token
            that is not allowed; or CLOSED_AT minus the index of the token in which a quote closed,
            with begins[b] set as for `advance`.
        ask: (h, task, states int32[1, S]) -> int64. ACCEPTS tells whether a state accepts; FINISH
            returns its cost. Both may return FOREIGN.
        list_free: (h, out int32[2 * W]); writes the tokens of free text, see `explore.py`.
        list_beginnings: (h, at int32[N + 1]) -> the tokens that begin a span, see `explore.py`.
        fill_free_costs, fill_costs: see `costs.py`.
        lay_out: (h, encoded, characters, classes, in_words, ends, allowed, starts, places) -> text,
            flags, needs, last, positions, keys, longest; see `passages.py`.
        use_text: (h, source, low, high, depth, left, ends, span); see `passages.py`.
        add_words: see `words.py`.
        order, pick: see `passages.py`.
        name_pieces, induce: see `suffixes.py`.
    """

    mask: Any
    advance: Any
    step: Any
    ask: Any
    list_free: Any
    list_beginnings: Any
    fill_free_costs: Any
    fill_costs: Any
    lay_out: Any
    use_text: Any
    add_words: Any
    order: Any
    pick: Any
    name_pieces: Any
    induce: Any


REFUSED, FOREIGN, REOPENS = -1, -2, 1
DONE, TRY, CLOSED_AT = -1, -3, -4
ACCEPTS, FINISH = range(2)


@jit
def _advance(h: Any, s: Any, token: int, begin: int) -> int:
    """Advance a state in place by one token or the rest of one.

    Returns:
        REFUSED if it is not allowed, else the index after the last byte read: the end of the token,
        or after the bracket that closed a quote.
    """
    kinds = bytes_at(h, KIND)
    if token < 0 or token >= h[SIZE]:
        return REFUSED
    if s[MODE] == ENDED or kinds[token] == KIND_END:
        if kinds[token] != KIND_END or not (s[MODE] == ENDED or (s[TOKENS] >= 1 and accepts(h, s))):
            return REFUSED
        owner = s[OWNER]
        clear_state(s)
        s[MODE], s[OWNER] = ENDED, owner
        return 0
    if kinds[token] == KIND_NONE:
        return REFUSED
    if s[MODE] == CLOSED:
        close(h, s)
    else:
        if s[TOKENS] < 1:
            return REFUSED
        s[TOKENS] = spend(s[TOKENS])
    blob, offsets = bytes_at(h, BLOB), ints_at(h, OFFSETS)
    place, end = offsets[token] + begin, offsets[token + 1]
    while place < end:
        if not step_byte(h, s, blob[place]):
            return REFUSED
        place += 1
        if s[MODE] == CLOSED:
            return place - offsets[token]
    return place - offsets[token] if alive(h, s) else REFUSED


def _compile(function: Any, signature: Any) -> Any:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    compiler: Any = numba.njit
    try:
        return compiler(signature, cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return compiler(signature, **options)(function)  # the cache folder is not writable


def _sources_digest() -> int:
    digest = hashlib.sha256(numba.__version__.encode())
    here = Path(__file__).parent
    for path in (*sorted(here.glob("*.py")), here.parent / "characters.py"):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:7], "little")


_DIGEST = _sources_digest()  # at import time, before the files can change


def is_compiled() -> bool:
    """Return whether `entries` returns at once."""
    return entries.cache_info().currsize > 0


@cache
def entries() -> Entries:
    """Compile the entry points or load them, once per process."""
    digest = _DIGEST  # a closure variable, so it becomes part of numba's cache key

    def mask(handle: Any, state: Any, out: Any) -> int:
        h = open_handle(handle)
        s = new_state()
        for field in range(STATE_WIDTH):
            s[field] = state[field]
        if s[OWNER] != h[SELF]:
            return digest * 0 + FOREIGN
        return REOPENS if fill_mask(h, s, ints_of(out, 0)) else 0

    def advance(handle: Any, state: Any, token: int, begin: int) -> Any:
        h = open_handle(handle)
        s = new_state()
        for field in range(STATE_WIDTH):
            s[field] = state[field]
        first, place = digest * 0, 0
        if s[OWNER] != h[SELF]:
            first = FOREIGN
        else:
            place = _advance(h, s, token, begin)
            first = REFUSED if place == REFUSED else s[0]
        return (
            first, s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12],
            s[13], s[14], s[15], s[16], s[17], place,
        )  # fmt: skip

    def step(
        addresses: Any, states: Any, tokens: Any, starts: Any, begins: Any, masks: Any, status: Any
    ) -> None:
        width = masks.shape[1]
        for row in range(addresses.shape[0]):
            h, s = longs_pointer(addresses[row]), row_of(states, row)
            status[row] = digest * 0 + DONE
            if s[OWNER] != h[SELF] or (width and width != h[WIDTH]):
                status[row] = FOREIGN
                continue
            for place in range(starts[row], starts[row + 1]):
                stopped = _advance(h, s, tokens[place], begins[row])
                begins[row] = 0
                if stopped == REFUSED:
                    status[row] = place - starts[row]
                    break
                if s[MODE] == CLOSED:
                    status[row] = CLOSED_AT - (place - starts[row])
                    begins[row] = stopped
                    break
            if width and status[row] == DONE and fill_mask(h, s, ints_of(masks, row * width)):
                status[row] = TRY

    def ask(handle: Any, task: int, states: Any) -> int:
        h, s = open_handle(handle), row_of(states, 0)
        if s[OWNER] != h[SELF]:
            return digest * 0 + FOREIGN
        if task == ACCEPTS:
            return int(s[MODE] == ENDED or accepts(h, s))
        return int(cost_of(h, s))

    def list_free(handle: Any, out: Any) -> int:
        explore.list_free(open_handle(handle), out)
        return digest

    def list_beginnings(handle: Any, at: Any) -> Any:
        at[0] = digest * 0
        return explore.list_beginnings(open_handle(handle), at)

    def fill_free_costs(handle: Any) -> int:
        costs.fill_free_costs(open_handle(handle))
        return digest

    def fill_costs(handle: Any, base: Any) -> int:
        costs.fill_costs(open_handle(handle), open_handle(base))
        return digest

    def lay_out(
        handle: Any, encoded: Any, characters: Any, classes: Any, in_words: bool, ends: Any,
        allowed: Any, starts: Any, places: Any,
    ) -> Any:  # fmt: skip
        h = open_handle(handle)
        text, flags = encoded.copy(), np.zeros(encoded.size + 1, np.uint8)
        needs, last = np.empty(text.size + 1, np.int32), np.empty(text.size, np.int32)
        passages.flag_positions(characters, classes, in_words, text, flags)
        passages.find_needs(h, characters, classes, text, needs)
        longest = passages.find_ends(text, flags, needs, 0, text.size, last) + digest * 0
        positions, keys = passages.find_starts(text, flags, last, ends, allowed, starts, places)
        return text, flags, needs, last, positions, keys, longest

    def use_text(
        handle: Any, source: int, low: int, high: int, depth: int, left: Any, ends: Any, span: Any
    ) -> int:
        passages.use_text(open_handle(handle), source, low, high, depth, left, ends, span)
        return digest

    def add_words(base: Any, blob: Any, offsets: Any, flags: Any, numbers: Any) -> Any:
        trie = words.add_words(base, blob, offsets, flags, numbers)
        trie[0] += digest * 0
        return trie

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

    number, truth = types.int64, types.boolean
    laid_out = types.Tuple((_BYTES, _BYTES, _INTS, _INTS, _INTS, _KEYS, number))
    return Entries(
        _compile(mask, number(_HANDLE, _STATE, _INTS)),
        _compile(advance, _ADVANCED(_HANDLE, _STATE, number, number)),
        _compile(step, types.void(_LONGS, _ROWS, _LONGS, _LONGS, _LONGS, _ROWS, _LONGS)),
        _compile(ask, number(_HANDLE, number, _ROWS)),
        _compile(list_free, number(_HANDLE, _INTS)),
        _compile(list_beginnings, _INTS(_HANDLE, _INTS)),
        _compile(fill_free_costs, number(_HANDLE)),
        _compile(fill_costs, number(_HANDLE, _HANDLE)),
        _compile(
            lay_out,
            laid_out(_HANDLE, _FIXED, _CHARACTERS, _FIXED, truth, _LONGS, _BYTES, _INTS, _INTS),
        ),
        _compile(use_text, number(_HANDLE, number, number, number, number, _BYTES, _INTS, _INTS)),
        _compile(add_words, _INTS(_INTS, _BYTES, _INTS, _INTS, _INTS)),
        _compile(order, truth(_BYTES, _INTS, _KEYS, _LONGS, _INTS, _INTS)),
        _compile(pick, number(_INTS, _INTS, _INTS, _INTS)),
        _compile(name_pieces, types.Tuple((_INTS, _INTS, number))(_INTS, number)),
        _compile(induce, _INTS(_INTS, number, _INTS)),
    )
