"""The official clients, unchanged, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from semqa.errors import UnavailableError
from tests.server.serving import serving
from tests.server.stand_ins import Library, Scripted, Store

if TYPE_CHECKING:
    import anthropic
    import openai

BRIDGE = "It rained. The bridge was opened in 1932 by the mayor. It is painted grey."
TOWER = "The tower was opened in 1889. Zürich is elsewhere. 🎄 marks it."
SOURCES = [
    {"title": "Weather", "text": "It rained."},
    {"text": BRIDGE, "url": "https://b.example/"},
]
LIBRARY = Library(bridges=[BRIDGE], towers=[TOWER])
MODEL = Scripted(
    ["Opened ", "in [ 2 19", "32 ] and [ 2 painted grey", " ], not [ 1 1999 ]", " 🎄."]
)
TEXT = "Opened in 1932 and painted grey, not 1999 🎄."
QUESTION: dict[str, Any] = {
    "model": "semqa",
    "messages": [{"role": "user", "content": "When was the bridge opened?"}],
    "extra_body": {"sources": SOURCES},
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(
        MODEL, engines=(MODEL.name, "extractive"), library=LIBRARY, store=Store(), api_keys=()
    ) as address:
        yield address


@pytest.fixture(scope="module")
def chat(url: str) -> Iterator[openai.OpenAI]:
    import openai  # takes a second

    with openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def messages(url: str) -> Iterator[anthropic.Anthropic]:
    import anthropic  # takes seconds

    with anthropic.Anthropic(base_url=url, api_key="unused", max_retries=0) as client:
        yield client


def annotated(message: Any) -> list[dict[str, Any]]:
    return [each if isinstance(each, dict) else each.to_dict() for each in message.annotations]


def test_openai_whole(chat: openai.OpenAI) -> None:
    made = chat.chat.completions.create(**QUESTION)
    message = made.choices[0].message
    assert message.content == TEXT
    first, second = annotated(message)
    assert first == {
        "index": 0,
        "type": "url_citation",
        "url_citation": {
            "url": "https://b.example/",
            "title": "Source 2",
            "start_index": 10,
            "end_index": 14,
        },
        "source_index": 2,
        "field": "body",
        "source_start": 36,
        "source_end": 40,
        "quote": "1932",
        "status": "verified",
    }
    assert BRIDGE[second["source_start"] : second["source_end"]] == second["quote"]
    assert made.choices[0].finish_reason == "stop"
    assert made.model_extra is not None
    assert made.model_extra["semqa"]["abstained"] is False
    # A quote that is not verified has no citation, but is in the details.
    statuses = [(q["text"], q["status"]) for q in made.model_extra["semqa"]["quotes"]]
    assert statuses == [("1932", "verified"), ("painted grey", "verified"), ("1999", "fabricated")]
    # A quote also names the first source, which does not contain it.
    assert [s["number"] for s in made.model_extra["semqa"]["sources"]] == [1, 2]


def test_openai_stream_helper(chat: openai.OpenAI) -> None:
    usage: Any = {"include_usage": True}
    with chat.chat.completions.stream(**QUESTION, stream_options=usage) as stream:
        made = stream.get_final_completion()
    whole = chat.chat.completions.create(**QUESTION)
    assert annotated(made.choices[0].message) == annotated(whole.choices[0].message)
    assert made.choices[0].message.content == whole.choices[0].message.content
    assert made.usage == whole.usage


def test_openai_names_engines_and_collections_as_models(chat: openai.OpenAI) -> None:
    import openai

    names = [model.id for model in chat.models.list()]
    assert names == ["semqa", MODEL.name, "extractive", "semqa/bridges", "semqa/towers"]
    assert chat.models.retrieve("semqa/towers").id == "semqa/towers"
    with pytest.raises(openai.NotFoundError, match="semqa"):
        chat.models.retrieve("semqa/none")


ASKED_ONCE: dict[str, Any] = {
    "model": "semqa",
    "input": "When was it?",
    "extra_body": {"sources": SOURCES},
}


def cited(response: Any) -> list[tuple[str, str]]:
    (message,) = response.output
    (part,) = message.content
    found = [each.to_dict() for each in part.annotations]
    for each in found:
        assert part.text[each["start_index"] : each["end_index"]] == each["quote"]
    return [(each["quote"], each["url"]) for each in found]


def test_responses_whole(chat: openai.OpenAI) -> None:
    response = chat.responses.create(**ASKED_ONCE)
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


def test_responses_stream_helper(chat: openai.OpenAI) -> None:
    with chat.responses.stream(**ASKED_ONCE) as stream:
        response = stream.get_final_response()
    assert response.output_text == TEXT
    assert len(cited(response)) == 2


def test_responses_search_collections_named_by_file_search(chat: openai.OpenAI) -> None:
    response = chat.responses.create(
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
def test_responses_have_a_token_limit(chat: openai.OpenAI, stream: bool) -> None:
    got: Any = chat.responses.create(**ASKED_ONCE, max_output_tokens=4, stream=stream)
    response = list(got)[-1].response if stream else got
    assert response.output_text == "Opened in 1932 and "
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    assert cited(response) == [("1932", "https://b.example/")]


class Breaking(Scripted):
    name = "breaking:x"


def test_clients_see_that_a_stream_broke_off() -> None:
    import anthropic
    import openai

    broken = Breaking(["It was ", "[ 1 rained", " ]"], fails=UnavailableError("the model is gone"))
    asked: Any = [{"role": "user", "content": "When was the bridge opened?"}]
    said: Any = [document("It rained."), {"type": "text", "text": "When was it?"}]
    with (
        serving(broken) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as chat,
        anthropic.Anthropic(base_url=url, api_key="unused", max_retries=0) as messages,
    ):
        chunks = chat.chat.completions.create(
            model="semqa", messages=asked, stream=True, extra_body={"sources": SOURCES}
        )
        with pytest.raises(openai.APIError, match="The model did not answer"):
            list(chunks)
        events = messages.messages.create(
            model="semqa", max_tokens=9, messages=[{"role": "user", "content": said}], stream=True
        )
        with pytest.raises(anthropic.APIStatusError, match="The model did not answer"):
            list(events)


def document(text: str, title: str | None = None, **more: Any) -> Any:
    source = {"type": "text", "media_type": "text/plain", "data": text}
    cited = {"enabled": True}
    return {"type": "document", "source": source, "title": title, "citations": cited, **more}


ASKED: list[Any] = [
    {
        "role": "user",
        "content": [
            document("It rained.", "Weather"),
            document(BRIDGE, "Bridge"),
            {"type": "text", "text": "When was the bridge opened?"},
        ],
    }
]


def test_anthropic_whole(messages: anthropic.Anthropic) -> None:
    made = messages.messages.create(model="semqa", max_tokens=100, messages=ASKED)
    texts = [(b.text, bool(b.citations)) for b in made.content if b.type == "text"]
    assert texts == [
        ("Opened in ", False),
        ("1932", True),
        (" and ", False),
        ("painted grey", True),
        (", not 1999 🎄.", False),
    ]
    block = made.content[1]
    assert block.type == "text"
    assert block.citations is not None
    assert block.citations[0].to_dict() == {
        "type": "char_location",
        "cited_text": "1932",
        "document_index": 1,
        "document_title": "Bridge",
        "file_id": None,
        "start_char_index": 36,
        "end_char_index": 40,
    }
    assert (made.stop_reason, made.role) == ("end_turn", "assistant")


def test_anthropic_stream(messages: anthropic.Anthropic) -> None:
    with messages.messages.stream(model="semqa", max_tokens=100, messages=ASKED) as stream:
        cited = [event.citation.cited_text for event in stream if event.type == "citation"]
        made = stream.get_final_message()
    assert cited == ["1932", "painted grey"]
    again = messages.messages.create(model="semqa", max_tokens=100, messages=ASKED)
    assert [b.to_dict() for b in made.content] == [b.to_dict() for b in again.content]


def test_anthropic_content_and_search_results(messages: anthropic.Anthropic) -> None:
    parts: Any = [{"type": "text", "text": "It rained."}, {"type": "text", "text": BRIDGE}]
    cited = {"enabled": True}
    content: Any = {"type": "document", "source": {"type": "content", "content": parts}}
    result: Any = {"type": "search_result", "source": "https://s/", "title": "S", "content": parts}
    for block, kind in ((content, "content_block_location"), (result, "search_result_location")):
        said: list[Any] = [{**block, "citations": cited}, {"type": "text", "text": "When was it?"}]
        made = messages.messages.create(
            model="semqa", max_tokens=100, messages=[{"role": "user", "content": said}]
        )
        found = [c for b in made.content if b.type == "text" for c in b.citations or []]
        assert [(c.type, c.cited_text) for c in found] == [(kind, "1932"), (kind, "painted grey")]
        assert found[0].to_dict()["start_block_index"] == 1


def test_anthropic_without_citations(messages: anthropic.Anthropic) -> None:
    plain = document(BRIDGE, citations=None)
    made = messages.messages.create(
        model="semqa",
        max_tokens=100,
        messages=[
            {"role": "user", "content": [plain, plain, {"type": "text", "text": "When was it?"}]}
        ],
    )
    (block,) = made.content
    assert block.type == "text"
    assert (block.citations, block.text[:14]) == (None, "Opened in 1932")
