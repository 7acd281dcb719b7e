"""Text in the middle of an output, for every kind of tokenizer."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.decoding import Vocabulary
from semqa.engines.model.spans import ContinuationEncoder
from tests.models import FAMILIES, tiny

TEXTS = (".", " and [ 1 rain ]", "[ 2 café 日本 ]", ", while  in ", "]\n", " ", "…")


@cache
def parts(family: str) -> tuple[Any, Vocabulary, ContinuationEncoder]:
    tokenizer = tiny(family).tokenizer
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_ids=[0])
    return tokenizer, vocabulary, ContinuationEncoder(tokenizer, vocabulary)


@pytest.mark.parametrize("family", FAMILIES)
@settings(deadline=None, max_examples=20)
@given(text=st.one_of(st.sampled_from(TEXTS), st.text("ab .,[]\n1é", max_size=12)))
def test_tokens_have_the_bytes_of_the_text(family: str, text: str) -> None:
    _, vocabulary, encode = parts(family)
    tokens = encode(text)
    if tokens is None:
        assert any(
            not any(vocabulary.token_bytes(t) == text[i].encode() for t in range(vocabulary.size))
            for i in range(len(text))
        )
        return
    assert b"".join(map(vocabulary.token_bytes, tokens)) == text.encode()


def test_the_tokenizers_own_tokens_where_they_fit() -> None:
    tokenizer, _, encode = parts("gpt2")
    text = " and the rain"
    assert encode(text) == tokenizer(text)["input_ids"]
