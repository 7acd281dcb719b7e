"""A quoted answer as a chat completion: text, and an annotation for each quote that is verified.

Clients show any annotation as a citation, whatever else it says of itself, and some refuse the whole
reply for one of another type than ``url_citation``. So a quote that is not verified has none; the
details at the end tell of it. Offsets are Unicode code points, end exclusive; ``start_index`` and ``end_index`` count in the content
as it is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.quotes import Quote, Status
from semqa.quotes.marks import canonical_mark

if TYPE_CHECKING:
    from semqa.server.answering import Answered, Asked, Given, Piece

__all__ = ["ChatReply"]


class ChatReply:
    """Makes a chat completion of the events of an answer, in chunks or whole.

    Args:
        asked: the question.
        marked: whether the content keeps its marks.
    """

    def __init__(self, asked: Asked, *, marked: bool) -> None:
        self._asked = asked
        self._marked = marked
        self._content: list[str] = []
        self._annotations: list[dict[str, Any]] = []

    def begin(self) -> dict[str, Any]:
        """Return the chunk that a stream begins with."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def add(self, piece: Piece) -> list[dict[str, Any]]:
        """Take a piece, and return the chunks that tell of it."""
        segment = piece.segment
        text = segment.text
        if self._marked and isinstance(segment, Quote) and segment.status is not Status.MALFORMED:
            text = canonical_mark(segment.source, segment.text)
        self._content.append(text)
        chunks = [self._chunk({"content": text})]
        if isinstance(segment, Quote) and segment.verified:
            annotation = self._annotation(segment, piece.given)
            self._annotations.append(annotation)
            chunks.append(self._chunk({"annotations": [annotation]}))
        return chunks

    def end(self, answered: Answered) -> dict[str, Any]:
        """Return the chunk that a stream ends with."""
        return {**self._chunk({}, _reason(answered)), "semqa": answered.details()}

    def usage(self, answered: Answered) -> dict[str, Any]:
        """Return the chunk of usage, for those who ask for it."""
        return {**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(answered)}

    def whole(self, answered: Answered) -> dict[str, Any]:
        """Return the completion that is not streamed."""
        message = {
            "role": "assistant",
            "content": "".join(self._content),
            "refusal": None,
            "annotations": self._annotations,
        }
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _reason(answered),
        }
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(answered),
            "semqa": answered.details(),
        }

    def _head(self, kind: str) -> dict[str, Any]:
        asked = self._asked
        return {
            "id": f"chatcmpl-{asked.id}",
            "object": kind,
            "created": asked.created,
            "model": asked.engine,
        }

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def _annotation(self, quote: Quote, given: Given | None) -> dict[str, Any]:
        start, end = (
            (quote.answer_start, quote.answer_end)
            if self._marked
            else (quote.plain_start, quote.plain_end)
        )
        return {
            # The official client puts the lists of a stream together by it.
            "index": len(self._annotations),
            "type": "url_citation",
            "url_citation": {
                "url": "" if given is None else given.source.url or f"urn:semqa:{quote.source}",
                "title": "" if given is None else given.source.title or f"Source {quote.source}",
                "start_index": start,
                "end_index": end,
            },
            "source_index": quote.source,
            "field": quote.field,
            "source_start": quote.source_start,
            "source_end": quote.source_end,
            "quote": quote.text,
            "status": quote.status.value,
        }


def _reason(answered: Answered) -> str:
    return "stop" if answered.finished else "length"


def _usage(answered: Answered) -> dict[str, int]:
    read = answered.usage["prompt_tokens"] or 0
    wrote = answered.usage["completion_tokens"] or 0
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}
