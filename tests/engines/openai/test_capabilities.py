"""Endpoints other than vLLM: grammars of llama.cpp, and JSON schemas."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from semqa import InputError
from semqa.engines import Request
from semqa.history import Exchange
from semqa.quotes import ABSTENTION
from tests.decoding.gbnf import Gbnf
from tests.engines.openai.conftest import QUESTION, REQUEST, SOURCES, asking, engine_for
from tests.engines.openai.server import Answer, Asked, error
from tests.engines.streaming import streamed


@dataclass
class FakeLlama:
    """llama.cpp's server: enforces grammars in its own dialect and ignores unknown fields."""

    text: str = "It was [ 1 Bing Crosby ]."
    reason: str = "stop"
    grammars: list[str] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Answer:
        grammar = asked.body.get("grammar")
        if grammar is None:
            return Answer("Hello!")
        if grammar.startswith("%llguidance"):
            raise AssertionError("this ends servers that were built without llguidance")
        if word := re.fullmatch(r'root ::= "(\w+)" \[0-9\] \[0-9\] \[0-9\]', grammar):
            return Answer(f"{word[1]}123")
        self.grammars.append(grammar)
        return Answer(self.text, self.reason)


@dataclass
class FakeHosted:
    """A hosted endpoint that rejects unknown fields and enforces JSON schemas.

    Attributes:
        text: the reply to requests for an answer.
        lengths: whether schemas may limit lengths.
        schemas: whether schemas are enforced.
    """

    text: str
    lengths: bool = True
    schemas: bool = True

    def __call__(self, asked: Asked) -> Answer:
        known = {"model", "messages", "max_tokens", "temperature", "seed", "response_format"}
        known |= {"stream", "stream_options"}
        if unknown := asked.body.keys() - known:
            return error(400, f"Unrecognized request arguments supplied: {', '.join(unknown)}")
        form = asked.body.get("response_format")
        if form is None:
            return Answer("Hello!")
        assert form["type"] == "json_schema"
        assert form["json_schema"]["strict"] is True
        schema = form["json_schema"]["schema"]
        check_strict(schema)
        if not self.lengths and "maxLength" in json.dumps(schema):
            return error(400, "Invalid schema for response_format: 'maxLength' is not permitted.")
        if not self.schemas:
            return Answer('{"parts": []}')
        if "first" in schema["properties"]:
            return Answer(
                json.dumps({"first": schema["properties"]["first"]["enum"][1], "parts": []})
            )
        return Answer(self.text)


def check_strict(schema: Any) -> None:
    """Assert that a schema meets OpenAI's rules for strict schemas."""
    if schema["type"] == "object":
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
        for each in schema["properties"].values():
            check_strict(each)
    elif schema["type"] == "array":
        check_strict(schema["items"])


def test_llama_cpp_gets_a_grammar_in_its_dialect() -> None:
    fake = FakeLlama()
    with asking(fake, constraint="auto") as (engine, server):
        (made,) = engine.generate([REQUEST])
        assert (made.constraint, made.text, made.breach) == ("grammar", fake.text, None)
        assert made.written is None
        asked = len(server.asked)
        engine.generate([REQUEST])
        assert len(server.asked) == asked + 1  # no second probe
        assert all(map(Gbnf(fake.grammars[0]).admits, (fake.text, ABSTENTION)))


@pytest.mark.parametrize(
    ("written", "reason", "text", "repeated"),
    [
        ("By [ 1 Bing ], so [ 1 Bing ] and", "length", "By [ 1 Bing ].", True),
        (
            "[ 2 it ] [ 2 Josh Gates ] [ 2 Gates hosted ]",
            "stop",
            "[ 2 it ] [ 2 Josh Gates ].",
            True,
        ),
        ("[ 1 Bing ] and [ 1 Crosby ]", "stop", "[ 1 Bing ] and [ 1 Crosby ]", False),
        ("[ 1 Bing ] and by the", "length", "[ 1 Bing ].", False),
        ("[ 2 Josh ] and [ 1 Bing Cro", "length", "[ 2 Josh ] and [ 1 Bing ]", False),
        ("So [ 1 released i", "length", "So [ 1 released ]", False),
    ],
)
def test_an_answer_ends_before_a_repeated_quote_and_with_a_complete_one(
    written: str, reason: str, text: str, repeated: bool
) -> None:
    with asking(FakeLlama(written, reason), constraint="auto") as (engine, _):
        (made,) = engine.generate([REQUEST])
        pieces, same = streamed(engine, REQUEST)
    assert (made.text, "".join(pieces), same.text) == (text, text, text)
    assert made.read(SOURCES).verified
    assert ("again" in (made.breach or "")) == repeated
    assert made.finished == (repeated or reason == "stop")


POINTED = json.dumps(
    {"parts": [{"say": "It was", "from": "1.1", "to": "1.1", "words": "bing crosby"}]}
)


@pytest.mark.parametrize("lengths", [True, False])
def test_json_schemas_get_pointers(lengths: bool) -> None:
    with asking(FakeHosted(POINTED, lengths=lengths), constraint="auto") as (engine, server):
        (made,) = engine.generate([REQUEST])
        assert (made.constraint, made.text) == ("pointing", "It was [ 1 Bing Crosby ].")
        assert (made.written, made.finished) == (POINTED, True)
        assert made.prompt.template == "pointing"
        assert "1.1 Bing Crosby released it in 1942." in made.prompt.messages[-1].content
        assert "".join(engine.stream(QUESTION, SOURCES)) == made.text
        bounded = "maxLength" in json.dumps(server.asked[-1].body["response_format"])
        assert bounded == lengths


@pytest.mark.parametrize(
    ("reply", "text", "method"),
    [
        ('{"parts": []}', ABSTENTION, "pointing"),
        ('{"parts": [{"say": "It', ABSTENTION, "pointing"),
        ("By [ 1 bing crosby ]", "By [ 1 Bing Crosby ]", "repair"),
    ],
)
def test_replies_without_valid_pointers(reply: str, text: str, method: str) -> None:
    with asking(FakeHosted(reply), constraint="auto") as (engine, _):
        (made,) = engine.generate([REQUEST])
        assert (made.text, made.constraint) == (text, method)


def test_ignored_schemas_are_not_used() -> None:
    with asking(FakeHosted("", schemas=False), constraint="auto") as (engine, server):
        (made,) = engine.generate([REQUEST])
        assert made.constraint == "repair"
        strict = engine_for(server, constraint="pointing")
        with pytest.raises(InputError, match="not supported by the endpoint"):
            strict.generate([REQUEST])


def test_a_server_error_on_a_grammar_falls_back_to_pointing() -> None:
    fake = FakeHosted(POINTED)

    def server_of(asked: Asked) -> Answer:
        if "structured_outputs" in asked.body:
            return error(500, "Internal server error")
        return fake(asked)

    with asking(server_of, constraint="auto") as (engine, _):
        (made,) = engine.generate([REQUEST])
        assert made.constraint == "pointing"


def test_control_tokens_in_clauses_are_spelled_out() -> None:
    sources = [SOURCES[0].__class__("Say <|im_end|> now.")]
    with asking(FakeHosted('{"parts": []}'), constraint="auto") as (engine, server):
        said = [Exchange("Who <|im_end|> was it?", "Ada </s> was.")]
        engine.generate([Request("Who </s>?", sources, said)])
        asked = server.asked[-1].body["messages"][-1]["content"]
        assert asked.index("Ada < / s > was.") < asked.index("Question: Who < / s >?")
        assert "<|im_end|>" not in asked
        assert "</s>" not in asked
