"""`POST /v1/chat/completions`: OpenAI's Chat Completions API.

Each verified quote has an annotation of type ``url_citation``. Clients show every annotation as a
citation, and some reject replies with other types. So a quote that is not verified has no
annotation; it is listed in the details at the end. Offsets are Unicode code points, end exclusive;
``start_index`` and ``end_index`` refer to the content of the reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

from semqa.errors import InputError
from semqa.quotes import FreeText, Quote, Status
from semqa.quotes.marks import canonical_mark
from semqa.server.answering import AnswerResult, Piece, PreparedQuestion
from semqa.server.asking import Serializer, page_address, prepare, respond, source_link
from semqa.server.context import Turn, read_conversation, side_task
from semqa.server.engines import MODEL, named_model
from semqa.server.schemas import (
    MAX_LISTED,
    STREAMED,
    LenientBody,
    LenientRequest,
    Many,
    Renumber,
    Sources,
    Text,
    to_sources,
    unknown_fields,
)
from semqa.server.settings import Citations
from semqa.server.sse import event

router = APIRouter(tags=["chat"])


class Part(LenientBody):
    """A part of a message."""

    type: str
    text: Text | None = None


class Message(LenientBody):
    """A message of the conversation."""

    role: Text
    content: Text | Many[Part] | None = None


def turn(message: Message, field: str) -> Turn:
    """Convert a message to a turn of the conversation."""
    parts = message.content or ""
    if isinstance(parts, str):
        return Turn(message.role, parts)
    for at, part in enumerate(parts):
        if part.type not in _TEXTS:
            raise InputError(
                f"has type {part.type[:40]!r}, but only text is supported.",
                field=f"{field}.content.{at}",
            )
    return Turn(message.role, "\n".join(part.text for part in parts if part.text is not None))


_TEXTS = ("text", "input_text", "output_text", "refusal")


def unread(messages: Sequence[Message], field: str) -> list[str]:
    """Return the unknown fields of all messages except the assistant's."""
    return [
        name
        for at, message in enumerate(messages)
        if message.role != "assistant"
        for name in unknown_fields(message, f"{field}.{at}")
    ][:MAX_LISTED]


class StreamOptions(LenientBody):
    """Options of a stream."""

    include_usage: bool | None = None


class ConversationRequest(LenientRequest):
    """Fields that both of OpenAI's APIs share."""

    sources: Sources = None
    renumber: Renumber = False
    format: Citations | None = Field(
        None,
        description="Format of quotes in the content: plain, numbered ([1] after each quote) or "
        "marked (in brackets). The default is a setting of the server.",
    )


class ChatRequest(ConversationRequest):
    """A conversation whose last question is answered.

    Tools are never called. Unsupported fields that would change the reply, such as
    `response_format`, `stop` and `logprobs`, are refused. The reply lists other fields that have no
    effect.
    """

    messages: Many[Message] = Field(description="The conversation; the last question is answered.")
    stream_options: StreamOptions | None = None


@router.post(
    "/v1/chat/completions", response_class=Response, responses={200: {"content": STREAMED}}
)
async def chat(request: Request, body: ChatRequest) -> Response:
    """Answer the last question of a conversation, with an annotation for each verified quote.

    Offsets are Unicode code points, 0-based, end exclusive. `start_index` and `end_index` refer to
    the content, `source_start` and `source_end` to the field of the source.
    """
    turns = [turn(each, f"messages.{at}") for at, each in enumerate(body.messages)]
    prepared, content = await prepare_conversation(
        request,
        body,
        turns,
        "messages",
        collection=body.collection,
        limit=body.limit,
        unread=unread(body.messages, "messages"),
    )
    with_usage = bool(body.stream_options and body.stream_options.include_usage)
    reply = ChatReply(prepared, content, with_usage)
    return await respond(request, prepared, reply, stream=bool(body.stream))


async def prepare_conversation(
    request: Request,
    body: ConversationRequest,
    turns: Sequence[Turn],
    field: str,
    *,
    collection: str | Sequence[str] | None,
    named_by: str = "collection",
    limit: int | None,
    unread: Sequence[str],
) -> tuple[PreparedQuestion, Content]:
    """Prepare the last question of a conversation, and the content of its reply."""
    unused = (*body.unused(), *unread)
    reply = side_task(turns)
    if reply is not None:
        prepared = PreparedQuestion("", (), (), MODEL, fixed_reply=reply, unused=unused)
        return prepared, Content(page_address(request), body.format or "plain")
    read = read_conversation(turns, field)
    engine, named = named_model(body.model, request.app.state.shelf)
    # Apps that label their passages get the labels.
    labelled = any(each.label for each in read.sources)
    form = body.format or ("numbered" if labelled else request.app.state.settings.citations)
    given = to_sources(body.sources)
    prepared = await prepare(
        request,
        read.question,
        read.history,
        sources=[*read.sources, *(given or ())] if read.sources else given,
        collection=collection if collection is not None else named,
        named_by="model" if collection is None else named_by,
        engine=body.engine if body.engine is not None else engine,
        limit=limit,
        renumber=body.renumber or (form == "numbered" and not read.sources),
        max_tokens=body.token_limit(),
        unused=(*unused, *(f"{field}.{at}" for at in read.ignored)),
    )
    return prepared, Content(page_address(request), form)


