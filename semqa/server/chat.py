"""`POST /v1/chat/completions`: what clients of OpenAI's chat interface speak.

Each verified quote has an annotation. Clients show any annotation as a citation, whatever else it says
of itself, and some refuse the whole reply for one of another type than ``url_citation``. So a quote that
is not verified has none; the details at the end tell of it. Offsets are Unicode code points, end
exclusive; ``start_index`` and ``end_index`` count in the content as it is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from semqa.errors import InputError
from semqa.quotes import Quote, Status
from semqa.quotes.marks import canonical_mark
from semqa.server.answering import Asked
from semqa.server.asking import Serializer, address, link_of, prepare, respond
from semqa.server.context import Turn, read_conversation, side_task
from semqa.server.engines import MODEL, named_model
from semqa.server.schemas import (
    NO_TOOLS,
    STREAMED,
    TEXT_ALONE,
    Collection,
    Engine,
    Lenient,
    Limit,
    Many,
    MaxTokens,
    Renumber,
    Sources,
    Text,
    errors,
)
from semqa.server.settings import Citations
from semqa.server.sse import event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.server.answering import Answered, Given, Piece

router = APIRouter(tags=["chat"])


class Part(BaseModel):
    """A part of a message."""

    type: str
    text: Text | None = None


class Message(BaseModel):
    """A message of the conversation."""

    role: Text
    content: Text | Many[Part] | None = None


def turn(message: Message, field: str) -> Turn:
    """Return a message as a turn of the conversation."""
    parts = message.content or ""
    if isinstance(parts, str):
        return Turn(message.role, parts)
    for at, part in enumerate(parts):
        if part.type not in _TEXTS:
            raise InputError(
                f"has type {part.type[:40]!r}, but only text is read.",
                field=f"{field}.content.{at}",
            )
    return Turn(message.role, "\n".join(part.text for part in parts if part.text is not None))


_TEXTS = ("text", "input_text", "output_text", "refusal")


class StreamOptions(BaseModel):
    """How a stream is sent."""

    include_usage: bool | None = None


class Conversing(Lenient):
    """What requests of OpenAI's interfaces have in common."""

    model: Text = Field("semqa", description="One of GET /v1/models; any other is the default.")
    stream: bool | None = None
    sources: Sources = None
    collection: Collection = None
    engine: Engine = None
    limit: Limit = None
    renumber: Renumber = False
    format: Citations | None = Field(
        None,
        description="How quotes look in the content: plain, numbered with [1] behind each, or marked "
        "with the brackets around them. By default as the server is set up.",
    )


class ChatRequest(Conversing):
    """A conversation, whose last question is to be answered.

    Tools are never called. Fields that would change the reply are refused if they cannot be honoured:
    `response_format`, `stop`, `logprobs` and the like. Others without effect are listed in the reply.
    """

    messages: Many[Message] = Field(description="The conversation; the last question is answered.")
    stream_options: StreamOptions | None = None
    max_tokens: MaxTokens = None
    max_completion_tokens: MaxTokens = None

    refused: ClassVar[dict[str, tuple[str, tuple[object, ...]]]] = {
        "n": ("must be 1: there is one answer.", (1,)),
        "response_format": ("must be text: answers are quotes, not JSON.", TEXT_ALONE),
        "tool_choice": (NO_TOOLS, ("none", "auto")),
        "function_call": (NO_TOOLS, ("none", "auto")),
        "stop": ("cannot be honoured: it might cut a quote.", ([],)),
        "logprobs": ("must be false: there are no probabilities.", (False,)),
        "top_logprobs": ("must be 0: there are no probabilities.", (0,)),
        "logit_bias": ("cannot be honoured.", ({},)),
        "modalities": ("must be text.", (["text"],)),
        "audio": ("cannot be honoured: the reply is text.", ()),
        "prediction": ("cannot be honoured.", ()),
        "store": ("must be false: completions are not kept.", (False,)),
        "web_search_options": ("cannot be honoured: only your documents are searched.", ()),
    }


@router.post(
    "/v1/chat/completions",
    response_class=Response,
    responses={200: {"content": STREAMED}, **errors(400, 404, 408, 413, 503, 504)},
)
async def chat(request: Request, body: ChatRequest) -> Response:
    """Answer the last question of a conversation, with an annotation for every quote that is verified.

    `start_index` and `end_index` are Unicode code points into the content, 0-based, end exclusive;
    `source_start` and `source_end` likewise into the source's field.
    """
    turns = [turn(each, f"messages.{at}") for at, each in enumerate(body.messages)]
    limits = [n for n in (body.max_tokens, body.max_completion_tokens) if n is not None]
    asked, content = await asked_of(
        request,
        body,
        turns,
        "messages",
        collection=body.collection,
        limit=body.limit,
        max_tokens=min(limits, default=None),
    )
    with_usage = bool(body.stream_options and body.stream_options.include_usage)
    reply = ChatReply(asked, content, with_usage)
    return await respond(request, asked, reply, stream=bool(body.stream))


