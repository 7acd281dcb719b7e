"""The engine with slow, broken, incorrect or malicious servers."""

from __future__ import annotations

import gc
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from semqa import InputError
from semqa.engines.openai import OpenAIEngine, OpenAIOptions, client
from semqa.engines.openai.client import Endpoint
from semqa.errors import UnavailableError
from tests.engines.openai.conftest import KEY, QUESTION, REQUEST, SOURCES, asking, engine_for
from tests.engines.openai.server import Answer, Asked, Server, chunks, error, serving

GOOD = Answer("By [ 1 Bing Crosby ].")
TEXT = "By [ 1 Bing Crosby ]."


def asked_once(engine: OpenAIEngine) -> str:
    return engine.generate([REQUEST])[0].text


def streamed(engine: OpenAIEngine) -> str:
    return "".join(engine.stream(QUESTION, SOURCES))


BOTH = pytest.mark.parametrize("ask", [asked_once, streamed])
Ask = Callable[[OpenAIEngine], str]


def refused(ask: Ask, server: Server, kind: type[Exception], **settings: Any) -> str:
    """Send a request and return the error message, which must not contain the key."""
    engine = engine_for(server, **settings)
    try:
        with pytest.raises(kind) as raised:
            ask(engine)
        message = str(raised.value)
        assert KEY not in message
        assert len(message) < 1_500
        return message
    finally:
        engine.close()


@BOTH
@pytest.mark.parametrize(
    "failure",
    [
        *(error(status, "later") for status in (408, 429, 503)),
        Answer(TEXT, cut_after=30),
    ],
)
def test_transient_errors_are_retried(ask: Ask, failure: Answer, delays: list[float]) -> None:
    with asking(failure, failure, GOOD) as (engine, server):
        assert ask(engine) == TEXT
        assert len(server.asked) == 3
        assert 0.25 <= delays[0] <= 0.5 <= delays[1] <= 1


@BOTH
def test_the_last_failure_is_reported(ask: Ask, delays: list[float]) -> None:
    with serving(error(503, "overloaded")) as server:
        message = refused(ask, server, UnavailableError)
        assert server.url in message
        assert "503 Service Unavailable: overloaded" in message
        assert len(server.asked) == 5
        assert len(delays) == 4


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7", 7, 7),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 1),
        ("soon", 0, 1),
        ("9" * 400, 0, 1),
    ],
)
def test_retry_after_is_respected(
    header: str, least: float, most: float, delays: list[float]
) -> None:
    with asking(error(429, "slow down", headers={"Retry-After": header}), GOOD) as (engine, _):
        assert asked_once(engine) == TEXT
        assert least <= delays[0] <= most


@pytest.mark.parametrize("header", ["86400", "inf"])
def test_a_long_retry_after_is_not_waited_for(header: str, delays: list[float]) -> None:
    with serving(error(429, "come tomorrow", headers={"Retry-After": header}), GOOD) as server:
        assert "come tomorrow" in refused(asked_once, server, UnavailableError)
        assert delays == []


@BOTH
def test_an_unreachable_server_is_reported(ask: Ask) -> None:
    with serving(GOOD) as server:
        pass
    message = refused(ask, server, UnavailableError)
    assert re.search(r"does not answer: ConnectError", message)


@BOTH
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (error(400, "temperature too high"), "400 Bad Request: temperature too high"),
        (error(401, f"Incorrect API key provided: {KEY}."), "Set SEMQA_API_KEY"),
        (error(404, "The model `tiny` does not exist."), "Check --base-url (such as …/v1)"),
        (Answer(status=400, body={"detail": [{"loc": ["body"], "msg": "bad"}]}), "bad"),
        (Answer(status=400, body=b"<html>x</html>", kind="text/html"), "400 Bad Request"),
        (Answer(status=400, body=b"\xff\xfe"), "400"),
        (Answer(status=400, body=b"[" * 100_000), "400"),
    ],
)
def test_a_rejection_includes_the_servers_message(ask: Ask, answer: Answer, said: str) -> None:
    with serving(answer) as server:
        message = refused(ask, server, InputError)
        assert said in message
        assert len(server.asked) == 1