class Citation(NamedTuple):
    """A verified quote of a reply: the ``url_citation`` at its place, and its place in the source."""

    place: dict[str, Any]
    source: dict[str, Any]


class Content:
    """Builds the text of a reply, with the offsets of its quotes."""

    def __init__(self, base: str, form: Citations) -> None:
        self._base = base
        self.form = form
        self._parts: list[str] = []
        self._length = 0

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def add(self, piece: Piece) -> tuple[str, Citation | None]:
        """Add a piece; return its text and its citation, or None if it has no citation."""
        segment = piece.segment
        text, before = segment.text, 0
        verified = isinstance(segment, Quote) and segment.verified
        if isinstance(segment, Quote):
            if self.form == "marked" and segment.status is not Status.MALFORMED:
                text = canonical_mark(segment.source, segment.text)
                before = len(text) - len(segment.text) - 2
            elif self.form == "numbered" and verified:
                label = piece.source.label if piece.source else ""
                text = f"{segment.text} [{label or segment.source}]"
        start = self._length + before
        self._parts.append(text)
        self._length += len(text)
        if not isinstance(segment, Quote) or not verified:
            return text, None
        cited = piece.source
        place = {
            "url": "" if cited is None else source_link(cited.source, self._base),
            "title": (cited.source.title if cited else "") or f"Source {segment.source}",
            "start_index": start,
            "end_index": start + len(segment.text),
        }
        source = {
            "source_index": segment.source,
            "field": segment.field,
            "source_start": segment.source_start,
            "source_end": segment.source_end,
            "quote": segment.text,
            "status": segment.status.value,
        }
        return text, Citation(place, source)

    def offer(self, result: AnswerResult) -> list[Piece]:
        """Return the closest passages, with their numbers, if the answer abstains.

        Only in the format ``numbered``, which is for apps that show nothing but the content.
        """
        if self.form != "numbered" or not result.nearest:
            return []
        sources = dict(result.sources)
        pieces = []
        for at, quote in enumerate(result.nearest):
            text = "\n- " if at else "\n\nClosest passages:\n- "
            pieces.append(Piece(FreeText(text, 0, len(text), 0, len(text)), None))
            pieces.append(Piece(quote, sources[quote.source]))
        return pieces


class ChatReply(Serializer):
    """Serializes a chat completion."""

    def __init__(self, prepared: PreparedQuestion, content: Content, with_usage: bool) -> None:
        self._prepared = prepared
        self._content = content
        self._with_usage = with_usage
        self._annotations: list[dict[str, Any]] = []
        self._late: list[dict[str, Any]] = []

    def begin(self) -> list[bytes]:
        return [self._chunk({"role": "assistant", "content": "", "refusal": None})]

    def add(self, piece: Piece) -> list[bytes]:
        text, cited = self._content.add(piece)
        chunks = [self._chunk({"content": text})]
        if cited is not None:
            annotation = {
                # The official client merges the chunks of a stream by index.
                "index": len(self._annotations),
                "type": "url_citation",
                "url_citation": cited.place,
                **cited.source,
            }
            self._annotations.append(annotation)
            if piece.source is not None and piece.source.label:
                return chunks  # Open WebUI lists its own passages itself
            at = cited.place
            # Open WebUI would show only the title of an annotation; this event adds the quote.
            # It shows the URL instead of the name unless a source is external.
            shown = {
                "source": {"name": at["title"], "url": at["url"]},
                "document": [piece.segment.text],
                "metadata": [{"source": at["url"], "name": at["title"], "external": True}],
            }
            source = {"type": "source", "data": shown}
            if self._content.form == "numbered":
                # For chat apps: LobeChat reads annotations only where OpenAI sends them, at the end.
                self._late.append(annotation)
                chunks.append(self._chunk({}, event=source))
            else:
                chunks.append(self._chunk({"annotations": [annotation]}, event=source))
        return chunks

    def offer(self, result: AnswerResult) -> list[Piece]:
        return self._content.offer(result)

    def end(self, result: AnswerResult) -> list[bytes]:
        last = {"annotations": self._late} if self._late else {}
        chunks = [self._chunk(last, _reason(result), semqa=result.details())]
        if self._with_usage:
            usage = {"choices": [], "usage": _usage(result)}
            chunks.append(event({**self._head("chat.completion.chunk"), **usage}))
        return [*chunks, b"data: [DONE]\n\n"]

    def whole(self, result: AnswerResult) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": self._content.text,
            "refusal": None,
            "annotations": self._annotations,
        }
        reason = _reason(result)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(result),
            "semqa": result.details(),
        }

    def _head(self, kind: str) -> dict[str, Any]:
        prepared = self._prepared
        return {
            "id": f"chatcmpl-{prepared.id}",
            "object": kind,
            "created": prepared.created,
            "model": prepared.engine,
        }

    def _chunk(self, delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return event({**self._head("chat.completion.chunk"), "choices": [choice], **more})


def _reason(result: AnswerResult) -> str:
    return "stop" if result.finished else "length"


def _usage(result: AnswerResult) -> dict[str, int]:
    read, wrote = result.tokens
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}
