"""Names of documents: labels, never paths that anything is written to."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath

from semqa.errors import InputError

__all__ = ["LONGEST_NAME", "check_name", "stem_of"]

LONGEST_NAME = 500


def check_name(name: str) -> str:
    """Return a document's name if it is a plain relative one.

    Raises:
        InputError: it is empty, too long, climbs out of a folder, or holds control characters.

    Example:
        >>> check_name("reports/2024.pdf")
        'reports/2024.pdf'
    """
    wrong = None
    if not name.strip() or len(name) > LONGEST_NAME:
        wrong = f"it must have 1 to {LONGEST_NAME} characters"
    elif any(unicodedata.category(c) in ("Cc", "Cs") or c in "\\\u2028\u2029" for c in name):
        wrong = "it must not hold control characters or backslashes"
    elif name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")):
        wrong = "it must be a relative path such as reports/2024.pdf"
    if wrong is not None:
        raise InputError(f"Invalid document name {name[:80]!a}: {wrong}.", value=name)
    return name


def stem_of(name: str) -> str:
    """Return a name without folders and ending: the title of a document that has none."""
    return PurePosixPath(name).stem or name
