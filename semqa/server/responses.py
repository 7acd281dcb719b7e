"""`POST /v1/responses`: OpenAI's Responses API.

An answer is one message with one text part, which has a ``url_citation`` for each verified quote.
Offsets are Unicode code points, end exclusive, and refer to that text.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field, JsonValue

from semqa.errors import InputError
from semqa.server.answering import AnswerResult, Piece, PreparedQuestion
from semqa.server.asking import Serializer, respond
from semqa.server.chat import (
    Content,
    ConversationRequest,
    Message,
    prepare_conversation,
    turn,
    unread,
)
from semqa.server.context import Turn, passages_of
from semqa.server.schemas import STREAMED, TEXT_ALONE, LenientBody, Limit, Many, Text
from semqa.server.sse import event

router = APIRouter(tags=["responses"])


class Item(Message):
    """An item of the input; only messages are supported."""

    type: str = "message"
    role: Text = "user"


class Tool(LenientBody):
    """A tool: `file_search` names collections, functions are never called, others are refused."""

    type: str
    vector_store_ids: Many[Text] | None = None
    max_num_results: Limit = None


class TextSettings(LenientBody):
    """Format of the reply; only plain text is supported."""

    format: dict[str, JsonValue] | None = None


class ResponsesRequest(ConversationRequest):
    """A conversation whose last question is answered.

    Responses are not stored, tools are never called, and instructions are not followed. Unsupported
    fields that would change the reply are refused. The reply lists other fields that have no
    effect.
    """

    input: Text | Many[Item] = Field(description="A question, or the whole conversation.")
    instructions: Text | None = Field(
        None, description="Only passages are read; other instructions are refused."
    )
    text: TextSettings | None = None
    tools: Many[Tool] | None = Field(
        None, description="The vector_store_ids of file_search are names of collections."
    )
    metadata: dict[str, str] | None = None

    def unused(self) -> tuple[str, ...]:
        """Return the fields that have no effect; raise if a field is refused."""
        unused = super().unused()
        if any(tool.type != "file_search" for tool in self.tools or ()):
            unused += ("tools",)
        return (*unused, "text") if self.text and self.text.model_extra else unused

    def searched(self) -> tuple[str | list[str] | None, int | None]:
        """Return the names of the collections to search, and the number of passages."""
        if self.text and self.text.format and self.text.format not in TEXT_ALONE:
            raise InputError("must be text: answers are quotes, not JSON.", field="text.format")
        names = self.collection or []
        names = [names] if isinstance(names, str) else list(names)
        limit = self.limit
        for at, tool in enumerate(self.tools or ()):
            if tool.type == "file_search":
                names += tool.vector_store_ids or ()
                limit = limit or tool.max_num_results
                if {"filters", "ranking_options"} & {*(tool.model_extra or {})}:
                    raise InputError(
                        "must not have filters or ranking_options.", field=f"tools.{at}"
                    )
            elif tool.type not in ("function", "custom"):
                raise InputError(
                    f"has type {tool.type[:40]!r}, which is not supported.", field=f"tools.{at}"
                )
        return names or None, limit

    def turns(self) -> list[Turn]:
        items = [Item(content=self.input)] if isinstance(self.input, str) else self.input
        turns = []
        for at, item in enumerate(items):
            if item.type == "reasoning":
                turns.append(Turn("reasoning", ""))
                continue
            if item.type != "message":
                raise InputError(
                    f"has type {item.type[:40]!r}, but only messages are supported.",
                    field=f"input.{at}",
                )
            turns.append(turn(item, f"input.{at}"))
        if self.instructions:
            if not passages_of(self.instructions):
                raise InputError(
                    "are not supported: answers are quotes from the sources.",
                    field="instructions",
                    hint="Remove them.",
                )
            turns.append(Turn("system", self.instructions))
        return turns


@router.post("/v1/responses", response_class=Response, responses={200: {"content": STREAMED}})
async def create_response(request: Request, body: ResponsesRequest) -> Response:
    """Answer the last question of a conversation, with an annotation for each verified quote.

    Offsets are Unicode code points, 0-based, end exclusive. `start_index` and `end_index` refer to
    the text, `source_start` and `source_end` to the field of the source.
    """
    searched, limit = body.searched()
    prepared, content = await prepare_conversation(
        request,
        body,
        body.turns(),
        "input",
        collection=searched,
        named_by="vector_store_ids" if body.collection is None else "collection",
        limit=limit,
        unread=[] if isinstance(body.input, str) else unread(body.input, "input"),
    )
    reply = ResponseReply(prepared, content, body)
    return await respond(request, prepared, reply, stream=bool(body.stream))


class ResponseReply(Serializer):
    """Serializes a response."""

    def __init__(
        self, prepared: PreparedQuestion, content: Content, body: ResponsesRequest
    ) -> None:
        self._prepared = prepared
        self._content = content
        self._body = body
        self._annotations: list[dict[str, Any]] = []
        self._sent = 0

    def begin(self) -> list[bytes]:
        response = self._response("in_progress", [], None)
        item = {**self._message("in_progress"), "content": []}
        return [
            self._event("created", response=response),
            self._event("in_progress", response=response),
            self._event("output_item.added", output_index=0, item=item),
            self._event("content_part.added", **self._place, part=self._part()),
        ]

    def add(self, piece: Piece) -> list[bytes]:
        text, cited = self._content.add(piece)
        events = [self._event("output_text.delta", **self._place, delta=text, logprobs=[])]
        if cited is not None:
            annotation = {"type": "url_citation", **cited.place, **cited.source}
            at = len(self._annotations)
            self._annotations.append(annotation)
            added = {"annotation": annotation, "annotation_index": at}
            events.append(self._event("output_text.annotation.added", **self._place, **added))
        return events

    def offer(self, result: AnswerResult) -> list[Piece]:
        return self._content.offer(result)

    def end(self, result: AnswerResult) -> list[bytes]:
        whole = self.whole(result)
        done = {"text": self._content.text, "logprobs": []}
        return [
            self._event("output_text.done", **self._place, **done),
            self._event("content_part.done", **self._place, part=self._part()),
            self._event("output_item.done", output_index=0, item=whole["output"][0]),
            self._event(whole["status"], response=whole),
        ]

    def whole(self, result: AnswerResult) -> dict[str, Any]:
        status = "completed" if result.finished else "incomplete"
        read, wrote = result.tokens
        usage = {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": wrote,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + wrote,
        }
        whole = self._response(status, [self._message(status)], usage)
        return {**whole, "semqa": result.details()}

    def failed(self, error: dict[str, Any]) -> bytes:
        """Return an error event, in the form that the official client raises."""
        detail = error["error"]
        more = {"code": detail["type"], "message": detail["message"], "param": detail["param"]}
        return event({**error, **more, "sequence_number": self._next()}, "error")

    def _next(self) -> int:
        self._sent += 1
        return self._sent - 1

    def _event(self, kind: str, **data: Any) -> bytes:
        kind = f"response.{kind}"
        return event({"type": kind, "sequence_number": self._next(), **data}, kind)

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": f"msg_{self._prepared.id}", "output_index": 0, "content_index": 0}

    def _part(self) -> dict[str, Any]:
        text, annotations = self._content.text, self._annotations
        return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}

    def _message(self, status: str) -> dict[str, Any]:
        return {
            "id": f"msg_{self._prepared.id}",
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": [self._part()],
        }

    def _response(
        self, status: str, output: list[dict[str, Any]], usage: dict[str, Any] | None
    ) -> dict[str, Any]:
        body = self._body
        cut = {"reason": "max_output_tokens"} if status == "incomplete" else None
        return {
            "id": f"resp_{self._prepared.id}",
            "object": "response",
            "created_at": self._prepared.created,
            "status": status,
            "error": None,
            "incomplete_details": cut,
            "instructions": body.instructions,
            "max_output_tokens": body.max_output_tokens,
            "metadata": body.metadata or {},
            "model": self._prepared.engine,
            "output": output,
            "parallel_tool_calls": False,
            "previous_response_id": None,
            "store": False,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [tool.model_dump(exclude_none=True) for tool in body.tools or ()],
            "top_p": None,
            "truncation": "disabled",
            "usage": usage,
        }
