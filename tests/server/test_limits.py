"""Limits of one request: its files, the input of a model, and cancelled work."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from typing import Any

import pytest

from semqa import Source, documents
from semqa.documents import Document
from semqa.prompting import Prompt, PromptBuilder
from tests.server.serving import client, serving
from tests.server.stand_ins import Scripted, Written
from tests.server.test_gone import calling, eventually, nothing_left, raw


class Extracted:
    """Replaces `extract`, and counts calls."""

    def __init__(self, text: str = "It was opened in 1932.", delay: float = 0.0) -> None:
        self.text, self.delay, self.calls = text, delay, 0

    def __call__(self, name: str, _: bytes) -> Document:
        self.calls += 1
        time.sleep(self.delay)
        return Document(name, "pdf", "", self.text, (0,))


@pytest.fixture
def extracted(monkeypatch: pytest.MonkeyPatch) -> Extracted:
    made = Extracted()
    monkeypatch.setattr(documents, "extract", made)
    return made


def asking(*files: str) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [
        {
            "type": "document",
            "source": {"type": "base64", "data": base64.b64encode(each.encode()).decode()},
        }
        for each in files
    ]
    blocks.append({"type": "text", "text": "When was it opened?"})
    return {"max_tokens": 9, "messages": [{"role": "user", "content": blocks}]}


def told(reply: Any) -> str:
    return str(reply.json()["error"]["message"])


def test_too_many_files_are_refused_before_one_is_read(extracted: Extracted) -> None:
    with client(Written("[ 1 1932 ]"), max_documents=3) as server:
        reply = server.post("/v1/messages", json=asking(*"abcd"))
        assert reply.status_code == 400
        assert "at most 3 files" in told(reply)
        assert extracted.calls == 0
        assert server.post("/v1/messages", json=asking(*"abc")).status_code == 200


def test_a_file_that_comes_with_each_turn_is_read_once(extracted: Extracted) -> None:
    engine = Written("[ 3 1932 ]")
    with client(engine) as server:
        assert server.post("/v1/messages", json=asking("a", "b", "a")).status_code == 200
    assert extracted.calls == 2
    assert [source.text for source in engine.asked[0][1]] == [extracted.text] * 3


def test_no_more_files_are_read_than_may_be_answered_from(extracted: Extracted) -> None:
    extracted.text = "x" * 100
    with client(Written("a"), max_source_characters=150) as server:
        reply = server.post("/v1/messages", json=asking(*"abcdefgh"))
        assert reply.status_code == 400
        assert "at most 150" in told(reply)
    assert extracted.calls == 2


def test_a_disconnect_stops_reading_files(extracted: Extracted) -> None:
    extracted.delay = 0.1
    with serving(Written("a")) as url:
        with calling(url, raw("/v1/messages", asking(*"abcdefghijklmnopqrst"))):
            assert eventually(lambda: extracted.calls > 0)
        assert eventually(lambda: nothing_left(url))
        read = extracted.calls
        time.sleep(0.5)
        assert extracted.calls <= read + 1 < 20


class Prompted(Scripted):
    """A language model."""

    name = "prompted:x"
    batch_size = 1
    chat = True

    def generate(self, _requests: Any) -> Any:
        raise NotImplementedError

    def prompt(self, question: str, sources: Sequence[Source], history: Any = ()) -> Prompt:
        return PromptBuilder("zero-shot").build(question, sources)


def test_a_model_is_given_less_than_other_engines() -> None:
    model, other = Prompted(["[ 1 1932 ]"]), Written("[ 1 1932 ]")
    with client(model, other, max_model_characters=100) as server:

        def ask(size: int, engine: str) -> Any:
            text = "It was in 1932." + " " * (size - 15)
            body = {"question": "When?", "sources": [{"text": text}], "engine": engine}
            return server.post("/v1/answers", json=body)

        assert ask(100, model.name).status_code == 200
        refused = ask(101, model.name)
        assert refused.status_code == 400
        assert "at most 100" in told(refused)
        assert len(model.asked) == 1
        assert ask(101, other.name).status_code == 200


def test_a_computation_stops_at_its_timeout() -> None:
    # The whole computation would take ten times as long as the test.
    text = "The bridge was opened in 1932 by the mayor of the town, who sang. " * 60
    body = {"question": "When was the bridge opened?", "sources": [{"text": text}] * 900}
    with client(request_timeout=0.5) as server:
        assert server.post("/v1/answers", json=body).status_code == 504
        workers = server.app.state.workers  # type: ignore[attr-defined]
        assert eventually(lambda: workers.under_way == 0, 5)