async def asked_of(
    request: Request,
    body: Conversing,
    turns: Sequence[Turn],
    field: str,
    *,
    collection: str | Sequence[str] | None,
    limit: int | None,
    max_tokens: int | None,
) -> tuple[Asked, Content]:
    """Return the question of a conversation, and the text that its answer goes to."""
    unused = body.unused()
    told = side_task(turns)
    if told is not None:
        asked = Asked("", (), (), MODEL, told=told, unused=unused)
        return asked, Content(address(request), body.format or "plain")
    read = read_conversation(turns, field)
    engine, named = named_model(body.model, request.app.state.shelf)
    form = _content_form(request, body.format, read.given)
    asked = await prepare(
        request,
        read.question,
        read.history,
        given=[*read.given, *(source.given() for source in body.sources or ())],
        collection=collection if collection is not None else named,
        engine=body.engine if body.engine is not None else engine,
        limit=limit,
        renumber=body.renumber or (form == "numbered" and not read.given),
        max_tokens=max_tokens,
        unused=(*unused, *(f"{field}.{at}" for at in read.unread)),
    )
    return asked, Content(address(request), form)


def _content_form(request: Request, asked: Citations | None, given: Sequence[Given]) -> Citations:
    """Return how quotes look in the content: an app that numbers its passages wants the numbers."""
    if asked is not None:
        return asked
    if any(each.label for each in given):
        return "numbered"
    form: Citations = request.app.state.settings.citations
    return form


class Content:
    """The text of a reply while it is written, and the places of its quotes."""

    def __init__(self, base: str, form: Citations) -> None:
        self._base = base
        self._form = form
        self._parts: list[str] = []
        self._length = 0
        self.quotes = 0

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

    def add(self, piece: Piece) -> tuple[str, dict[str, Any] | None]:
        """Return the text of a piece, and what a citation of it says; None without one."""
        segment = piece.segment
        text, before = segment.text, 0
        verified = isinstance(segment, Quote) and segment.verified
        if isinstance(segment, Quote):
            if self._form == "marked" and segment.status is not Status.MALFORMED:
                text = canonical_mark(segment.source, segment.text)
                before = len(text) - len(segment.text) - 2
            elif self._form == "numbered" and verified:
                label = piece.given.label if piece.given else ""
                text = f"{segment.text} [{label or segment.source}]"
        start = self._length + before
        self._parts.append(text)
        self._length += len(text)
        if not isinstance(segment, Quote) or not verified:
            return text, None
        self.quotes += 1
        given = piece.given
        place = {
            "url": "" if given is None else link_of(given, self._base),
            "title": (given.source.title if given else "") or f"Source {segment.source}",
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
        return text, {"place": place, "source": source}


class ChatReply(Serializer):
    """Makes a chat completion."""

    def __init__(self, asked: Asked, content: Content, with_usage: bool) -> None:
        self._asked = asked
        self._content = content
        self._with_usage = with_usage
        self._annotations: list[dict[str, Any]] = []

    def begin(self) -> list[bytes]:
        return [self._chunk({"role": "assistant", "content": "", "refusal": None})]

    def add(self, piece: Piece) -> list[bytes]:
        """Return a chunk of text, and one with the annotation of a verified quote."""
        text, cited = self._content.add(piece)
        chunks = [self._chunk({"content": text})]
        if cited is not None:
            annotation = {
                # The official client puts the lists of a stream together by it.
                "index": len(self._annotations),
                "type": "url_citation",
                "url_citation": cited["place"],
                **cited["source"],
            }
            self._annotations.append(annotation)
            if piece.given is not None and piece.given.label:
                return chunks  # Open WebUI lists the passages that it gave
            at = cited["place"]
            # Open WebUI makes a citation of the title alone; this gives it the words. A source that
            # is not external is named by its address there.
            shown = {
                "source": {"name": at["title"], "url": at["url"]},
                "document": [cited["source"]["quote"]],
                "metadata": [{"source": at["url"], "name": at["title"], "external": True}],
            }
            told = {"type": "source", "data": shown}
            chunks.append(self._chunk({"annotations": [annotation]}, event=told))
        return chunks

    def end(self, answered: Answered) -> list[bytes]:
        """Return the last chunk, which has the details, and that of usage."""
        chunks = [self._chunk({}, _reason(answered), semqa=answered.details())]
        if self._with_usage:
            usage = {"choices": [], "usage": _usage(answered)}
            chunks.append(event({**self._head("chat.completion.chunk"), **usage}))
        return [*chunks, b"data: [DONE]\n\n"]

    def whole(self, answered: Answered) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": self._content.text,
            "refusal": None,
            "annotations": self._annotations,
        }
        reason = _reason(answered)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
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

    def _chunk(self, delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return event({**self._head("chat.completion.chunk"), "choices": [choice], **more})


def _reason(answered: Answered) -> str:
    return "stop" if answered.finished else "length"


def _usage(answered: Answered) -> dict[str, int]:
    read = answered.usage["prompt_tokens"] or 0
    wrote = answered.usage["completion_tokens"] or 0
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}
