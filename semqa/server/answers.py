"""`POST /v1/answers`: our own API, which returns the whole quoted answer."""

from __future__ import annotations

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
    history = [Turn(turn.role, turn.content) for turn in body.history]
    stored, asked = None, None
    if body.conversation is not None:
        stored = _StoredConversation(request, body.conversation)
        history += await stored.history(body.replace)
    elif body.replace is not None:
        raise InputError("needs a conversation.", field="replace")
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
    if stored is not None:
        names = [body.collection] if isinstance(body.collection, str) else body.collection
        content = {"question": body.question, "collections": names, "engine": body.engine}
        content = {name: value for name, value in content.items() if value is not None}
        asked = await stored.add("user", content, replace=body.replace)

    async def save(result: AnswerResult) -> None:
        if stored is not None:
            await stored.add("assistant", result.to_dict())

    return await respond(
        request,
        prepared,
        AnswerReply(prepared, asked),
        stream=body.stream,
        headers_first=True,
        save=save,
    )


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


class _StoredConversation:
    """A conversation in the store."""

    def __init__(self, request: Request, conversation: str) -> None:
        self._store: Any = request.app.state.store
        self._owner: str = request.state.owner
        self._id = conversation

    async def history(self, before: str | None) -> list[Turn]:
        """Return the conversation; with `before`, up to the question with this id."""
        found = await run_in_threadpool(self._store.conversation, self._owner, self._id)
        turns: list[Turn] = []
        pending: list[Turn] = []
        for message in found.messages:
            if before is not None and message.id == before:
                return turns
            if message.role == "user":
                pending = [Turn("user", str(message.content.get("question", "")))]
            else:  # questions without an answer are not part of the history
                turns += [*pending, Turn("assistant", str(message.content.get("plain", "")))]
                pending = []
        return turns

    async def add(self, role: str, content: dict[str, Any], *, replace: str | None = None) -> str:
        """Append a message; return its id."""
        message = await run_in_threadpool(
            self._store.add_message, self._owner, self._id, role, content, replace=replace
        )
        return str(message.id)
