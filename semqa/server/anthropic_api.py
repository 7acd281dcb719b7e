"""`POST /v1/messages`: what clients of the Messages interface speak."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from semqa.engines.wanted import check_wanted
from semqa.errors import InputError
from semqa.extras import require
from semqa.quotes import Source
from semqa.server.answering import Answered, Given
from semqa.server.anthropic_shape import MessageReply, Place
from semqa.server.asking import prepare
from semqa.server.context import Turn
from semqa.server.errors import failed
from semqa.server.fields import Collection, Engine, Limit, Many, Text
from semqa.server.gathering import check_question, check_sources
from semqa.server.models import named_model
from semqa.server.replies import STREAMED, MessageOut, errors
from semqa.server.sse import EventStream, dumps, event, primed, while_there

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from semqa.server.settings import ServerSettings

__all__ = ["MessagesRequest", "router"]

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


class MessagesRequest(BaseModel):
    """A conversation, whose last question is answered; fields that are not known do nothing."""

    messages: Many[Message] = Field(description="The conversation; the last question is answered.")
    model: Text = Field("semqa", description="One of GET /v1/models; any other is the default.")
    stream: bool | None = None
    collection: Collection = None
    engine: Engine = None
    limit: Limit = None


@router.post(
    "/v1/messages",
    response_class=Response,
    responses={
        200: {"model": MessageOut, "content": STREAMED},
        **errors(400, 404, 408, 413, 503, 504),
    },
)
async def messages(request: Request, body: MessagesRequest) -> Response:
    """Answer the last question from the documents of the conversation, or from collections.

    A quote is a content block whose text is its `cited_text`. Offsets are Unicode code points,
    0-based, end exclusive.
    """
    question, history = _split(body.messages)
    state = request.app.state
    check_question(question, state.settings)
    given, places = await state.reading.run_wanted(
        request, state.settings.request_timeout, _documents, body.messages, state.settings
    )
    engine, collection = named_model(body.model, state.shelf)
    asked = await prepare(
        request,
        question,
        history,
        given=given,
        collection=body.collection if body.collection is not None else collection,
        engine=body.engine if body.engine is not None else engine,
        limit=body.limit,
    )
    if not given:
        places = [
            Place("search", at, found.source.title or None, found.source.url or "")
            for at, found in enumerate(asked.given)
        ]
    by_id = {id(each): place for each, place in zip(asked.given, places, strict=True)}
    reply = MessageReply(asked, by_id, asked.engine)
    if body.stream:
        events = request.app.state.answering.events(asked)
        first = await while_there(request, primed(events))
        return EventStream(_stream(request, reply, first))
    pieces, answered = await while_there(request, request.app.state.answering.whole(asked))
    for piece in pieces:
        reply.add(piece)
    return Response(dumps(reply.whole(answered)), media_type="application/json")


async def _stream(
    request: Request, reply: MessageReply, events: AsyncGenerator[Any, None]
) -> AsyncGenerator[bytes, None]:
    yield _event(reply.begin())
    try:
        async for each in events:
            told = reply.end(each) if isinstance(each, Answered) else reply.add(each)
            for one in told:
                yield _event(one)
    except Exception as error:  # noqa: BLE001  (said in the stream, for the status is sent)
        yield _event(failed(error, request))
    finally:
        await events.aclose()


def _event(data: dict[str, Any]) -> bytes:
    return event(data, data["type"])


def _split(messages: list[Message]) -> tuple[str, list[Turn]]:
    """Return the last question, and what was said before."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "user" and (words := messages[at].words()).strip():
            return words, [Turn(each.role, each.words()) for each in messages[:at]]
    raise InputError("messages: got no text of role user, expected a question; add one")


def _documents(
    messages: list[Message], settings: ServerSettings
) -> tuple[list[Given], list[Place]]:
    """Return the sources of a conversation, and where each is from.

    Raises:
        InputError: there are too many, or one cannot be read.
        UnwantedError: nobody waits for them any more.
    """
    blocks = list(_blocks(messages))
    files = sum(_file_of(block) is not None for block in blocks)
    if files > settings.max_documents:
        raise InputError(
            f"documents: got {files:,} that have to be read first, expected at most "
            f"{settings.max_documents:,}; send fewer, put them into a collection, or raise "
            "--max-documents"
        )
    given: list[Given] = []
    places: list[Place] = []
    known: dict[str, _Extracted] = {}  # a client sends the same file with each turn
    documents = results = 0
    for block in blocks:
        if block.type == "document":
            file = _file_of(block)
            if file is not None and file not in known:
                check_wanted()
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
            f"document {index}: got no source, expected one of type text, content or base64; add it"
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
            f"document {index}: got a source of type {source.type[:40]!r}, expected text with data, "
            "content with blocks, or base64 with data; send the text"
        )


def _extracted(data: str, index: int) -> _Extracted:
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(
            f"document {index}: got data that is no base64, expected a PDF in base64; encode it"
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
