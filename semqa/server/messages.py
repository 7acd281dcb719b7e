"""`POST /v1/messages`: Anthropic's Messages API.

Each quote is a separate content block with a citation. The text of the block is the cited text, at
the place in the document that the citation gives. Offsets are Unicode code points, end exclusive.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field, JsonValue

from semqa.documents import Document
from semqa.engines.cancellation import check_cancelled
from semqa.errors import InputError
from semqa.extras import require
from semqa.quotes import Quote, Source
from semqa.server.answering import AnswerResult, AnswerSource, Piece, PreparedQuestion
from semqa.server.asking import Serializer, check_question, check_sources, prepare, respond
from semqa.server.context import Conversation, Turn, read_conversation
from semqa.server.engines import named_model
from semqa.server.schemas import (
    MAX_LISTED,
    STREAMED,
    LenientBody,
    LenientRequest,
    Many,
    Text,
    unknown_fields,
)
from semqa.server.settings import ServerSettings
from semqa.server.sse import event

router = APIRouter(tags=["messages"])


class Citations(LenientBody):
    """Whether quotes from a document get citations."""

    enabled: bool = False


class TextPart(LenientBody):
    """A part of a document's content; only text is supported."""

    type: str = "text"
    text: Text | None = None


class DocumentSource(LenientBody):
    """The content of a document: text, base64 (a PDF), or a list of blocks."""

    type: str
    media_type: Text | None = None
    data: Text | None = None
    content: Text | Many[TextPart] | None = None


class Block(LenientBody):
    """A block of a message: text, document, search_result or tool_result."""

    type: str
    text: Text | None = None
    source: DocumentSource | Text | None = None
    title: Text | None = None
    content: Text | Many[Block] | None = None
    citations: Citations | list[JsonValue] | None = None

    @property
    def cited(self) -> bool:
        return isinstance(self.citations, Citations) and self.citations.enabled


class Message(LenientBody):
    """A message of the conversation."""

    role: Text
    content: Text | Many[Block]

    def blocks(self) -> list[Block]:
        if isinstance(self.content, str):
            return [Block(type="text", text=self.content)]
        return self.content

    def text(self) -> str:
        return "\n".join(b.text for b in self.blocks() if b.type == "text" and b.text is not None)


class MessagesRequest(LenientRequest):
    """A conversation whose last question is answered.

    Unsupported fields that would change the reply are refused. The reply lists other fields that
    have no effect.
    """

    messages: Many[Message] = Field(description="The conversation; the last question is answered.")
    system: Text | Many[TextPart] | None = Field(None, description="Only passages are read.")


@router.post("/v1/messages", response_class=Response, responses={200: {"content": STREAMED}})
async def messages(request: Request, body: MessagesRequest) -> Response:
    """Answer the last question from the documents of the conversation or from collections.

    Each quote is a content block whose text is its `cited_text`. Offsets are Unicode code points,
    0-based, end exclusive.
    """
    unused = body.unused()
    read = read_conversation(_turns(body), "messages")
    state = request.app.state
    check_question(read.question, state.settings)
    sources, places = await state.document_workers.run_cancellable(
        request, state.settings.request_timeout, _documents, body.messages, state.settings
    )
    sources += read.sources
    places += [
        Place("search", at, each.source.title or None) for at, each in enumerate(read.sources)
    ]
    engine, collection = named_model(body.model, state.shelf)
    prepared = await prepare(
        request,
        read.question,
        read.history,
        sources=sources or None,
        collection=body.collection if body.collection is not None else collection,
        named_by="model" if body.collection is None else "collection",
        engine=body.engine if body.engine is not None else engine,
        limit=body.limit,
        max_tokens=body.token_limit(),
        unused=(*unused, *_ignored(body, read)),
    )
    results = sum(place.kind == "search" for place in places)
    places += [
        Place("search", at, found.source.title or None, found.source.url or "")
        for at, found in enumerate(prepared.sources[len(sources) :], results)
    ]
    reply = MessageReply(prepared, places)
    return await respond(request, prepared, reply, stream=bool(body.stream))


