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
import time
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
PATIENCE = 540  # seconds that a command may take; less than the tests' limit
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
            yield ["--engine", "openai:smollm2", "--base-url", f"{address}/v1",
                   "--timeout", str(PATIENCE)]  # fmt: skip


@pytest.fixture(scope="session", params=["answer and bench", "serve"])
def answers(
    engine: list[str], request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[Answered]:
    """What commands answer; `semqa serve` has a process of its own, as users start it."""
    ask = _serve if request.param == "serve" else _answer_and_bench
    return ask(engine, tmp_path_factory.mktemp("commands"))


def _answer_and_bench(engine: list[str], folder: Path) -> list[Answered]:
    sources = [Source(**json.loads(line)) for line in PASSAGES.read_text("utf-8").splitlines()]
    lines = QUESTIONS.read_text("utf-8").splitlines(keepends=True)
    data = folder / "questions.jsonl"
    # The first question is that of `semqa answer`.
    data.write_text("".join(line for line in lines if "EXAMPLE_1" not in line), "utf-8")
    answer = ("answer", ASKED[0], "--sources", PASSAGES, "--shots", "0", "--json")
    bench = ("bench", "quotesum", "--data", data, "--shots", "1", "--out", folder / "run")
    _run(folder, [*answer, *engine], [*bench, *engine])
    lines = (folder / "run" / "examples.jsonl").read_text("utf-8").splitlines()
    records = {record["qid"]: record for record in map(json.loads, lines)}
    return [
        _read(ASKED[0], sources, json.loads((folder / "0.out").read_bytes())),
        *(
            _read(each.question, each.sources, records[each.qid], records[each.qid]["prediction"])
            for each in read_quotesum(data)
        ),
    ]


def _serve(engine: list[str], folder: Path) -> list[Answered]:
    import httpx

    sources = [json.loads(line) for line in PASSAGES.read_text("utf-8").splitlines()]
    asked = {"question": ASKED[1], "sources": sources}
    with _server(engine, folder) as url:
        reply = httpx.post(f"{url}/v1/answers", json=asked, timeout=PATIENCE)
    reply.raise_for_status()
    return [_read(ASKED[1], [Source(**each) for each in sources], reply.json())]


def _run(folder: Path, *commands: Sequence[str | Path]) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.real.together", folder],
        input=json.dumps([[*map(str, args)] for args in commands]),
        # On a CPU, the engine's process then runs the model itself and starts sooner.
        env=_environment(folder) | {"PYTHONPATH": str(ROOT), "VLLM_ENABLE_V1_MULTIPROCESSING": "0"},
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(done.stderr[-4000:])


@contextmanager
def _server(engine: list[str], folder: Path) -> Iterator[str]:
    log = folder / "log.txt"
    options = ("--data", folder / "data", "--request-timeout", PATIENCE)
    command = ("serve", "--port", "0", *options, *engine)
    with log.open("wb") as messages:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "semqa", *map(str, command)],
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=messages,
        )
    try:
        until = time.monotonic() + PATIENCE
        while not (found := re.search(r"semqa is at (http://\S+)/ ", log.read_text("utf-8"))):
            if process.poll() is not None or time.monotonic() > until:
                pytest.fail(log.read_text("utf-8")[-4000:])
            time.sleep(0.1)
        yield found[1]
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment(folder: Path) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SEMQA_")}
    return clean | {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "SEMQA_CACHE": str(folder),
        "TOKENIZERS_PARALLELISM": "false",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }


def _read(
    question: str, sources: Sequence[Source], record: dict[str, Any], text: str | None = None
) -> Answered:
    marked = record["answer"] if text is None else text
    return Answered(question, QuotedAnswer.parse(marked, sources), record)
