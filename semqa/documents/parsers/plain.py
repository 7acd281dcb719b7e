"""Plain text, and the encodings it comes in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.documents.limits import Limits

__all__ = ["decode", "parse"]

_SAMPLE = 2**16
_TELLING = 200
"""Bytes below which nothing can be told from how often they are met."""

_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the text as it is."""
    del limits
    return "", decode(name, data), ()


def decode(name: str, data: bytes, stated: str | None = None) -> str:
    """Return bytes as text.

    Args:
        name: the file, for errors.
        data: its bytes.
        stated: the encoding that the file states for itself, tried where the bytes do not tell.

    Raises:
        InputError: they are no text in any encoding that could be made out.
    """
    for bom, marked in _BOMS:
        if data.startswith(bom):
            return _checked(name, _decoded(data, marked))
    # UTF-8 is hardly ever met by chance.
    for encoding in ("utf-8", stated):
        text = _decoded(data, encoding) if encoding else None
        if text is not None:
            return _checked(name, text)
    if len(data) < _TELLING:
        return _checked(name, _decoded(data, "cp1252"))
    detector = require("charset_normalizer", extra="documents", purpose=f"reading {name}")
    best = detector.from_bytes(data[:_SAMPLE]).best()
    # The sample may end within a character; what it says holds for all of it or is not used.
    return _checked(name, _decoded(data, best.encoding) if best is not None else None)


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _checked(name: str, text: str | None) -> str:
    if text is None or len(_CONTROLS.findall(text[:_SAMPLE])) > len(text[:_SAMPLE]) // 50:
        raise InputError("The file is not text in a known encoding. Save it as UTF-8.", where=name)
    return text
