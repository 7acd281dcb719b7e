"""Fine-tuning on a toy task: learned by heart, killed, interrupted, gone on with, and asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semqa.data.quotesum import Question
from semqa.engines import Request
from semqa.engines.transformers import TransformersEngine, TransformersOptions
from semqa.errors import InputError
from semqa.metrics import Example, score
from semqa.prompting import PromptBuilder
from semqa.training import train
from tests.attribution.commands import command_in
from tests.training.wanted import T5, options

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def learned(folder: Path, questions: list[Question]) -> tuple[Path, dict[str, Any]]:
    out = folder / "t5-out"
    return out, train(questions, questions, out, options(folder, "t5", **T5))


def semqa_of(model: Path, folder: Path, questions: list[Question]) -> float:
    """Return the score of a trained folder, asked as any engine and scored as any predictions."""
    engine = TransformersEngine(
        str(model),
        TransformersOptions(device="cpu", max_new_tokens=24, batch_size=20),
        prompts=PromptBuilder(folder / "short.jinja"),
    )
    answers = engine.answer_batch([Request(each.question, each.sources) for each in questions])
    report = score(
        (
            Example(each.qid, answer.marked, each.texts, each.short_answers, each.numbers)
            for each, answer in zip(questions, answers, strict=True)
        ),
        resamples=0,
    )
    value = report.value("semqa")
    assert value is not None
    return value


def test_a_t5_learns_its_examples_by_heart(
    learned: tuple[Path, dict[str, Any]], folder: Path, questions: list[Question]
) -> None:
    out, record = learned
    assert record["method"] == "full"
    assert [each["step"] for each in record["history"]] == [60, 120]
    assert record["history"][0]["semqa"] < record["best"]["semqa"]
    assert record["best"]["semqa"] >= 95
    assert {each["verified"] for each in record["history"]} == {1.0}
    # The best is the first of equals, not the last.
    best = max(each["rougeLsum"] for each in record["history"])
    assert record["best"] == next(e for e in record["history"] if e["rougeLsum"] == best)
    assert semqa_of(out / "model", folder, questions) == record["best"]["semqa"]
    assert not (out / "checkpoints").exists()


def test_the_record_says_what_was_learned_from(
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


def test_a_finished_training_is_not_done_again(
    learned: tuple[Path, dict[str, Any]], folder: Path, questions: list[Question]
) -> None:
    out, record = learned
    assert train(questions, questions, out, options(folder, "t5", **T5)) == record
    with pytest.raises(InputError, match="of another training: got other data"):
        train(questions[1:], questions, out, options(folder, "t5", **T5))
    with pytest.raises(InputError, match="of another training: got other options"):
        train(questions, questions, out, options(folder, "t5", **T5, seed=5))


def test_mistakes_end_with_2_and_say_where(
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
    assert "--max-steps: got 0, expected a whole number from 1" in said(good, "--max-steps", 0)
    assert "unknown prompt: got 'qsun'" in said(good, "--prompt", "qsun")
    assert f"model {tmp_path}" in said(good, model=tmp_path)
    # The decoder has 256 positions, which 256 new tokens fill.
    assert "--max-new-tokens: got 256" in said(good, model=folder / "chat")
    told = said(good, "--max-new-tokens", 24, model=folder / "chat")
    assert "dev data: question 'q0': the prompt is too long" in told
    # A mistake claims no folder: the corrected command is not taken for another training.
    assert not (tmp_path / "out/plan.json").exists()
