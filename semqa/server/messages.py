"""`POST /v1/messages`: what clients of Anthropic's interface speak.

A quote is a content block of its own with its citation: the text of the block is the cited text, which
is the slice of the document that the citation names. Offsets are Unicode code points, end exclusive.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from semqa.engines.cancellation import check_cancelled
from semqa.errors import InputError
from semqa.extras import require
from semqa.quotes import Quote, Source
from semqa.server.answering import Given
from semqa.server.asking import Serializer, check_question, check_sources, prepare, respond
from semqa.server.context import Turn, read_conversation
from semqa.server.engines import named_model
from semqa.server.schemas import (
    NO_TOOLS,
    STREAMED,
    Collection,
    Engine,
    Lenient,
    Limit,
    Many,
    MaxTokens,
    Text,
    errors,
)
from semqa.server.sse import event

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from semqa.server.answering import Answered, Asked, Piece
    from semqa.server.settings import ServerSettings

router = APIRouter(tags=["messages"])


class Citations(BaseModel):
    """Whether a document's quotes are cited."""

    enabled: bool = False


class TextPart(BaseModel):
    """A part of a document's content; only text is read."""

    type: str = "text"
    text: Text | None = None


class DocumentSource(BaseModel):
    """What a document holds: text, base64 (a PDF), or content in blocks."""

    type: str
    media_type: Text | None = None
    data: Text | None = None
    content: Text | Many[TextPart] | None = None


class Block(BaseModel):
    """A block of a message: text, document, search_result or tool_result; others are passed over."""

    type: str
    text: Text | None = None
    source: DocumentSource | Text | None = None
    title: Text | None = None
    content: Text | Many[Block] | None = None
    citations: Citations | list[Any] | None = None

    @property
    def cited(self) -> bool:
        """Whether its quotes are cited."""
        return isinstance(self.citations, Citations) and self.citations.enabled


class Message(BaseModel):
    """A message of the conversation."""

    role: Text
    content: Text | Many[Block]

    def blocks(self) -> list[Block]:
        """Return what it consists of."""
        if isinstance(self.content, str):
            return [Block(type="text", text=self.content)]
        return self.content

    def words(self) -> str:
        """Return its text."""
        return "\n".join(b.text for b in self.blocks() if b.type == "text" and b.text is not None)


class MessagesRequest(Lenient):
    """A conversation, whose last question is answered.

    Fields that would change the reply are refused if they cannot be honoured; others without effect
    are listed in the reply.
    """

    messages: Many[Message] = Field(description="The conversation; the last question is answered.")
    system: Text | Many[TextPart] | None = Field(None, description="Only passages in it are read.")
    model: Text = Field("semqa", description="One of GET /v1/models; any other is the default.")
    max_tokens: MaxTokens = None
    stream: bool | None = None
    collection: Collection = None
    engine: Engine = None
    limit: Limit = None

    refused: ClassVar[dict[str, tuple[str, tuple[object, ...]]]] = {
        "stop_sequences": ("cannot be honoured: they might cut a quote.", ([],)),
        "tool_choice": (NO_TOOLS, ({"type": "auto"}, {"type": "none"})),
        "output_config": ("cannot be honoured: answers are quotes, not JSON.", ({},)),
        "output_format": ("cannot be honoured: answers are quotes, not JSON.", ()),
        "container": ("cannot be honoured: there are no containers.", ()),
        "mcp_servers": ("cannot be honoured: tools are never called.", ([],)),
        "sources": ("are documents here: send them as content blocks of a message.", ([],)),
    }


@router.post(
    "/v1/messages",
    response_class=Response,
    responses={200: {"content": STREAMED}, **errors(400, 404, 408, 413, 503, 504)},
)
async def messages(request: Request, body: MessagesRequest) -> Response:
    """Answer the last question from the documents of the conversation, or from collections.

    A quote is a content block whose text is its `cited_text`. Offsets are Unicode code points,
    0-based, end exclusive.
    """
    unused = body.unused()
    read = read_conversation(_turns(body), "messages")
    state = request.app.state
    check_question(read.question, state.settings)
    given, places = await state.reading.run_wanted(
        request, state.settings.request_timeout, _documents, body.messages, state.settings
    )
    given += read.given
    places += [Place("search", at, each.source.title or None) for at, each in enumerate(read.given)]
    engine, collection = named_model(body.model, state.shelf)
    asked = await prepare(
        request,
        read.question,
        read.history,
        given=given,
        collection=body.collection if body.collection is not None else collection,
        engine=body.engine if body.engine is not None else engine,
        limit=body.limit,
        max_tokens=body.max_tokens,
        unused=(*unused, *(["system"] if body.system and 0 in read.unread else [])),
    )
    results = sum(place.kind == "search" for place in places)
    places += [
        Place("search", at, found.source.title or None, found.source.url or "")
        for at, found in enumerate(asked.given[len(given) :], results)
    ]
    by_id = {id(each): place for each, place in zip(asked.given, places, strict=True)}
    reply = MessageReply(asked, by_id, asked.engine)
    return await respond(request, asked, reply, stream=bool(body.stream))