@BOTH
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(body=b"<!doctype html><p>Hi", kind="text/html"), "text/html"),
        (Answer(body=b"[" * 200_000), "JSON"),
        (Answer(body=b'{"choices": [{"message": {"content": "\xff"}}]}'), "JSON"),
        (Answer(body=[]), "no choices"),
        (Answer(body={"choices": [3]}), "a choice that is not an object"),
        (Answer(body={"choices": [{"message": None}]}), "a choice without a message"),
        (Answer(body={"choices": [{"message": {"content": 7}}]}), "an answer that is not text"),
        (Answer(body={"choices": [{"message": {"content": "half"}}]}), "no finish_reason"),
        (Answer("no", "content_filter"), "content_filter"),
        (Answer("x" * 300_000, pieces=("x" * 1_000,) * 300), "token limit"),
        (Answer("x" * 300_000, streams=False), "token limit"),
        (Answer(TEXT, headers={"Content-Encoding": "gzip"}), "coded as 'gzip'"),
        (Answer(body={"key": KEY, "choices": KEY}), "'<key>'"),
        (Answer(body=b"x" * 290 + KEY.encode()), "JSON"),
    ],
)
def test_invalid_replies_are_reported(ask: Ask, answer: Answer, said: str) -> None:
    with serving(answer) as server:
        message = refused(ask, server, UnavailableError)
        assert said in message


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (b"data: {\n\n", "a stream with"),
        (b"data: [1]\n\n", "no choices"),
        (b'data: {"choices": [{"delta": {"content": 3}}]}\n\n', "an answer that is not text"),
        (b'data: {"error": {"message": "engine died"}}\n\n', "engine died"),
        (b"data: " + b"[" * 100_000 + b"\n\n", "a stream with"),
        (b"data: " + b"x" * 3_000_000, "an event of more than"),
    ],
)
def test_invalid_streams_are_reported(events: bytes, said: str) -> None:
    with serving(Answer(body=events, kind="text/event-stream")) as server:
        assert said in refused(streamed, server, UnavailableError)


@pytest.mark.parametrize("events", [b"", b"data: [DONE]\n\n", b"event: x\nid: 3\n\n"])
def test_a_stream_without_an_answer_is_no_answer(events: bytes) -> None:
    with serving(Answer(body=events, kind="text/event-stream")) as server:
        message = refused(streamed, server, UnavailableError)
        assert "a stream that ended before the answer did" in message


@pytest.mark.parametrize("reason", ["cut", "no reason", "done without reason"])
def test_an_incomplete_answer_is_an_error(reason: str) -> None:
    half = {
        "cut": Answer("By and by [ 1 Bing Crosby ].", cut_after=400),
        "no reason": Answer("By and", None, done=False, usage=None),
        "done without reason": Answer("By and", None),
    }[reason]
    with asking(half, GOOD) as (engine, server):
        shown: list[str] = []
        with pytest.raises(UnavailableError, match=r" after \d+ characters of the answer"):
            shown.extend(iter(engine.stream(QUESTION, SOURCES)))
        assert len(server.asked) == 1


def test_a_stream_is_retried_if_nothing_was_shown() -> None:
    """All text is held back because it may be a quote."""
    half = Answer("[ 1 Bing Crosby", None, done=False, usage=None)
    with asking(half, half, Answer("[ 1 bing Crosby ] sang.")) as (engine, server):
        assert streamed(engine) == "[ 1 Bing Crosby ] sang."
        assert len(server.asked) == 3


def test_events_after_the_finish_reason_do_not_matter() -> None:
    events = (
        b'data: {"choices": [{"delta": {"content": "By."}}]}\n\n'
        b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    )
    with asking(Answer(body=events, kind="text/event-stream", headers={"X": "y"})) as (engine, _):
        assert streamed(engine) == "By."
    more = events + b'data: {"choices": [{"delta": {"content": " More!"}}]}\n\n'
    with asking(Answer(body=more, kind="text/event-stream")) as (engine, _):
        assert streamed(engine) == "By."


def test_a_complete_answer_does_not_wait_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_TRAILER_TIMEOUT", 0.2)
    answer = Answer("By.", usage=None, done=False)
    whole = len(chunks(Asked("/chat/completions", {}, {}), answer))
    with asking(Answer("By.", stall_after=whole)) as (engine, _):
        started = time.monotonic()
        assert streamed(engine) == "By."
        assert time.monotonic() - started < 5


