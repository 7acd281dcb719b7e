"""Options as they are spelled on a command line."""

from __future__ import annotations


def flag(name: str) -> str:
    """Return the flag of an option.

    Example:
        >>> flag("max_words")
        '--max-words'
    """
    return "--" + name.replace("_", "-")