def _turns(body: MessagesRequest) -> list[Turn]:
    """Return what was said."""
    for at, message in enumerate(body.messages):
        for place, block in enumerate(message.blocks()):
            if block.type not in _READ:
                raise InputError(
                    f"has type {block.type[:40]!r}, which is not supported.",
                    field=f"messages.{at}.content.{place}",
                )
    system = body.system or ""
    if not isinstance(system, str):
        system = "\n".join(part.text or "" for part in system)
    said = [Turn(each.role, each.words()) for each in body.messages]
    return [Turn("system", system), *said] if system else said


_READ = (
    "text", "document", "search_result", "tool_result", "tool_use", "thinking", "redacted_thinking",
)  # fmt: skip


def _documents(
    messages: list[Message], settings: ServerSettings
) -> tuple[list[Given], list[Place]]:
    """Return the sources of a conversation, and where each is from."""
    blocks = list(_blocks(messages))
    files = sum(_file_of(block) is not None for block in blocks)
    if files > settings.max_documents:
        raise InputError(
            f"may have at most {settings.max_documents:,} files, got {files:,}.",
            field="messages",
            hint="Put them into a collection.",
        )
    given: list[Given] = []
    places: list[Place] = []
    known: dict[str, _Extracted] = {}  # a client sends the same file with each turn
    documents = results = 0
    for block in blocks:
        if block.type == "document":
            file = _file_of(block)
            if file is not None and file not in known:
                check_cancelled()
                if given:
                    check_sources(given, settings)  # before the next one is read
                known[file] = _extracted(file, documents)
            read = _document(block, documents, known)
            documents += 1
        elif block.type == "search_result":
            read = _result(block, results)
            results += 1
        else:
            continue
        for source, place in read:
            given.append(Given(source))
            places.append(place)
    return given, places


def _blocks(messages: list[Message]) -> Iterator[Block]:
    for message in messages:
        if message.role != "user":
            continue
        for block in message.blocks():
            yield block
            if block.type == "tool_result" and isinstance(block.content, list):
                yield from block.content


class _Extracted(NamedTuple):
    """What a file holds: its text, and where each page of it begins."""

    text: str
    pages: tuple[int, ...]


def _file_of(block: Block) -> str | None:
    """Return a document's file as it was sent; None where it is sent as text."""
    source = block.source if block.type == "document" else None
    if isinstance(source, DocumentSource) and source.type == "base64":
        return source.data
    return None


def _document(
    block: Block, index: int, known: Mapping[str, _Extracted]
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
        text, pages = known[source.data]
        yield Source(text, title or ""), Place("page", index, title, cited=cited, pages=pages)
    else:
        raise InputError(
            f"must have a source of type text, content or base64 with its data, got type "
            f"{source.type[:40]!r}.",
            field=f"document {index}",
        )


def _extracted(data: str, index: int) -> _Extracted:
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(
            "must have a PDF as base64 in its data.", field=f"document {index}"
        ) from None
    documents = require("semqa.documents", extra="serve", purpose="a document in base64")
    read = documents.extract(f"document {index}.pdf", raw)  # its title is no name of a file
    return _Extracted(read.text, tuple(read.pages) or (0,))


def _result(block: Block, index: int) -> Iterator[tuple[Source, Place]]:
    content = block.content if isinstance(block.content, list) else []
    source = block.source if isinstance(block.source, str) else ""
    for at, part in enumerate(content):
        place = Place("search", index, block.title, source, block=at, cited=block.cited)
        yield Source(part.text or "", block.title or "", source or None), place


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a request a source is from.

    Attributes:
        index: of the document among documents, or of the search result among these.
        title: of it; None where it has none.
        block: which block of its content, where it has several.
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


class MessageReply(Serializer):
    """Makes a message of the events of an answer, in events or whole."""

    def __init__(self, asked: Asked, places: Mapping[int, Place], model: str) -> None:
        self._asked = asked
        self._places = places
        self._model = model
        self._blocks: list[dict[str, Any]] = []
        self._open = False

    def begin(self) -> list[bytes]:
        usage = {"input_tokens": 0, "output_tokens": 0}
        return _events({"type": "message_start", "message": self._message([], None, usage)})

    def add(self, piece: Piece) -> list[bytes]:
        segment = piece.segment
        citation = None
        if isinstance(segment, Quote) and segment.verified and piece.given is not None:
            place = self._places.get(id(piece.given))
            citation = None if place is None else place.citation(segment)
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

    def end(self, answered: Answered) -> list[bytes]:
        delta = {"stop_reason": _reason(answered), "stop_sequence": None}
        return _events(
            *self._stop(),
            {
                "type": "message_delta",
                "delta": delta,
                "usage": _usage(answered),
                "semqa": answered.details(),
            },
            {"type": "message_stop"},
        )

    def whole(self, answered: Answered) -> dict[str, Any]:
        message = self._message(self._blocks, _reason(answered), _usage(answered))
        return {**message, "semqa": answered.details()}

    def failed(self, error: dict[str, Any]) -> bytes:
        return _events(error)[0]

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


def _events(*data: dict[str, Any]) -> list[bytes]:
    return [event(each, each["type"]) for each in data]


def _reason(answered: Answered) -> str:
    return "end_turn" if answered.finished else "max_tokens"


def _usage(answered: Answered) -> dict[str, int]:
    return {
        "input_tokens": answered.usage["prompt_tokens"] or 0,
        "output_tokens": answered.usage["completion_tokens"] or 0,
    }
