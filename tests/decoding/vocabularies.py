"""Hand-made vocabularies, and the real ones that ship with mistral_common."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from semqa.decoding.vocabulary import Vocabulary

BYTES = [bytes([byte]) for byte in range(256)]

STRADDLING = (
    b" [", b"[ ", b" [ 1", b"[ 1 ", b"[1", b"[ 12", b" 1", b" 2 ", b"] ", b" ]", b" ].", b"] [", b"] [ 2 th",
    b" ] [ 1 The", b"[ 1 a ]", b" ]\xc3", b"\xa9 ]", b"\xc3\xa9", b"\xe6\x97", b"\xa5\xe6\x9c", b"\xac ", b"\xf0\x9f",
    b"\x98\x80", b"  ", b"   ", b"\n", b"\n\n", b". ", b" the", b"the", b"The", b" a", b" 19", b"1943", b"43 ]", b"[[",
    b"]]", b"a", b"a", b" the", b"\xff\xfe", b"\xed\xa0", b"s ]", b"] [ 3 ", b"White", b" Christmas",
)  # fmt: skip
"""Tokens that cross boundaries: brackets with text, parts of characters, and duplicates."""


def byte_vocabulary(*, strips_leading_space: bool = False) -> Vocabulary:
    """Return all single bytes, then a special token, an end token and padding: 259 ids."""
    return Vocabulary.from_tokens(
        [*BYTES, b"<s>", b"</s>", b""],
        eos_ids=[257],
        special_ids=[256],
        strips_leading_space=strips_leading_space,
    )


def straddling_vocabulary() -> Vocabulary:
    """Return single bytes and `STRADDLING`, two end tokens and special tokens in between."""
    tokens = [b"<s>", b"</s>", *STRADDLING, b"<pad>", b"", *BYTES, b"<|end|>"]
    return Vocabulary.from_tokens(
        tokens, eos_ids=[1, len(tokens) - 1], special_ids=[0, 2 + len(STRADDLING)]
    )


def tokens_of(vocabulary: Vocabulary, text: bytes) -> list[int]:
    """Return a text in tokens of one byte each."""
    single = {vocabulary.token_bytes(token): token for token in range(vocabulary.size)}
    return [single[bytes([byte])] for byte in text]


def poor_vocabulary() -> Vocabulary:
    """Return a vocabulary of WordPiece-like pieces without most bytes: 33 ids."""
    words = b"[ ] 1 2 3 . , a the white christmas in by was bing crosby 19 43 sung ".split()
    parts = (b"s", b"ed", b"19", b"43", b"1", b"2", b"e", b"n", b"d", b"r", b"t", b"o")
    tokens = [b"", *(b" " + word for word in words), *parts, b"[UNK]"]
    tokens += [b""] * (33 - len(tokens))
    return Vocabulary.from_tokens(
        tokens, eos_ids=[0], special_ids=[len(words) + len(parts) + 1], strips_leading_space=True
    )


def mistral_data() -> Path:
    """Return the folder of the tokenizers that ship with mistral_common."""
    import mistral_common

    return Path(mistral_common.__file__).parent / "data"


@cache
def tekken_vocabulary() -> Vocabulary:
    """Return the real byte-level vocabulary of 131,072 tokens, 1,000 of them special."""
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    return Vocabulary.from_tokenizer(Tekkenizer.from_file(mistral_data() / "tekken_240911.json"))


@cache
def sentencepiece_vocabulary() -> Vocabulary:
    """Return the real SentencePiece vocabulary of 32,000 tokens with byte fallback."""
    from mistral_common.tokens.tokenizers.sentencepiece import SentencePieceTokenizer

    return Vocabulary.from_tokenizer(SentencePieceTokenizer(mistral_data() / "tokenizer.model.v1"))
