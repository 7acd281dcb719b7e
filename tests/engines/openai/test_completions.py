"""Plain completions: prompt forms, order and errors."""

from __future__ import annotations

import time

import pytest

from semqa import InputError
from semqa.errors import PromptTooLongError
from tests.engines.openai.conftest import asking, engine_for
from tests.engines.openai.server import Answer, Asked, error, serving

PROMPTS = [f"Is {number} odd?" for number in range(12)]


def echo(asked: Asked) -> Answer:
    """Echo the prompt; the reply to the first prompt comes last."""
    text = asked.body["messages"][-1]["content"] if asked.chat else asked.body["prompt"]
    time.sleep(0.05 if text == PROMPTS[0] else 0)
    return Answer(f" {text} \n")


def test_replies_come_in_the_order_of_the_prompts_and_greedily() -> None:
    with asking(echo, temperature=1.0) as (engine, server):
        texts = engine.complete(PROMPTS, max_new_tokens=9)
        assert texts == PROMPTS
        for asked in server.asked:
            assert asked.body["temperature"] == 0
            assert asked.body["max_tokens"] == 9
            assert [message["role"] for message in asked.body["messages"]] == ["user"]


def test_an_endpoint_without_chat_gets_the_prompt_as_text() -> None:
    def without_chat(asked: Asked) -> Answer:
        return error(404, "no such path") if asked.chat else echo(asked)

    with serving(without_chat) as server:
        assert engine_for(server).complete(["Is 1 odd? "]) == ["Is 1 odd?"]
        assert server.asked[-1].body["prompt"] == "Is 1 odd?"


def test_a_rejected_prompt_raises_and_cancels_the_others() -> None:
    def refusing(asked: Asked) -> Answer:
        if asked.body["messages"][-1]["content"] == PROMPTS[3]:
            return error(400, "maximum context length is 8 tokens")
        return echo(asked)

    with serving(refusing) as server:
        with pytest.raises(PromptTooLongError, match="maximum context length is 8 tokens"):
            engine_for(server).complete(PROMPTS)
        with pytest.raises(InputError, match=r"surrogate in a prompt"):
            engine_for(server).complete(["\ud800"])


def test_a_schema_is_requested_until_the_endpoint_refuses_it() -> None:
    def refusing(asked: Asked) -> Answer:
        if "response_format" in asked.body:
            return error(400, "response_format is not supported")
        return echo(asked)

    schema = {"type": "object", "properties": {"answer": {"enum": ["Yes", "No"]}}}
    with asking(refusing, batch_size=1) as (engine, server):
        assert engine.complete(PROMPTS[1:4], schema=schema) == PROMPTS[1:4]
        assert sum("response_format" in asked.body for asked in server.asked) == 1


def test_samples_keep_the_temperature_and_the_seed() -> None:
    with asking(echo, temperature=0.7, seed=3) as (engine, server):
        engine.complete(PROMPTS[1:2], sample=True)
        body = server.asked[-1].body
        assert (body["temperature"], body["seed"]) == (0.7, 3)
