"""For a quote that is not verified: the passage that it most resembles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from semqa.quotes.source import FIELDS, Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes.source import Source

__all__ = ["Nearest", "nearest_passage"]

MAX_FIELD = 200_000
"""Characters of a field that are searched; alignment is work that grows with their product."""

MAX_TEXT = 2_000
"""Characters of the text that are aligned."""

MAX_WIDENING = 30
"""Characters that are added at either end to complete a word."""


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


def nearest_passage(text: str, sources: Sequence[Source]) -> Nearest | None:
    """Find the passage of any source that is most like a text; ties go to the first.

    It helps a reader to see what a wrong quote comes from, and never makes a quote verified.
    Only the first `MAX_FIELD` characters of a field and `MAX_TEXT` of the text are looked at.

    Returns:
        The passage, or None where no character is shared.

    Example:
        >>> from semqa import Source
        >>> source = Source("Sales rose by 5% in 2014.")
        >>> near = nearest_passage("rose by 6% in 2014", [source])
        >>> source.text[near.start : near.end], round(near.similarity, 2)
        ('rose by 5% in 2014', 0.94)
    """
    from rapidfuzz.fuzz import partial_ratio_alignment, ratio

    needle = text[:MAX_TEXT]
    best: Nearest | None = None
    for number, source in enumerate(sources, start=1):
        for name in FIELDS:
            haystack = source.field(name)[:MAX_FIELD]
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
