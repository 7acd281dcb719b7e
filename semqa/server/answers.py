"""`POST /v1/answers`: a question, and the whole quoted answer, in the server's own shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from semqa.quotes import Quote
from semqa.server.asking import Serializer, prepare, respond
from semqa.server.context import Turn, exchanges
from semqa.server.schemas import (
    STREAMED,
    AnswerOut,
    Collection,
    Engine,
    Limit,
    Many,
    Renumber,
    Sources,
    Text,
    errors,
)
from semqa.server.sse import event

if TYPE_CHECKING:
    from semqa.server.answering import Answered, Asked, Piece

router = APIRouter(tags=["answers"])


class TurnIn(BaseModel):
    """A message of the conversation before this question."""

    role: Literal["user", "assistant"]
    content: Text


class AnswerRequest(BaseModel):
    """A question."""

    model_config = ConfigDict(extra="forbid")

    question: Text = Field(description="The question, in words.")
    sources: Sources = None
    collection: Collection = None
    engine: Engine = None
    history: Many[TurnIn] = Field([], description="What was said before, the oldest first.")
    conversation: Text | None = Field(
        None, description="Id of a conversation that this belongs to and is kept in."
    )
    limit: Limit = None
    stream: bool = Field(False, description="Send the answer as it comes, as server-sent events.")
    renumber: Renumber = False


@router.post(
    "/v1/answers",
    response_class=Response,
    responses={
        200: {"model": AnswerOut, "content": STREAMED},
        **errors(400, 404, 408, 413, 503, 504),
    },
)
async def answer(request: Request, body: AnswerRequest) -> Response:
    """Answer a question from sources in the request, or from documents that were uploaded.

    All offsets are Unicode code points, 0-based, end exclusive.
    """
    history = [Turn(turn.role, turn.content) for turn in body.history]
    kept = _Conversation(request, body.conversation) if body.conversation is not None else None
    if kept is not None:
        history += await kept.history()
    asked = await prepare(
        request,
        body.question,
        exchanges(history),
        given=[source.given() for source in body.sources or ()],
        collection=body.collection,
        engine=body.engine,
        limit=body.limit,
        renumber=body.renumber,
    )
    if kept is not None:
        named = body.collection
        chosen = [named] if isinstance(named, str) else named
        told = {"question": body.question, "collections": chosen, "engine": body.engine}
        await kept.add("user", {name: value for name, value in told.items() if value is not None})

    async def keep(answered: Answered) -> None:
        if kept is not None:
            await kept.add("assistant", answered.to_dict())

    return await respond(
        request, asked, AnswerReply(asked), stream=body.stream, at_once=True, keep=keep
    )


class AnswerReply(Serializer):
    """Makes the server's own reply."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def begin(self) -> list[bytes]:
        listed = [given.to_dict(number) for number, given in enumerate(self._asked.given, 1)]
        return [event({"sources": listed}, "sources")]

    def add(self, piece: Piece) -> list[bytes]:
        told = [event({"text": piece.segment.text}, "text")]
        if isinstance(piece.segment, Quote):
            told.append(event(piece.segment.to_dict(), "quote"))
        return told

    def end(self, answered: Answered) -> list[bytes]:
        return [event(answered.to_dict(), "done")]

    def whole(self, answered: Answered) -> dict[str, Any]:
        return answered.to_dict()

    def failed(self, error: dict[str, Any]) -> bytes:
        return event(error, "error")


class _Conversation:
    """A conversation that is kept."""

    def __init__(self, request: Request, conversation: str) -> None:
        self._store: Any = request.app.state.store
        self._owner: str = request.state.owner
        self._id = conversation

    async def history(self) -> list[Turn]:
        kept = await run_in_threadpool(self._store.conversation, self._owner, self._id)
        turns: list[Turn] = []
        asked: list[Turn] = []
        for message in kept.messages:
            if message.role == "user":
                asked = [Turn("user", str(message.content.get("question", "")))]
            else:  # only now: a question that failed is no context for the next one
                turns += [*asked, Turn("assistant", str(message.content.get("plain", "")))]
                asked = []
        return turns

    async def add(self, role: str, content: dict[str, Any]) -> None:
        await run_in_threadpool(self._store.add_message, self._owner, self._id, role, content)
