"""Fine-tuning on a toy task: learned by heart, killed, interrupted, gone on with, and asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from semqa.data.quotesum import Question, Reference, read_quotesum, write_quotesum
from semqa.engines import Request
from semqa.engines.model import PromptEncoder
from semqa.engines.transformers import TransformersEngine, TransformersOptions
from semqa.errors import InputError
from semqa.metrics import Example, score
from semqa.prompting import PromptBuilder
from semqa.quotes import Source
from semqa.trainer import Progress
from semqa.training import TrainingOptions, train
from semqa.training.encoding import IGNORED, encode
from tests.attribution.commands import command_in
from tests.models import tiny
from tests.training.toy import TEMPLATE, save_decoder, save_t5, toy_questions

ROOT = Path(__file__).resolve().parents[2]

T5: dict[str, Any] = {
    "max_steps": 150,
    "eval_steps": 50,
    "batch_size": 10,
    "learning_rate": 0.01,
    "max_new_tokens": 24,
    "max_length": 128,
    "eval_batch_size": 20,
    "device": "cpu",
}
DECODER = {**T5, "max_steps": 100, "learning_rate": 0.005}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Threads cost a tiny model more than they save, and order sums differently."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions, a template and the models to begin with."""
    path = tmp_path_factory.mktemp("training")
    write_quotesum(path / "train.jsonl", toy_questions())
    (path / "short.jinja").write_text(TEMPLATE)
    save_t5(path / "t5")
    save_decoder(path / "decoder")
    return path


@pytest.fixture(scope="module")
def questions(folder: Path) -> list[Question]:
    return read_quotesum(folder / "train.jsonl")


def options(folder: Path, model: str, **given: Any) -> TrainingOptions:
    return TrainingOptions(model=str(folder / model), prompt=str(folder / "short.jinja"), **given)


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
    assert [each["step"] for each in record["history"]] == [50, 100, 150]
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


def flags(given: dict[str, Any]) -> list[str]:
    return [
        part
        for name, value in given.items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]


def command(folder: Path, model: str, out: Path, **given: Any) -> list[str]:
    data = str(folder / "train.jsonl")
    return [
        *(sys.executable, "-P", "-m", "semqa", "train", data, "--dev", data),
        *("--model", str(folder / model), "--prompt", str(folder / "short.jinja")),
        *("--out", str(out), *flags(given)),
    ]


