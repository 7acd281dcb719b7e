"""When two questions are the same question, whatever their ids say."""

from __future__ import annotations

import unicodedata

__all__ = ["question_key"]

_IGNORED = frozenset("PZC")
"""Unicode categories that do not tell questions apart: punctuation, spaces, control characters."""


def question_key(question: str) -> str:
    """Return what two spellings of one question have in common.

    Case, white space, punctuation and compatibility forms (full width, ligatures) do not count.

    Example:
        >>> question_key("Who's  sang it?") == question_key("whos sang IT")
        True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", question).casefold())
    kept = "".join(c for c in folded if unicodedata.category(c)[0] not in _IGNORED)
    return unicodedata.normalize("NFKC", kept)
