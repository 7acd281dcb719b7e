"""Fields of other vendors' APIs that are refused, or that have no effect and are listed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.serving import asking, client
from tests.server.stand_ins import Written

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"


@pytest.fixture(scope="module")
def server() -> Iterator[TestClient]:
    with client(Written("[ 1 Opened in 1932 ] and [ 1 painted grey ]")) as made:
        yield made


def said(*content: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(content)}]


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
PICTURE = {"type": "image", "source": {"type": "url", "url": "https://x"}}
SCAN = {"type": "document", "source": {"type": "content", "content": [PICTURE]}}
WHEN = {"type": "text", "text": "When?"}


@pytest.mark.parametrize(
    ("path", "more", "param"),
    [
        (RESPONSES, {"previous_response_id": "resp_1"}, "previous_response_id"),
        (RESPONSES, {"instructions": "Answer in French."}, "instructions"),
        (RESPONSES, {"text": {"format": {"type": "json_object"}}}, "text.format"),
        (RESPONSES, {"tools": [{"type": "web_search"}]}, "tools.0"),
        (RESPONSES, {"max_output_tokens": 0}, "max_output_tokens"),
        (RESPONSES, {"stop": ["."]}, "stop"),
        (
            RESPONSES,
            {"input": said({"type": "input_image", "image_url": "x"})},
            "input.0.content.0",
        ),
        (RESPONSES, {"input": []}, "input"),
        (CHAT, {"response_format": {"type": "json_object"}}, "response_format"),
        (CHAT, {"max_tokens": 0}, "max_tokens"),
        (CHAT, {"n": 2}, "n"),
        (CHAT, {"store": True}, "store"),
        (CHAT, {"messages": said(IMAGE)}, "messages.0.content.0"),
        (MESSAGES, {"stop_sequences": ["."]}, "stop_sequences"),
        (MESSAGES, {"sources": [{"text": "a"}]}, "sources"),
        (MESSAGES, {"messages": said(SCAN, WHEN)}, "messages.0.content.0.source.content.0"),
    ],
)
def test_fields_that_would_change_the_reply_are_refused(
    server: TestClient, path: str, more: dict[str, Any], param: str
) -> None:
    body = {**asking(path, "When?", "Opened in 1932."), **more}
    reply = server.post(path, json=body)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, param)


def test_fields_without_effect_are_listed(server: TestClient) -> None:
    body = {
        **asking(CHAT, "When?", "Opened in 1932."),
        "temperature": 0.2,
        "response_format": {"type": "text"},
        "tool_choice": "auto",
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "sorces": [],
    }
    made = server.post(CHAT, json=body).json()
    assert made["semqa"]["unused"] == ["sorces", "temperature", "tools"]
    document = {
        "type": "document",
        "source": {"type": "text", "data": "Opened in 1932.", "languge": "en"},
        "context": "A bridge.",
        "citations": {"enabled": True, "style": "long"},
    }
    result = {"type": "tool_result", "tool_use_id": "t", "content": "It was 1933."}
    body = {
        "system": "Answer in French.",
        "messages": [*said(document, result, WHEN), {"role": "assistant", "content": "It was"}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    }
    first = "messages.0.content.0"
    assert server.post(MESSAGES, json=body).json()["semqa"]["unused"] == [
        "messages.1", "system", "messages.0.content.1", f"{first}.context",
        f"{first}.source.languge", f"{first}.citations.style",
    ]  # fmt: skip


def test_unknown_fields_of_messages_are_listed_and_errors_name_one_field() -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "Who?", "x": 1}], "name": "Ann"}
    said = {"role": "assistant", "content": "Bing.", "annotations": []}
    both = [{"role": "user", "content": "Where?", "y": 2}, said, asked]
    listed = ["messages.0.y", "messages.2.name", "messages.2.content.0.x"]
    sources = [{"text": "Bing sang it."}]
    with client(Written("[ 1 Bing ]")) as server:

        def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
            headers = {"content-type": "application/json"}  # dumps escapes lone surrogates
            return dict(server.post(path, content=json.dumps(body), headers=headers).json())

        body: dict[str, Any] = {"messages": both, "sources": sources}
        assert post("/v1/chat/completions", body)["semqa"]["unused"] == listed
        body = {"input": both, "sources": sources}
        unused = post("/v1/responses", body)["semqa"]["unused"]
        assert unused == [name.replace("messages", "input") for name in listed]
        body = {"question": "Who?", "history": [{"role": "user", "content": "Where?", "y": 2}]}
        assert post("/v1/answers", body)["error"]["param"] == "history.0.y"
        for wrong, field in (
            ({"system": "\ud800"}, "system"),
            ({"system": [{"type": "text", "text": "\ud800"}]}, "system.0.text"),
            ({"messages": [{"role": "user", "content": 7}]}, "messages.0.content"),
        ):
            error = post("/v1/messages", {"messages": [asked], **wrong})["error"]
            assert error["param"] == field
            assert "function-after" not in error["message"]
