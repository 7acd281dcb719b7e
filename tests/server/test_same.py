"""A stream gives the same reply as a request without streaming, except for ids and times."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from semqa import QuotedAnswer, Source
from tests.effort import effort
from tests.server.serving import client
from tests.server.stand_ins import Scripted, Written
from tests.strategies import answers


class Told(Scripted):
    """Answers with the text that a test sets."""

    name = "told:x"


class ToldWhole(Written):
    name = "told"


STREAMED, WHOLE = Told([]), ToldWhole("")


@pytest.fixture(scope="module")
def server() -> Iterator[TestClient]:
    with client(STREAMED, WHOLE) as made:
        yield made


def tell(text: str, seed: int) -> None:
    rng = random.Random(seed)
    cuts = sorted(rng.randrange(len(text) + 1) for _ in range(rng.randrange(6)))
    STREAMED.pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    WHOLE.text = text


def events(server: TestClient, path: str, body: dict[str, Any]) -> list[tuple[str, Any]]:
    reply = server.post(path, json=body)
    assert reply.status_code == 200, reply.text
    found = []
    for block in reply.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":")
        if lines and lines["data"] != "[DONE]":
            found.append((lines.get("event", ""), json.loads(lines["data"])))
    return found


def whole(server: TestClient, path: str, body: dict[str, Any]) -> Any:
    reply = server.post(path, json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def wire(value: Any) -> str:
    """As JSON, without fields that differ between answers."""
    if isinstance(value, dict):
        value = {k: v for k, v in value.items() if k not in ("id", "created")}
    return json.dumps(value)


sendable = answers().filter(
    lambda drawn: drawn[0].strip() and any((s.text + s.title).strip() for s in drawn[1])
)
many = settings(
    max_examples=effort(25),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
ENGINES = st.sampled_from([STREAMED.name, WHOLE.name])


def listed(sources: list[Source]) -> list[dict[str, Any]]:
    return [{"text": s.text, "title": s.title} for s in sources]


def unrated(quotes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the relevance, which is not estimated when an answer is parsed again."""
    return [{**quote, "relevance": None} for quote in quotes]


@many
@given(drawn=sendable, seed=st.integers(), engine=ENGINES, renumber=st.booleans())
def test_answers(
    server: TestClient, drawn: tuple[str, list[Source]], seed: int, engine: str, renumber: bool
) -> None:
    text, sources = drawn
    tell(text, seed)
    body = {"question": "Who?", "sources": listed(sources), "engine": engine, "renumber": renumber}
    final = whole(server, "/v1/answers", body)
    told = events(server, "/v1/answers", {**body, "stream": True})
    assert (told[0][0], told[-1][0]) == ("sources", "done")
    assert wire(told[-1][1]) == wire(final)
    assert "".join(data["text"] for name, data in told if name == "text") == final["plain"]
    # The streamed quotes are those of the final answer.
    places = ("field", "source_start", "source_end", "occurrences", "relevance")
    shown = [data for name, data in told if name == "quote"]
    assert [{k: v for k, v in quote.items() if k not in places} for quote in shown] == [
        {k: v for k, v in quote.items() if k not in places} for quote in final["quotes"]
    ]
    # Parsing the answer with its own sources gives the same result.
    numbers = [s["number"] for s in final["sources"]]
    if renumber:
        read = QuotedAnswer.parse(
            final["answer"], [Source(s["text"], s["title"], s["url"]) for s in final["sources"]]
        )
        assert numbers == [*range(1, len(numbers) + 1)]
    else:
        read = QuotedAnswer.parse(text, sources)
        named = {q["source"] for q in final["quotes"] if q["status"] != "malformed"}
        named |= {k for q in final["quotes"] for k in q["found_in"]}
        assert numbers == sorted(k for k in named if 0 < k <= len(sources))
    assert [q.to_dict() for q in read.quotes] == unrated(final["quotes"])
    assert final["verified"] == (final["verdict"] == "quoted")
    assert not final["verified"] or final["quotes"]
    for claim in final["claims"]:
        assert final["answer"][claim["answer_start"] : claim["answer_end"]] == claim["text"]
        assert final["plain"][claim["plain_start"] : claim["plain_end"]] == claim["text"]


