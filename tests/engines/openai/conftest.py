"""What the tests of the engine share: no variables of the environment, no long pauses."""

from __future__ import annotations

import pytest

from semqa import Source
from semqa.engines import Request
from semqa.engines.openai import OpenAIEngine, OpenAIOptions, client
from tests.engines.openai.server import Server

SOURCES = [
    Source("Bing Crosby released it in 1942.", title="White Christmas"),
    Source("Josh Gates hosted it."),
]
QUESTION = "Who sang it?"
REQUEST = Request(QUESTION, SOURCES)
KEY = "sk-test-1234567890"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses take no time, and are listed; the user's own settings do not count."""
    for name in ("SEMQA_BASE_URL", "OPENAI_BASE_URL", "SEMQA_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(client, "pause", pause)
    return pauses


def engine_for(server: Server, **settings: object) -> OpenAIEngine:
    """Return an engine that asks nothing yet."""
    options = OpenAIOptions(**({"constraint": "repair"} | settings))  # type: ignore[arg-type]
    return OpenAIEngine("tiny", options, base_url=server.url, api_key=KEY, warm=False)
