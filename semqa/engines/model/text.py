"""The text of an answer, token by token: what can be shown so far, and where it stops.

One way for whole and for streamed answers, so that both are the same text.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.decoding import Vocabulary

__all__ = ["AnswerText", "StoppedText", "find_stop"]


class StoppedText:
    """Holds back of a text what may turn out to be a stop.

    Args:
        stops: texts that end an answer when the last piece completes one; they are cut off.

    Attributes:
        stopped: whether the last piece completed one; the next piece makes it part of the text.

    Example:
        >>> text = StoppedText([" Q:"])
        >>> [text.add(piece) for piece in ("It is.", " Q", "uiet.", " Q", ": why?")], text.end()
        (['It is.', '', ' Quiet.', '', ''], '')
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.stopped = False

    def add(self, piece: str) -> str:
        """Take one more piece, and return the text that is sure now."""
        text = self._held + piece
        at = find_stop(text, len(piece), self._stops)
        self.stopped = at is not None
        if at is None:
            at = len(text) - _overlap(text, self._stops)
        self._held = text[at:]
        return text[:at]

    def end(self) -> str:
        """Return what was held back and belongs to the answer."""
        return "" if self.stopped else self._held


class AnswerText:
    """Joins tokens to text.

    Without stops, the pieces joined are ``vocabulary.decode(tokens)``.

    Args:
        vocabulary: the tokens.
        stops: texts that end an answer when the last token completes one; they are cut off.

    Example:
        >>> from semqa.decoding import Vocabulary
        >>> words = Vocabulary.from_tokens([b"It is.", b" Q", b"uiet.", b"", b": why?"], [3])
        >>> text = AnswerText(words, stops=[" Q:"])
        >>> [text.add(token) for token in (0, 1, 2, 1, 4)], text.end()
        (['It is.', '', ' Quiet.', '', ''], '')
    """

    def __init__(self, vocabulary: Vocabulary, stops: Sequence[str] = ()) -> None:
        self._vocabulary = vocabulary
        self._text = StoppedText(stops)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._strip = vocabulary.strips_leading_space

    def add(self, token_id: int) -> str:
        """Take one more token, and return the text that is sure now."""
        data = self._vocabulary.token_bytes(token_id)
        if not data:
            return ""
        if self._strip:
            data, self._strip = data.removeprefix(b" "), False
        return self._text.add(self._decoder.decode(data))

    def end(self) -> str:
        """Return what was held back and belongs to the answer."""
        if self._text.stopped:
            return ""
        return self._text.end() + self._decoder.decode(b"", final=True)


def find_stop(text: str, new: int, stops: Iterable[str]) -> int | None:
    """Return where the first stop begins that ends in the last `new` characters, if any does.

    Example:
        >>> find_stop("yes. Q: and", 6, [" Q:"])
        4
    """
    found = (text.find(stop, max(0, len(text) - new - len(stop) + 1)) for stop in stops)
    return min((at for at in found if at >= 0), default=None)


def _overlap(text: str, stops: Iterable[str]) -> int:
    """Return the length of the longest end of the text that a stop begins with."""
    return max(
        (
            length
            for stop in stops
            for length in range(1, len(stop))
            if text.endswith(stop[:length])
        ),
        default=0,
    )
