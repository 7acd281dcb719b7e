"""Which names somebody may have meant who wrote another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["nearest_names"]

SHOWN = 3


def nearest_names(given: str, names: Iterable[str]) -> list[str]:
    """Return the names that are nearest to a word, the best first, in the spelling of flags.

    Near is what needs few letters changed, or goes on where the word ends.

    Args:
        given: the word; dashes and underscores are the same.
        names: what may have been meant.

    Example:
        >>> nearest_names("shot", ["shots", "seed", "top_k"])
        ['shots']
    """
    from rapidfuzz.distance import OSA

    word = given.lower().replace("_", "-")
    most = max(1, len(word) // 3)
    found = []
    for name in dict.fromkeys(each.replace("_", "-") for each in names):
        # Letters that are missing at the end are not wrong letters.
        rest = len(name) - len(word)
        away = OSA.distance(word, name[: len(word)]) if rest > 0 and len(word) >= 3 else most + 1
        distance = min(OSA.distance(word, name), away + 0.5)
        if distance <= most + 0.5:
            found.append((distance, name))
    return [name for _, name in sorted(found)[:SHOWN]]
