"""`/v1/conversations`: list, read, rename, delete and export conversations.

Each owner sees only their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from semqa.data.jsonl import as_row
from semqa.data.sources import answer_of
from semqa.errors import InputError
from semqa.quotes.render import to_markdown as answer_to_markdown
from semqa.quotes.render.markdown import conversation_to_markdown, escape
from semqa.server.collections import Owner
from semqa.server.schemas import RequestBody
from semqa.server.store import ConversationInfo, FullConversation, Store

router = APIRouter(prefix="/v1/conversations", tags=["conversations"])


class NewConversation(RequestBody, extra="ignore"):
    """A new conversation."""

    title: str = Field("", max_length=2000, description="By default, the first question.")


class NewTitle(RequestBody, extra="ignore"):
    """The new title of a conversation."""

    title: str = Field(min_length=1, max_length=2000)


class ConversationList(BaseModel):
    """The client's conversations, most recently used first."""

    conversations: list[ConversationInfo]
    more: bool = Field(description="Whether there are more; increase the offset to get them.")


def _store(request: Request) -> Any:
    return request.app.state.store


InStore = Annotated[Store, Depends(_store)]


@router.get("")
def list_conversations(
    store: InStore,
    owner: Owner,
    limit: Annotated[int, Query(ge=1, le=500, description="Maximum number.")] = 500,
    offset: Annotated[int, Query(ge=0, le=10**9, description="Number to skip.")] = 0,
    title: Annotated[str, Query(max_length=200, description="Text to find in titles.")] = "",
) -> ConversationList:
    """List your conversations, most recently used first."""
    found = store.conversations(owner, limit + 1, offset=offset, title=title)
    return ConversationList(conversations=found[:limit], more=len(found) > limit)


@router.post("", status_code=201)
def begin_conversation(
    store: InStore, owner: Owner, new: NewConversation | None = None
) -> ConversationInfo:
    """Start a conversation; pass its id as `conversation` to `POST /v1/answers`."""
    return store.create_conversation(owner, new.title if new else "")


@router.get("/{conversation}")
def read_conversation(store: InStore, owner: Owner, conversation: str) -> FullConversation:
    """Return a conversation with its messages."""
    return store.conversation(owner, conversation)


@router.patch("/{conversation}")
def rename_conversation(
    store: InStore, owner: Owner, conversation: str, new: NewTitle
) -> ConversationInfo:
    """Rename a conversation."""
    return store.rename(owner, conversation, new.title)


@router.delete("/{conversation}", status_code=204)
def delete_conversation(store: InStore, owner: Owner, conversation: str) -> None:
    """Delete a conversation and its messages."""
    store.delete(owner, conversation)


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
        return JSONResponse(asdict(found), headers=headers)
    return Response(to_markdown(found), media_type="text/markdown; charset=utf-8", headers=headers)


def to_markdown(conversation: FullConversation) -> str:
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
