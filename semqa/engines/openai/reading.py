"""What stands in a response, read within bounds: its body, its error, how long it asks to wait."""

from __future__ import annotations

import json
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

__all__ = ["cut", "pause_asked", "read_body", "read_error"]

_MOST_OF_AN_ERROR = 1 << 20
_LONGEST = 300


async def read_body(response: httpx.Response, most: int) -> bytes | None:
    """Return the body; None if it is longer than it may be."""
    blocks, size = [], 0
    async for block in response.aiter_raw():
        size += len(block)
        if size > most:
            return None
        blocks.append(block)
    return b"".join(blocks)


async def read_error(response: httpx.Response) -> str:
    """Return what an endpoint says of an error, in its own words."""
    data = await read_body(response, _MOST_OF_AN_ERROR) or b""
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "" if "html" in response.headers.get("Content-Type", "") else text.strip()
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(name):
            value = value[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def pause_asked(retry_after: str | None) -> float:
    """Return the seconds of a Retry-After header: a number, or a date."""
    if not retry_after:
        return 0.0
    try:
        return max(0.0, float(retry_after)) if len(retry_after) < 20 else 0.0
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError, TypeError):
        return 0.0


def cut(text: str) -> str:
    """Return as much of a text as a message may hold."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
