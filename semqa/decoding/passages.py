"""From sources to the joined text that spans are looked up in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.decoding.characters import class_table
from semqa.decoding.core.entries import entries
from semqa.decoding.suffixes import suffix_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.decoding.policy import QuotePolicy
    from semqa.quotes import Source

__all__ = ["Passages", "lay_out"]

_END_OF_FIELD = "\udfff"
"""A lone surrogate: it cannot be quoted, so it may stand between what can."""


class Passages(NamedTuple):
    """The text of all sources, ready to be looked up.

    Attributes:
        text: uint8[n], UTF-8, with barriers where no span goes on.
        flags: uint8[n + 1], what may happen at each position.
        suffixes: int32[m], the starts of spans: by source, then by the text that follows.
        starts: int32[N + 1], where those of each source begin.
        longest: most bytes from a position to the next end of a span.
    """

    text: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    suffixes: NDArray[np.int32]
    starts: NDArray[np.int32]
    longest: int


def lay_out(sources: Sequence[Source], policy: QuotePolicy) -> Passages:
    """Join the sources and find where spans may begin and end; linear in their length."""
    fields = [f"{source.text}{_END_OF_FIELD}{source.title}{_END_OF_FIELD}" for source in sources]
    joined = "".join(fields)
    encoded = joined.encode("utf-8", "surrogatepass")
    text = np.frombuffer(encoded, np.uint8).copy()
    characters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    flags = np.zeros(text.size + 1, np.uint8)
    entries().flag(characters, class_table(), policy.boundary == "char", text, flags)
    longest = int(entries().prune(text, flags))
    bounds = np.zeros(len(sources) + 1, np.int64)
    np.cumsum([len(field.encode("utf-8", "surrogatepass")) for field in fields], out=bounds[1:])
    allowed = np.ones(len(sources), np.uint8)
    if policy.sources is not None:
        allowed[:] = 0
        allowed[[number - 1 for number in policy.sources]] = 1
    starts = np.zeros(len(sources) + 1, np.int32)
    suffixes = np.empty(text.size, np.int32)
    count = entries().sort(suffix_array(text), text, flags, bounds, allowed, suffixes, starts)
    return Passages(text, flags, suffixes[:count].copy(), starts, longest)
