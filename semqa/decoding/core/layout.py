"""How the kernels find their tables: one handle, an array of addresses and numbers.

A numba call costs about 0.2 µs for each array that it is given, as much as a whole mask. So every
kernel takes one ``int64`` array instead, the handle: two slots a table (address, length), one a
number. Whoever builds a handle keeps the tables alive and unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np
from numba import types

from semqa.decoding.core.pointers import bytes_pointer, ints_pointer, longs_of, longs_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = [
    "HANDLE_SIZE",
    "bytes_at",
    "ints_at",
    "jit",
    "longs_at",
    "make_handle",
    "open_handle",
    "size_of",
]

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


# Tables of the vocabulary. Node 0 is the root of the trie.
NODES = 0  # int32[4 * (nodes + 1)]: one record a node, see below; the last holds a token start only
NODE_BYTE = 1  # uint8[nodes]
TOKEN_IDS = 2  # int32[tokens]
CHILD_TABLES = 3  # int32[tables * 256], a child or -1
BLOCKS = 4  # uint8[0x4400], by code point // 64, see `characters.class_blocks`
BLOB = 5  # uint8[bytes of all tokens]
OFFSETS = 6  # int32[V + 1]
KIND = 7  # uint8[V]: KIND_NONE, KIND_TEXT, KIND_END
END_IDS = 8  # int32[end tokens]
CLASSES = 9  # uint8[0x110000], by code point
WORDS_AT_MOST = 10  # int32[2 * WORD_ROWS * W]: by COUNTED and r < WORD_ROWS, all tokens but the
# plain ones that begin more than r words
STARTS_DIGIT = 11  # int32[W]: tokens whose first character is a digit
STARTS_ALNUM = 12  # int32[W]: tokens whose first character is alphanumeric
OPENERS = 13  # int32[*]: tokens that hold "[" and no "]" before it
PLAIN_OPENERS = 14  # int32[*]: those of them that hold no letter or digit before "["
DEEP_OPENERS = 15  # int32[*]: those of them in which "[" is not the last byte
CLOSERS = 16  # int32[*]: tokens that begin with " ]"
ENDERS = 17  # int32[*]: tokens that begin with "]"
DEEP_CLOSERS = 18  # int32[*]: CLOSERS and ENDERS that hold "[", not as their last byte
LEADS = 19  # int32[*]: tokens that are the beginning of one character

# Tables of the rules for free text: they depend on the question, not on the sources.
FREE_MASKS = 20  # int32[contexts * W], unlimited words
UNFINISHED_LISTS = 21  # int32[*]: those of them after which free text cannot end, by context
UNFINISHED_STARTS = 22  # int32[contexts + 1]
DIGIT_TRIE = 23  # int32[nodes * 4]: code point, first child, child count, terminal; breadth first
WORD_TRIE = 24  # int32[nodes * 4], likewise
DIGIT_COST = 25  # int32[nodes]: fewest tokens until the run may end, 0 if it may now, or FAR
WORD_COST = 26  # int32[nodes]
CLOSER_LISTS = 27  # int32[*]: allowed CLOSERS, then ENDERS, each after a span that does not end a
# sentence and after one that does; without DEEP_CLOSERS
CLOSER_STARTS = 28  # int32[5]

# Tables of one constraint. Positions count bytes of the joined text.
TEXT = 29  # uint8[n], BARRIER where no span goes on
FLAGS = 30  # uint8[n + 1], see `step.py`
SUFFIXES = 31  # int32[m]: starts of spans, by source, then by the text that follows
STARTS = 32  # int32[N + 1]: the suffixes of source k are SUFFIXES[STARTS[k]:STARTS[k + 1]]
PREFIX_OK = 33  # uint8[N + 1]: some quotable source's number begins so
QUOTABLE = 34  # uint8[N + 1], by number; 0 is unused
BEGUN_LISTS = 35  # int32[*]: tokens after "[ k ", by source
BEGUN_STARTS = 36  # int32[N + 1]
SPACED_LISTS = 37  # int32[*]: tokens after "[ k" that begin with " ", by source
SPACED_STARTS = 38  # int32[N + 1]
HEAVY_KEYS = 39  # int64[2 * slots]: open addressing; (low, high << 32 | depth), -1 for empty
HEAVY_VALUES = 40  # int32[3 * slots]: list start, list end, whether a span may end here
HEAVY_LISTS = 41  # int32[*]
DISTANCE = 42  # int64[n + 1]: cost of the way from a position to free text, see `cost.py`
CONTROL_COST = 43  # int64[CONTROLS + N + 1 + N]
TABLES = 44

# Fields of a record in NODES: all of a node in one line of the processor's cache.
FIRST_CHILD = 0
CHILDREN = 1  # how many children, and the flags below
FIRST_TOKEN = 2  # where the node's tokens begin in TOKEN_IDS; they end where the next node's begin
CHILD_TABLE = 3  # row in CHILD_TABLES, or -1
CHILD_COUNT = 0xFFFF
HOLDS_TOKENS = 1 << 16
LEADS_OUT = 1 << 17  # a child by " " holds tokens or goes on with "]"
# Some token goes by here, and on to a letter, digit or end that may need the question's leave:
ASKS_CAPITAL = 1 << 18  # the first letter of a word, a capital
ASKS_DIGIT = 1 << 19
ASKS_INSIDE = 1 << 20  # an end inside a character

# Numbers.
SIZE = 2 * TABLES  # V
WIDTH = SIZE + 1  # W, words of a mask
SOURCES = SIZE + 2  # N
NUMBERS_QUOTED = SIZE + 3  # bool
NAMES_QUOTED = SIZE + 4  # bool
COUNTING = SIZE + 5  # bool: some limit on words is set
MAX_FREE = SIZE + 6  # words, or UNLIMITED
MAX_SPAN = SIZE + 7
MOST_WORDS = SIZE + 8  # most words that one token begins
FILTERED = SIZE + 9  # bool: the vocabulary lacks bytes, so that distances decide what is alive
HAS_DISTANCES = SIZE + 10  # bool: the distance tables are there
COST_BOUND = SIZE + 11  # no answer needs more tokens than that to finish, whatever its state
ANY_QUOTABLE = SIZE + 12  # bool
LONGEST = SIZE + 13  # bytes of the longest token
REOPENS = SIZE + 14  # bool: a way to free text may lead through another quote
WORDS_LIMITED = SIZE + 15  # bool: the words of the whole answer are
COSTS_WORDS = SIZE + 16  # bool: costs count words
FREE_BOUND = SIZE + 17  # no word, number or character needs more tokens than that to finish
SELF = SIZE + 18  # what states carry as their OWNER
SPAN_BOUND = SIZE + 19  # like COST_BOUND, for states in a quote only
WORD_ROWS = SIZE + 20  # rows of WORDS_AT_MOST for each value of COUNTED
HANDLE_SIZE = SIZE + 21

KIND_NONE, KIND_TEXT, KIND_END = 0, 1, 2
BARRIER = 0xFE
"""Bytes from here on never occur in UTF-8, so they can stand for the ends of what is quotable."""
UNLIMITED = 2**31 - 1
FAR = 2**30
"""More tokens or words than any answer has: there is no way."""


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
def longs_at(h: Any, table: int) -> Any:
    """Open a table of int64; nothing checks the bounds."""
    return longs_pointer(h[2 * table])


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
