"""Offsets for other runtimes: semqa counts code points, JavaScript counts UTF-16 units."""

from __future__ import annotations

from bisect import bisect_left

__all__ = ["Utf16Offsets"]

_LAST_BMP = "\uffff"


class Utf16Offsets:
    """Converts the code point offsets of one text to UTF-16 offsets.

    Built once in time linear in the text; each conversion is a binary search.

    Example:
        >>> offsets = Utf16Offsets("🎄 White Christmas")
        >>> offsets(2)
        3
    """

    def __init__(self, text: str) -> None:
        self._length = len(text)
        self._astral = [at for at, char in enumerate(text) if char > _LAST_BMP]

    def __call__(self, offset: int) -> int:
        """Return the UTF-16 offset of a code point offset.

        Raises:
            IndexError: the offset is negative or beyond the end of the text.
        """
        if not 0 <= offset <= self._length:
            raise IndexError(
                f"offset out of range: got {offset}, expected 0 to {self._length} (the text's end)"
            )
        return offset + bisect_left(self._astral, offset)
