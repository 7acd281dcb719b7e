"""What a judge reads for a set of cited passages, and for the sentence that cites them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes.source import Source

__all__ = ["CitedAnswer", "CitedSentence", "premise"]


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of an answer and the passages that it cites.

    Attributes:
        text: the sentence without its citations.
        citations: numbers of passages, from 1, in the order in which they are cited. A number
            that no passage has is kept: it is a citation of nothing.
    """

    text: str
    citations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer as sentences with citations, and the passages that these name.

    Attributes:
        sentences: those that say something, in order.
        passages: passage *k* is ``passages[k - 1]``.
    """

    sentences: tuple[CitedSentence, ...]
    passages: tuple[Source, ...]


def premise(passages: Sequence[Source], *, official: bool = False) -> str:
    r"""Return passages as one text, each with its title above it.

    Args:
        passages: in the order in which they are cited.
        official: write the line of the title where there is none, too, as ALCE does.

    Source: ALCE, which writes ``Title: …`` and the text on lines of their own.

    Example:
        >>> from semqa import Source
        >>> premise([Source("Sung in 1943.", "Song"), Source("A hit.")])
        'Title: Song\nSung in 1943.\nA hit.'
    """
    return "\n".join(
        f"Title: {passage.title}\n{passage.text}" if passage.title or official else passage.text
        for passage in passages
    )
