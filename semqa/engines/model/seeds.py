"""A seed for each request, from what is asked: an answer does not depend on what is asked besides."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semqa.engines.base import Request

__all__ = ["seed_of"]


def seed_of(seed: int, request: Request) -> int:
    """Return the seed of one request: a number of 63 bits."""
    digest = hashlib.sha256(str(seed).encode())
    parts = (request.question, *(p for s in request.sources for p in (s.title, s.text)))
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data) + data)
    return int.from_bytes(digest.digest()[:8], "big") >> 1
