"""Synthetic sources of the size of those in QuoteSum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa import Source

if TYPE_CHECKING:
    import random

__all__ = ["synthetic_sources"]

LEXICON = (
    "the of and to in a is was for on with as by at from it an be this which or were are has had not "
    "but his her their one first also after new two other when there been more into who time year "
    "years over between under during city state world war school river bridge film song team game "
    "season family church house company government university north south east west music album "
    "number name part area line early later long large small high great old known used called became "
    "began won made built opened released wrote played born died president king general member"
)


def synthetic_sources(rng: random.Random) -> tuple[Source, ...]:
    """Return three sources of 100 common words each, including capitalised words and years."""
    words = LEXICON.split()
    words += [word.capitalize() for word in words[::4]] + [str(year) for year in range(1930, 1940)]
    return tuple(
        Source(" ".join(rng.choices(words, k=100)) + ".", title=title)
        for title in ("White bridge", "Long river", "Old school")
    )
