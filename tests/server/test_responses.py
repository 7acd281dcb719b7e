"""`POST /v1/responses` with the official client, and its unsupported fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.serving import client, serving
from tests.server.stand_ins import Library, Scripted, Written

if TYPE_CHECKING:
    import openai

BRIDGE = "It rained. The bridge was opened in 1932 by the mayor. It is painted grey."
SOURCES = [
    {"title": "Weather", "text": "It rained."},
    {"text": BRIDGE, "url": "https://b.example/"},
]
MODEL = Scripted(
    ["Opened ", "in [ 2 19", "32 ] and [ 2 painted grey", " ], not [ 1 1999 ]", " 🎄."]
)
TEXT = "Opened in 1932 and painted grey, not 1999 🎄."
ASKED: dict[str, Any] = {
    "model": "semqa",
    "input": "When was it?",
    "extra_body": {"sources": SOURCES},
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    library = Library(bridges=[BRIDGE], towers=["The tower was opened in 1889."])
    with serving(MODEL, engines=(MODEL.name, "extractive"), library=library) as address:
        yield address


@pytest.fixture(scope="module")
def made(url: str) -> Iterator[openai.OpenAI]:
    import openai  # takes a second

    with openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as client:
        yield client


def cited(response: Any) -> list[tuple[str, str]]:
    (message,) = response.output
    (part,) = message.content
    found = [each.to_dict() for each in part.annotations]
    for each in found:
        assert part.text[each["start_index"] : each["end_index"]] == each["quote"]
    return [(each["quote"], each["url"]) for each in found]


def test_whole(made: openai.OpenAI) -> None:
    response = made.responses.create(**ASKED)
    assert response.output_text == TEXT
    assert response.status == "completed"
    assert cited(response) == [
        ("1932", "https://b.example/"),
        ("painted grey", "https://b.example/"),
    ]
    first = response.output[0].content[0].annotations[0].to_dict()
    assert BRIDGE[first["source_start"] : first["source_end"]] == "1932"
    assert response.model_extra is not None
    assert response.model_extra["semqa"]["counts"]["fabricated"] == 1


def test_the_stream_helper_of_the_client(made: openai.OpenAI) -> None:
    with made.responses.stream(**ASKED) as stream:
        response = stream.get_final_response()
    assert response.output_text == TEXT
    assert len(cited(response)) == 2


def test_a_conversation_over_collections_by_file_search(made: openai.OpenAI) -> None:
    response = made.responses.create(
        model="extractive",
        input=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "input_text", "text": "Where is the tower?"}]},
            {"role": "assistant", "content": "I cannot tell."},
            {"role": "user", "content": "When was it opened?"},
        ],
        tools=[{"type": "file_search", "vector_store_ids": ["towers"]}],
        temperature=0,
    )
    ((quote, url),) = cited(response)
    assert quote == "The tower was opened in 1889."
    assert url.startswith("http://127.0.0.1")
    assert response.model_extra is not None
    assert response.model_extra["semqa"]["unused"] == ["temperature", "input.0"]
    assert response.model_extra["semqa"]["sources"][0]["collection"] == "towers"


@pytest.mark.parametrize("stream", [False, True])
def test_the_token_limit(made: openai.OpenAI, stream: bool) -> None:
    got: Any = made.responses.create(**ASKED, max_output_tokens=4, stream=stream)
    response = list(got)[-1].response if stream else got
    assert response.output_text == "Opened in 1932 and "
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    assert cited(response) == [("1932", "https://b.example/")]


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"instructions": "Answer in French."}, "instructions"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format"),
        ({"tools": [{"type": "web_search"}]}, "tools.0"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"extra_body": {"sources": SOURCES, "stop": ["."]}}, "stop"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
            "input.0.content.0",
        ),
        ({"input": []}, "input"),
    ],
)
def test_unsupported_fields_of_responses_are_refused(
    made: openai.OpenAI, more: dict[str, Any], param: str
) -> None:
    import openai

    with pytest.raises(openai.BadRequestError) as caught:
        made.responses.create(**{**ASKED, **more})
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"n": 2}, "n"),
        ({"store": True}, "store"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "messages.0.content.0"),
    ],
)
def test_unsupported_fields_of_chat_are_refused(
    made: openai.OpenAI, more: dict[str, Any], param: str
) -> None:
    import openai

    asked: dict[str, Any] = {"model": "semqa", "messages": [{"role": "user", "content": "When?"}]}
    with pytest.raises(openai.BadRequestError) as caught:
        made.chat.completions.create(**{**asked, **more}, extra_body={"sources": SOURCES})
    assert caught.value.param == param


def test_chat_accepts_and_lists_fields_without_effect(made: openai.OpenAI) -> None:
    completion = made.chat.completions.create(
        model="semqa",
        messages=[{"role": "user", "content": "When?"}],
        temperature=0.2,
        response_format={"type": "text"},
        tool_choice="auto",
        tools=[{"type": "function", "function": {"name": "f"}}],
        max_tokens=3,
        extra_body={"sources": SOURCES, "sorces": []},
    )
    assert completion.choices[0].message.content == "Opened in 1932"
    assert completion.choices[0].finish_reason == "length"
    assert completion.model_extra is not None
    assert completion.model_extra["semqa"]["unused"] == ["sorces", "temperature", "tools"]


PICTURE = {"type": "image", "source": {"type": "url", "url": "https://x"}}
SCAN = {"type": "document", "source": {"type": "content", "content": [PICTURE]}}


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"stop_sequences": ["."]}, "stop_sequences"),
        ({"extra_body": {"sources": SOURCES}}, "sources"),
        (
            {"messages": [{"role": "user", "content": [SCAN, {"type": "text", "text": "When?"}]}]},
            "messages.0.content.0.source.content.0",
        ),
    ],
)
def test_unsupported_fields_of_messages_are_refused(
    url: str, more: dict[str, Any], param: str
) -> None:
    import anthropic  # takes seconds

    asked: dict[str, Any] = {"model": "semqa", "messages": [{"role": "user", "content": "When?"}]}
    with (
        anthropic.Anthropic(base_url=url, api_key="unused", max_retries=0) as messages,
        pytest.raises(anthropic.BadRequestError) as caught,
    ):
        messages.messages.create(**{**asked, "max_tokens": 9, **more})
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["error"]["param"] == param


def test_messages_lists_what_has_no_effect(url: str) -> None:
    import anthropic

    document = {
        "type": "document",
        "source": {"type": "text", "data": "Opened in 1932.", "languge": "en"},
        "context": "A bridge.",
        "citations": {"enabled": True, "style": "long"},
    }
    result = {"type": "tool_result", "tool_use_id": "t", "content": "It was 1933."}
    asked: list[Any] = [document, result, {"type": "text", "text": "When?"}]
    with anthropic.Anthropic(base_url=url, api_key="unused", max_retries=0) as messages:
        message = messages.messages.create(
            model="semqa",
            max_tokens=9,
            system="Answer in French.",
            messages=[
                {"role": "user", "content": asked},
                {"role": "assistant", "content": "It was"},
            ],
            tool_choice={"type": "auto", "disable_parallel_tool_use": True},
        )
    assert message.model_extra is not None
    unused = message.model_extra["semqa"]["unused"]
    first = "messages.0.content.0"
    assert unused == [
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
