"""A vocabulary has the given tokens, and its trie has all of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.decoding.vocabulary import DENSE_CHILDREN, Vocabulary
from semqa.errors import InputError
from tests.decoding.vocabularies import (
    byte_vocabulary,
    tekken_vocabulary,
)

token_lists = st.lists(
    st.binary(max_size=6)
    | st.text("ab é日", max_size=4).map(str.encode)
    | st.sampled_from([b"", b"a", b"aa", b"aaaaaaaaaaaaaaaa", b"\xff", b"\x00"]),
    max_size=40,
)


def check_trie(vocabulary: Vocabulary) -> None:
    """Compare the trie with the prefixes of all tokens, collected one by one."""
    expected: dict[bytes, list[int]] = {b"": []}
    for number in range(vocabulary.size):
        token = vocabulary.token_bytes(number)
        for end in range(1, len(token) + 1):
            expected.setdefault(token[:end], [])
        if token:
            expected[token].append(number)

    trie = vocabulary.trie
    byte, starts, ids = bytes(trie.byte), trie.token_start.tolist(), trie.token_ids.tolist()
    firsts, counts = trie.first_child.tolist(), trie.child_count.tolist()
    nodes = len(byte)
    assert {len(column) for column in (firsts, counts, trie.table_of)} == {nodes}
    assert len(starts) == nodes + 1
    found = {}
    prefixes = [b"", *[b""] * (nodes - 1)]
    after = 1
    for node, (first, count) in enumerate(zip(firsts, counts, strict=True)):
        found[prefixes[node]] = ids[starts[node] : starts[node + 1]]
        assert first == after, "breadth first, without gaps"
        after += count
        by_byte = byte[first:after]
        assert list(by_byte) == sorted(set(by_byte))
        for child in range(first, after):
            prefixes[child] = prefixes[node] + byte[child : child + 1]
        row = int(trie.table_of[node])
        assert (row >= 0) == (count >= DENSE_CHILDREN or node == 0)
        if row >= 0:
            assert np.flatnonzero(trie.tables[row] >= 0).tolist() == list(by_byte)
            assert trie.tables[row, list(by_byte)].tolist() == list(range(first, after))
    assert after == nodes
    assert found == expected


@given(token_lists, st.sets(st.integers(0, 45), max_size=3))
def test_the_trie_has_every_non_empty_token(tokens: list[bytes], special: set[int]) -> None:
    tokens = [*tokens, b"</s>"]
    end = len(tokens) - 1
    vocabulary = Vocabulary.from_tokens(tokens, [end], {s for s in special if s < len(tokens)})
    check_trie(vocabulary)
    for number, token in enumerate(tokens):
        silent = number == end or number in special
        assert vocabulary.token_bytes(number) == (b"" if silent else token)
    assert vocabulary.blob.tobytes() == b"".join(map(vocabulary.token_bytes, range(len(tokens))))


def test_a_vocabulary_of_an_end_token_alone() -> None:
    vocabulary = Vocabulary.from_tokens([b""], [0])
    assert (vocabulary.trie.byte.size, vocabulary.trie.token_ids.size) == (1, 0)
    assert vocabulary.decode([0, 0]) == ""


def test_decode_skips_tokens_without_text() -> None:
    vocabulary = Vocabulary.from_tokens(
        [b"<s>", b"</s>", b" caf", b"\xc3", b"\xa9", b"", b" "], [1], [0], strips_leading_space=True
    )
    assert vocabulary.decode([0, 2, 3, 4, 5, 1]) == "café"
    assert vocabulary.decode([6, 2, 3]) == " caf�"
    assert vocabulary.decode(np.array([4, 2])) == "� caf"
    assert vocabulary.decode([]) == ""
    assert byte_vocabulary().decode(b" a") == " a"


def test_an_end_token_is_not_special() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b"<s>", b"</s>"], [2, 2], [1, 2])
    assert vocabulary.special_ids == {1}
    assert vocabulary.eos_ids == (2,)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Vocabulary.from_tokens([b"a", "b"], [0]), None),  # type: ignore[list-item]
        (lambda: Vocabulary.from_tokens([b"a"], []), "eos_ids"),
        (lambda: Vocabulary.from_tokens([b"a"], [1]), "eos_ids"),
        (lambda: Vocabulary.from_tokens([b"a", b"b"], [1], [-1]), "special_ids"),
        (lambda: Vocabulary.from_tokens([b"a", b"b"], [1], [0.0]), "special_ids"),  # type: ignore[list-item]
        (lambda: byte_vocabulary().token_bytes(259), None),
        (lambda: byte_vocabulary().decode([-1]), None),
        (lambda: Vocabulary.from_tokens([], []), "eos_ids"),
    ],
)
def test_invalid_tokens_and_ids(make: Callable[[], object], field: str | None) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.field == field


def test_equality_compares_content() -> None:
    make = Vocabulary.from_tokens
    first = make([b"a", b"b", b"c", b""], [3], [0])
    assert first == make([b"ignored", b"b", b"c", b"too"], [3], {0})
    assert hash(first) == hash(make([b"a", b"b", b"c", b""], [3], [0]))
    others = [
        make([b"a", b"bc", b"", b""], [3], [0]),
        make([b"a", b"b", b"c", b""], [2, 3], [0]),
        make([b"a", b"b", b"c", b""], [3]),
        make([b"a", b"b", b"c", b""], [3], [0, 1]),
        make([b"a", b"b", b"c", b""], [3], [0], strips_leading_space=True),
        make([b"a", b"b", b"c", b"", b""], [3], [0]),
    ]
    assert len({first, *others}) == len(others) + 1
    assert first != "a string"


def test_pickles() -> None:
    vocabulary = tekken_vocabulary()
    data = pickle.dumps(vocabulary)
    assert len(data) < 3_000_000, "without the trie"
    copy = pickle.loads(data)
    assert copy == vocabulary
    assert copy.special_ids == vocabulary.special_ids
    for name, array in copy.trie._asdict().items():
        assert np.array_equal(array, getattr(vocabulary.trie, name))
        assert not array.flags.writeable
