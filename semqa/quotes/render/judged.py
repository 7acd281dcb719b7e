"""What a judge says of an answer's sentences, shown under the answer and apart from its quotes.

Whether a quote is verbatim is a fact and shown with the quote. Whether a sentence is supported is
somebody's judgement: it is shown with the name of who judged, and changes nothing above it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Judged", "JudgedSentence"]

_SIGNS = {"supported": "✓", "not supported": "✗", "unclear": "?"}


class JudgedSentence(NamedTuple):
    """A sentence and what was made of it.

    Attributes:
        text: the sentence.
        support: ``supported``, ``not supported`` or ``unclear``.
        sources: numbers of the sources that it was held against.
        reason: why nobody was asked; empty where somebody was.
    """

    text: str
    support: str
    sources: tuple[int, ...] = ()
    reason: str = ""

    @property
    def sign(self) -> str:
        """One character for the outcome."""
        return _SIGNS.get(self.support, "?")

    @property
    def held_against(self) -> str:
        """The sources, or the reason why there are none.

        Example:
            >>> JudgedSentence("Bing sang.", "supported", (1, 3)).held_against
            '[1] [3]'
        """
        if self.reason:
            return f"({self.reason})"
        return " ".join(f"[{number}]" for number in self.sources)


class Judged(NamedTuple):
    """An answer's sentences as a judge sees them.

    Attributes:
        judge: its name.
        sentences: in order.
    """

    judge: str
    sentences: tuple[JudgedSentence, ...]

    @property
    def headline(self) -> str:
        """What is said in one line, that it is a judgement included.

        Example:
            >>> Judged("lexical", (JudgedSentence("Bing sang.", "unclear"),)).headline
            'Judged by lexical (a judgement, not a verification): 1 unclear.'
        """
        counts = Counter(sentence.support for sentence in self.sentences)
        told = ", ".join(f"{counts[each]} {each}" for each in _in_order(counts))
        return (
            f"Judged by {self.judge} (a judgement, not a verification): "
            f"{told or 'no sentence to judge'}."
        )


def _in_order(found: Iterable[str]) -> list[str]:
    return [each for each in _SIGNS if each in set(found)]
