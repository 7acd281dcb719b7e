"""The tokens of a vocabulary as a tree over their bytes, in arrays that compiled code can walk.

Knows nothing of text, special tokens or end tokens: whoever builds it leaves those out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DENSE_CHILDREN", "Trie", "add_tables", "build_trie"]

DENSE_CHILDREN = 16
"""From so many children on, a node's children are found by table and not by search."""


class Trie(NamedTuple):
    """A byte trie of n nodes in breadth-first order; node 0 is the root, the empty string.

    Attributes:
        first_child: int32[n], the first child of each node; children stand together, by byte.
        child_count: int32[n].
        byte: uint8[n], the byte that leads into each node; 0 for the root.
        token_start: int32[n + 1], where the tokens of each node begin in `token_ids`.
        token_ids: int32[m], the tokens that end at each node, ascending within a node.
        table_of: int32[n], the row of `tables`, or -1 for nodes with few children.
        tables: int32[T, 256], the child by byte, or -1; the root always has a row.
    """

    first_child: NDArray[np.int32]
    child_count: NDArray[np.int32]
    byte: NDArray[np.uint8]
    token_start: NDArray[np.int32]
    token_ids: NDArray[np.int32]
    table_of: NDArray[np.int32]
    tables: NDArray[np.int32]


def build_trie(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Trie:
    """Build the trie of all tokens that are not empty.

    One pass a level, over the tokens in byte order: there, tokens with a common prefix stand
    together, so that a new node begins where the parent or the byte changes.

    Args:
        blob: uint8, the bytes of all tokens joined.
        offsets: int64[V + 1]; token t is ``blob[offsets[t]:offsets[t + 1]]``.

    Example:
        >>> trie = build_trie(np.frombuffer(b"abb", np.uint8), np.array([0, 2, 3]))
        >>> bytes(trie.byte[1:]), trie.token_ids.tolist()
        (b'abb', [1, 0])
    """
    data, lengths = blob.tobytes(), np.diff(offsets)
    tokens = [data[a:b] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
    filled = np.flatnonzero(lengths).tolist()
    order = np.array(sorted(filled, key=tokens.__getitem__), np.int64)  # stable: ids ascend

    begins, lengths = offsets[:-1][order], lengths[order]
    end_node = np.zeros(order.size, np.int64)
    active = np.arange(order.size)
    parent = np.zeros(order.size, np.int64)
    parents, byte_parts = [np.empty(0, np.int64)], [np.zeros(1, np.uint8)]
    nodes, depth = 1, 0
    while active.size:
        byte = blob[begins[active] + depth]
        fresh = np.ones(active.size, np.bool_)
        fresh[1:] = (parent[1:] != parent[:-1]) | (byte[1:] != byte[:-1])
        node = nodes - 1 + np.cumsum(fresh)
        parents.append(parent[fresh])
        byte_parts.append(byte[fresh])
        nodes, depth = int(node[-1]) + 1, depth + 1
        ends = lengths[active] == depth
        end_node[active[ends]] = node[ends]
        active, parent = active[~ends], node[~ends]

    child_count = np.bincount(np.concatenate(parents), minlength=nodes)
    by_node = np.argsort(end_node, kind="stable")
    tokens_at = np.bincount(end_node, minlength=nodes)
    return add_tables(
        first_child=(1 + np.cumsum(child_count) - child_count).astype(np.int32),
        child_count=child_count.astype(np.int32),
        byte=np.concatenate(byte_parts),
        token_start=np.concatenate([[0], np.cumsum(tokens_at)]).astype(np.int32),
        token_ids=order[by_node].astype(np.int32),
    )


def add_tables(
    first_child: NDArray[np.int32],
    child_count: NDArray[np.int32],
    byte: NDArray[np.uint8],
    token_start: NDArray[np.int32],
    token_ids: NDArray[np.int32],
) -> Trie:
    """Complete a trie by the tables of its nodes with many children, and make it read-only."""
    dense = child_count >= DENSE_CHILDREN
    dense[0] = True
    rows = np.flatnonzero(dense)
    table_of = np.full(child_count.size, -1, np.int32)
    table_of[rows] = np.arange(rows.size, dtype=np.int32)
    tables = np.full((rows.size, 256), -1, np.int32)
    # Every node but the root is a child, in the order of its parent: the parents repeat by count.
    child_row = np.repeat(table_of, child_count)
    children = 1 + np.flatnonzero(child_row >= 0)
    tables[child_row[children - 1], byte[children]] = children
    trie = Trie(first_child, child_count, byte, token_start, token_ids, table_of, tables)
    for array in trie:
        array.flags.writeable = False
    return trie
