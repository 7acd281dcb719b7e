"""`POST /v1/answers`: a question, and the whole quoted answer, in the server's own shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from semqa.quotes import Quote
from semqa.server.answering import Answered, Asked
from semqa.server.asking import prepare
from semqa.server.context import Turn
from semqa.server.errors import failed
from semqa.server.fields import Collection, Engine, Limit, Many, Renumber, Sources, Text
from semqa.server.replies import STREAMED, AnswerOut, errors
from semqa.server.sse import EventStream, dumps, event, while_there

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

__all__ = ["AnswerRequest", "router"]

router = APIRouter(tags=["answers"])


class TurnIn(BaseModel):
    """A message of the conversation before this question."""

    role: Literal["user", "assistant"]
    content: Text


class AnswerRequest(BaseModel):
    """A question."""

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
    keep = _Keeper(request, body.conversation) if body.conversation is not None else None
    if keep is not None:
        history += await keep.history()
    asked = await prepare(
        request,
        body.question,
        history,
        given=[source.given() for source in body.sources or ()],
        collection=body.collection,
        engine=body.engine,
        limit=body.limit,
        renumber=body.renumber,
    )
    if keep is not None:
        await keep.question(body.question)
    if body.stream:
        return EventStream(_stream(request, asked, keep))
    _, answered = await while_there(request, request.app.state.answering.whole(asked))
    final = answered.to_dict()
    if keep is not None:
        await keep.answer(final)
    return Response(dumps(final), media_type="application/json")


async def _stream(
    request: Request, asked: Asked, keep: _Keeper | None
) -> AsyncGenerator[bytes, None]:
    listed = [given.to_dict(number) for number, given in enumerate(asked.given, 1)]
    yield event({"sources": listed}, "sources")
    events = request.app.state.answering.events(asked)
    try:
        async for each in events:
            if isinstance(each, Answered):
                final = each.to_dict()
                if keep is not None:
                    await keep.answer(final)
                yield event(final, "done")
                continue
            yield event({"text": each.segment.text}, "text")
            if isinstance(each.segment, Quote):
                yield event(each.segment.to_dict(), "quote")
    except Exception as error:  # noqa: BLE001  (said in the stream, for the status is sent)
        yield event(failed(error, request), "error")
    finally:
        await events.aclose()


class _Keeper:
    """Keeps the messages of a conversation."""

    def __init__(self, request: Request, conversation: str) -> None:
        self._store: Any = request.app.state.store
        self._owner: str = request.state.owner
        self._id = conversation

    async def history(self) -> list[Turn]:
        kept = await run_in_threadpool(self._store.conversation, self._owner, self._id)
        turns = []
        for message in kept.messages:
            said = message.content.get("question" if message.role == "user" else "plain", "")
            turns.append(Turn(message.role, str(said)))
        return turns

    async def question(self, question: str) -> None:
        await self._add("user", {"question": question})

    async def answer(self, final: dict[str, Any]) -> None:
        await self._add("assistant", final)

    async def _add(self, role: str, content: dict[str, Any]) -> None:
        await run_in_threadpool(self._store.add_message, self._owner, self._id, role, content)