def _turns(body: MessagesRequest) -> list[Turn]:
    """Return the messages and then the system prompt; raise if a block is not supported."""
    for at, message in enumerate(body.messages):
        for place, block in enumerate(message.blocks()):
            _check_types(block, f"messages.{at}.content.{place}")
    system = body.system or ""
    if not isinstance(system, str):
        system = "\n".join(part.text or "" for part in system)
    turns = [Turn(each.role, each.text()) for each in body.messages]
    return [*turns, Turn("system", system)]


def _check_types(block: Block, field: str) -> None:
    """Raise if a block, or a part of its content, has an unsupported type."""
    _check_type(block.type, _READ, field)
    for at, inner in enumerate(block.content if isinstance(block.content, list) else ()):
        _check_types(inner, f"{field}.content.{at}")
    parts = block.source.content if isinstance(block.source, DocumentSource) else None
    for at, part in enumerate(parts if isinstance(parts, list) else ()):
        _check_type(part.type, ("text",), f"{field}.source.content.{at}")


def _check_type(kind: str, supported: tuple[str, ...], field: str) -> None:
    if kind not in supported:
        raise InputError(f"has type {kind[:40]!r}, which is not supported.", field=field)


def _ignored(body: MessagesRequest, read: Conversation) -> list[str]:
    """Return the names of fields without effect, such as the system prompt or the text of a tool result."""
    names = ["system" if at == len(body.messages) else f"messages.{at}" for at in read.ignored]
    for at, message in enumerate(body.messages):
        for place, block in enumerate(message.blocks()):
            field = f"messages.{at}.content.{place}"
            inner = block.content if block.type == "tool_result" else None
            if isinstance(inner, str) or any(each.type == "text" for each in inner or ()):
                names.append(field)
        names += unknown_fields(message, f"messages.{at}")
    for at, part in enumerate(body.system if isinstance(body.system, list) else ()):
        names += unknown_fields(part, f"system.{at}")
    return names[:MAX_LISTED]


_READ = (
    "text", "document", "search_result", "tool_result", "tool_use", "thinking", "redacted_thinking",
)  # fmt: skip


def _documents(
    messages: list[Message], settings: ServerSettings
) -> tuple[list[AnswerSource], list[Place]]:
    blocks = list(_blocks(messages))
    files = sum(_file_of(block) is not None for block in blocks)
    if files > settings.max_documents:
        raise InputError(
            f"may have at most {settings.max_documents:,} files, got {files:,}.",
            field="messages",
            hint="Upload them to a collection.",
        )
    sources: list[AnswerSource] = []
    places: list[Place] = []
    known: dict[str, Document] = {}  # clients send the same file again with each turn
    documents = results = 0
    for block in blocks:
        if block.type == "document":
            file = _file_of(block)
            if file is not None and file not in known:
                check_cancelled()
                if sources:
                    check_sources(sources, settings)  # before the next file is parsed
                known[file] = _extracted(file, documents)
            read = _document(block, documents, known)
            documents += 1
        elif block.type == "search_result":
            read = _result(block, results)
            results += 1
        else:
            continue
        for source, place in read:
            sources.append(AnswerSource(source))
            places.append(place)
    return sources, places


def _blocks(messages: list[Message]) -> Iterator[Block]:
    for message in messages:
        if message.role != "user":
            continue
        for block in message.blocks():
            yield block
            if block.type == "tool_result" and isinstance(block.content, list):
                yield from block.content


def _file_of(block: Block) -> str | None:
    """Return a document's file in base64; None if the document is plain text."""
    source = block.source if block.type == "document" else None
    if isinstance(source, DocumentSource) and source.type == "base64":
        return source.data
    return None


def _document(
    block: Block, index: int, known: Mapping[str, Document]
) -> Iterator[tuple[Source, Place]]:
    source, title, cited = block.source, block.title, block.cited
    if not isinstance(source, DocumentSource):
        raise InputError(
            "must have a source of type text, content or base64.", field=f"document {index}"
        )
    if source.type == "text" and source.data is not None:
        yield Source(source.data, title or ""), Place("char", index, title, cited=cited)
    elif source.type == "content" and source.content is not None:
        parts = source.content
        texts = [parts] if isinstance(parts, str) else [part.text or "" for part in parts]
        for at, text in enumerate(texts):
            yield Source(text, title or ""), Place("block", index, title, block=at, cited=cited)
    elif source.type == "base64" and source.data is not None:
        file = known[source.data]
        pages = file.pages or (0,)
        yield Source(file.text, title or ""), Place("page", index, title, cited=cited, pages=pages)
    else:
        raise InputError(
            f"must have a source of type text, content or base64 with data, got type "
            f"{source.type[:40]!r}.",
            field=f"document {index}",
        )


