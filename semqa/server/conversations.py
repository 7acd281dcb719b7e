"""`/v1/conversations`: list, read, rename, delete and export conversations.

Each owner sees only their own.
"""

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


class NewConversation(BaseModel):
    """A new conversation."""

    title: str = Field("", max_length=2000, description="By default, the first question.")


class NewTitle(BaseModel):
    """The new title of a conversation."""

    title: str = Field(min_length=1, max_length=2000)


class ConversationInfo(BaseModel):
    """A conversation without its messages; times are ISO 8601 in UTC."""

    id: str
    title: str
    created: str
    updated: str


class ConversationList(BaseModel):
    """The client's conversations, most recently used first."""

    conversations: list[ConversationInfo]
    more: bool = Field(description="Whether there are more; increase the offset to get them.")


class MessageInfo(BaseModel):
    """A message: `{"question"}` of a user, or the final object of `/v1/answers` of an assistant."""

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
    limit: Annotated[int, Query(ge=1, le=500, description="Maximum number.")] = 500,
    offset: Annotated[int, Query(ge=0, le=10**9, description="Number to skip.")] = 0,
    title: Annotated[str, Query(max_length=200, description="Text to find in titles.")] = "",
) -> dict[str, object]:
    """List your conversations, most recently used first."""
    found = store.conversations(owner, limit + 1, offset=offset, title=title)
    return {"conversations": [each.to_dict() for each in found[:limit]], "more": len(found) > limit}


@router.post("", response_model=ConversationInfo, status_code=201)
def begin_conversation(
    store: InStore, owner: Owner, new: NewConversation | None = None
) -> dict[str, object]:
    """Start a conversation; pass its id as `conversation` to `POST /v1/answers`."""
    return store.create_conversation(owner, new.title if new else "").to_dict()


@router.get("/{conversation}", response_model=FullConversation)
def read_conversation(store: InStore, owner: Owner, conversation: str) -> dict[str, object]:
    """Return a conversation with its messages."""
    return _full(store.conversation(owner, conversation))


@router.patch("/{conversation}", response_model=ConversationInfo)
def rename_conversation(
    store: InStore, owner: Owner, conversation: str, new: NewTitle
) -> dict[str, object]:
    """Rename a conversation."""
    return store.rename(owner, conversation, new.title).to_dict()


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
    """Export a conversation as Markdown with footnotes, or as complete JSON."""
    found = store.conversation(owner, conversation)
    ending = "md" if format == "markdown" else "json"
    headers = {"Content-Disposition": f'attachment; filename="{found.id}.{ending}"'}
    if format == "json":
        return JSONResponse(_full(found), headers=headers)
    return Response(to_markdown(found), media_type="text/markdown; charset=utf-8", headers=headers)


def to_markdown(conversation: Conversation) -> str:
    """Render a conversation as Markdown, and verify every quote against its stored source."""
    turns: list[tuple[str, str]] = []
    for message in conversation.messages:
        if message.role == "user":
            turns.append((str(message.content.get("question", "")), ""))
        elif turns and not turns[-1][1]:
            turns[-1] = (turns[-1][0], _answer(message.content))
        else:
            turns.append(("", _answer(message.content)))
    return conversation_to_markdown(conversation.title, turns)


def _answer(content: Mapping[str, Any]) -> str:
    question = str(content.get("understood") or content.get("question") or "")
    try:
        read = answer_of(as_row(dict(content), "the answer")).read()
        return answer_to_markdown(read, question=question)
    except InputError:
        # Export the text of an answer even if its quotes cannot be verified.
        return escape(str(content.get("plain", ""))) + "\n"
