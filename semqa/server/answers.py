"""`POST /v1/answers`: a question, and the whole quoted answer, in the server's own shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from semqa.errors import InputError
from semqa.quotes import Quote, QuotedAnswer, Source
from semqa.server.answering import Answered, Asked, Given
from semqa.server.asking import prepare
from semqa.server.context import Turn
from semqa.server.errors import as_error, error_body
from semqa.server.sse import EventStream, dumps, event, while_there

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

__all__ = ["AnswerRequest", "SourceIn", "router"]

router = APIRouter(tags=["answers"])


class SourceIn(BaseModel):
    """A passage to answer from."""

    text: str = Field(description="The passage.")
    title: str = Field("", description="Its title, which can be quoted as well.")
    url: str | None = Field(None, description="Where a reader finds the whole document.")

    def given(self) -> Given:
        """Return it as a source of a question."""
        return Given(Source(self.text, self.title, self.url))


class TurnIn(BaseModel):
    """A message of the conversation before this question."""

    role: Literal["user", "assistant"]
    content: str


class AnswerRequest(BaseModel):
    """A question."""

    question: str = Field(description="The question, in words.")
    sources: list[SourceIn] | None = Field(
        None, description="Passages to answer from, numbered from 1; without any, a collection is."
    )
    collection: str | None = Field(
        None, description="Name of the collection to answer from; without it, all are looked into."
    )
    engine: str | None = Field(None, description="The engine that answers; the default without it.")
    history: list[TurnIn] = Field([], description="What was said before, the oldest first.")
    conversation: str | None = Field(
        None, description="Id of a conversation that this belongs to and is kept in."
    )
    limit: Annotated[int, Field(ge=1, le=100)] | None = Field(
        None, description="Most passages to find."
    )
    stream: bool = Field(False, description="Send the answer as it comes, as server-sent events.")
    renumber: bool = Field(
        False, description="Number the sources in the order in which the answer quotes them."
    )


@router.post(
    "/v1/answers",
    response_class=Response,
    responses={200: {"content": {"application/json": {}, "text/event-stream": {}}}},
)
async def answer(request: Request, body: AnswerRequest) -> Response:
    """Answer a question from sources in the request, or from documents that were uploaded.

    All offsets are Unicode code points, 0-based, end exclusive.
    """
    history = [Turn(turn.role, plain(turn.content)) for turn in body.history]
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
    events = await while_there(request, request.app.state.answering.whole(asked))
    final = events[-1].to_dict()
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
            yield event({"text": each.text}, "text")
            if isinstance(each, Quote):
                yield event(each.to_dict(), "quote")
    except Exception as error:  # noqa: BLE001  (said in the stream, for the status is sent)
        yield event(error_body(*as_error(error), request.state.request_id), "error")
    finally:
        await events.aclose()


def plain(text: str) -> str:
    """Return what was said before without its marks."""
    return QuotedAnswer.parse(text, ()).plain if "[" in text else text


class _Keeper:
    """Keeps the messages of a conversation."""

    def __init__(self, request: Request, conversation: str) -> None:
        if request.app.state.store is None:
            raise InputError(
                "conversation: got one, expected none: no conversations are kept here; leave it out"
            )
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
