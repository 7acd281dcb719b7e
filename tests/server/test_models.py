"""A model behind the server: streaming, repairs and usage."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from semqa.engines.openai import OpenAIEngine, OpenAIOptions, client
from tests.engines.openai import server as endpoint
from tests.server import serving as here
from tests.server.serving import APIS, asking
from tests.server.test_gone import calling, eventually, nothing_left, raw

SOURCES = [{"text": "White Christmas was sung by Bing Crosby in 1942."}]
TEXT = "By [ 1 bing crosby ] and [ 1 zzz ], [ 2 1942 ]."
ASKED: dict[str, Any] = {"question": "Who sang White Christmas?", "sources": SOURCES}


@contextmanager
def model(answer: endpoint.Answer) -> Iterator[tuple[OpenAIEngine, endpoint.Server]]:
    with endpoint.serving(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "ATTEMPTS", 1)
        options = OpenAIOptions(constraint="repair")
        engine = OpenAIEngine("m", options, base_url=server.url, api_key="sk-secret")
        try:
            yield engine, server
        finally:
            engine.close()


def test_what_was_repaired_is_on_record_and_the_stream_is_the_same() -> None:
    with model(endpoint.Answer(TEXT)) as (engine, _), here.client(engine) as server:
        final = server.post("/v1/answers", json=ASKED).json()
        told = server.post("/v1/answers", json={**ASKED, "stream": True}).text
    assert final["answer"] == "By [ 1 Bing Crosby ] and zzz, 1942."
    assert final["quotes"][0]["repaired"]["text"] == "bing crosby"
    assert [dropped["text"] for dropped in final["dropped"]] == ["zzz", "1942"]
    assert final["usage"] == {"prompt_tokens": 100, "completion_tokens": 7}
    events = [json.loads(line[6:]) for line in told.splitlines() if line.startswith("data: ")]
    assert "".join(e["text"] for e in events if set(e) == {"text"}) == final["plain"]
    same: list[dict[str, Any]] = [
        {k: v for k, v in each.items() if k not in ("id", "created")}
        for each in (events[-1], final)
    ]
    assert json.dumps(same[0]) == json.dumps(same[1])


@pytest.mark.parametrize(
    ("path", "reason"), [("/v1/chat/completions", "length"), ("/v1/messages", "max_tokens")]
)
def test_an_answer_that_was_cut_off_says_so(path: str, reason: str) -> None:
    body = asking(path, ASKED["question"], SOURCES[0]["text"])
    with (
        model(endpoint.Answer("By [ 1", reason="length")) as (engine, _),
        here.client(engine) as server,
    ):
        for stream in (False, True):
            assert f'"{reason}"' in server.post(path, json={**body, "stream": stream}).text
        assert server.post("/v1/answers", json=ASKED).json()["finished"] is False


def test_a_disconnect_cancels_the_request_to_the_model() -> None:
    slow = endpoint.Answer("word " * 50, stall_after=2_000)
    with model(slow) as (engine, upstream), here.serving(engine, drain=0.3) as url:
        with calling(url, raw("/v1/answers", {**ASKED, "stream": True})) as connection:
            assert connection.recv(100)
            assert eventually(lambda: upstream.under_way == 1)
        assert eventually(lambda: nothing_left(url), seconds=5)


def test_a_planned_stop_logs_no_error(caplog: pytest.LogCaptureFixture) -> None:
    slow = endpoint.Answer("word " * 50, stall_after=2_000)
    with model(slow) as (engine, upstream), ExitStack() as open_streams:
        with here.serving(engine, drain=0.3) as url:
            for path in (*APIS, "/v1/answers"):
                body = asking(path, ASKED["question"], SOURCES[0]["text"])
                asked = raw(path, {**body, "stream": path != "/v1/responses"})
                open_streams.enter_context(calling(url, asked))
            assert eventually(lambda: upstream.under_way == 5)
            url.running.stop()
        assert eventually(lambda: upstream.under_way == 0)
    alarms = [record for record in caplog.records if record.levelno > logging.INFO]
    assert [(each.levelname, vars(each)["open"]) for each in alarms] == [("WARNING", 5)]


@pytest.mark.parametrize("path", APIS)
@pytest.mark.parametrize("stream", [False, True])
def test_an_empty_answer_is_an_error(path: str, stream: bool) -> None:
    body = {**asking(path, ASKED["question"], SOURCES[0]["text"]), "stream": stream}
    for text, reason, why in ((" \n", "stop", "Ask again"), ("", "length", "token limit")):
        answer = endpoint.Answer(text, reason=reason)
        with model(answer) as (engine, _), here.client(engine) as server:
            reply = server.post(path, json=body)
        assert "The model returned an empty answer" in reply.text
        assert why in reply.text
        assert '"type":"api_error"' in reply.text
        assert reply.status_code == (200 if stream and (text or path == "/v1/answers") else 502)
