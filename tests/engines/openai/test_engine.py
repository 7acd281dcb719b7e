"""The engine with a working endpoint: methods, prompt forms, batches, streams."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from semqa import InputError, Source
from semqa.engines import Request, create_engine
from semqa.engines.base import Generation
from semqa.engines.openai import OpenAIEngine
from semqa.errors import PromptTooLongError
from semqa.prompting import Exemplar, PromptBuilder
from tests.engines.openai.conftest import QUESTION, REQUEST, SOURCES, asking, engine_for
from tests.engines.openai.fake_vllm import FakeVllm
from tests.engines.openai.server import Answer, Asked, error, serving
from tests.engines.streaming import streamed


def generated(engine: OpenAIEngine, request: Request = REQUEST) -> Generation:
    return engine.generate([request])[0]


@pytest.mark.parametrize(
    ("fake", "method"),
    [
        (FakeVllm(processor=True, grammar=True), "processor"),
        (FakeVllm(grammar=True), "grammar"),
        (FakeVllm(), "repair"),
        (FakeVllm(processor=True, chat=False), "processor"),
    ],
)
def test_the_strongest_method_is_probed_once(fake: FakeVllm, method: str) -> None:
    with asking(fake, constraint="auto") as (engine, server):
        engine.warm_up()
        probes = len(server.asked)
        made = generated(engine)
        assert made.constraint == method
        assert (made.breach is None) == (method != "repair")
        assert made.finished
        answer = made.read(SOURCES)
        assert answer.counts["verified"] == len(answer.quotes) > 0
        assert answer.quotes
        assert engine.chat == fake.chat
        generated(engine)
        assert len(server.asked) == probes + 2
        pieces, end = streamed(engine, REQUEST)
        assert "".join(pieces) == made.text == end.text
        assert end == made


def test_the_keys_of_the_processor_are_sent() -> None:
    with asking(FakeVllm(processor=True), constraint="processor", free="any", quote_from=(1,)) as (
        engine,
        server,
    ):
        engine.answer(QUESTION, SOURCES)
        assert server.asked[-1].body["vllm_xargs"] == {
            "semqa_sources": [source.text for source in SOURCES],
            "semqa_titles": ["White Christmas", ""],
            "semqa_question": QUESTION,
            "semqa_free": "any",
            "semqa_quote_from": [1],
        }


@pytest.mark.parametrize("method", ["processor", "grammar", "pointing"])
@pytest.mark.parametrize(
    "fake",
    [
        FakeVllm(),
        lambda asked: Answer(json.dumps(asked.body)),
        lambda asked: error(400, f"extra fields not permitted: {list(asked.body)}"),
    ],
)
def test_an_unsupported_method_is_an_error(method: str, fake: Any) -> None:
    """Whether the server ignores the fields or rejects the request for other reasons."""
    with asking(fake, constraint=method) as (engine, server):
        with pytest.raises(InputError, match=rf"^constraint {method}: "):
            engine.warm_up()
        auto = engine_for(server, constraint="auto")
        auto.warm_up()


def test_errors_unrelated_to_the_probe_are_raised() -> None:
    with (
        asking(error(404, "no such model"), constraint="auto") as (engine, _),
        pytest.raises(InputError, match=r"HTTP status 404.*no such model"),
    ):
        engine.warm_up()


@pytest.mark.parametrize(
    ("method", "message"),
    [("processor", "at most 10 are allowed"), ("grammar", "too long for a grammar")],
)
def test_sources_too_long_for_the_method_are_repaired(
    method: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMQA_VLLM_MAX_SOURCE_BYTES", "10")
    long = Request("When does the ferry leave?", [Source("The ferry leaves at noon. " * 2_500)])
    with serving(FakeVllm(processor=method == "processor", grammar=True)) as server:
        assert generated(engine_for(server, constraint="auto"), long).constraint == "repair"
        with pytest.raises(InputError, match=message):
            generated(engine_for(server, constraint=method), long)


def test_violations_of_a_broken_processor_are_reported_and_repaired() -> None:
    with asking(FakeVllm(processor=True, lies=True), constraint="auto") as (engine, _):
        made = generated(engine)
        assert made.constraint == "processor"
        assert made.breach is not None
        assert "[sic]" in made.breach
        assert made.written == FakeVllm().free
        assert made.text == "By [ 1 Bing Crosby ] in 1999, [sic]."
        answer = engine.answer(QUESTION, SOURCES)
        assert all(quote.verified for quote in answer.quotes)
        assert not answer.verified, "a mark was dropped"
        assert answer.quotes[0].repaired is not None
        assert [mark.text for mark in answer.dropped] == ["1999"]


def test_without_a_constraint_the_text_stays_as_it_is() -> None:
    with asking(FakeVllm(processor=True, grammar=True), constraint="off") as (engine, server):
        made = generated(engine)
        assert (made.text, made.constraint, made.breach) == (FakeVllm().free, "off", None)
        assert not made.read(SOURCES).verified
        assert len(server.asked) == 1
        assert not {"vllm_xargs", "structured_outputs"} & set(server.asked[0].body)
        assert "".join(streamed(engine, REQUEST)[0]) == FakeVllm().free
        engine.answer("What is the capital of France?", SOURCES)
        assert len(server.asked) == 3, "an irrelevant question is sent, too"


def test_a_rejected_grammar_falls_back_to_repair() -> None:
    fake = FakeVllm(grammar=True)

    def picky(asked: Asked) -> Answer:
        if "Crosby" in (asked.body.get("structured_outputs") or {}).get("grammar", ""):
            return error(400, "Failed to convert the grammar")
        return fake(asked)

    with asking(picky, constraint="auto") as (engine, server):
        assert generated(engine).constraint == "repair"
        assert streamed(engine, REQUEST)[1].constraint == "repair"
        with pytest.raises(InputError, match="Failed to convert the grammar"):
            generated(engine_for(server, constraint="grammar"))


def test_token_counts_are_reported_if_the_endpoint_reports_them() -> None:
    with serving(
        Answer("By", usage=None), Answer("By"), Answer("By", usage=None), Answer("By")
    ) as s:
        engine = engine_for(s)
        told = [
            generated(engine),
            generated(engine),
            streamed(engine, REQUEST)[1],
            streamed(engine, REQUEST)[1],
        ]
        assert [(made.prompt_tokens, made.new_tokens) for made in told] == [
            (None, None),
            (100, 7),
        ] * 2


def test_settings_and_prompt_are_sent() -> None:
    with asking(Answer("By"), temperature=0.5, top_p=0.9, top_k=5, seed=3, max_new_tokens=9) as (
        engine,
        server,
    ):
        generated(engine)
        (asked,) = server.asked
        prompt = engine.prompt(QUESTION, SOURCES)
        assert asked.path == "/v1/chat/completions"
        assert asked.headers["authorization"] == "Bearer sk-test-1234567890"
        assert asked.body == {
            "model": "tiny",
            "messages": [message.to_dict() for message in prompt.messages],
            "max_tokens": 9,
            "temperature": 0.5,
            "top_p": 0.9,
            "top_k": 5,
            "seed": 3,
        }


def test_stop_strings_of_the_completion_form_are_also_cut_off_locally() -> None:
    prompts = PromptBuilder("zero-shot", form="completion")
    (stop, *_) = prompts.build(QUESTION, SOURCES).stop
    text = f" By [ 1 bing Crosby ].{stop} more"
    with asking(
        Answer(text), Answer(text), Answer(text, pieces=(text[:-8], text[-8:])), prompts=prompts
    ) as (engine, server):
        made = generated(engine)
        assert made.text == " By [ 1 Bing Crosby ]."
        (asked,) = server.asked
        assert asked.path == "/v1/completions"
        assert asked.body["prompt"] == engine.prompt(QUESTION, SOURCES).text
        assert stop in asked.body["stop"]
        assert not engine.chat
        for _ in range(2):
            assert "".join(streamed(engine, REQUEST)[0]) == made.text


def test_rejected_request_forms_are_adapted() -> None:
    def picky(asked: Asked) -> Answer:
        body = asked.body
        if "max_tokens" in body:
            return error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
        if body["messages"][0]["role"] == "system":
            return error(400, "System role not supported")
        if "temperature" in body:
            return error(
                400, "Unsupported value: 'temperature' does not support 0 with this model."
            )
        return Answer("By [ 1 Bing Crosby ].")

    with asking(picky) as (engine, server):
        assert generated(engine).text == "By [ 1 Bing Crosby ]."
        assert len(server.asked) == 4
        generated(engine)
        assert len(server.asked) == 5
        assert server.asked[-1].body["max_completion_tokens"] == 256


class Exemplars:
    def select(self, _question: str, count: int) -> list[Exemplar]:
        return [
            Exemplar(f"Question {n}?", tuple(SOURCES), "[ 1 Bing ]", f"q{n}", f"u{n}")
            for n in range(count)
        ]

    def prepare(self, questions: object, count: int) -> None: ...

    def identity(self) -> dict[str, object]:
        return {}


def test_exemplars_are_dropped_until_the_prompt_fits() -> None:
    def short(asked: Asked) -> Answer:
        if sum(len(message["content"]) for message in asked.body["messages"]) > 2_000:
            return error(400, "This model's maximum context length is 900 tokens. However, …")
        return Answer("By")

    prompts = PromptBuilder("qsum", Exemplars(), shots=12)
    with serving(short) as server:
        made = generated(engine_for(server, prompts=prompts))
        assert 0 < len(made.prompt.exemplars) < 12
        assert len(made.prompt.exemplars) + made.prompt.dropped == 12
        assert made.prompt.exemplars[-1].qid == "q0"
    with (
        serving(error(400, "maximum context length is 9")) as server,
        pytest.raises(PromptTooLongError, match="maximum context length is 9"),
    ):
        generated(engine_for(server, prompts=prompts))


def test_batches_keep_their_order_and_the_limit() -> None:
    def slow(asked: Asked) -> Answer:
        number = int(asked.body["messages"][-1]["content"].split("number ")[1].split()[0])
        time.sleep(0.02 * (5 - number % 5))
        return Answer(f"It is {number}: [ 1 bing crosby ].")

    with asking(slow, batch_size=4) as (engine, server):
        assert engine.batch_size == 4
        requests = [
            Request(f"Who released White Christmas number {n} ?", SOURCES) for n in range(12)
        ]
        answers = engine.answer_batch(requests)
        assert [answer.plain for answer in answers] == [
            f"It is {n}: Bing Crosby." for n in range(12)
        ]
        assert all(answer.quotes[0].repaired for answer in answers)
        assert 2 <= server.most_under_way <= 4
        assert engine.generate([]) == []


def test_a_stream_shows_free_text_at_once_and_quotes_when_complete() -> None:
    with asking(Answer("By [ 1 bing crosby ] in [ 1 1999 ].")) as (engine, _):
        pieces, made = streamed(engine, REQUEST)
        assert pieces == [*"By ", "[ 1 Bing Crosby ]", *" in ", "1999", "."]
        assert made == generated(engine)


def test_closing_a_stream_closes_the_connection() -> None:
    with asking(Answer("By and by", drip=b": ping\n\n")) as (engine, server):
        stream = engine.stream(QUESTION, SOURCES)
        assert next(stream) == "B"
        stream.close()
        deadline = time.monotonic() + 5
        while server.under_way and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.under_way == 0


def test_threads_share_an_engine() -> None:
    with asking(FakeVllm(grammar=True), constraint="auto") as (engine, server):
        with ThreadPoolExecutor(6) as pool:
            answers = pool.map(lambda _: engine.answer(QUESTION, SOURCES), range(6))
        assert all(answer.verified for answer in answers)
        probes = [asked for asked in server.asked if "Say hello." in str(asked.body)]
        assert len(probes) == 2


def test_an_engine_is_created_by_name_and_closed() -> None:
    with serving(FakeVllm(processor=True)) as server:
        engine = create_engine("openai:org/Model-7B", {"base_url": server.url, "constraint": "on"})
        assert isinstance(engine, OpenAIEngine)
        assert engine.name == "openai:org/Model-7B"
        assert engine.answer(QUESTION, SOURCES).verified
        assert server.asked[-1].body["model"] == "org/Model-7B"
        engine.close()
        engine.close()
        with pytest.raises(InputError, match=r"^The engine is closed"):
            engine.answer(QUESTION, SOURCES)
