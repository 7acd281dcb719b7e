"""The tables of compiled code, and the fields of a state.

Each array argument of a numba call costs about 0.2 µs, as much as a whole mask. So every function
takes one ``int64`` array instead, the handle, with two slots per table (address, length) and one per
number. The creator of a handle must keep the tables alive and unchanged.

A state is a row of `STATE_WIDTH` small integers. Fields that a mode does not use are zero, so equal
situations have equal rows. Earlier quotes are not part of it: the tables of the handle depend on
them (`semqa.decoding.constraint`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np
from numba import types

from semqa.decoding.automaton.pointers import (
    bytes_pointer,
    ints_of,
    ints_pointer,
    longs_of,
    room_for_ints,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

_Function = TypeVar("_Function", bound="Callable[..., Any]")


def jit(function: _Function) -> _Function:
    """Compile a function that only compiled code calls, without the GIL and with C division.

    Integer arguments are widened to int64. Otherwise numba would compile the function again for every
    integer type and constant, which almost doubles the compile time.
    """
    compiler: Any = numba.njit
    helper = compiler(
        nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
    )(function)
    resolve = helper.get_call_template
    helper.get_call_template = lambda args, kws: resolve(tuple(map(_widened, args)), kws)
    return cast("_Function", helper)


def _widened(kind: Any) -> Any:
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) else kind


# Tables of the vocabulary. Node 0 is the root of the token trie.
NODES = 0  # int32[4 * (nodes + 1)]: one record per node, see below; the last has a token start only
NODE_BYTE = 1  # uint8[nodes]
TOKEN_IDS = 2  # int32[tokens]
CHILD_TABLES = 3  # int32[tables * 256], a child or -1
BLOB = 4  # uint8[bytes of all tokens]
OFFSETS = 5  # int32[V + 1]
KIND = 6  # uint8[V]: KIND_NONE, KIND_TEXT, KIND_END
END_IDS = 7  # int32[end tokens]
CLOSERS = 8  # int32[*]: tokens that begin with " ]"
ENDERS = 9  # int32[*]: tokens that begin with "]"
REOPENERS = 10  # int32[*]: tokens with "]" and a later "["
SENTENCE = 11  # uint8[*]: the abstention sentence

# Tables of free text, shared by all constraints over a vocabulary and a language.
FREE_MASKS = 12  # int32[kinds * variants * W], see `mask.py`
LONG_TOKENS = 13  # int32[n]: tokens that begin several words of glue
DEEP_OPENERS = 14  # int32[*]: tokens with digits after "["
# Tables of free text that also depend on the question.
WORDS_TRIE = 15  # int32[4 * nodes]: byte | flags, first child, next sibling, number of the word
EXTRA = 16  # int32[4 * n]: tokens added by words of the question: token, kinds, words, marks
FREE_COST = 17  # int32[*]: fewest tokens to the end of a word of glue, by node of WORDS_TRIE, or of
# an incomplete character, by class

# Tables of the sources. Positions count bytes of the joined text.
TEXT = 18  # uint8[n], BARRIER where no span continues
FLAGS = 19  # uint8[n + 1], see `passages.py`
SUFFIXES = 20  # int32[m]: starts of spans, sorted by source, then by the following text
STARTS = 21  # int32[N + 1]: the suffixes of source k are SUFFIXES[STARTS[k]:STARTS[k + 1]]
NEEDS = 22  # int32[n + 1], by position: the first position at which a span from there may end
BEGINNINGS = 23  # int32[4 * n]: tokens that begin a span with the space before it, by source
BEGINNINGS_AT = 24  # int32[N + 1]: the records of source k are AT[k] to AT[k + 1]

# Tables of a view: the sources without the text that has been quoted.
ENDS = 25  # int32[m], by row: the last position at which a span from there may end, or 0
TOUCHED = 26  # uint8[N]: some text of the source has been quoted
PREFIX_OK = 27  # uint8[N + 1]: the number of a quotable source begins with these digits
QUOTABLE = 28  # uint8[N + 1], by number; index 0 is unused
HEADS = 29  # int32[3 * n]: the first three words of earlier runs
LEFT = 30  # uint8[n], TEXT with barriers in place of quoted text
DISTANCE = 31  # int32[2 * (n + 1)]: fewest tokens from a position to free text, see `finish.py`
CONTROL = 32  # int32[NUMBER_COST + 1 + 2 * N]: fewest tokens from other states
OPENERS = 33  # int32[*]: tokens with "[" and no "]" before it, including DEEP_OPENERS
TABLES = 34

# Fields of a record in NODES, so that a node fits in one cache line.
FIRST_CHILD = 0
CHILDREN = 1  # the number of children, and the flags below
FIRST_TOKEN = 2  # where the node's tokens begin in TOKEN_IDS; they end where the next node's begin
CHILD_TABLE = 3  # row in CHILD_TABLES, or -1
CHILD_COUNT = 0xFFFF
HOLDS_TOKENS = 1 << 16
LEADS_OUT = 1 << 17  # the child for " " has tokens or a child for "]"

# Numbers.
SIZE = 2 * TABLES  # V
WIDTH = SIZE + 1  # W, the 32-bit words of a mask
LONGEST = SIZE + 2  # length of the longest token in bytes
POOR = SIZE + 3  # bool: the vocabulary lacks some bytes, so costs are always checked
GLUE = SIZE + 4  # bool: free text is glue only
MOST_WORDS = SIZE + 5  # most words in one token of glue
SOURCES = SIZE + 6  # N
SELF = SIZE + 7  # the OWNER of the constraint's states
ANY_QUOTABLE = SIZE + 8  # bool
HAS_COSTS = SIZE + 9  # bool: the view has cost tables
SCARCE = SIZE + 10  # with at most this many tokens left, costs are checked
LONGEST_WORD = SIZE + 11  # upper bound for the bytes of a word of glue
HANDLE_SIZE = SIZE + 12

KIND_NONE, KIND_TEXT, KIND_END = 0, 1, 2
BARRIER = 0xFE
"""Bytes from here on never occur in UTF-8, so they can mark the ends of quotable text."""
UNLIMITED = 2**31 - 1
FAR = 2**28
"""An infinite cost: more tokens than any answer has."""

# Fields of a state.
MODE = 0
PART = 1  # free: class of an incomplete character; number: its value so far; span: source, from 0;
# ABSTAINING: place in the sentence, as in SENTENCE_AT
LOW = 2  # span: the interval of SUFFIXES that match the span so far
HIGH = 3
DEPTH = 4  # span: its bytes so far
CLOSING_LOW = 5  # span: the interval of spans that end if the last byte was the closing space
CLOSING_HIGH = 6
NODE = 7  # glue: the current node of WORDS_TRIE, 0 between words
GAP = 8  # glue, between words: the gap kind, see below
WORDS = 9  # glue: words left in this run
MARKS = 10  # glue: punctuation marks left in this run
HEAD = 11  # glue: the numbers of the first three words of this run, 0 if not yet written
HEAD_2 = 12
HEAD_3 = 13
SENTENCE_AT = 14  # free: 1 at first, then 2 + bytes of the abstention so far; 0 if impossible
QUOTED = 15  # 1 once a quote has been made
TOKENS = 16  # tokens left, the end token included
OWNER = 17  # the number of the constraint, so that others reject the state
STATE_WIDTH = 18

# Modes.
FREE = 0
OPENED = 1  # after "["
SPACED = 2  # after "[ "
NUMBER = 3  # after "[ k"
SPAN = 4  # after "[ k ", up to and including the space before "]"
CLOSED = 5  # after "]": the rest needs the tables of the next view
ABSTAINING = 6  # in the abstention sentence, if it is no longer valid free text
ENDED = 7

# Gap kinds, by the preceding text; the comments list what may come next.
AFTER_SPACE = 0  # words, marks, "["
AFTER_OPEN = 1  # words, marks, white space, "["
AFTER_SHUT = 2  # marks, white space
GAP_KINDS = 3


new_state = room_for_ints(STATE_WIDTH)
"""Allocate an uninitialized state on the stack of the caller."""


@jit
def clear_state(s: Any) -> None:
    """Set all fields to zero."""
    for field in range(STATE_WIDTH):
        s[field] = 0


@jit
def row_of(states: Any, row: int) -> Any:
    """Return a pointer to one of many states (int32[*, S]). The caller must keep the array alive."""
    return ints_of(states, row * STATE_WIDTH)


@jit
def copy_state(source: Any, target: Any) -> None:
    """Copy a state."""
    for field in range(STATE_WIDTH):
        target[field] = source[field]


@jit
def open_handle(handle: Any) -> Any:
    """Convert a handle to the pointer `h` used by compiled code."""
    return longs_of(handle, 0)


@jit
def bytes_at(h: Any, table: int) -> Any:
    """Return a pointer to a table of uint8; bounds are not checked."""
    return bytes_pointer(h[2 * table])


@jit
def ints_at(h: Any, table: int) -> Any:
    """Return a pointer to a table of int32; bounds are not checked."""
    return ints_pointer(h[2 * table])


@jit
def size_of(h: Any, table: int) -> int:
    """Return the length of a table."""
    return h[2 * table + 1]


def make_handle(
    tables: Mapping[int, NDArray[Any]],
    numbers: Mapping[int, int],
    base: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Build a handle. The caller must keep the tables alive.

    Args:
        tables: by slot, one-dimensional and C-contiguous, with the type in the slot's comment.
        numbers: by slot.
        base: a handle to start from.
    """
    handle = np.zeros(HANDLE_SIZE, np.int64) if base is None else base.copy()
    for slot, array in tables.items():
        handle[2 * slot] = array.__array_interface__["data"][0]
        handle[2 * slot + 1] = array.size
    for slot, number in numbers.items():
        handle[slot] = number
    return handle
