"""The tokens of a model as bytes, and a trie over them."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semqa.decoding.tokenizers import read_tokenizer
from semqa.errors import InputError

DENSE_CHILDREN = 16
"""Nodes with at least this many children use a lookup table."""


class Trie(NamedTuple):
    """A byte trie of n nodes in breadth-first order; node 0 is the root, the empty string.

    Attributes:
        first_child: int32[n], the first child of each node; siblings are adjacent, sorted by byte.
        child_count: int32[n].
        byte: uint8[n], the byte on the edge to each node; 0 for the root.
        token_start: int32[n + 1], where each node's tokens begin in `token_ids`.
        token_ids: int32[m], the tokens that end at each node, ascending within a node.
        table_of: int32[n], the row of `tables`; -1 for nodes with few children.
        tables: int32[T, 256], the child by byte, or -1. The root always has a row.
    """

    first_child: NDArray[np.int32]
    child_count: NDArray[np.int32]
    byte: NDArray[np.uint8]
    token_start: NDArray[np.int32]
    token_ids: NDArray[np.int32]
    table_of: NDArray[np.int32]
    tables: NDArray[np.int32]


def build_trie(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Trie:
    """Build the trie of all non-empty tokens.

    It takes one pass per level over the tokens in byte order. Tokens with a common prefix are
    adjacent, so a new node begins where the parent or the byte changes.

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
    byte = np.concatenate(byte_parts)
    by_node = np.argsort(end_node, kind="stable")
    tokens_at = np.bincount(end_node, minlength=nodes)
    dense = child_count >= DENSE_CHILDREN
    dense[0] = True
    rows = np.flatnonzero(dense)
    table_of = np.full(nodes, -1, np.int32)
    table_of[rows] = np.arange(rows.size, dtype=np.int32)
    tables = np.full((rows.size, 256), -1, np.int32)
    # Nodes other than the root are children in the order of their parents.
    child_row = np.repeat(table_of, child_count)
    children = 1 + np.flatnonzero(child_row >= 0)
    tables[child_row[children - 1], byte[children]] = children
    trie = Trie(
        first_child=(1 + np.cumsum(child_count) - child_count).astype(np.int32),
        child_count=child_count.astype(np.int32),
        byte=byte,
        token_start=np.concatenate([[0], np.cumsum(tokens_at)]).astype(np.int32),
        token_ids=order[by_node].astype(np.int32),
        table_of=table_of,
        tables=tables,
    )
    for array in trie:
        array.flags.writeable = False
    return trie


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Vocabulary:
    """The bytes of tokens 0 to size - 1; immutable and compared by content.

    Create one with `from_tokens` or `from_tokenizer`.

    Attributes:
        size: the number of ids, including special tokens and padding.
        eos_ids: the end tokens, ascending, at least one.
        special_ids: ids that are never allowed, without the end tokens.
        strips_leading_space: whether the tokenizer's decoder drops one leading space of the whole
            output.
        fingerprint: SHA-256 of the content, in hexadecimal.
        blob: uint8, the bytes of all tokens joined.
        offsets: int64[size + 1]; token t is ``blob[offsets[t]:offsets[t + 1]]``, empty for special
            tokens, end tokens and padding.

    Example:
        >>> vocabulary = Vocabulary.from_tokens([b"", b"[ ", b"1", b" ]"], eos_ids=[0])
        >>> vocabulary.size, vocabulary.token_bytes(3), vocabulary.decode([1, 2, 0])
        (4, b' ]', '[ 1')
    """

    size: int
    eos_ids: tuple[int, ...]
    special_ids: frozenset[int]
    strips_leading_space: bool
    fingerprint: str
    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    trie: Trie

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[bytes],
        eos_ids: Iterable[int],
        special_ids: Iterable[int] = (),
        *,
        strips_leading_space: bool = False,
    ) -> Vocabulary:
        """Create a vocabulary from the bytes of each token.

        Args:
            tokens: the bytes of tokens 0, 1, …; empty for ids without text. The bytes of special
                and end tokens are ignored.
            eos_ids: the end tokens.
            special_ids: tokens that are never allowed; end tokens among them stay end tokens.
            strips_leading_space: whether the decoder drops one leading space of the whole output.
        """
        size = len(tokens)
        if not set(map(type, tokens)) <= {bytes}:
            number, wrong = next((n, t) for n, t in enumerate(tokens) if type(t) is not bytes)
            raise InputError(f"Token {number} must be bytes, got {type(wrong).__name__}.")
        ends = _checked("eos_ids", eos_ids, size)
        special = _checked("special_ids", special_ids, size) - ends
        if not ends:
            raise InputError("must name at least one token that ends an answer.", field="eos_ids")
        kept = list(tokens)
        for number in ends | special:
            kept[number] = b""
        lengths = np.fromiter(map(len, kept), np.int64, size)
        return _assemble(b"".join(kept), lengths, ends, special, strips_leading_space)

    @classmethod
    def from_tokenizer(
        cls, tokenizer: object, size: int | None = None, eos_ids: Iterable[int] | None = None
    ) -> Vocabulary:
        """Create the vocabulary of a tokenizer.

        Args:
            tokenizer: a tokenizer of ``transformers`` (fast, or based on SentencePiece or bytes),
                ``tokenizers``, ``mistral_common``, ``tiktoken`` or ``sentencepiece``.
            size: the width of the model's logits, if larger than the tokenizer. The additional ids
                are never allowed.
            eos_ids: the end tokens, such as those of the model's generation configuration; by
                default the tokenizer's own.
        """
        read = read_tokenizer(tokenizer)
        tokens = read.tokens
        if size is not None:
            if size < len(tokens):
                raise InputError(
                    f"must be at least {len(tokens)}, the size of the tokenizer, got {size}.",
                    field="size",
                    value=size,
                    hint="Pass the width of the model's logits.",
                )
            tokens = [*tokens, *[b""] * (size - len(tokens))]
        ends = read.eos_ids if eos_ids is None else tuple(eos_ids)
        if not ends:
            raise InputError(
                f"The tokenizer {type(tokenizer).__name__} has no end token.", hint="Pass eos_ids."
            )
        return cls.from_tokens(
            tokens, ends, read.special_ids, strips_leading_space=read.strips_leading_space
        )

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of a token; empty for special tokens, end tokens and padding."""
        number = operator.index(token_id)
        if not 0 <= number < self.size:
            raise InputError(f"Token ids go from 0 to {self.size - 1}, got {number}.", value=number)
        return self.blob[self.offsets[number] : self.offsets[number + 1]].tobytes()

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text of an output, as the tokenizer's own decoder would.

        Special and end tokens are skipped; invalid UTF-8 becomes U+FFFD.
        """
        data = b"".join(self.token_bytes(number) for number in token_ids)
        if self.strips_leading_space:
            data = data.removeprefix(b" ")
        return data.decode("utf-8", "replace")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Vocabulary(size={self.size}, eos_ids={self.eos_ids}, fingerprint={self.fingerprint[:12]!r})"

    def __reduce__(self) -> tuple[object, ...]:
        # Rebuild the trie when unpickling: without it, a pickle is six times smaller.
        return _assemble, (
            self.blob.tobytes(),
            np.diff(self.offsets),
            set(self.eos_ids),
            set(self.special_ids),
            self.strips_leading_space,
        )


