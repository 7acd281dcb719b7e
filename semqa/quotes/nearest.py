"""For quotes that are not verified: the passages that they most resemble."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from semqa.quotes.source import FIELDS, Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes.source import Source

__all__ = ["Nearest", "NearestSearch"]

MAX_TEXT = 300
"""Characters of a text that are aligned, the first ones."""

BUDGET = 50_000_000
"""Characters of sources that one search reads, all texts together: a second's work or so."""

MAX_WIDENING = 30
"""Characters that are added at either end of a passage to complete a word."""


class Nearest(NamedTuple):
    """A passage that resembles a text: ``sources[source - 1].field(field)[start:end]``.

    Attributes:
        similarity: from 0 (nothing alike) to 1 (the same), by insertions and deletions, before
            the passage was widened to whole words.
    """

    source: int
    field: Field
    start: int
    end: int
    similarity: float


class NearestSearch:
    """Finds, for one text after the other, the passage of any source that is most like it.

    It helps a reader to see what a wrong quote comes from, and never makes a quote verified. Its
    work is bounded: when it has read `BUDGET` characters it finds nothing more, and says so.

    Args:
        sources: the numbered sources.
        budget: characters to read at most.

    Attributes:
        exhausted: whether a text was not looked for any more.

    Example:
        >>> from semqa import Source
        >>> source = Source("Sales rose by 5% in 2014.")
        >>> near = NearestSearch([source]).find("rose by 6% in 2014")
        >>> source.text[near.start : near.end], round(near.similarity, 2)
        ('rose by 5% in 2014', 0.94)
    """

    def __init__(self, sources: Sequence[Source], budget: int = BUDGET) -> None:
        self._sources = sources
        self._budget = budget
        self._found: dict[str, Nearest | None] = {}
        self._size = sum(len(source.field(name)) for source in sources for name in FIELDS)
        self.exhausted = False

    def find(self, text: str) -> Nearest | None:
        """Return the passage most like a text; ties go to the first.

        Returns:
            None where no character is shared, or the budget is used up.
        """
        needle = text[:MAX_TEXT]
        if needle not in self._found:
            # Aligning takes a step for each character of the source and each 64 of the text.
            work = self._size * (1 + len(needle) // 64)
            if work > self._budget:
                self.exhausted = True
                return None
            self._budget -= work
            self._found[needle] = self._best(needle)
        return self._found[needle]

    def _best(self, needle: str) -> Nearest | None:
        from rapidfuzz.fuzz import partial_ratio_alignment, ratio

        best: Nearest | None = None
        for number, source in enumerate(self._sources, start=1):
            for name in FIELDS:
                haystack = source.field(name)
                cutoff = 0.0 if best is None else best.similarity * 100
                if len(haystack) < len(needle):
                    score, start, end = ratio(needle, haystack), 0, len(haystack)
                else:
                    found = partial_ratio_alignment(needle, haystack, score_cutoff=cutoff)
                    if found is None:
                        continue
                    score, start, end = found.score, found.dest_start, found.dest_end
                if score > cutoff:
                    best = Nearest(number, name, *_whole_words(haystack, start, end), score / 100)
        return best


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span, within reason, so that it cuts no word."""
    for _ in range(MAX_WIDENING):
        if 0 < start < len(text) and text[start - 1].isalnum() and text[start].isalnum():
            start -= 1
        if 0 < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
            end += 1
    return start, end
