"""Options of language models: accepted options, defaults, and output streams."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import Result

from semqa.cli.choice import EngineOptions, choose_each
from semqa.errors import InputError
from tests.cli.conftest import EXAMPLES, Invoke
from tests.cli.fake_model import FakeModel
from tests.terminal import Terminal

SOURCES = ("--sources", str(EXAMPLES / "antarctica.jsonl"))
DATA = str(EXAMPLES / "quotesum.jsonl")
ASK = ("answer", "Who crossed Antarctica alone?", *SOURCES, "--engine", "fake:model")
RANDOM = ("--train", DATA, "--shots", "2", "--exemplars", "random")


def fails(result: Result) -> str:
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def test_options_are_passed_to_the_engine(invoke: Invoke) -> None:
    assert invoke(*ASK).exit_code == 0
    assert FakeModel.made[0].options == {"constraint": "on"}
    assert FakeModel.made[0].closed
    invoke(*ASK, "--free", "any", "--top-k", "5", "--temperature", "0.5")
    assert FakeModel.made[1].options == {
        "constraint": "on", "free": "any", "top_k": 5, "temperature": 0.5,
    }  # fmt: skip


def test_a_cut_off_answer_is_reported(invoke: Invoke) -> None:
    for switch in ("on", "off"):
        shown = invoke(*ASK, "--constraint", switch, "--format", "terminal").stdout
        assert ("(cut off at 40 tokens)" in shown) is (switch == "off")
        record = json.loads(invoke(*ASK, "--constraint", switch, "--json").stdout)
        assert (record["new_tokens"], record["finished"]) == (40, switch == "on")


def test_the_prompt_is_checked_before_the_constraint_is_compiled(invoke: Invoke) -> None:
    assert invoke(*ASK).exit_code == 0
    assert FakeModel.made[0].done[:2] == ["prompt", "warm up"]
    assert "tokens without exemplars" in fails(invoke(*ASK, "--context", "100"))
    assert "warm up" not in FakeModel.made[1].done


def test_the_prompt_goes_to_standard_error(invoke: Invoke) -> None:
    plain = invoke(*ASK, *RANDOM)
    shown = invoke(*ASK, *RANDOM, "--show-prompt")
    assert shown.stdout == plain.stdout
    assert "prompt" not in plain.stderr
    assert shown.stderr.startswith("--- prompt qsum 3 ---\n--- system ---\n")
    assert shown.stderr.count("--- user ---") == 3
    assert "Question: Who crossed Antarctica alone?" in shown.stderr
    completion = invoke(*ASK, *RANDOM, "--show-prompt", "--form", "completion").stderr
    assert "--- user ---" not in completion
    assert "Answer:\n---\n" in completion


def test_the_record_says_how_the_model_was_asked(invoke: Invoke) -> None:
    record = json.loads(invoke(*ASK, *RANDOM, "--json", "--seed", "7").stdout)
    assert record["options"] == {"constraint": "on", "seed": 7}
    prompt = record["prompt"]
    assert (prompt["template"], prompt["version"]) == ("qsum", "3")
    assert len(prompt["sha256"]) == 64
    # The question itself is in the file but never among its exemplars.
    assert {e["qid"] for e in prompt["exemplars"]} == {"EXAMPLE_2", "EXAMPLE_3"}
    assert "text" not in prompt
    full = json.loads(invoke(*ASK, *RANDOM, "--json", "--show-prompt").stdout)["prompt"]
    assert full["text"].endswith("Answer:")
    assert full["messages"][0]["role"] == "system"


def test_options_from_the_environment_are_optional(invoke: Invoke) -> None:
    env = {"SEMQA_DEVICE": "cuda", "SEMQA_SEED": "3", "SEMQA_PROMPT": "alce", "SEMQA_ENCODER": "m"}
    assert invoke("answer", "Who?", *SOURCES, env=env).exit_code == 0
    assert invoke(*ASK, env=env).exit_code == 0
    assert FakeModel.made[0].options["device"] == "cuda"
    assert FakeModel.made[0].options["seed"] == 3
    assert FakeModel.made[0].prompts.template.name == "alce"
    invoke(*ASK, "--prompt", "qsum", "--seed", "4", env=env)
    assert FakeModel.made[1].options["seed"] == 4
    assert FakeModel.made[1].prompts.template.name == "qsum"


@pytest.mark.parametrize("engines", [("openai:m", "extractive"), ("extractive", "openai:m")])
def test_each_of_several_engines_gets_the_options_that_it_accepts(engines: tuple[str, ...]) -> None:
    given = {"encoder": "none", "max_words": 50, "shots": 2}
    names, choice = choose_each(engines, EngineOptions(given))
    assert names == engines
    assert choice("extractive").options == {"encoder": "none", "max_words": 50}
    prompts = choice("openai:m").prompts
    assert prompts is not None
    assert (prompts.shots, prompts.encoder) == (2, None)
    with pytest.raises(InputError, match="max_words is not an option of the engine openai:m"):
        choose_each(["openai:m", "lead-2"], EngineOptions({"max_words": 50}))
    with pytest.raises(InputError, match="encoder needs a file of solved questions"):
        choose_each(["openai:m", "lead-2"], EngineOptions({"encoder": "none"}))


@pytest.mark.parametrize("broken", [False, True])
def test_bench_closes_its_engine(
    broken: bool, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken:
        monkeypatch.setattr(import_module("semqa.bench.run"), "make_results", None)
    args = ("bench", "quotesum", "--data", DATA, "--engine", "fake:model", "--out")
    result = invoke(*args, str(tmp_path / "run"))
    assert (result.exit_code != 0) is broken
    assert [made.closed for made in FakeModel.made] == [True]


WATCH = """
import time
from rich.console import Console
from semqa import Source
from semqa.cli.running import show_live
from semqa.engines import Request
def pieces():
    for piece in ("[ 1 Bing ] ", "\\x1b[31mred", " and\\nmore"):
        time.sleep(0.1)
        yield piece
