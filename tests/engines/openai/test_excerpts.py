"""What an endpoint is sent: excerpts of sources that do not fit, and nothing if none is relevant."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from semqa import InputError, QuotedAnswer, Source
from semqa.engines import Request
from semqa.engines.model.excerpts import Excerpts
from semqa.engines.openai import OpenAIEngine
from semqa.engines.openai.replies import read_context
from semqa.engines.openai.tasks import estimate_tokens
from semqa.errors import PromptTooLongError
from semqa.quotes import ABSTENTION
from semqa.quotes.pointing import Pointing
from tests.decoding.gbnf import Gbnf
from tests.engines.openai.conftest import SOURCES, engine_for
from tests.engines.openai.fake_vllm import FakeVllm
from tests.engines.openai.server import Answer, Asked, Server, error, serving
from tests.engines.openai.test_capabilities import FakeHosted, FakeLlama
from tests.engines.streaming import streamed

FERRY = "The ferry to Oban leaves at noon from pier 4."
WEATHER = "\n\n".join(f"The weather on day {day} was fine. " * 9 for day in range(10))
LONG = Source(f"# Port\n\n## *Weather*\n\n{WEATHER}\n\n{FERRY}\n\n{WEATHER}", "Harbour log")
REQUEST = Request("When does the ferry to Oban leave?", [SOURCES[1], LONG])
CONTEXT = 1_200


def shown_to(asked: Asked) -> str:
    return "\n".join(message["content"] for message in asked.body["messages"])


def pointing(asked: Asked) -> Answer:
    """Point at the clause about the ferry, by its number in the prompt."""
    number = re.search(r"^(\S+) The ferry to Oban", shown_to(asked), re.MULTILINE)
    clause = number[1] if number else ""
    part = {"say": "It is", "from": clause, "to": clause, "words": ""}
    return FakeHosted(json.dumps({"parts": [part]}))(asked)


SERVERS: dict[str, tuple[Callable[[Asked], Answer], dict[str, Any]]] = {
    "grammar": (FakeLlama(f"It is [ 2 {FERRY[:-1]} ]."), {"meta": {"n_ctx": CONTEXT}}),
    "pointing": (pointing, {"context_length": CONTEXT}),
    "repair": (FakeVllm(free=f"It is [ 2 {FERRY[:-1].lower()} ]."), {"max_model_len": CONTEXT}),
}


@pytest.fixture(params=SERVERS)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["listed", "set", "unknown"])
def engine(method: str, request: pytest.FixtureRequest) -> Iterator[tuple[Server, OpenAIEngine]]:
    """An engine whose endpoint has the context `CONTEXT`, and rejects prompts that exceed it."""
    answer, listed = SERVERS[method]

    def strict(asked: Asked) -> Answer:
        if len(shown_to(asked)) > 4 * CONTEXT:
            return error(400, f"request exceeds the available context size ({CONTEXT} tokens)")
        return answer(asked)

    settings: dict[str, Any] = {"context": CONTEXT} if request.param == "set" else {}
    with serving(strict) as server:
        if request.param == "listed":
            server.models = {"data": [{"id": "tiny", **listed}, {"id": "other", "n_ctx": 9}]}
        yield server, engine_for(server, constraint=method, max_new_tokens=100, **settings)


def test_long_sources_are_read_in_excerpts(method: str, engine: tuple[Server, Any]) -> None:
    """Whether the endpoint's context is listed, set, or found out by rejections."""
    server, made = engine
    (generation,) = made.generate([REQUEST])
    assert generation.constraint == method
    assert generation.prompt.sources != tuple(REQUEST.sources)
    assert FERRY[:20] in shown_to(server.asked[-1])
    (quote,) = generation.read(REQUEST.sources).quotes
    assert quote.text == FERRY[:-1]
    assert quote.source_start == LONG.text.index(FERRY)
    pieces, same = streamed(made, REQUEST)
    assert ("".join(pieces), same.prompt) == (generation.text, generation.prompt)


def test_what_is_known_to_fit_is_not_rejected() -> None:
    with serving(FakeVllm()) as server:
        server.models = {"data": [{"id": "of any name", "max_model_len": CONTEXT}]}
        made = engine_for(server, max_new_tokens=100)
        (generation,) = made.generate([REQUEST])
        assert CONTEXT // 2 < estimate_tokens(generation.prompt) <= CONTEXT - 100
        assert generation.prompt == made.prompt(*REQUEST)
        assert len(server.asked) == 1
        with pytest.raises(PromptTooLongError, match="at most 1,100 fit"):
            made.prompt(REQUEST.question * 200, REQUEST.sources)
        with pytest.raises(InputError, match=r"context of 1,200 tokens"):
            engine_for(server, max_new_tokens=CONTEXT).answer(*REQUEST)


def test_pointers_to_excerpts_quote_the_whole_source() -> None:
    """Whichever clauses they name: on both sides of a gap, or a heading without its markup."""
    headed = replace(LONG, text=LONG.text.replace(FERRY, f"## A *long* way\n\n{FERRY}"))
    sources = [SOURCES[1], headed]
    shown = Excerpts(REQUEST._replace(sources=sources)).within(2_000)
    pointer = Pointing(shown, REQUEST.question, sources)
    clauses = re.findall(r"^(2\.\d+) ", pointer.listing, re.MULTILINE)
    assert shown[1].text.count("[…]") > 2
    for first in clauses:
        for last in clauses:
            part = {"say": "", "from": first, "to": last, "words": ""}
            text = pointer.read(json.dumps({"parts": [part]}))
            assert text is not None
            assert not text or QuotedAnswer.parse(text, sources).verified


def test_a_grammar_allows_only_what_the_source_says() -> None:
    """Neither words from both sides of a gap, nor a heading without its markup."""
    fake = FakeLlama()
    with serving(fake) as server:
        engine_for(server, constraint="grammar", context=CONTEXT).generate([REQUEST])
    admits = Gbnf(fake.grammars[-1]).admits
    assert admits(f"[ 2 {FERRY} ]")
    assert not admits(f"[ 2 Weather {FERRY} ]")
    assert not admits("[ 2 … ]")


@pytest.mark.parametrize("method", ["processor", "grammar", "pointing", "repair"])
def test_an_irrelevant_question_is_not_sent(method: str) -> None:
    fake = FakeHosted("{}") if method == "pointing" else FakeVllm(processor=True, grammar=True)
    foreign = Request("What is the capital of France?", [Source("The bridge opened in 1932.")])
    document = foreign._replace(sources=[LONG])
    with serving(fake) as server:
        made = engine_for(server, constraint=method)
        made.warm_up()
        probes = len(server.asked)
        for generation in made.generate([foreign, document]):
            assert (generation.text, generation.constraint) == (ABSTENTION, method)
            assert (generation.new_tokens, generation.finished) == (0, True)
            assert generation.read(foreign.sources).abstained
        assert "".join(streamed(made, foreign)[0]) == ABSTENTION
        assert len(server.asked) == probes


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"data": 3},
        {"data": [3, {"id": "other", "n_ctx": 5}, {"id": "more", "n_ctx": 5}]},
        {"data": [{"id": "tiny"}]},
        {"data": [{"id": "tiny", "meta": 3, "n_ctx": True, "max_model_len": -4}]},
        {"data": [{"id": "tiny", "context_length": "8192"}]},
    ],
)
def test_a_context_that_is_not_given(value: object) -> None:
    assert read_context(value, "tiny") is None