@BOTH
@pytest.mark.parametrize(
    "endless",
    [
        Answer("", None, drip=b": ping\n\n", kind="text/event-stream", done=False),
        Answer(TEXT, stall_after=0),
        Answer(TEXT, stall_after=20),
    ],
)
def test_time_is_limited(ask: Ask, endless: Answer) -> None:
    with serving(endless) as server:
        started = time.monotonic()
        message = refused(ask, server, UnavailableError, timeout=0.2)
        assert "no answer within 0.2 seconds" in message or "more than" in message
        assert time.monotonic() - started < 5


def test_silence_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "READ_TIMEOUT", 0.2)
    with asking(Answer(TEXT, stall_after=20), GOOD) as (engine, _):
        assert asked_once(engine) == TEXT


@BOTH
def test_size_is_limited(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_BYTES", 10_000)
    for kind in ("application/json", "text/event-stream"):
        with serving(Answer(body=b"", drip=b" " * 1_000 + b"\n", kind=kind)) as server:
            assert "more than 10,000 bytes" in refused(ask, server, UnavailableError)


@BOTH
def test_nothing_goes_to_another_host(ask: Ask) -> None:
    with serving(GOOD) as other:
        target = other.url + "/chat/completions"
        with serving(Answer(status=307, body={}, headers={"Location": target})) as server:
            assert f"redirects to {target!r}" in refused(ask, server, InputError)
        assert other.asked == []


def test_lone_surrogates_in_an_answer_are_replaced() -> None:
    with serving(
        Answer("a \ud800 b 😀"), Answer("a 😀", pieces=("a ", "\ud83d", "\ude00"))
    ) as server:
        engine = engine_for(server)
        assert asked_once(engine) == "a \ufffd b 😀"
        assert streamed(engine).startswith("a ")


def test_hostile_marks_are_bounded() -> None:
    with asking(Answer("[1" * 10_001)) as (engine, _):
        started = time.process_time()
        with pytest.raises(InputError, match="10,001 marks"):
            asked_once(engine)
        with pytest.raises(InputError, match="10,001 marks"):
            streamed(engine)
        assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, r"OPENAI_API_KEY"),
        ({"base_url": "http://x/v1?key=1"}, r"^base_url "),
        ({"base_url": "http://me:secret@x/v1"}, r"^base_url "),
        ({"base_url": "http://x/v1", "api_key": "a\nb"}, r"^api_key "),
        ({"base_url": "http://x/v1", "api_key": "clé"}, r"^api_key "),
    ],
)
def test_invalid_addresses_and_keys(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        OpenAIEngine("tiny", **given)
    assert "secret" not in str(raised.value)


def test_address_and_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    monkeypatch.setenv("SEMQA_API_KEY", " mine ")
    assert Endpoint.find() == Endpoint("https://api.openai.com/v1", "theirs")
    assert Endpoint.find("http://localhost:1/v1", "") == Endpoint("http://localhost:1/v1", None)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://nowhere.invalid/v1")
    monkeypatch.setenv("SEMQA_BASE_URL", "http://localhost:1/v1/")
    assert Endpoint.find() == Endpoint("http://localhost:1/v1", "mine")
    monkeypatch.delenv("SEMQA_API_KEY")
    assert Endpoint.find().key == "theirs"


def test_a_key_is_not_shown_by_objects_either() -> None:
    with asking(GOOD) as (engine, _):
        assert KEY not in repr(engine._remote.transport.endpoint)
        assert KEY not in repr(vars(engine))


def test_lone_surrogates_in_a_question_are_rejected_before_sending() -> None:
    with asking(GOOD) as (engine, server):
        with pytest.raises(InputError, match="surrogate"):
            engine.answer("Who \ud800?", SOURCES)
        assert server.asked == []


@pytest.mark.parametrize("closed", [True, False])
def test_an_engine_leaves_no_thread(closed: bool) -> None:
    before = set(threading.enumerate())
    with serving(GOOD) as server:
        engine = OpenAIEngine("tiny", OpenAIOptions(constraint="repair"), base_url=server.url)
        asked_once(engine)
        (own,) = (t for t in set(threading.enumerate()) - before if t.name == "semqa-endpoint")
        if closed:
            engine.close()
        else:
            del engine
            gc.collect()
        own.join(5)
        assert not own.is_alive()
