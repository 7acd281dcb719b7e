"""Fine-tuning on a toy task, and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semqa.data.quotesum import Question
from semqa.errors import InputError
from semqa.prompting import PromptBuilder
from semqa.training import trainer
from semqa.training.train import train
from tests.attribution.commands import command_in
from tests.training.toy import BRIEF, T5, options, semqa_of


@pytest.fixture(scope="module")
def learned(folder: Path, questions: list[Question]) -> tuple[Path, dict[str, Any]]:
    out = folder / "t5-out"
    return out, train(questions, questions, out, options(folder, "t5", **T5))


def test_a_t5_memorises_its_examples(
    learned: tuple[Path, dict[str, Any]], folder: Path, questions: list[Question]
) -> None:
    out, record = learned
    assert record["method"] == "full"
    assert [each["step"] for each in record["history"]] == [60, 120]
    assert record["best"]["semqa"] >= 95
    assert {each["verified"] for each in record["history"]} == {1.0}
    # In a tie, the first model is the best.
    best = max(each["rougeLsum"] for each in record["history"])
    assert record["best"] == next(e for e in record["history"] if e["rougeLsum"] == best)
    assert semqa_of(out / "model", folder, questions) == record["best"]["semqa"]
    assert not (out / "checkpoints").exists()


def test_the_record_describes_the_training_data(
    learned: tuple[Path, dict[str, Any]], folder: Path, questions: list[Question]
) -> None:
    out, record = learned
    assert json.loads((out / "training.json").read_text()) == record
    assert record["prompt"]["sha256"] == PromptBuilder(folder / "short.jinja").template.sha256
    assert record["data"]["train"] == record["data"]["dev"]
    assert record["data"]["train"]["questions"] == record["examples"] == 20
    assert record["shared_questions"] == 20
    assert record["options"]["learning_rate"] == 0.01
    assert record["model_identity"].startswith("sha256:")
    assert {"torch", "transformers", "accelerate", "semqa"} <= set(record["versions"])


def test_a_finished_run_is_not_repeated(
    learned: tuple[Path, dict[str, Any]], folder: Path, questions: list[Question]
) -> None:
    out, record = learned
    assert train(questions, questions, out, options(folder, "t5", **T5)) == record
    assert not (out / "checkpoints").exists()
    with pytest.raises(InputError, match="another training run, with different data"):
        train(questions[1:], questions, out, options(folder, "t5", **T5))
    with pytest.raises(InputError, match="another training run, with different options"):
        train(questions, questions, out, options(folder, "t5", **T5, seed=5))


def test_input_errors_exit_with_2_and_name_the_place(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = command_in(tmp_path, monkeypatch, capsys)
    good, bad = folder / "train.jsonl", tmp_path / "bad.jsonl"
    bad.write_text(good.read_text().splitlines()[0] + '\n{"qid": 5}\n')

    def said(data: Path, *given: object, model: Path = folder / "t5") -> str:
        left = run(
            *("train", data, "--dev", good, "--model", model, "--out", tmp_path / "out"),
            *("--device", "cpu", *map(str, given)),
        )
        assert left.code == 2
        assert not left.out
        return " ".join(left.err.split())

    assert "bad.jsonl:2: " in said(bad)
    assert "--prompt alce asks for citations" in said(good, "--prompt", "alce")
    assert "--fp16 needs a GPU" in said(good, "--fp16")
    assert "--dtype must be float32" in said(good, "--dtype", "bfloat16")
    # The decoder has only 256 positions.
    assert "got 256" in said(good, model=folder / "chat")
    message = said(good, "--max-new-tokens", 24, model=folder / "chat")
    assert "dev data: question 'q0': The prompt has" in message
    # An error does not claim the folder, so a corrected command can use it.
    assert not (tmp_path / "out/plan.json").exists()


def test_micro_batches_and_gradient_checkpointing_do_not_change_the_weights(
    folder: Path, tmp_path: Path, questions: list[Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the order of sums, whose effect the low learning rate keeps small."""
    from safetensors.torch import load_file

    low = {**BRIEF, "learning_rate": 0.0001, "max_steps": 2, "eval_steps": 2}
    weights = []
    for saving in (False, True):
        out = tmp_path / str(saving)
        wanted = options(folder, "t5", **low, gradient_checkpointing=saving)
        train(questions, questions[:1], out, wanted)
        weights.append(load_file(out / "model/model.safetensors"))
        monkeypatch.setattr(trainer, "_CPU_TOKENS", 100)  # micro-batches
    for key, value in weights[0].items():
        assert float((value - weights[1][key]).abs().max()) < 1e-5, key
