"""Characters that act on whoever shows them, made visible instead."""

from __future__ import annotations

import re

__all__ = ["safe_text"]

# Controls but for tab and newline, and the overrides and embeddings that reorder text for the eye.
# The marks that right-to-left text needs among neutral characters (U+200E, U+200F) reorder no words.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def safe_text(text: str) -> str:
    r"""Make steering characters visible, as ``<U+001B>``; a Windows line end is a line end.

    Example:
        >>> safe_text("a\x1b[31mred\r\n")
        'a<U+001B>[31mred\n'
    """
    lines = text.replace("\r\n", "\n")
    return _UNSAFE.sub(lambda match: f"<U+{ord(match.group()):04X}>", lines)