def test_a_killed_training_goes_on_and_ends_the_same(
    learned: tuple[Path, dict[str, Any]], folder: Path, questions: list[Question]
) -> None:
    """Killed with SIGKILL after its first checkpoint; a torn checkpoint is left beside it."""
    out = folder / "killed"
    process = subprocess.Popen(
        command(folder, "t5", out, **T5),
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    end = time.monotonic() + 120
    while not (out / "checkpoints/checkpoint-50/whole").exists():
        assert process.poll() is None, process.communicate()[1].decode()
        assert time.monotonic() < end
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (out / "training.json").exists()
    torn = out / "checkpoints/checkpoint-1000"
    torn.mkdir()
    (torn / "model.safetensors").write_bytes(b"half")

    resumed: list[int] = []
    record = train(
        questions,
        questions,
        out,
        options(folder, "t5", **T5),
        progress=Progress(on_resume=resumed.append),
    )
    assert resumed in ([50], [100])
    assert record == learned[1]
    for name in ("model/model.safetensors", "model/config.json", "training.json"):
        assert (out / name).read_bytes() == (learned[0] / name).read_bytes(), name


def interrupt_at(wanted: int) -> Progress:
    def on_progress(step: int, _: int | None) -> None:
        if step == wanted:
            signal.raise_signal(signal.SIGINT)

    return Progress(on_progress)


def test_a_decoder_learns_with_adapters_though_interrupted(
    folder: Path, questions: list[Question]
) -> None:
    """Ctrl-C keeps a checkpoint of the very step; what it becomes is a whole model."""
    out, wanted = folder / "decoder-out", options(folder, "decoder", **DECODER)
    with pytest.raises(KeyboardInterrupt):
        train(questions, questions, out, wanted, progress=interrupt_at(30))
    assert (out / "checkpoints/checkpoint-30/whole").exists()
    resumed: list[int] = []
    record = train(questions, questions, out, wanted, progress=Progress(on_resume=resumed.append))
    assert resumed == [30]
    assert record["method"] == "lora"
    assert [each["step"] for each in record["history"]] == [50, 100]
    assert record["best"]["semqa"] >= 95
    assert semqa_of(out / "model", folder, questions) == record["best"]["semqa"]
    assert (out / "model/adapter/adapter_config.json").exists()


def test_an_interrupted_training_with_dropout_ends_the_same(
    folder: Path, questions: list[Question]
) -> None:
    wanted = options(
        folder, "decoder", **{**DECODER, "max_steps": 5, "eval_steps": 4, "max_new_tokens": 12}
    )
    assert wanted.lora_dropout > 0
    whole = train(questions, questions[:2], folder / "whole", wanted)
    with pytest.raises(KeyboardInterrupt):
        train(questions, questions[:2], folder / "parts", wanted, progress=interrupt_at(3))
    last = {"out": folder / "parts", "options": wanted, "keep_checkpoints": True}
    assert train(questions, questions[:2], **last) == whole  # type: ignore[arg-type]
    name = "model/model.safetensors"
    assert (folder / "parts" / name).read_bytes() == (folder / "whole" / name).read_bytes()

    # As when it was killed after the adapters were merged, before the record was written.
    (folder / "parts/training.json").unlink()
    assert train(questions, questions[:2], **last) == whole  # type: ignore[arg-type]
    assert (folder / "parts" / name).read_bytes() == (folder / "whole" / name).read_bytes()


@pytest.mark.parametrize("family", ["gpt2", "llama-chat", "llama-sentencepiece"])
def test_a_decoder_is_asked_as_by_the_engine_and_learns_the_answer_alone(family: str) -> None:
    made = tiny(family)
    prompts = PromptBuilder("zero-shot")
    encoder = PromptEncoder(made.tokenizer, is_encoder_decoder=False)
    question = Question(
        "q",
        "Who built it?",
        (Source("Ann built the bridge.</s>"),),
        (
            Reference("q-1", "It was [ 1 Ann ]."),
            Reference("q-2", "[ 1 Bob ]"),
            Reference("q-3", " "),
        ),
    )
    engine = TransformersEngine(
        made,  # type: ignore[arg-type]  # has what a LoadedModel has
        TransformersOptions(constraint="off", max_new_tokens=20),
        prompts=prompts,
    )
    end = made.tokenizer.eos_token_id
    found = encode(
        *([question], engine.prompt, encoder, made.tokenizer),
        end=end,
        limit=4000,
        is_encoder_decoder=False,
    )
    asked = encoder.encode(engine.prompt(question.question, question.sources))
    assert (found.left_out, found.unverified) == (1, 1)
    for feature, text in zip(found.features, question.texts, strict=False):
        ids, labels = feature["input_ids"], feature["labels"]
        assert ids[: len(asked)] == asked
        assert labels == [IGNORED] * len(asked) + ids[len(asked) :]
        assert ids[-1] == end
        assert made.tokenizer.decode(ids[len(asked) : -1]).strip() == text
    tight = len(found.features[1]["input_ids"])
    found = encode(
        *([question], engine.prompt, encoder, made.tokenizer),
        end=end,
        limit=tight,
        is_encoder_decoder=False,
    )
    assert (len(found.features), found.left_out) == (1, 2)


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
    assert "--max-new-tokens: got 256" in said(good, model=folder / "decoder")
    told = said(good, "--max-new-tokens", 24, model=folder / "decoder")
    assert "dev data: question 'q0': the prompt is too long" in told
    # A mistake claims no folder: the corrected command is not taken for another training.
    assert not (tmp_path / "out/plan.json").exists()