text = show_live(Request("Who?", (Source("Bing"),)), Console(stderr=True))(pieces())
print(repr(text), flush=True)
"""


SLOW = """
import time
from semqa.cli.output import waiting
with waiting("loading a model") as tell:
    time.sleep(0.3)
    tell("Compiling \\x1b[31m")
    time.sleep(0.3)
"""


def test_slow_operations_show_progress(terminal: Terminal) -> None:
    import subprocess
    import sys

    env = {"PYTHONPATH": str(EXAMPLES.parent)}
    shown = terminal(program=[sys.executable, "-c", SLOW], env=env)
    assert shown.index("loading a model") < shown.index("Compiling")
    assert "\x1b[31m" not in shown
    piped = subprocess.run(
        [sys.executable, "-c", SLOW], env={**os.environ, **env}, capture_output=True, check=True
    )
    assert piped.stderr.decode() == "Compiling <U+001B>[31m\n"
    assert piped.stdout == b""


def test_an_answer_is_seen_while_it_is_written(terminal: Terminal) -> None:
    import sys

    shown = terminal(
        program=[sys.executable, "-c", WATCH], env={"PYTHONPATH": str(EXAMPLES.parent)}
    )
    before, _, after = shown.partition("'[ 1 Bing ] \\x1b[31mred and\\nmore'")
    assert "more" in before
    assert "\x1b[31m" not in before
    assert "\x1b[2K" in before  # erased before the result is printed
    assert after.strip() == ""


def test_many_questions_go_to_a_model_in_batches(invoke: Invoke, tmp_path: Path) -> None:
    asked, out = tmp_path / "q.txt", tmp_path / "out.jsonl"
    asked.write_text("Who?\nWhen?\nWhy not?\n", "utf-8")
    command = ("answer", "--questions", str(asked), *SOURCES, "--engine", "fake:model")
    assert invoke(*command, "-o", str(out)).exit_code == 0
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [row["question"] for row in rows] == ["Who?", "When?", "Why not?"]
    assert all(row["new_tokens"] == 40 and row["prompt"]["template"] for row in rows)
    assert FakeModel.made[0].closed
    assert invoke(*command, "-o", str(out)).exit_code == 0
    assert len(FakeModel.made) == 1
