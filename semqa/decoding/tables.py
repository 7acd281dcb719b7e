"""From a vocabulary to the tables of the kernels that every constraint over it shares."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semqa.decoding.characters import class_blocks, class_table
from semqa.decoding.core import layout
from semqa.decoding.core.entries import entries
from semqa.decoding.core.vocabulary_tables import (
    IS_LEAD,
    STARTS_WITH_ALNUM,
    STARTS_WITH_DIGIT,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from semqa.decoding.trie import Trie
    from semqa.decoding.vocabulary import Vocabulary

__all__ = ["Tables", "VocabularyTables", "as_ints", "vocabulary_tables"]

_NUMBER_FOLLOWS = re.compile(rb"\Z| (\Z|[1-9][0-9]*(\Z| ))")
_MOST_ROWS = 250
_NEEDED_BYTES = (*range(0xC0), *range(0xC2, 0xF5))
"""Every byte that occurs in UTF-8."""


class Tables(NamedTuple):
    """Part of a handle.

    Attributes:
        arrays: by slot; they must live as long as the handle does.
        numbers: by slot.
    """

    arrays: dict[int, NDArray[Any]]
    numbers: dict[int, int]


class VocabularyTables(NamedTuple):
    """What every constraint over a vocabulary shares.

    Attributes:
        tables: for the handle.
        handle: with these tables only.
        width: 32-bit words of a mask.
        complete: every byte of UTF-8 is a token, so that every text can be written.
        openers: tokens that hold ``[``, ascending.
    """

    tables: Tables
    handle: NDArray[np.int64]
    width: int
    complete: bool
    openers: NDArray[np.int64]


@lru_cache(maxsize=8)
def vocabulary_tables(vocabulary: Vocabulary) -> VocabularyTables:
    """Make the tables of a vocabulary."""
    trie, size = vocabulary.trie, vocabulary.size
    width = (size + 31) // 32
    blob = np.ascontiguousarray(vocabulary.blob)
    offsets = vocabulary.offsets.astype(np.int32)
    lengths = np.diff(offsets)
    kind = np.where(lengths > 0, layout.KIND_TEXT, layout.KIND_NONE).astype(np.uint8)
    kind[list(vocabulary.eos_ids)] = layout.KIND_END
    classes = class_table()
    traits = np.zeros(size, np.uint8)
    asking = np.zeros(3 * size, np.int32)
    entries().classify(blob, offsets, classes, traits, asking)
    words = np.zeros((2, size), np.uint8)
    most = max(1, entries().count_words(blob, offsets, classes, words))
    brackets = _bracket_tokens(vocabulary, np.flatnonzero(lengths))
    openers = [(t, data) for t, data in brackets if _may_open(data)]
    closing = [(t, data) for t, data in brackets if _may_close(data)]
    deep = {t for t, data in brackets if b"[ " in data}
    with_bracket = np.zeros(size, np.bool_)
    with_bracket[[t for t, _ in brackets]] = True
    at_most = [
        _pack(with_bracket | (words[counted] <= fewer), width)
        for counted in range(2)
        for fewer in range(min(most, _MOST_ROWS))
    ]
    first = {bytes(vocabulary.token_bytes(int(t))) for t in np.flatnonzero(lengths == 1)}
    complete = all(bytes([byte]) in first for byte in _NEEDED_BYTES)
    arrays: dict[int, NDArray[Any]] = {
        layout.NODES: node_records(trie, lengths, asking),
        layout.NODE_BYTE: trie.byte,
        layout.TOKEN_IDS: trie.token_ids,
        layout.CHILD_TABLES: np.ascontiguousarray(trie.tables).reshape(-1),
        layout.BLOB: blob,
        layout.OFFSETS: offsets,
        layout.KIND: kind,
        layout.END_IDS: as_ints(vocabulary.eos_ids),
        layout.CLASSES: classes,
        layout.BLOCKS: class_blocks(),
        layout.WORDS_AT_MOST: np.concatenate(at_most),
        layout.STARTS_DIGIT: _pack(traits & STARTS_WITH_DIGIT != 0, width),
        layout.STARTS_ALNUM: _pack(traits & STARTS_WITH_ALNUM != 0, width),
        layout.OPENERS: as_ints(t for t, _ in openers),
        layout.PLAIN_OPENERS: as_ints(t for t, data in openers if _opens_plainly(data)),
        layout.DEEP_OPENERS: as_ints(t for t, _ in openers if t in deep),
        layout.LEADS: as_ints(np.flatnonzero(traits & IS_LEAD)),
        layout.CLOSERS: as_ints(t for t, data in closing if data[:1] == b" "),
        layout.ENDERS: as_ints(t for t, data in closing if data[:1] == b"]"),
        layout.DEEP_CLOSERS: as_ints(t for t, _ in closing if t in deep),
    }
    numbers = {
        layout.SIZE: size,
        layout.WIDTH: width,
        layout.MOST_WORDS: most,
        layout.WORD_ROWS: min(most, _MOST_ROWS),
        layout.FILTERED: not complete,
        layout.LONGEST: int(lengths.max(initial=1)),
        layout.REOPENS: not complete
        or any(_reopens_late(data) or _opens_from_inside(data) for _, data in brackets),
    }
    holding = [t for t, data in brackets if b"[" in data]
    return VocabularyTables(
        Tables(arrays, numbers),
        layout.make_handle(arrays, numbers),
        width,
        complete,
        np.array(sorted(holding), np.int64),
    )


def _bracket_tokens(vocabulary: Vocabulary, ids: NDArray[np.int64]) -> list[tuple[int, bytes]]:
    """Return the tokens that hold a bracket."""
    blob, offsets = vocabulary.blob, vocabulary.offsets
    places = np.flatnonzero((blob == 0x5B) | (blob == 0x5D))
    owners = np.unique(np.searchsorted(offsets, places, side="right") - 1)
    return [(int(t), vocabulary.token_bytes(int(t))) for t in np.intersect1d(owners, ids)]


def _may_open(data: bytes) -> bool:
    """Tell whether a token may open a quote: of its brackets "[" comes first, then what must."""
    before, bracket, after = data.partition(b"[")
    return bool(bracket) and b"]" not in before and _NUMBER_FOLLOWS.match(after) is not None


def _opens_plainly(data: bytes) -> bool:
    """Tell whether what stands before "[" may stand behind any free text, whatever the policy."""
    try:
        before = data.partition(b"[")[0].decode()
    except UnicodeDecodeError:
        return False
    return not any(character.isalnum() for character in before)


def _may_close(data: bytes) -> bool:
    """Tell whether a token may close a span with its first bytes."""
    if not data.startswith((b" ]", b"]")):
        return False
    after = data.partition(b"]")[2]
    return b"]" not in after.partition(b"[")[0] and (b"[" not in after or _may_open(after))


def _reopens_late(data: bytes) -> bool:
    """Tell whether a token ends a span, closes its quote and opens another.

    Those that begin with the closing bracket do not count: the bracket alone is cheaper.
    """
    before, _, after = data.partition(b"]")
    return before.strip(b" ") != b"" and b"[" in after


def _opens_from_inside(data: bytes) -> bool:
    """Tell whether a token goes from inside a character into a quote."""
    return 0x80 <= data[0] < 0xC0 and b"[" in data


def node_records(
    trie: Trie, lengths: NDArray[np.int32], asking: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Join the columns of a trie to records, see `layout.NODES`.

    Args:
        trie: the tokens.
        lengths: int32[V], bytes of each token.
        asking: int32[3 * V], for each `layout.ASKS_` flag how many bytes of each token lead to a
            node for which, and for all before which, it is set.
    """
    nodes = trie.byte.size
    parent = np.zeros(nodes, np.int64)
    parent[1:] = np.repeat(np.arange(nodes), trie.child_count)
    filled = np.diff(trie.token_start) > 0
    spaces = np.flatnonzero(trie.byte == 0x20)
    after_space = np.zeros(nodes, np.bool_)
    after_space[spaces] = True
    brackets = np.flatnonzero((trie.byte == 0x5D) & after_space[parent])
    flags = np.where(filled, layout.HOLDS_TOKENS, 0)
    flags[parent[spaces[filled[spaces]]]] |= layout.LEADS_OUT
    flags[parent[parent[brackets]]] |= layout.LEADS_OUT
    owners = np.repeat(np.arange(nodes), np.diff(trie.token_start))
    kinds = (layout.ASKS_CAPITAL, layout.ASKS_DIGIT, layout.ASKS_INSIDE)
    for flag, depths in zip(kinds, asking.reshape(3, -1), strict=True):
        some = depths[trie.token_ids] > 0
        reached, back = owners[some], (lengths - depths)[trie.token_ids[some]]
        while back.any():  # from the end of each token back to where it last asks
            reached, back = np.where(back > 0, parent[reached], reached), np.maximum(back - 1, 0)
        asks = np.zeros(nodes, np.bool_)
        while reached.size:
            asks[reached] = True
            above = parent[reached]
            reached = np.unique(above[~asks[above]])
        flags[asks] |= flag
    records = np.zeros((nodes + 1, 4), np.int32)
    records[:nodes, layout.FIRST_CHILD] = trie.first_child
    records[:nodes, layout.CHILDREN] = trie.child_count | flags
    records[:, layout.FIRST_TOKEN] = trie.token_start
    records[:nodes, layout.CHILD_TABLE] = trie.table_of
    return records.reshape(-1)


def _pack(bits: NDArray[np.bool_], width: int) -> NDArray[np.int32]:
    """Pack one bit a token into a mask: int32[width], bit ``t % 32`` of word ``t // 32``."""
    padded = np.zeros(32 * width, np.bool_)
    padded[: bits.size] = bits
    return np.packbits(padded, bitorder="little").view("<i4").astype(np.int32)


def as_ints(values: Iterable[int]) -> NDArray[np.int32]:
    """Return numbers as the kernels take them."""
    return np.fromiter(values, np.int32)
