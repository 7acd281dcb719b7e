"""A byte trie of the words of free text: glue, words of the question, and function words.

A record of `memory.WORDS_TRIE` has four numbers: the byte of the edge to the node with the flags, the
first child, the next sibling, and the number of the word that ends there. Node 0 is the root. Words
can be added to a copy of an existing trie, so a question only adds its own words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.automaton.memory import jit

FREE_WORD = 1 << 8  # a word allowed in free text ends here
FUNCTION = 1 << 9  # a function word ends here
LEADS_ON = 1 << 10  # FREE_WORD here or below


@jit
def word_child(trie: Any, node: int, byte: int) -> int:
    """Return the child of a node in the word trie, or 0."""
    child = trie[4 * node + 1]
    while child and trie[4 * child] & 0xFF != byte:
        child = trie[4 * child + 2]
    return child


@jit
def add_words(base: Any, blob: Any, offsets: Any, flags: Any, numbers: Any) -> Any:
    """Return a copy of a trie, int32[4 * nodes], with more words.

    `blob` has the bytes of all new words, split at `offsets`. A word has flags (FREE_WORD, FUNCTION
    or both) and a number; one that is already there keeps its number.
    """
    trie = np.zeros(base.size + 4 * blob.size, np.int32)
    trie[: base.size] = base
    nodes = base.size >> 2
    for word in range(numbers.size):
        on = LEADS_ON if flags[word] & FREE_WORD else 0
        node = 0
        for place in range(offsets[word], offsets[word + 1]):
            trie[4 * node] |= on
            child = word_child(trie, node, blob[place])
            if child == 0:
                child = nodes
                nodes += 1
                trie[4 * child] = blob[place]
                trie[4 * child + 2] = trie[4 * node + 1]
                trie[4 * node + 1] = child
            node = child
        trie[4 * node] |= flags[word] | on
        if trie[4 * node + 3] == 0:
            trie[4 * node + 3] = numbers[word]
    return trie[: 4 * nodes].copy()
