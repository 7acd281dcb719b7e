"""From a vocabulary and a policy to the tables of the kernels, made once and shared.

Two kinds: what every constraint over a vocabulary shares, and the rules for free text, which depend
on the policy and on the numbers and names of the question.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semqa.decoding.characters import class_table
from semqa.decoding.core import layout
from semqa.decoding.core.cost import CONTROLS, NO_WAY
from semqa.decoding.core.entries import CLOSING, FREE_TEXT, RUN_COSTS, entries
from semqa.decoding.core.vocabulary_tables import (
    ENDS_INSIDE,
    IS_LEAD,
    STARTS_WITH_ALNUM,
    STARTS_WITH_DIGIT,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from semqa.decoding.policy import QuotePolicy
    from semqa.decoding.vocabulary import Vocabulary

__all__ = ["FreeRules", "Tables", "VocabularyTables", "free_rules", "vocabulary_tables"]

_NONE = np.empty(0, np.int32)
_NUMBER_FOLLOWS = re.compile(rb"\Z| (\Z|[1-9][0-9]*(\Z| ))")
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


class FreeRules(NamedTuple):
    """The rules for free text.

    Attributes:
        shared: the tables of the vocabulary, to which the handle points too.
        tables: for the handle; without FREE_MASKS and CLOSER_LISTS where the vocabulary is not
            complete, for these depend on the sources then.
        handle: with these tables and those of the vocabulary.
        contexts: how many rows FREE_MASKS has.
        longest_run: bytes of the longest number or name that free text may hold.
        word_digits: for each node of WORD_TRIE the node of DIGIT_TRIE of the digits it ends with.
    """

    shared: VocabularyTables
    tables: Tables
    handle: NDArray[np.int64]
    contexts: int
    longest_run: int
    word_digits: NDArray[np.int32]


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
    entries().classify(blob, offsets, classes, traits)
    words = np.zeros((2, size), np.uint8)
    most = max(1, entries().count_words(blob, offsets, classes, words))
    brackets = _bracket_tokens(vocabulary, np.flatnonzero(lengths))
    openers = [(t, data) for t, data in brackets if _may_open(data)]
    closing = [(t, data) for t, data in brackets if _may_close(data)]
    deep = {t for t, data in brackets if b"[ " in data}
    with_bracket = np.zeros(size, np.bool_)
    with_bracket[[t for t, _ in brackets]] = True
    partials = np.flatnonzero((traits & ENDS_INSIDE != 0) & ~with_bracket)
    plain = ~with_bracket
    plain[partials] = False
    at_most = [
        _pack(~plain | (words[counted] <= fewer), width)
        for counted in range(2)
        for fewer in range(most)
    ]
    first = {bytes(vocabulary.token_bytes(int(t))) for t in np.flatnonzero(lengths == 1)}
    complete = all(bytes([byte]) in first for byte in _NEEDED_BYTES)
    arrays: dict[int, NDArray[Any]] = {
        layout.FIRST_CHILD: trie.first_child,
        layout.CHILD_COUNT: trie.child_count,
        layout.NODE_BYTE: trie.byte,
        layout.TOKEN_START: trie.token_start,
        layout.TOKEN_IDS: trie.token_ids,
        layout.TABLE_OF: trie.table_of,
        layout.CHILD_TABLES: np.ascontiguousarray(trie.tables).reshape(-1),
        layout.BLOB: blob,
        layout.OFFSETS: offsets,
        layout.KIND: kind,
        layout.END_IDS: _ints(vocabulary.eos_ids),
        layout.CLASSES: classes,
        layout.WORDS_AT_MOST: np.concatenate(at_most),
        layout.STARTS_DIGIT: _pack(traits & STARTS_WITH_DIGIT != 0, width),
        layout.STARTS_ALNUM: _pack(traits & STARTS_WITH_ALNUM != 0, width),
        layout.OPENERS: _ints(t for t, _ in openers),
        layout.DEEP_OPENERS: _ints(t for t, _ in openers if t in deep),
        layout.PARTIALS: _ints(partials),
        layout.LEADS: _ints(np.flatnonzero(traits & IS_LEAD)),
        layout.CLOSERS: _ints(t for t, data in closing if data[:1] == b" "),
        layout.ENDERS: _ints(t for t, data in closing if data[:1] == b"]"),
        layout.DEEP_CLOSERS: _ints(t for t, _ in closing if t in deep),
    }
    numbers = {
        layout.SIZE: size,
        layout.WIDTH: width,
        layout.MOST_WORDS: most,
        layout.FILTERED: not complete,
        layout.LONGEST: int(lengths.max(initial=1)),
        layout.REOPENS: any(b"[" in data.partition(b"]")[2] for _, data in brackets),
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


def _may_close(data: bytes) -> bool:
    """Tell whether a token may close a span with its first bytes."""
    if not data.startswith((b" ]", b"]")):
        return False
    after = data.partition(b"]")[2]
    return b"]" not in after.partition(b"[")[0] and (b"[" not in after or _may_open(after))


@lru_cache(maxsize=64)
def free_rules(
    vocabulary: Vocabulary,
    numbers: bool,
    names: bool,
    counting: bool,
    max_free: int,
    digits: tuple[str, ...],
    words: tuple[str, ...],
) -> FreeRules:
    """Make the rules for free text.

    Args:
        vocabulary: the vocabulary.
        numbers: numbers must be quoted.
        names: names must be quoted.
        counting: some limit on words is set.
        max_free: words of a run of free text, or `layout.UNLIMITED`.
        digits: the numbers that free text may hold.
        words: the names that free text may hold.
    """
    shared = vocabulary_tables(vocabulary)
    digit_trie, digit_paths = _question_trie(digits, any_case=False)
    word_trie, word_paths = _question_trie(words, any_case=True)
    by_path = {path: node for node, path in enumerate(digit_paths)}
    word_digits = _ints(
        by_path.get(_trailing_digits(path), 0) if numbers else 0 for path in word_paths
    )
    contexts = 4 if names else 1
    arrays: dict[int, NDArray[Any]] = {
        layout.DIGIT_TRIE: digit_trie,
        layout.WORD_TRIE: word_trie,
        layout.DIGIT_COST: np.zeros(len(digit_paths), np.int32),
        layout.WORD_COST: np.zeros(len(word_paths), np.int32),
    }
    settings = {
        layout.NUMBERS_QUOTED: numbers,
        layout.NAMES_QUOTED: names,
        layout.COUNTING: counting,
        layout.MAX_FREE: max_free,
        layout.MAX_SPAN: layout.UNLIMITED,
    }
    longest = max((len(path.encode()) for path in (*digit_paths, *word_paths)), default=0)
    # No source is at hand, and yet quotes may be opened: what follows is the constraint's affair.
    controls = {layout.CONTROL_COST: np.full(CONTROLS + 2, NO_WAY, np.int64)}
    handle = layout.make_handle(
        {**arrays, **controls}, {**settings, layout.ANY_QUOTABLE: 1}, shared.handle
    )
    entries().build(handle, RUN_COSTS, 0, word_digits, _NONE)
    if shared.complete:
        arrays.update(masks_of_free_text(handle, shared, contexts))
    handle = layout.make_handle(arrays, settings, shared.handle)
    return FreeRules(shared, Tables(arrays, settings), handle, contexts, longest, word_digits)


def masks_of_free_text(
    handle: NDArray[np.int64], shared: VocabularyTables, contexts: int
) -> dict[int, NDArray[Any]]:
    """Make the masks of free text without limits, and the lists of tokens that close a span."""
    masks = np.empty((contexts, shared.width), np.int32)
    deep = shared.tables.arrays[layout.DEEP_OPENERS]
    for context in range(contexts):
        entries().build(handle, FREE_TEXT, context, deep, masks[context])
    ends = np.zeros(5, np.int32)
    *_, closers = entries().lists(handle, CLOSING, _NONE, 0, ends)
    return {
        layout.FREE_MASKS: masks.reshape(-1),
        layout.CLOSER_LISTS: closers,
        layout.CLOSER_STARTS: ends,
    }


def question_runs(policy: QuotePolicy, question: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the numbers and the words of a question that a policy lets free text repeat."""
    digits = _runs(question, str.isdigit) if policy.numbers == "quoted" else ()
    words = _runs(question, str.isalnum) if policy.names == "quoted" else ()
    return digits, words