def _extracted(data: str, index: int) -> Document:
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(
            "must have a PDF in base64 as its data.", field=f"document {index}"
        ) from None
    documents = require("semqa.documents", extra="serve", purpose="a document in base64")
    read: Document = documents.extract(f"document {index}.pdf", raw)  # its title is not a file name
    return read


def _result(block: Block, index: int) -> Iterator[tuple[Source, Place]]:
    content = block.content if isinstance(block.content, list) else []
    source = block.source if isinstance(block.source, str) else ""
    for at, part in enumerate(content):
        place = Place("search", index, block.title, source, block=at, cited=block.cited)
        yield Source(part.text or "", block.title or "", source or None), place


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a source in a request.

    Attributes:
        index: index among the documents or among the search results.
        source: the source field of a search result.
        block: index of the content block.
        pages: offset of each page in the text, if the document has pages.
    """

    kind: Literal["char", "block", "search", "page"]
    index: int
    title: str | None = None
    source: str = ""
    block: int = 0
    cited: bool = True
    pages: tuple[int, ...] = ()

    def citation(self, quote: Quote) -> dict[str, Any] | None:
        """Return the citation of a quote; None if citations are off or cannot express its place."""
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


class MessageReply(Serializer):
    """Serializes a message; the place of source *k* is ``places[k - 1]``."""

    def __init__(self, prepared: PreparedQuestion, places: Sequence[Place]) -> None:
        self._prepared = prepared
        self._places = places
        self._blocks: list[dict[str, Any]] = []
        self._open = False

    def begin(self) -> list[bytes]:
        usage = {"input_tokens": 0, "output_tokens": 0}
        return _events({"type": "message_start", "message": self._message([], None, usage)})

    def add(self, piece: Piece) -> list[bytes]:
        segment = piece.segment
        citation = None
        if isinstance(segment, Quote) and segment.verified:
            citation = self._places[segment.source - 1].citation(segment)
        if citation is None:
            events = [] if self._open else self._start(cited=False)
            self._blocks[-1]["text"] += segment.text
            return _events(*events, self._delta({"type": "text_delta", "text": segment.text}))
        events = [*self._stop(), *self._start(cited=True)]
        self._blocks[-1]["text"] = segment.text
        self._blocks[-1]["citations"] = [citation]
        events.append(self._delta({"type": "text_delta", "text": segment.text}))
        events.append(self._delta({"type": "citations_delta", "citation": citation}))
        return _events(*events, *self._stop())

    def end(self, result: AnswerResult) -> list[bytes]:
        delta = {"stop_reason": _reason(result), "stop_sequence": None}
        return _events(
            *self._stop(),
            {
                "type": "message_delta",
                "delta": delta,
                "usage": _usage(result),
                "semqa": result.details(),
            },
            {"type": "message_stop"},
        )

    def whole(self, result: AnswerResult) -> dict[str, Any]:
        message = self._message(self._blocks, _reason(result), _usage(result))
        return {**message, "semqa": result.details()}

    def failed(self, error: dict[str, Any]) -> bytes:
        return _events(error)[0]

    def _message(
        self, blocks: list[dict[str, Any]], reason: str | None, usage: dict[str, int]
    ) -> dict[str, Any]:
        return {
            "id": f"msg_{self._prepared.id}",
            "type": "message",
            "role": "assistant",
            "model": self._prepared.engine,
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


def _events(*data: dict[str, Any]) -> list[bytes]:
    return [event(each, each["type"]) for each in data]


def _reason(result: AnswerResult) -> str:
    return "end_turn" if result.finished else "max_tokens"


def _usage(result: AnswerResult) -> dict[str, int]:
    read, wrote = result.tokens
    return {"input_tokens": read, "output_tokens": wrote}
