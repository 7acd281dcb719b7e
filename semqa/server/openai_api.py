"""`POST /v1/chat/completions`: what clients of OpenAI's interface speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from semqa.errors import InputError
from semqa.server.answering import Answered
from semqa.server.asking import prepare
from semqa.server.context import Turn
from semqa.server.errors import failed
from semqa.server.fields import Collection, Engine, Limit, Many, Renumber, Sources, Text
from semqa.server.models import named_model
from semqa.server.openai_shape import ChatReply
from semqa.server.replies import STREAMED, ChatOut, errors
from semqa.server.sse import EventStream, dumps, event, primed, while_there

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

__all__ = ["ChatRequest", "router"]

router = APIRouter(tags=["chat"])


class Part(BaseModel):
    """A part of a message; only text is read."""

    type: str
    text: Text | None = None


class Message(BaseModel):
    """A message of the conversation."""

    role: Text
    content: Text | Many[Part] | None = None

    def words(self) -> str:
        """Return its text."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(part.text for part in self.content if part.text is not None)


class StreamOptions(BaseModel):
    """How a stream is sent."""

    include_usage: bool | None = None


class ChatRequest(BaseModel):
    """A conversation, whose last question is to be answered; fields that are not known do nothing."""

    messages: Many[Message] = Field(description="The conversation; the last question is answered.")
    model: Text = Field("semqa", description="One of GET /v1/models; any other is the default.")
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = Field(None, description="1: there is one answer.")
    sources: Sources = None
    collection: Collection = None
    engine: Engine = None
    limit: Limit = None
    renumber: Renumber = False
    format: Literal["plain", "marked"] = Field(
        "plain", description="marked keeps the brackets around quotes in the content."
    )


@router.post(
    "/v1/chat/completions",
    response_class=Response,
    responses={
        200: {"model": ChatOut, "content": STREAMED},
        **errors(400, 404, 408, 413, 503, 504),
    },
)
async def chat(request: Request, body: ChatRequest) -> Response:
    """Answer the last question of a conversation, with an annotation for every quote that is verified.

    `start_index` and `end_index` are Unicode code points into the content, 0-based, end exclusive;
    `source_start` and `source_end` likewise into the source's field.
    """
    if body.n not in (None, 1):
        raise InputError(f"n: got {body.n}, expected 1: there is one answer; leave it out")
    question, history = _split(body.messages)
    engine, collection = named_model(body.model, request.app.state.shelf)
    asked = await prepare(
        request,
        question,
        history,
        given=[source.given() for source in body.sources or ()],
        collection=body.collection if body.collection is not None else collection,
        engine=body.engine if body.engine is not None else engine,
        limit=body.limit,
        renumber=body.renumber,
    )
    reply = ChatReply(asked, marked=body.format == "marked")
    if body.stream:
        with_usage = bool(body.stream_options and body.stream_options.include_usage)
        events = request.app.state.answering.events(asked)
        first = await while_there(request, primed(events))
        return EventStream(_stream(request, reply, first, with_usage))
    pieces, answered = await while_there(request, request.app.state.answering.whole(asked))
    for piece in pieces:
        reply.add(piece)
    return Response(dumps(reply.whole(answered)), media_type="application/json")


async def _stream(
    request: Request, reply: ChatReply, events: AsyncGenerator[Any, None], with_usage: bool
) -> AsyncGenerator[bytes, None]:
    yield event(reply.begin())
    try:
        async for each in events:
            if not isinstance(each, Answered):
                for chunk in reply.add(each):
                    yield event(chunk)
                continue
            yield event(reply.end(each))
            if with_usage:
                yield event(reply.usage(each))
        yield b"data: [DONE]\n\n"
    except Exception as error:  # noqa: BLE001  (said in the stream, for the status is sent)
        yield event(failed(error, request))
    finally:
        await events.aclose()


def _split(messages: list[Message]) -> tuple[str, list[Turn]]:
    """Return the last question, and what was said before."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "user":
            return messages[at].words(), [Turn(each.role, each.words()) for each in messages[:at]]
    raise InputError("messages: got none of role user, expected a question; add one")