def _checked(name: str, ids: Iterable[int], size: int) -> set[int]:
    checked = set()
    for given in ids:
        try:
            number = operator.index(given)
        except TypeError:
            raise InputError(
                f"must be whole numbers, got {given!r}.", field=name, value=given
            ) from None
        if not 0 <= number < size:
            raise InputError(
                f"must be from 0 to {size - 1}, got {number}.", field=name, value=number
            )
        checked.add(number)
    return checked


def _assemble(
    joined: bytes, lengths: NDArray[np.int64], ends: set[int], special: set[int], strips: bool
) -> Vocabulary:
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    offsets.flags.writeable = False
    blob = np.frombuffer(joined, np.uint8)  # read-only, like bytes
    eos_ids = tuple(sorted(ends))
    digest = hashlib.sha256(
        f"semqa vocabulary 1\n{eos_ids}\n{sorted(special)}\n{strips}\n".encode()
    )
    digest.update(offsets.astype("<i8").tobytes())
    digest.update(joined)
    fingerprint = digest.hexdigest()
    return Vocabulary(
        size=lengths.size,
        eos_ids=eos_ids,
        special_ids=frozenset(special),
        strips_leading_space=strips,
        fingerprint=fingerprint,
        blob=blob,
        offsets=offsets,
        trie=build_trie(blob, offsets),
    )
