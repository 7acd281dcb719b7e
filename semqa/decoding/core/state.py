"""The fields of a state: what a constraint remembers of an answer so far.

A state is a row of `STATE_WIDTH` small integers. Fields that a mode does not use are zero, so that
equal situations are equal rows.
"""

from __future__ import annotations

from typing import Any

from semqa.decoding.core.layout import jit
from semqa.decoding.core.pointers import ints_of, room_for_ints

__all__ = ["STATE_WIDTH", "clear_state", "copy_state", "new_state", "row_of"]

MODE = 0
PART = 1  # free: bytes of an unfinished character; number: its value so far; text: source, from 0
LOW = 2  # text: the interval of SUFFIXES whose text agrees with the span so far
HIGH = 3
DEPTH = 4  # text: bytes of the span so far
CONTEXT = 5  # free: see below; text: PENDING_*
COUNTED = 6  # free: the current piece between white space has counted as a word
DIGITS = 7  # free: node of the question's digit runs, 0 outside of one
WORD = 8  # free: node of the question's words, 0 where the word needs no permission
WORDS = 9  # words left for the whole answer
RUN = 10  # words left for this run of free text, or for this span
QUOTES = 11  # quotes still to be made
TOKENS = 12  # tokens left, the end token included
OWNER = 13  # a number of the constraint, so that no other follows its places into other texts
STATE_WIDTH = 14

# Modes.
FREE = 0
OPENED = 1  # after "["
SPACED = 2  # after "[ "
NUMBER = 3  # after "[ k"
SPAN = 4  # after "[ k ", and through the span up to its "]"
ENDED = 5

# Contexts of free text: the last character, and the status of the sentence.
IN_WORD = 0  # alphanumeric, inside a sentence
BETWEEN = 1  # not alphanumeric, inside a sentence
AT_START = 2
AFTER_END = 3

# In a span: whether the last byte may be the space before the closing bracket.
NOT_PENDING = 0
PENDING = 1
PENDING_END = 2  # and the span ends a sentence


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
