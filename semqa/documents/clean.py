"""Text as documents keep it: one kind of line end, and nothing that is no character."""

from __future__ import annotations

import re

__all__ = ["clean", "one_line"]

_LINE_ENDS = re.compile("\r\n?|\x0c|\x85|\u2028|\u2029")
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    r"""Return a text with ``\n`` at the ends of lines and blanks for what cannot be shown.

    Signs that turn the direction of writing stay: they belong to the text.

    Example:
        >>> clean("a\r\nb\x00c")
        'a\nb c'
    """
    return _NO_TEXT.sub(" ", _LINE_ENDS.sub("\n", text)).removeprefix("\ufeff")


def one_line(text: str, longest: int = 300) -> str:
    """Return a text as one line without blanks around it, for a title."""
    return " ".join(clean(text[: longest * 4]).split())[:longest].strip()