@many
@given(
    drawn=sendable,
    seed=st.integers(),
    engine=ENGINES,
    form=st.sampled_from(["plain", "marked"]),
    renumber=st.booleans(),
)
def test_chat_completions(
    server: TestClient,
    drawn: tuple[str, list[Source]],
    seed: int,
    engine: str,
    form: str,
    renumber: bool,
) -> None:
    text, sources = drawn
    tell(text, seed)
    path, asked = "/v1/chat/completions", [{"role": "user", "content": "Who?"}]
    same = {"sources": listed(sources), "engine": engine, "renumber": renumber}
    body = {**same, "messages": asked, "format": form}
    final = whole(server, path, body)
    usage = {"stream": True, "stream_options": {"include_usage": True}}
    told = [data for _, data in events(server, path, {**body, **usage})]
    message: dict[str, Any] = {"role": None, "content": "", "refusal": None, "annotations": []}
    again: dict[str, Any] = {}
    reason = None
    for chunk in told:
        again |= {name: chunk[name] for name in ("usage", "semqa") if name in chunk}
        for choice in chunk["choices"]:
            delta = choice["delta"]
            message["role"] = delta.get("role", message["role"])
            message["content"] += delta.get("content", "")
            for annotation in delta.get("annotations", []):
                # An annotation never comes before its quote.
                end = annotation["url_citation"]["end_index"]
                assert len(message["content"]) in (end, end + 2)
                message["annotations"].append(annotation)
            reason = choice["finish_reason"] or reason
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    head = {"object": "chat.completion", "model": engine, "choices": [choice]}
    assert wire({**head, "usage": again["usage"], "semqa": again["semqa"]}) == wire(final)
    numbered = {s["number"]: s for s in final["semqa"]["sources"]}
    for annotation in message["annotations"]:
        at = annotation["url_citation"]
        assert message["content"][at["start_index"] : at["end_index"]] == annotation["quote"]
        # Strict clients reject replies with annotations of other types.
        assert (annotation["type"], annotation["status"]) == ("url_citation", "verified")
        source = numbered[annotation["source_index"]]
        field = source["title" if annotation["field"] == "title" else "text"]
        assert field[annotation["source_start"] : annotation["source_end"]] == annotation["quote"]
    # The details have all quotes with their places, as in our own API.
    own = whole(server, "/v1/answers", {**same, "question": "Who?"})
    for name in own.keys() - {"id", "created", "engine", "question", "plain"}:
        assert final["semqa"][name] == own[name]
    verified = [q["text"] for q in own["quotes"] if q["status"] == "verified"]
    assert [a["quote"] for a in message["annotations"]] == verified


@many
@given(drawn=sendable, seed=st.integers(), engine=ENGINES)
def test_messages(
    server: TestClient, drawn: tuple[str, list[Source]], seed: int, engine: str
) -> None:
    text, sources = drawn
    tell(text, seed)
    content: list[dict[str, Any]] = [
        {
            "type": "document",
            "title": source.title,
            "source": {"type": "text", "media_type": "text/plain", "data": source.text},
            "citations": {"enabled": True},
        }
        for source in sources
    ]
    content.append({"type": "text", "text": "Who?"})
    body = {"messages": [{"role": "user", "content": content}], "engine": engine}
    final = whole(server, "/v1/messages", body)
    message: dict[str, Any] = {}
    opened: list[int] = []
    for name, data in events(server, "/v1/messages", {**body, "stream": True}):
        assert data["type"] == name
        if name == "message_start":
            message = data["message"]
        elif name == "content_block_start":
            assert data["index"] == len(message["content"])
            message["content"].append(data["content_block"])
            opened.append(data["index"])
        elif name == "content_block_delta":
            assert opened == [data["index"]]
            block, delta = message["content"][data["index"]], data["delta"]
            if delta["type"] == "text_delta":
                block["text"] += delta["text"]
            else:
                block["citations"].append(delta["citation"])
        elif name == "content_block_stop":
            opened.remove(data["index"])
        elif name == "message_delta":
            message |= data["delta"] | {"usage": data["usage"], "semqa": data["semqa"]}
    assert not opened
    assert wire(message) == wire(final)
    plain = "".join(block["text"] for block in final["content"])
    answer = QuotedAnswer.parse(text, sources)
    assert plain == answer.plain
    assert final["semqa"]["verdict"] == answer.verdict("Who?").value
    for block in final["content"]:
        for citation in block["citations"] or []:
            document = sources[citation["document_index"]]
            at = slice(citation["start_char_index"], citation["end_char_index"])
            assert citation["type"] == "char_location"
            assert citation["cited_text"] == block["text"] == document.text[at]
