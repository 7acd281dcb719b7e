"""Tables that constraints share, built from a vocabulary, a language and a question."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from semqa.decoding.automaton import memory
from semqa.decoding.automaton.entries import entries
from semqa.decoding.automaton.step import HEAD_WORDS, MOST_RUN_MARKS, UNFINISHED_KINDS
from semqa.decoding.automaton.words import FREE_WORD, FUNCTION
from semqa.decoding.masks import packed, unpacked
from semqa.decoding.vocabulary import Trie, Vocabulary
from semqa.quotes.answer import ABSTENTION
from semqa.quotes.words import (
    function_words,
    glue_words,
    language_of,
    question_words,
    written_forms,
)

_NUMBER_FOLLOWS = re.compile(rb"\Z| (\Z|[1-9][0-9]*(\Z| ))")
_WORD, _MARK = re.compile(rb"[^ \n(\"\-/,.:;!?)]+"), re.compile(rb"[(\"\-/,.:;!?)]")
"""The words and punctuation marks in tokens of glue."""
_NEEDED_BYTES = (*range(0xC0), *range(0xC2, 0xF5))
"""Every byte that occurs in UTF-8."""


class VocabularyTables(NamedTuple):
    """Tables shared by all constraints over a vocabulary.

    Attributes:
        width: the number of 32-bit words in a mask.
        poor: whether some byte of UTF-8 is not a token, so that some texts cannot be written.
        openers: tokens that contain ``[``, ascending.
    """

    arrays: dict[int, NDArray[Any]]
    handle: NDArray[np.int64]
    width: int
    poor: bool
    openers: NDArray[np.int64]


class FreeTables(NamedTuple):
    """The tables of free text.

    Attributes:
        vocabulary: the tables of the vocabulary, to which the handle points too.
        longest_word: at least the number of bytes in the longest word.
    """

    vocabulary: VocabularyTables
    arrays: dict[int, NDArray[Any]]
    handle: NDArray[np.int64]
    numbers: dict[str, int]
    longest_word: int


@lru_cache(maxsize=8)
def vocabulary_tables(vocabulary: Vocabulary) -> VocabularyTables:
    """Build the tables of a vocabulary."""
    trie, size = vocabulary.trie, vocabulary.size
    width = (size + 31) // 32
    offsets = vocabulary.offsets.astype(np.int32)
    lengths = np.diff(offsets)
    kind = np.where(lengths > 0, memory.KIND_TEXT, memory.KIND_NONE).astype(np.uint8)
    kind[list(vocabulary.eos_ids)] = memory.KIND_END
    brackets = _bracket_tokens(vocabulary, np.flatnonzero(kind == memory.KIND_TEXT))
    openers = [(t, data) for t, data in brackets if _may_open(data)]
    closing = [(t, data) for t, data in brackets if _may_close(data)]
    first = {bytes(vocabulary.token_bytes(int(t))) for t in np.flatnonzero(lengths == 1)}
    poor = not all(bytes([byte]) in first for byte in _NEEDED_BYTES)
    arrays: dict[int, NDArray[Any]] = {
        memory.NODES: _node_records(trie),
        memory.NODE_BYTE: trie.byte,
        memory.TOKEN_IDS: trie.token_ids,
        memory.CHILD_TABLES: np.ascontiguousarray(trie.tables).reshape(-1),
        memory.BLOB: np.ascontiguousarray(vocabulary.blob),
        memory.OFFSETS: offsets,
        memory.KIND: kind,
        memory.END_IDS: _ints(vocabulary.eos_ids),
        memory.CLOSERS: _ints(t for t, data in closing if data[:1] == b" "),
        memory.ENDERS: _ints(t for t, data in closing if data[:1] == b"]"),
        memory.REOPENERS: _ints(t for t, data in brackets if _may_reopen(data)),
        memory.OPENERS: _ints(t for t, _ in openers),
        memory.DEEP_OPENERS: _ints(t for t, data in openers if data.partition(b"[")[2].strip()),
        memory.SENTENCE: np.frombuffer(ABSTENTION.encode(), np.uint8),
    }
    numbers = {
        memory.SIZE: size,
        memory.WIDTH: width,
        memory.POOR: poor,
        memory.LONGEST: int(lengths.max(initial=1)),
    }
    holding = sorted(t for t, data in brackets if b"[" in data)
    handle = memory.make_handle(arrays, numbers)
    return VocabularyTables(arrays, handle, width, poor, np.array(holding, np.int64))


@lru_cache(maxsize=64)
def free_tables(vocabulary: Vocabulary, glue: bool, question: str) -> FreeTables:
    """Build the tables of free text for a question."""
    base = _language_tables(vocabulary, glue, language_of(question))
    if not glue:
        return base
    asked = sorted(question_words(question))
    numbers = dict(base.numbers)
    trie = _add_words(
        base.arrays[memory.WORDS_TRIE], written_forms(asked, question), FREE_WORD, numbers
    )
    arrays, free = _listed(base.vocabulary, {memory.WORDS_TRIE: trie}, base.handle)
    known = base.arrays[memory.FREE_MASKS][_unlimited_rows(base)]
    extra = _described(vocabulary, free & ~known)
    arrays[memory.EXTRA] = extra.reshape(-1)
    arrays[memory.LONG_TOKENS] = np.concatenate(
        [base.arrays[memory.LONG_TOKENS], extra[extra[:, 2] > 1, 0]]
    )
    longest = max(base.longest_word, _longest(asked))
    handle = memory.make_handle(arrays, {memory.LONGEST_WORD: longest}, base.handle)
    return FreeTables(base.vocabulary, {**base.arrays, **arrays}, handle, numbers, longest)


@lru_cache(maxsize=64)
def free_costs(vocabulary: Vocabulary, glue: bool, question: str) -> NDArray[np.int32]:
    """Return the table FREE_COST, which is needed only if few tokens are left."""
    free = free_tables(vocabulary, glue, question)
    size = free.arrays[memory.WORDS_TRIE].size // 4 if glue else UNFINISHED_KINDS
    costs = np.full(size, memory.FAR, np.int32)
    costs[0] = 0  # between words or characters
    tables = {memory.FREE_COST: costs}
    entries().fill_free_costs(memory.make_handle(tables, {memory.ANY_QUOTABLE: 0}, free.handle))
    return costs


def _listed(
    shared: VocabularyTables, words: dict[int, NDArray[Any]], base: NDArray[np.int64]
) -> tuple[dict[int, NDArray[Any]], NDArray[np.int32]]:
    """Add the tables of tokens that close quotes, and return the mask of free text as well."""
    # Assume that quotes can be opened and finished; that depends on the sources.
    handle = memory.make_handle(words, {memory.ANY_QUOTABLE: 1, memory.POOR: 0}, base)
    masks = np.zeros(2 * shared.width, np.int32)
    entries().list_free(handle, masks)
    closing = unpacked(masks[shared.width :])
    tables = {
        slot: shared.arrays[slot][closing[shared.arrays[slot]]]
        for slot in (memory.CLOSERS, memory.ENDERS)
    }
    return {**words, **tables}, masks[: shared.width]


def _described(vocabulary: Vocabulary, mask: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return int32[n, 4]: glue tokens, a bit for each gap they may follow, words and marks."""
    rows = []
    for token in np.flatnonzero(unpacked(mask)).tolist():
        data = vocabulary.token_bytes(token).partition(b"[")[0]
        spaced, marked = data[:1] in (b" ", b"\n"), _MARK.match(data) is not None
        gaps = (
            1 << memory.AFTER_OPEN
            | (not spaced) << memory.AFTER_SPACE
            | (spaced or marked) << memory.AFTER_SHUT
        )
        rows.append((token, gaps, len(_WORD.findall(data)), len(_MARK.findall(data))))
    return np.array(rows, np.int32).reshape(-1, 4)


def _longest(words: Iterable[str]) -> int:
    # Other forms of a word may be a few bytes longer.
    return max((len(word.encode()) for word in words), default=0) + 8


@lru_cache(maxsize=16)
def _language_tables(vocabulary: Vocabulary, glue: bool, language: str) -> FreeTables:
    """Build the tables of free text in one language, without a question."""
    shared = vocabulary_tables(vocabulary)
    listed_words = sorted(glue_words(language))
    numbers: dict[str, int] = {}
    trie = _add_words(np.zeros(4, np.int32), written_forms(listed_words), FREE_WORD, numbers)
    functions = sorted(function_words(language))
    trie = _add_words(trie, dict(zip(functions, functions, strict=True)), FUNCTION, {})
    handle = memory.make_handle({}, {memory.GLUE: glue}, shared.handle)
    words_only = {memory.WORDS_TRIE: trie, memory.HEADS: np.empty(0, np.int32)}
    arrays, free = _listed(shared, words_only, handle)
    listed = _described(vocabulary, free) if glue else np.empty((0, 4), np.int32)
    most = max(1, int(listed[:, 2].max(initial=0)))
    masks = [free]
    if glue:
        masks = [
            packed(
                listed[(kinds & 1 << gap != 0) & (words <= few) & (marks <= some), 0], shared.width
            )
            for kinds, words, marks in [listed[:, 1:].T]
            for gap in range(memory.GAP_KINDS)
            for few in range(most + 1)
            for some in range(MOST_RUN_MARKS + 1)
        ]
    arrays[memory.EXTRA] = np.empty(0, np.int32)
    arrays[memory.FREE_MASKS] = np.concatenate(masks)
    arrays[memory.LONG_TOKENS] = np.ascontiguousarray(listed[listed[:, 2] > 1, 0])
    longest = _longest(numbers)
    handle = memory.make_handle(
        arrays,
        {memory.GLUE: glue, memory.MOST_WORDS: most, memory.LONGEST_WORD: longest},
        shared.handle,
    )
    return FreeTables(shared, arrays, handle, numbers, longest)


def _unlimited_rows(base: FreeTables) -> slice:
    """Return the slice of FREE_MASKS for AFTER_OPEN without limits, which includes all others."""
    width = base.vocabulary.width
    per_gap = base.arrays[memory.FREE_MASKS].size // width // memory.GAP_KINDS
    row = (memory.AFTER_OPEN + 1) * per_gap - 1
    return slice(row * width, (row + 1) * width)


def _add_words(
    base: NDArray[np.int32], forms: dict[str, str], flag: int, numbers: dict[str, int]
) -> NDArray[np.int32]:
    """Add words to a trie, and assign numbers to new words in `numbers`."""
    for word in forms.values():
        numbers.setdefault(word, len(numbers) + 1)
    encoded = [form.encode() for form in forms]
    offsets = np.array([0, *accumulate(map(len, encoded))], np.int32)
    trie: NDArray[np.int32] = entries().add_words(
        base,
        np.array(list(b"".join(encoded)), np.uint8),
        offsets,
        np.full(len(encoded), flag, np.int32),
        _ints(numbers[word] for word in forms.values()),
    )
    return trie


def _bracket_tokens(vocabulary: Vocabulary, ids: NDArray[np.int64]) -> list[tuple[int, bytes]]:
    """Return the tokens that contain a bracket."""
    blob, offsets = vocabulary.blob, vocabulary.offsets
    places = np.flatnonzero((blob == 0x5B) | (blob == 0x5D))
    owners = np.unique(np.searchsorted(offsets, places, side="right") - 1)
    return [(int(t), vocabulary.token_bytes(int(t))) for t in np.intersect1d(owners, ids)]


def _may_open(data: bytes) -> bool:
    """Return whether a token may open a quote: "[" comes first, then the rest of the mark."""
    before, bracket, after = data.partition(b"[")
    return bool(bracket) and b"]" not in before and _NUMBER_FOLLOWS.match(after) is not None


def _may_close(data: bytes) -> bool:
    """Return whether a token may close a span with its first bytes without opening another."""
    if not data.startswith((b" ]", b"]")):
        return False
    after = data.partition(b"]")[2]
    return b"]" not in after and b"[" not in after and len(_WORD.findall(after)) <= HEAD_WORDS


def _may_reopen(data: bytes) -> bool:
    """Return whether a token may close a quote and open another.

    A token that closes a quote and then has more than `HEAD_WORDS` words counts too.
    """
    before, bracket, after = data.partition(b"]")
    if not bracket or before[-1:] not in (b"", b" "):
        return False
    if b"[" in after:
        return _may_open(after)
    return len(_WORD.findall(after)) > HEAD_WORDS


def _node_records(trie: Trie) -> NDArray[np.int32]:
    """Return the nodes of a trie as records, see `memory.NODES`."""
    nodes = trie.byte.size
    parent = np.zeros(nodes, np.int64)
    parent[1:] = np.repeat(np.arange(nodes), trie.child_count)
    filled = np.diff(trie.token_start) > 0
    spaces = np.flatnonzero(trie.byte == 0x20)
    after_space = np.zeros(nodes, np.bool_)
    after_space[spaces] = True
    brackets = np.flatnonzero((trie.byte == 0x5D) & after_space[parent])
    flags = np.where(filled, memory.HOLDS_TOKENS, 0)
    flags[parent[spaces[filled[spaces]]]] |= memory.LEADS_OUT
    flags[parent[parent[brackets]]] |= memory.LEADS_OUT
    records = np.zeros((nodes + 1, 4), np.int32)
    records[:nodes, memory.FIRST_CHILD] = trie.first_child
    records[:nodes, memory.CHILDREN] = trie.child_count | flags
    records[:, memory.FIRST_TOKEN] = trie.token_start
    records[:nodes, memory.CHILD_TABLE] = trie.table_of
    return records.reshape(-1)


def _ints(values: Iterable[int]) -> NDArray[np.int32]:
    """Return numbers as an int32 array."""
    return np.fromiter(values, np.int32)