def _runs(text: str, kind: Any) -> tuple[str, ...]:
    """Return the maximal runs of one kind of characters, each once, sorted."""
    marked = "".join(c if kind(c) else " " for c in text)
    return tuple(sorted(set(marked.split(" ")) - {""}))


def _trailing_digits(path: str) -> str:
    kept = len(path)
    while kept and path[kept - 1].isdigit():
        kept -= 1
    return path[kept:]


def _question_trie(runs: Iterable[str], *, any_case: bool) -> tuple[NDArray[np.int32], list[str]]:
    """Build a trie over code points, breadth first, and one path to each node.

    With `any_case` a character also matches in lower, upper and title case; nodes that differ in
    case only share their children, so that the trie stays as small as the question.
    """
    rows, paths = [[0, 0, 0, 0]], [""]
    level: dict[frozenset[str], list[int]] = {frozenset(runs): [0]}
    depth = 0
    while level:
        below: dict[frozenset[str], list[int]] = {}
        for group, nodes in level.items():
            children: dict[str, set[str]] = {}
            for run in group:
                if len(run) > depth:
                    for character in _cases(run[depth]) if any_case else run[depth]:
                        children.setdefault(character, set()).add(run)
            first = len(rows)
            for node in nodes:
                rows[node][1:] = first, len(children), int(any(len(run) == depth for run in group))
            for character, matching in sorted(children.items()):
                below.setdefault(frozenset(matching), []).append(len(rows))
                rows.append([ord(character), 0, 0, 0])
                paths.append(paths[nodes[0]] + character)
        level = below
        depth += 1
    rows[0][3] = 0
    return np.array(rows, np.int32).reshape(-1), paths


def _cases(character: str) -> set[str]:
    """Return a character in all its cases, as far as each is one character."""
    cases = (character, character.lower(), character.upper(), character.title())
    return {case for case in cases if len(case) == 1}


def _pack(bits: NDArray[np.bool_], width: int) -> NDArray[np.int32]:
    """Pack one bit a token into a mask: int32[width], bit ``t % 32`` of word ``t // 32``."""
    padded = np.zeros(32 * width, np.bool_)
    padded[: bits.size] = bits
    return np.packbits(padded, bitorder="little").view("<i4").astype(np.int32)


def _ints(values: Iterable[int]) -> NDArray[np.int32]:
    return np.fromiter(values, np.int32)
