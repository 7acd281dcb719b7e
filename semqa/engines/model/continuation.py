"""Text to tokens in the middle of an output, where tokenizers add no space of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from semqa.decoding import Vocabulary

__all__ = ["ContinuationEncoder"]

_ANCHOR = "\n"
"""A character that tokenizers keep apart from the text after it."""


class ContinuationEncoder:
    """Encodes text that continues an output.

    SentencePiece puts a space before a text that stands alone, and other tokenizers join it with
    what stands before. Here the bytes of the tokens are exactly those of the text.

    Args:
        tokenizer: a tokenizer of transformers.
        vocabulary: its tokens.
    """

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        self._encode: Callable[[str], list[int]] = lambda text: tokenizer(
            text, add_special_tokens=False
        )["input_ids"]
        self._vocabulary = vocabulary
        self._longest = 0
        self._tokens: dict[bytes, int] = {}

    def __call__(self, text: str) -> list[int] | None:
        """Return the tokens of a text, or None if this vocabulary cannot write it."""
        data = text.encode()
        for tokens in self._tries(text):
            if self._bytes(tokens) == data:
                return tokens
        return self._by_longest_match(data)

    def _tries(self, text: str) -> Iterator[list[int]]:
        yield list(self._encode(text))
        if text.startswith(" "):
            yield list(self._encode(text[1:]))
        tokens = list(self._encode(_ANCHOR + text))
        for count in range(1, min(3, len(tokens)) + 1):
            if self._bytes(tokens[:count]).strip(b" ") == _ANCHOR.encode():
                yield tokens[count:]

    def _bytes(self, tokens: Sequence[int]) -> bytes:
        size = self._vocabulary.size
        return b"".join(self._vocabulary.token_bytes(token) for token in tokens if token < size)

    def _by_longest_match(self, data: bytes) -> list[int] | None:
        if not self._tokens:
            for token in range(self._vocabulary.size - 1, -1, -1):
                if written := self._vocabulary.token_bytes(token):
                    self._tokens[written] = token
            self._longest = max(map(len, self._tokens))
        tokens, at = [], 0
        while at < len(data):
            for length in range(min(self._longest, len(data) - at), 0, -1):
                found = self._tokens.get(data[at : at + length])
                if found is not None:
                    tokens.append(found)
                    at += length
                    break
            else:
                return None
        return tokens
