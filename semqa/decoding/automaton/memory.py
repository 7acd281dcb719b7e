"""How compiled code finds its tables, and the fields of a state: the header of all kernels.

A numba call costs about 0.2 µs for each array it is given, as much as a whole mask. So every kernel
takes one ``int64`` array instead, the handle: two slots for each table (address, length), one for
each number. Whoever builds a handle keeps the tables alive and unchanged.

A state is a row of `STATE_WIDTH` small integers. Fields that a mode does not use are zero, so that
equal situations are equal rows. What was quoted before is not in it: that is the handle's affair,
for every set of used text has tables of its own (`semqa.decoding.constraint`).
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
    """Compile a helper of the kernels: without the GIL, division as in C, for other kernels only.

    All integers arrive as int64: numba would compile a helper again for every width, and for every
    constant, that it is called with, and compiling took almost twice as long.
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
NODES = 0  # int32[4 * (nodes + 1)]: one record a node, see below; the last holds a token start only
NODE_BYTE = 1  # uint8[nodes]
TOKEN_IDS = 2  # int32[tokens]
CHILD_TABLES = 3  # int32[tables * 256], a child or -1
BLOB = 4  # uint8[bytes of all tokens]
OFFSETS = 5  # int32[V + 1]
KIND = 6  # uint8[V]: KIND_NONE, KIND_TEXT, KIND_END
END_IDS = 7  # int32[end tokens]
CLOSERS = 8  # int32[*]: tokens that begin with " ]"
ENDERS = 9  # int32[*]: tokens that begin with "]"
REOPENERS = 10  # int32[*]: tokens that hold "]" and, behind it, "["
SENTENCE = 11  # uint8[*]: the abstention sentence

# Tables of free text, shared by all constraints over a vocabulary and a language.
FREE_MASKS = 12  # int32[kinds * variants * W], see `mask.py`
LONG_TOKENS = 13  # int32[n]: tokens that begin several words of glue
DEEP_OPENERS = 14  # int32[*]: tokens that hold "[" and digits behind it, by the vocabulary alone
# Tables of free text that depend on the question too.
WORDS_TRIE = 15  # int32[4 * nodes]: byte | flags, first child, next sibling, number of the word
EXTRA = 16  # int32[4 * n]: tokens that words of the question add: token, kinds, words, marks
WORD_COST = 17  # int32[nodes]: fewest tokens to the end of a word, FAR if there is no way

# Tables of the sources. Positions count bytes of the joined text.
TEXT = 18  # uint8[n], BARRIER where no span goes on
FLAGS = 19  # uint8[n + 1], see `passages.py`
SUFFIXES = 20  # int32[m]: starts of spans, by source, then by the text that follows
STARTS = 21  # int32[N + 1]: the suffixes of source k are SUFFIXES[STARTS[k]:STARTS[k + 1]]
NEEDS = 22  # int32[m], by row of SUFFIXES: the position from which on a span from there may end
BEGINNINGS = 23  # int32[4 * n]: tokens that begin a span with the space before it, by source
BEGINNINGS_AT = 24  # int32[N + 1]: those of source k are number AT[k] to AT[k + 1]

# Tables of a view: the sources without the text that has been quoted.
ENDS = 25  # int32[m], by row: the last position at which a span from there may end, 0 for none
TOUCHED = 26  # uint8[N]: some text of the source has been quoted
PREFIX_OK = 27  # uint8[N + 1]: some quotable source's number begins so
QUOTABLE = 28  # uint8[N + 1], by number; 0 is unused
HEADS = 29  # int32[3 * n]: the first three words of earlier runs
LEFT = 30  # uint8[n], TEXT with barriers in place of what has been quoted
DISTANCE = 31  # int32[2 * (n + 1)]: fewest tokens from a position to free text, see `finish.py`
CONTROL = 32  # int32[NUMBER_COST + 1 + 2 * N]: the same from states between spans
OPENERS = 33  # int32[*]: tokens that hold "[" and no "]" before it, DEEP_OPENERS among them
TABLES = 34

# Fields of a record in NODES: all of a node in one line of the processor's cache.
FIRST_CHILD = 0
CHILDREN = 1  # how many children, and the flags below
FIRST_TOKEN = 2  # where the node's tokens begin in TOKEN_IDS; they end where the next node's begin
CHILD_TABLE = 3  # row in CHILD_TABLES, or -1
CHILD_COUNT = 0xFFFF
HOLDS_TOKENS = 1 << 16
LEADS_OUT = 1 << 17  # a child by " " holds tokens or goes on with "]"

