"""From sources to the joined text that spans are looked up in."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.decoding.characters import class_table
from semqa.decoding.core.entries import entries
from semqa.decoding.suffixes import suffix_array
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.decoding.policy import QuotePolicy
    from semqa.quotes import Source

__all__ = ["Passages", "lay_out"]

_MOST_BYTES = 2**31 - 2**20
_FEW_STARTS = 8_192
"""Up to so many are sorted by comparison, if the text does not repeat itself much."""


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
    """Join the sources and find where spans may begin and end; linear in their length.

    Raises:
        InputError: there is more text than positions can be counted.
    """
    # No span has a bracket in it, so brackets may stand between fields.
    joined = "".join([f"{source.text}[{source.title}[" for source in sources])
    lengths = [len(source.text) + len(source.title) + 2 for source in sources]
    count = len(lengths)
    ends = np.fromiter(accumulate(lengths), np.int64, count)
    encoded = np.frombuffer(joined.encode("utf-8", "surrogatepass"), np.uint8)
    if encoded.size > _MOST_BYTES:
        raise InputError(
            f"sources: got {encoded.size:,} bytes of text in all, expected at most "
            f"{_MOST_BYTES:,}; give fewer or shorter ones"
        )
    characters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    allowed = np.ones(count, np.uint8)
    if policy.sources is not None:
        allowed[:] = 0
        allowed[[number - 1 for number in policy.sources]] = 1
    starts = np.zeros(count + 1, np.int32)
    text, flags, positions, keys, longest = entries().lay_out(
        encoded, characters, class_table(), policy.boundary == "char", ends, allowed, starts
    )
    suffixes = np.empty(positions.size, np.int32)
    if positions.size > _FEW_STARTS or not entries().order(
        text, positions, keys, np.argsort(keys), starts, suffixes
    ):
        entries().pick(suffix_array(text), positions, starts, suffixes)
    return Passages(text, flags, suffixes, starts, int(longest))
