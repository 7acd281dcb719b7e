"""Conversations over HTTP: listed, read, renamed, deleted, exported; each owner sees their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from semqa.data.jsonl import as_row
from semqa.data.sources import answer_of
from semqa.errors import InputError
from semqa.quotes.render import to_markdown as answer_to_markdown
from semqa.quotes.render.markdown import conversation_to_markdown, escape
from semqa.server.collections import Owner
from semqa.server.store import Conversation, Store

if TYPE_CHECKING:
    from collections.abc import Mapping


router = APIRouter(prefix="/v1/conversations", tags=["conversations"])


class Titled(BaseModel):
    """What may be said of a conversation that is begun."""

    title: str = Field("", max_length=2000, description="Without one, the first question is it.")


class Renamed(BaseModel):
    """The new title of a conversation."""

    title: str = Field(min_length=1, max_length=2000)


class ConversationInfo(BaseModel):
    """A conversation without its messages; times are ISO 8601 in UTC."""

    id: str
    title: str
    created: str
    updated: str


class ConversationList(BaseModel):
    """The client's conversations, last used first."""

    conversations: list[ConversationInfo]
    more: bool = Field(description="Whether others follow: ask again with a greater offset.")


class MessageInfo(BaseModel):
    """One turn: of a user `{"question"}`, of an assistant the final object of `/v1/answers`."""

    id: str
    role: Literal["user", "assistant"]
    content: dict[str, Any]
    created: str


class FullConversation(ConversationInfo):
    """A conversation with its messages in order."""

    messages: list[MessageInfo]


def _store(request: Request) -> Store:
    store: Store = request.app.state.store
    return store


InStore = Annotated[Store, Depends(_store)]


def _full(conversation: Conversation) -> dict[str, object]:
    messages = [message.to_dict() for message in conversation.messages]
    return {**conversation.to_dict(), "messages": messages}


@router.get("", response_model=ConversationList)
def list_conversations(
    store: InStore,
    owner: Owner,
    limit: Annotated[int, Query(ge=1, le=500, description="Most of them.")] = 500,
    offset: Annotated[int, Query(ge=0, le=10**9, description="How many to pass over.")] = 0,
    title: Annotated[str, Query(max_length=200, description="What their titles hold.")] = "",
) -> dict[str, object]:
    """List your conversations, last used first."""
    found = store.conversations(owner, limit + 1, offset=offset, title=title)
    return {"conversations": [each.to_dict() for each in found[:limit]], "more": len(found) > limit}


@router.post("", response_model=ConversationInfo, status_code=201)
def begin_conversation(
    store: InStore, owner: Owner, given: Titled | None = None
) -> dict[str, object]:
    """Begin a conversation; name it in `conversation` of `POST /v1/answers`."""
    return store.create_conversation(owner, given.title if given else "").to_dict()


@router.get("/{conversation}", response_model=FullConversation)
def read_conversation(store: InStore, owner: Owner, conversation: str) -> dict[str, object]:
    """Read a conversation with its messages."""
    return _full(store.conversation(owner, conversation))


@router.patch("/{conversation}", response_model=ConversationInfo)
def rename_conversation(
    store: InStore, owner: Owner, conversation: str, given: Renamed
) -> dict[str, object]:
    """Give a conversation another title."""
    return store.rename(owner, conversation, given.title).to_dict()


@router.delete("/{conversation}", status_code=204)
def delete_conversation(store: InStore, owner: Owner, conversation: str) -> Response:
    """Delete a conversation and its messages."""
    store.delete(owner, conversation)
    return Response(status_code=204)


@router.get(
    "/{conversation}/export",
    response_class=Response,
    responses={200: {"content": {"text/markdown": {}, "application/json": {}}}},
)
def export_conversation(
    store: InStore,
    owner: Owner,
    conversation: str,
    format: Literal["markdown", "json"] = "markdown",  # noqa: A002 - the name in the URL
) -> Response:
    """Take a conversation away: as Markdown with footnotes, or as JSON with everything in it."""
    found = store.conversation(owner, conversation)
    ending = "md" if format == "markdown" else "json"
    headers = {"Content-Disposition": f'attachment; filename="{found.id}.{ending}"'}
    if format == "json":
        return JSONResponse(_full(found), headers=headers)
    return Response(to_markdown(found), media_type="text/markdown; charset=utf-8", headers=headers)


def to_markdown(conversation: Conversation) -> str:
    """Render a conversation; every quote is checked anew against the sources kept with it."""
    said: list[tuple[str, str]] = []
    for message in conversation.messages:
        if message.role == "user":
            said.append((str(message.content.get("question", "")), ""))
        elif said and not said[-1][1]:
            said[-1] = (said[-1][0], _answer(message.content))
        else:
            said.append(("", _answer(message.content)))
    return conversation_to_markdown(conversation.title, said)


def _answer(content: Mapping[str, Any]) -> str:
    question = str(content.get("understood") or content.get("question") or "")
    try:
        # The sources kept with an answer are those that it speaks of.
        read = answer_of(as_row(dict(content), "the answer")).read()
        return answer_to_markdown(read, question=question)
    except InputError:
        # What cannot be checked is still the user's own.
        return escape(str(content.get("plain", ""))) + "\n"
