"""Shared fixtures: no environment variables, no delays between retries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from semqa import Source
from semqa.engines import Request
from semqa.engines.openai import OpenAIEngine, OpenAIOptions, client
from semqa.prompting import PromptBuilder
from tests.engines.openai.server import Answer, Asked, Server, serving

SOURCES = [
    Source("Bing Crosby released it in 1942.", title="White Christmas"),
    Source("Josh Gates hosted it."),
]
QUESTION = "Who sang it?"
REQUEST = Request(QUESTION, SOURCES)
KEY = "sk-test-1234567890"
made: list[OpenAIEngine] = []


@pytest.fixture(autouse=True)
def delays(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Skip and record delays between retries, and ignore the user's environment."""
    for name in ("SEMQA_BASE_URL", "OPENAI_BASE_URL", "SEMQA_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    pauses: list[float] = []
    made.clear()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(client, "pause", pause)
    yield pauses
    for engine in made:
        engine.close()


def engine_for(
    server: Server, *, prompts: PromptBuilder | None = None, **settings: Any
) -> OpenAIEngine:
    """Return an engine that has not sent requests yet; it is closed after the test."""
    options = OpenAIOptions(**({"constraint": "repair"} | settings))
    engine = OpenAIEngine("tiny", options, prompts=prompts, base_url=server.url, api_key=KEY)
    made.append(engine)
    return engine


@contextmanager
def asking(
    *script: Answer | Callable[[Asked], Answer],
    prompts: PromptBuilder | None = None,
    **settings: Any,
) -> Iterator[tuple[OpenAIEngine, Server]]:
    """Run a server with a script while the block runs, and an engine for it."""
    with serving(*script) as server:
        yield engine_for(server, prompts=prompts, **settings), server
