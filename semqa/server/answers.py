"""`POST /v1/answers`: our own API, which returns the whole quoted answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from semqa.errors import InputError
from semqa.quotes import Quote
from semqa.server.answering import AnswerResult, Piece, PreparedQuestion
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
    RequestBody,
    Sources,
    Text,
    to_sources,
)
from semqa.server.sse import event
from semqa.server.store import MessageInfo, Role

router = APIRouter(tags=["answers"])


class TurnIn(RequestBody):
    """An earlier message of the conversation."""

    role: Literal["user", "assistant"]
    content: Text


class AnswerRequest(RequestBody):
    """A question."""

    question: Text = Field(description="The question, in natural language.")
    sources: Sources = None
    collection: Collection = None
    engine: Engine = None
    history: Many[TurnIn] = Field(
        [], description="Earlier messages of the conversation, oldest first."
    )
    conversation: Text | None = Field(None, description="Id of a stored conversation to continue.")
    replace: Text | None = Field(
        None,
        description="Id of a question in the conversation. This question replaces it and all that "
        "follows.",
    )
    limit: Limit = None
    stream: bool = Field(False, description="Stream the answer as server-sent events.")
    renumber: Renumber = False


@router.post(
    "/v1/answers",
    response_class=Response,
    responses={200: {"model": AnswerOut, "content": STREAMED}},
)
async def answer(request: Request, body: AnswerRequest) -> Response:
    """Answer a question from sources in the request or from uploaded documents.

    All offsets are Unicode code points, 0-based, end exclusive.
    """
    store, owner, conversation = request.app.state.store, request.state.owner, body.conversation
    history = [Turn(turn.role, turn.content) for turn in body.history]
    if conversation is not None:
        found = await run_in_threadpool(store.conversation, owner, conversation)
        history += _turns(found.messages, body.replace)
    elif body.replace is not None:
        raise InputError("needs a conversation.", field="replace")

    async def add(role: Role, content: dict[str, Any], *, replace: str | None = None) -> str:
        message = await run_in_threadpool(
            store.add_message, owner, conversation, role, content, replace=replace
        )
        return str(message.id)

    prepared = await prepare(
        request,
        body.question,
        exchanges(history),
        sources=to_sources(body.sources),
        collection=body.collection,
        engine=body.engine,
        limit=body.limit,
        renumber=body.renumber,
    )
    asked = None
    if conversation is not None:
        names = [body.collection] if isinstance(body.collection, str) else body.collection
        content = {"question": body.question, "collections": names, "engine": body.engine}
        content = {name: value for name, value in content.items() if value is not None}
        asked = await add("user", content, replace=body.replace)

    async def save(result: AnswerResult) -> None:
        if conversation is not None:
            await add("assistant", result.to_dict())

    reply = AnswerReply(prepared, asked)
    return await respond(
        request, prepared, reply, stream=body.stream, headers_first=True, save=save
    )


def _turns(messages: Iterable[MessageInfo], before: str | None) -> list[Turn]:
    """Return a stored conversation; with `before`, up to the question with this id."""
    turns: list[Turn] = []
    pending: list[Turn] = []
    for message in messages:
        if before is not None and message.id == before:
            break
        if message.role == "user":
            pending = [Turn("user", str(message.content.get("question", "")))]
        else:  # questions without an answer are not part of the history
            turns += [*pending, Turn("assistant", str(message.content.get("plain", "")))]
            pending = []
    return turns


class AnswerReply(Serializer):
    """Serializes our own API."""

    def __init__(self, prepared: PreparedQuestion, asked: str | None) -> None:
        self._prepared = prepared
        self._asked = asked

    def begin(self) -> list[bytes]:
        listed = [source.to_dict(number) for number, source in enumerate(self._prepared.sources, 1)]
        return [event({"sources": listed, "asked": self._asked}, "sources")]

    def add(self, piece: Piece) -> list[bytes]:
        chunks = [event({"text": piece.segment.text}, "text")]
        if isinstance(piece.segment, Quote):
            chunks.append(event(piece.segment.to_dict(), "quote"))
        return chunks

    def end(self, result: AnswerResult) -> list[bytes]:
        return [event(result.to_dict(), "done")]

    def whole(self, result: AnswerResult) -> dict[str, Any]:
        return result.to_dict()

    def failed(self, error: dict[str, Any]) -> bytes:
        return event(error, "error")
