"""A quoted answer as a message of content blocks: a quote is a block of its own, with its citation.

The text of a block that carries a citation is the cited text, which is the slice of the document that
the citation names. Offsets are Unicode code points, end exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from semqa.quotes import Quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.server.answering import Answered, Asked, Piece

__all__ = ["MessageReply", "Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a request a source is from.

    Attributes:
        kind: of the citation.
        index: of the document among documents, or of the search result among these.
        title: of it; None where it has none.
        source: of a search result.
        block: which block of its content, where it has several.
        cited: whether citations were asked for.
        pages: where each page begins in the text, for a document with pages.
    """

    kind: Literal["char", "block", "search", "page"]
    index: int
    title: str | None = None
    source: str = ""
    block: int = 0
    cited: bool = True
    pages: tuple[int, ...] = ()

    def citation(self, quote: Quote) -> dict[str, Any] | None:
        """Return the citation of a quote; None where none can say where it stands."""
        start, end = quote.source_start, quote.source_end
        if not self.cited or quote.field != "body" or start is None or end is None:
            return None
        blocks = {"start_block_index": self.block, "end_block_index": self.block + 1}
        if self.kind == "search":
            return {
                "type": "search_result_location",
                "cited_text": quote.text,
                "search_result_index": self.index,
                "source": self.source,
                "title": self.title,
                **blocks,
            }
        document = {
            "cited_text": quote.text,
            "document_index": self.index,
            "document_title": self.title,
            "file_id": None,
        }
        if self.kind == "block":
            return {"type": "content_block_location", **document, **blocks}
        if self.kind == "page":
            first = sum(page <= start for page in self.pages)
            last = sum(page < end for page in self.pages)
            numbers = {"start_page_number": first, "end_page_number": last + 1}
            return {"type": "page_location", **document, **numbers}
        where = {"start_char_index": start, "end_char_index": end}
        return {"type": "char_location", **document, **where}


class MessageReply:
    """Makes a message of the events of an answer, in events or whole.

    Args:
        asked: the question.
        places: where the sources are from.
        model: that the reply names.
    """

    def __init__(self, asked: Asked, places: Mapping[int, Place], model: str) -> None:
        self._asked = asked
        self._places = places
        self._model = model
        self._blocks: list[dict[str, Any]] = []
        self._open = False

    def begin(self) -> dict[str, Any]:
        """Return the event that a stream begins with."""
        usage = {"input_tokens": 0, "output_tokens": 0}
        return {"type": "message_start", "message": self._message([], None, usage)}

    def add(self, piece: Piece) -> list[dict[str, Any]]:
        """Take a piece, and return the events that tell of it."""
        segment = piece.segment
        citation = None
        if isinstance(segment, Quote) and segment.verified and piece.given is not None:
            place = self._places.get(id(piece.given))
            citation = None if place is None else place.citation(segment)
        if citation is None:
            events = [] if self._open else self._start(cited=False)
            self._blocks[-1]["text"] += segment.text
            return [*events, self._delta({"type": "text_delta", "text": segment.text})]
        events = [*self._stop(), *self._start(cited=True)]
        self._blocks[-1]["text"] = segment.text
        self._blocks[-1]["citations"] = [citation]
        events.append(self._delta({"type": "text_delta", "text": segment.text}))
        events.append(self._delta({"type": "citations_delta", "citation": citation}))
        return [*events, *self._stop()]

    def end(self, answered: Answered) -> list[dict[str, Any]]:
        """Return the events that a stream ends with."""
        delta = {"stop_reason": _reason(answered), "stop_sequence": None}
        return [
            *self._stop(),
            {
                "type": "message_delta",
                "delta": delta,
                "usage": _usage(answered),
                "semqa": answered.details(),
            },
            {"type": "message_stop"},
        ]

    def whole(self, answered: Answered) -> dict[str, Any]:
        """Return the message that is not streamed."""
        message = self._message(self._blocks, _reason(answered), _usage(answered))
        return {**message, "semqa": answered.details()}

    def _message(
        self, blocks: list[dict[str, Any]], reason: str | None, usage: dict[str, int]
    ) -> dict[str, Any]:
        return {
            "id": f"msg_{self._asked.id}",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": blocks,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": usage,
        }

    def _start(self, *, cited: bool) -> list[dict[str, Any]]:
        self._open = True
        block: dict[str, Any] = {"type": "text", "text": "", "citations": [] if cited else None}
        self._blocks.append(dict(block))
        index = len(self._blocks) - 1
        return [{"type": "content_block_start", "index": index, "content_block": block}]

    def _delta(self, delta: dict[str, Any]) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": len(self._blocks) - 1, "delta": delta}

    def _stop(self) -> list[dict[str, Any]]:
        if not self._open:
            return []
        self._open = False
        return [{"type": "content_block_stop", "index": len(self._blocks) - 1}]


def _reason(answered: Answered) -> str:
    return "end_turn" if answered.finished else "max_tokens"


def _usage(answered: Answered) -> dict[str, int]:
    return {
        "input_tokens": answered.usage["prompt_tokens"] or 0,
        "output_tokens": answered.usage["completion_tokens"] or 0,
    }
