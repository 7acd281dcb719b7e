"""What a real model is asked, through each command and each way of running it.

``SEMQA_TEST_MODEL`` names the folder of the model, and the environment the tests run in says which
engines there are. `make test-models` sees to both; without it, these tests skip.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from semqa import QuotedAnswer, Source
from semqa.data import read_quotesum
from tests.real.llama_cpp import gguf_file, serving
from tests.real.reading import Answered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PASSAGES = EXAMPLES / "antarctica.jsonl"
QUESTIONS = EXAMPLES / "quotesum.jsonl"
ASKED = (
    "Who crossed Antarctica alone?",
    "When was the continent crossed over land for the first time?",
)
VLLM = {"enforce_eager": True, "kv_cache_memory_bytes": 256 << 20, "max_num_seqs": 4}
ENGINES = ("vllm",) if find_spec("vllm") else ("transformers", "llama.cpp")


@pytest.fixture(scope="session")
def model() -> Path:
    """The model's folder."""
    if folder := os.environ.get("SEMQA_TEST_MODEL"):
        return Path(folder)
    pytest.skip("needs a real model, which make test-models makes (or set SEMQA_TEST_MODEL)")


@pytest.fixture(scope="session", params=ENGINES)
def engine(
    model: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[str]]:
    """The options that choose an engine."""
    if request.param == "transformers":
        yield ["--engine", f"transformers:{model}"]
    elif request.param == "vllm":
        yield ["--engine", f"vllm:{model}", "--dtype", "float32", "--context", "4096",
               "--engine-args", json.dumps(VLLM)]  # fmt: skip
    else:
        log = tmp_path_factory.mktemp("llama.cpp") / "log.txt"
        with serving(gguf_file(), log=log) as address:
            yield ["--engine", "openai:smollm2", "--base-url", f"{address}/v1"]


@pytest.fixture(scope="session", params=["answer", "bench", "serve"])
def answers(
    engine: list[str], request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[Answered]:
    """What a command answers."""
    ask = {"answer": _answer, "bench": _bench, "serve": _serve}[request.param]
    return ask(engine, tmp_path_factory.mktemp(request.param))


def _answer(engine: list[str], folder: Path) -> list[Answered]:
    sources = [Source(**json.loads(line)) for line in PASSAGES.read_text("utf-8").splitlines()]
    done = subprocess.run(
        [*_command("answer", ASKED[0], "--sources", PASSAGES, "--json"), *engine],
        env=_environment(folder), capture_output=True, encoding="utf-8", timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return [_read(ASKED[0], sources, json.loads(done.stdout))]


def _bench(engine: list[str], folder: Path) -> list[Answered]:
    done = subprocess.run(
        [*_command("bench", "quotesum", "--data", QUESTIONS, "--out", folder / "run"), *engine],
        env=_environment(folder), capture_output=True, encoding="utf-8", timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    lines = (folder / "run" / "examples.jsonl").read_text("utf-8").splitlines()
    records = {record["qid"]: record for record in map(json.loads, lines)}
    questions = list(read_quotesum(QUESTIONS))
    assert set(records) == {each.qid for each in questions}
    assert not any(record["error"] for record in records.values())
    return [
        _read(each.question, each.sources, records[each.qid], records[each.qid]["prediction"])
        for each in questions
    ]


def _serve(engine: list[str], folder: Path) -> list[Answered]:
    import httpx

    sources = [json.loads(line) for line in PASSAGES.read_text("utf-8").splitlines()]
    read = []
    with _server(engine, folder) as url, httpx.Client(base_url=url, timeout=240) as client:
        for question in ASKED:
            reply = client.post("/v1/answers", json={"question": question, "sources": sources})
            assert reply.status_code == 200, reply.text
            read.append(_read(question, [Source(**each) for each in sources], reply.json()))
    return read


@contextmanager
def _server(engine: list[str], folder: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [*_command("serve", "--port", "0", "--data", folder / "data"), *engine],
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    said: list[str] = []
    ready = threading.Event()

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if "semqa is at http" in line:
                ready.set()
        ready.set()  # it ended

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        assert ready.wait(240), said
        found = re.search(r"semqa is at (http://\S+)/ ", "".join(said))
        assert found, said
        yield found[1]
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        listener.join(30)
        assert process.stderr is not None
        process.stderr.close()


def _command(*args: str | Path) -> list[str]:
    return [sys.executable, "-P", "-m", "semqa", *map(str, args)]


def _environment(folder: Path) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SEMQA_")}
    return clean | {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "SEMQA_CACHE": str(folder),
        "TOKENIZERS_PARALLELISM": "false",
    }


def _read(
    question: str, sources: Sequence[Source], record: dict[str, Any], text: str | None = None
) -> Answered:
    marked = record["answer"] if text is None else text
    return Answered(question, QuotedAnswer.parse(marked, sources), record)
