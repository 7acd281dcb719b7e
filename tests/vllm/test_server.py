"""vLLM's OpenAI-compatible server, started for real and spoken to with the `openai` client."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from semqa import QuotedAnswer, Source
from semqa.decoding import QuotePolicy
from semqa.decoding.vllm import to_extra_args
from tests.vllm.engine import PROCESSOR
from tests.vllm.tiny import SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator

POLICY = QuotePolicy(quote_bias=4)
PATIENCE = 540.0  # less than the tests' limit, as a low-priority job takes long to start


@pytest.fixture(scope="module")
def server(llama: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    command = [
        sys.executable, "-P", "-m", "vllm.entrypoints.openai.api_server",
        "--model", str(llama), "--served-model-name", "tiny",
        "--host", "127.0.0.1", "--port", str(port),
        "--dtype", "float32", "--max-model-len", "512", "--max-num-seqs", "8",
        "--enforce-eager", "--kv-cache-memory-bytes", str(64 << 20),
        "--logits-processors", PROCESSOR,
    ]  # fmt: skip
    env = {**os.environ, "VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env=env, start_new_session=True
        )
    try:
        _wait(process, port, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)


def _wait(process: Any, port: int, log: Path) -> None:
    import httpx

    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with suppress(httpx.HTTPError):
            if httpx.get(f"http://127.0.0.1:{port}/health", timeout=2).is_success:
                return
        time.sleep(0.5)
    pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-4000:]}")


@pytest.fixture(scope="module")
def client(server: str) -> Any:
    import openai

    return openai.OpenAI(base_url=f"{server}/v1", api_key="none", max_retries=0, timeout=120)


def ask(client: Any, xargs: dict[str, Any], **options: Any) -> Any:
    given: dict[str, Any] = {"prompt": "Who?", "max_tokens": 40, "temperature": 1.0}
    return client.completions.create(
        model="tiny", extra_body={"vllm_xargs": xargs}, **(given | options)
    )


def check(text: str, sources: Any = SOURCES) -> None:
    answer = QuotedAnswer.parse(text, sources)
    assert answer.verified or answer.abstained, text


def test_one_bad_request_among_many_good_ones(client: Any) -> None:
    import openai

    good = to_extra_args(SOURCES, POLICY)
    bad = good | {"semqa_quote_bias": "two"}

    def one(number: int) -> str:
        if number % 4 != 3:
            choice = ask(client, good).choices[0]
            assert choice.finish_reason == "stop"
            return str(choice.text)
        with pytest.raises(openai.BadRequestError) as caught:
            ask(client, bad)
        assert "semqa_quote_bias must be a number" in str(caught.value)
        return ""

    count = 8
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(one, range(count)))
    for text in filter(None, texts):
        check(text)
    assert sum(map(bool, texts)) == count * 3 // 4


def test_chat(client: Any) -> None:
    reply = client.chat.completions.create(
        model="tiny",
        messages=[{"role": "user", "content": "Who?"}],
        max_tokens=40,
        n=2,
        extra_body={"vllm_xargs": to_extra_args(SOURCES, POLICY, "Who?")},
    )
    for choice in reply.choices:
        assert choice.finish_reason == "stop"
        check(choice.message.content)


def test_streams_join_to_answers(client: Any) -> None:
    pieces = [
        chunk.choices[0].text
        for chunk in ask(client, to_extra_args(SOURCES, POLICY), stream=True)
        if chunk.choices
    ]
    assert len(pieces) > 2
    check("".join(pieces))


def test_long_sources(client: Any) -> None:
    words = " ".join(f"word{number} is number {number}." for number in range(12_000))
    sources = [Source(words)]
    reply = ask(client, to_extra_args(sources, POLICY), max_tokens=30)
    check(reply.choices[0].text, sources)
