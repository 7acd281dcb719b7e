"""Join the sources into one text and build its suffix array, for looking up spans."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from semqa.decoding.automaton import memory
from semqa.decoding.automaton.entries import entries
from semqa.decoding.characters import class_table
from semqa.errors import InputError
from semqa.quotes import Source

if TYPE_CHECKING:
    from semqa.decoding.policy import QuotePolicy


def suffix_array(text: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the suffix array of a text (int32[n]).

    Algorithm: SA-IS, see `semqa.decoding.automaton.suffixes`.

    Example:
        >>> suffix_array(np.frombuffer(b"banana", np.uint8)).tolist()
        [5, 3, 1, 0, 4, 2]
    """
    return _sort(text.astype(np.int32), 256)


def _sort(symbols: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    if symbols.size < 2:
        return np.arange(symbols.size, dtype=np.int32)
    valleys, names, distinct = entries().name_pieces(symbols, size)
    if distinct < valleys.size:
        order = _sort(names, distinct)
    else:
        order = np.empty_like(names)
        order[names] = np.arange(names.size, dtype=np.int32)
    sorted_suffixes: NDArray[np.int32] = entries().induce(symbols, size, valleys[order])
    return sorted_suffixes


_MAX_BYTES = 2**31 - 2**20
_MAX_COMPARED = 8_192
"""Up to this many starts are sorted by comparison, unless the text repeats itself too much."""


class SourceTables(NamedTuple):
    """The text of all sources with its lookup tables.

    Attributes:
        arrays: the tables of the handle, see `memory`.
        handle: a handle with these tables and those of free text.
        ends: int32[m], by row of SUFFIXES: the last position at which a span from there may end.
        places: int32[N + 1], where the bytes of each source begin.
        longest: largest number of bytes from a position to the first end of a valid span.
    """

    arrays: dict[int, NDArray[Any]]
    handle: NDArray[np.int64]
    ends: NDArray[np.int32]
    places: NDArray[np.int32]
    longest: int


def lay_out(
    free: NDArray[np.int64], sources: Sequence[Source], policy: QuotePolicy
) -> SourceTables:
    """Join the sources and find where spans may begin and end; linear in their length."""
    # Spans contain no brackets, so brackets can separate the fields.
    joined = "".join([f"{source.text}[{source.title}[" for source in sources])
    lengths = [len(source.text) + len(source.title) + 2 for source in sources]
    count = len(lengths)
    ends = np.fromiter(accumulate(lengths), np.int64, count)
    encoded = np.frombuffer(joined.encode("utf-8", "surrogatepass"), np.uint8)
    if encoded.size > _MAX_BYTES:
        raise InputError(
            f"The sources have {encoded.size:,} bytes of text; the limit is {_MAX_BYTES:,}."
        )
    characters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    allowed = np.ones(count, np.uint8)
    if policy.quote_from is not None:
        allowed[:] = 0
        allowed[[number - 1 for number in policy.quote_from]] = 1
    starts, places = np.zeros(count + 1, np.int32), np.zeros(count + 1, np.int32)
    text, flags, needs, last, positions, keys, longest = entries().lay_out(
        free,
        encoded,
        characters,
        class_table(),
        policy.boundary == "char",
        ends,
        allowed,
        starts,
        places,
    )
    suffixes = np.empty(positions.size, np.int32)
    if positions.size > _MAX_COMPARED or not entries().order(
        text, positions, keys, np.argsort(keys), starts, suffixes
    ):
        entries().pick(suffix_array(text), positions, starts, suffixes)
    arrays: dict[int, NDArray[Any]] = {
        memory.TEXT: text,
        memory.FLAGS: flags,
        memory.SUFFIXES: suffixes,
        memory.STARTS: starts,
        memory.NEEDS: needs,
        memory.BEGINNINGS_AT: np.zeros(count + 1, np.int32),
    }
    handle = memory.make_handle(arrays, {memory.SOURCES: count}, free)
    beginnings = entries().list_beginnings(handle, arrays[memory.BEGINNINGS_AT])
    arrays[memory.BEGINNINGS] = beginnings
    handle = memory.make_handle({memory.BEGINNINGS: beginnings}, {}, handle)
    return SourceTables(arrays, handle, last[suffixes], places, int(longest))
