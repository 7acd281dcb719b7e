"""Reading a stream to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semqa.engines import Request, StreamingEngine
    from semqa.engines.base import Generation


def streamed(engine: StreamingEngine, request: Request) -> tuple[list[str], Generation]:
    """Return the pieces of a streamed answer of a language model, and its generation."""
    pieces, stream = [], engine.stream(*request)
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            return pieces, end.value
