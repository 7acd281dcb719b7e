"""Training runs that are killed, interrupted or fail, and are resumed."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from semqa.data.quotesum import Question
from semqa.errors import InputError
from semqa.training.folder import Progress, TrainingFolder
from semqa.training.train import train
from semqa.training.trainer import GuardedTrainer
from tests.training.processes import die_at_save, run_command, signal_at_step, small_files
from tests.training.toy import BRIEF, DECODER, command, options

Brief = tuple[Path, dict[str, Any]]
FILES = ("model/model.safetensors", "model/config.json", "training.json")


def same(out: Path, brief: Brief) -> None:
    for name in FILES:
        assert (out / name).read_bytes() == (brief[0] / name).read_bytes(), name


def newest(out: Path) -> int:
    """Return the step of the newest complete checkpoint."""
    return max((int(path.parent.name[11:]) for path in out.glob("checkpoints/*/whole")), default=0)


def test_a_killed_run_resumes_and_ends_with_the_same_weights(
    folder: Path, tmp_path: Path, questions: list[Question], brief: Brief
) -> None:
    """SIGKILL while a checkpoint is written; SIGTERM saves first."""
    out = tmp_path / "out"
    asked = command(folder, "t5", out, **BRIEF)
    ends: list[tuple[Any, int, int, int]] = [
        ((die_at_save, 6), -signal.SIGKILL, 0, 2),  # each checkpoint has four files
        ((signal_at_step, 7, signal.SIGTERM), 128 + signal.SIGTERM, 2, 7),
    ]
    for prepare, code, before, after in ends:
        ended = run_command(asked, tmp_path / "err", *prepare)
        assert ended.code == code, ended.err
        assert (f"resuming from step {before}" in ended.err) == bool(before)
        assert newest(out) == after
    assert "interrupted; run the same command again" in ended.err
    steps: list[int] = []
    progress = Progress(lambda step, _: steps.append(step))
    train(questions, questions[:4], out, options(folder, "t5", **BRIEF), progress=progress)
    assert steps == [8]
    same(out, brief)
    assert not (out / "checkpoints").exists()


def interrupt_at(wanted: int) -> Progress:
    def on_progress(step: int, _: int | None) -> None:
        if step == wanted:
            signal.raise_signal(signal.SIGINT)

    return Progress(on_progress)


def test_a_full_disk_is_reported_and_nothing_is_lost(
    folder: Path, tmp_path: Path, questions: list[Question], brief: Brief
) -> None:
    out, wanted = tmp_path / "out", options(folder, "t5", **BRIEF)

    ended = run_command(command(folder, "t5", out, **BRIEF), tmp_path / "err", small_files, 1 << 16)
    assert ended.code == 1
    assert "Cannot write" in ended.err
    assert "Traceback" not in ended.err
    assert not (out / "training.json").exists()
    train(questions, questions[:4], out, wanted)
    same(out, brief)


def test_divergence_is_reported_each_time(
    folder: Path, tmp_path: Path, questions: list[Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NaN is never saved."""
    out, wanted = tmp_path / "out", options(folder, "t5", **BRIEF)
    computed: Any = GuardedTrainer.compute_loss

    def compute_loss(trainer: Any, *given: Any, **named: Any) -> Any:
        loss = computed(trainer, *given, **named)
        return loss * float("nan") if trainer.state.global_step == 7 else loss

    monkeypatch.setattr(GuardedTrainer, "compute_loss", compute_loss)
    for _ in range(2):
        with pytest.raises(InputError, match="diverged by step"):
            train(questions, questions[:4], out, wanted)
    assert newest(out) == 6
    assert not (out / "training.json").exists()
    state = json.loads((out / "model/semqa-training.json").read_text())
    assert state["step"] <= 7


def test_an_interrupted_training_with_dropout_ends_the_same(
    folder: Path, questions: list[Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = options(
        folder, "chat", **{**DECODER, "max_steps": 5, "eval_steps": 4, "constraint": "off"}
    )
    assert wanted.lora_dropout > 0
    whole = train(questions, questions[:2], folder / "whole", wanted)
    with pytest.raises(KeyboardInterrupt):
        train(questions, questions[:2], folder / "parts", wanted, progress=interrupt_at(3))
    name = "model/model.safetensors"
    # Killed after the merge of the adapters and before the record is written.
    with monkeypatch.context() as patch:
        patch.setattr(TrainingFolder, "finish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(questions, questions[:2], folder / "parts", wanted)
    assert (folder / "parts" / name).read_bytes() == (folder / "whole" / name).read_bytes()
    assert train(questions, questions[:2], folder / "parts", wanted) == whole
    assert (folder / "parts" / name).read_bytes() == (folder / "whole" / name).read_bytes()
