"""The rules for free text, as tables of the kernels: they depend on the policy and the question."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semqa.decoding.core import layout
from semqa.decoding.core.cost import CONTROLS, NO_WAY
from semqa.decoding.core.entries import CLOSING_TEXT, FREE_TEXT, UNFINISHED_TEXT, entries
from semqa.decoding.tables import Tables, VocabularyTables, as_ints, vocabulary_tables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from semqa.decoding.policy import QuotePolicy
    from semqa.decoding.vocabulary import Vocabulary

__all__ = ["FreeRules", "free_rules", "masks_of_free_text", "question_runs"]

_NONE = np.empty(0, np.int32)
_SOME = np.zeros(1, np.int32)


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
    word_digits = as_ints(
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
    if shared.complete:
        # No source is at hand, and yet quotes may be opened: what follows is the constraint's affair.
        controls = {layout.CONTROL_COST: np.full(CONTROLS + 2, NO_WAY, np.int64)}
        handle = layout.make_handle(
            {**arrays, **controls}, {**settings, layout.ANY_QUOTABLE: 1}, shared.handle
        )
        base = None
        if digits or words:
            base = free_rules(vocabulary, numbers, names, False, layout.UNLIMITED, (), ())
        arrays.update(masks_of_free_text(handle, shared, contexts, base))
    handle = layout.make_handle(arrays, settings, shared.handle)
    return FreeRules(shared, Tables(arrays, settings), handle, contexts, longest, word_digits)


def masks_of_free_text(
    handle: NDArray[np.int64],
    shared: VocabularyTables,
    contexts: int,
    base: FreeRules | None = None,
) -> dict[int, NDArray[Any]]:
    """Make the masks of free text without limits, and the lists that go with them.

    Args:
        handle: of the rules, or of a constraint.
        shared: the tables of the vocabulary.
        contexts: how many masks to make.
        base: the same rules for a question without numbers and words, to start from: only tokens
            with capitals or digits can become allowed, and few of these have to be tried.
    """
    width = shared.width
    masks = np.zeros((contexts, width), np.int32)
    if base is not None:
        masks[:] = base.tables.arrays[layout.FREE_MASKS].reshape(contexts, width)
    unfinished = []
    for context in range(contexts):
        entries().build(handle, FREE_TEXT, context, _SOME if base else _NONE, masks[context])
        unfinished.append(_tokens_of(_mark(handle, width, UNFINISHED_TEXT, context)))
    closers = []
    for row in range(4):
        mask = _mark(handle, width, CLOSING_TEXT, row)
        tokens = _tokens_of(mask)
        closers.append(tokens if tokens.size < width else mask)
    return {
        layout.FREE_MASKS: masks.reshape(-1),
        layout.UNFINISHED_LISTS: np.concatenate(unfinished),
        layout.UNFINISHED_STARTS: as_ints(accumulate(map(len, unfinished), initial=0)),
        layout.CLOSER_LISTS: np.concatenate(closers),
        layout.CLOSER_STARTS: as_ints(accumulate(map(len, closers), initial=0)),
    }


def _mark(handle: NDArray[np.int64], width: int, task: int, number: int) -> NDArray[np.int32]:
    """Return the mask that a task of `Entries.build` makes."""
    mask = np.zeros(width, np.int32)
    entries().build(handle, task, number, _SOME, mask)
    return mask


def _tokens_of(mask: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the tokens of a mask with few of them, ascending."""
    words = np.flatnonzero(mask)
    bits = np.unpackbits(mask[words].view(np.uint8), bitorder="little").reshape(-1, 32)
    rows, columns = np.nonzero(bits)
    return (32 * words[rows] + columns).astype(np.int32)


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