# Numbers.
SIZE = 2 * TABLES  # V
WIDTH = SIZE + 1  # W, words of a mask
LONGEST = SIZE + 2  # bytes of the longest token
POOR = SIZE + 3  # bool: the vocabulary lacks bytes, so that costs decide what is alive
GLUE = SIZE + 4  # bool: free text holds glue only
MOST_WORDS = SIZE + 5  # most words that one token of glue begins
SOURCES = SIZE + 6  # N
SELF = SIZE + 7  # what states carry as their OWNER
ANY_QUOTABLE = SIZE + 8  # bool
HAS_COSTS = SIZE + 9  # bool: the tables of costs are there
SCARCE = SIZE + 10  # with so few tokens left, costs decide what is alive
LONGEST_WORD = SIZE + 11  # at least the bytes of the longest word of glue
HANDLE_SIZE = SIZE + 12

KIND_NONE, KIND_TEXT, KIND_END = 0, 1, 2
BARRIER = 0xFE
"""Bytes from here on never occur in UTF-8, so they can stand for the ends of what is quotable."""
UNLIMITED = 2**31 - 1
FAR = 2**28
"""More tokens than any answer has: there is no way."""

# Fields of a state.
MODE = 0
PART = 1  # free: class of an unfinished character; number: its value so far; span: source, from 0;
# ABSTAINING: bytes of the sentence that are written
LOW = 2  # span: the interval of SUFFIXES whose text agrees with the span so far
HIGH = 3
DEPTH = 4  # span: bytes of the span so far
CLOSING_LOW = 5  # span: the interval at which it ends if the last byte was the space before "]"
CLOSING_HIGH = 6
NODE = 7  # glue: the node of WORDS_TRIE that a word has come to, 0 outside of words
GAP = 8  # glue, outside of words: what stands before, see below
WORDS = 9  # glue: words that this run may still begin
MARKS = 10  # glue: punctuation marks that it may still hold
HEAD = 11  # glue: its first three words, by number plus one; 0 for those that are not there yet
HEAD_2 = 12
HEAD_3 = 13
SENTENCE_AT = 14  # free, while all of the answer may become the abstention: bytes so far, plus one
QUOTED = 15  # 1 once a quote has been made
TOKENS = 16  # tokens left, the end token included
OWNER = 17  # a number of the constraint, so that no other follows its places into other texts
STATE_WIDTH = 18

# Modes.
FREE = 0
OPENED = 1  # after "["
SPACED = 2  # after "[ "
NUMBER = 3  # after "[ k"
SPAN = 4  # after "[ k ", and through the span up to the space before "]"
CLOSED = 5  # after "]": what follows is written with other tables
ABSTAINING = 6  # in the abstention sentence, where it is no glue
ENDED = 7

# What stands before a gap of glue: what may come next depends on it.
AFTER_SPACE = 0  # words, marks, "["
AFTER_OPEN = 1  # words, marks, white space, "["
AFTER_SHUT = 2  # marks, white space
GAP_KINDS = 3


new_state = room_for_ints(STATE_WIDTH)
"""Return room for a state, on the stack of the function that asks for it, with anything in it."""


@jit
def clear_state(s: Any) -> None:
    """Set all fields to zero."""
    for field in range(STATE_WIDTH):
        s[field] = 0


@jit
def row_of(states: Any, row: int) -> Any:
    """Return one state of many (int32[*, S]), as a pointer; the caller keeps the array alive."""
    return ints_of(states, row * STATE_WIDTH)


@jit
def copy_state(source: Any, target: Any) -> None:
    """Copy one row."""
    for field in range(STATE_WIDTH):
        target[field] = source[field]


@jit
def open_handle(handle: Any) -> Any:
    """Turn a handle as Python has it into the `h` of the kernels."""
    return longs_of(handle, 0)


@jit
def bytes_at(h: Any, table: int) -> Any:
    """Open a table of uint8; nothing checks the bounds."""
    return bytes_pointer(h[2 * table])


@jit
def ints_at(h: Any, table: int) -> Any:
    """Open a table of int32; nothing checks the bounds."""
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
    """Build a handle; the caller keeps the tables alive.

    Args:
        tables: by slot, one-dimensional, C-contiguous, of the type that the slot's comment names.
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
