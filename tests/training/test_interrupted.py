"""Trainings that are killed, interrupted, or fail in the middle, and go on when given again."""

from __future__ import annotations

import errno
import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from semqa.data.quotesum import Question
from semqa.errors import InputError, UnavailableError
from semqa.trainer import Progress
from semqa.trainer.run import GuardedTrainer
from semqa.training import train
from tests.training.processes import (
    die_at_save,
    run_command,
    signal_at_step,
    small_files,
)
from tests.training.wanted import BRIEF, DECODER, command, options

Brief = tuple[Path, dict[str, Any]]
FILES = ("model/model.safetensors", "model/config.json", "model/README.md", "training.json")


def same(out: Path, brief: Brief) -> None:
    for name in FILES:
        assert (out / name).read_bytes() == (brief[0] / name).read_bytes(), name


def newest(out: Path) -> int:
    """Return the step of the newest whole checkpoint."""
    return max((int(path.parent.name[11:]) for path in out.glob("checkpoints/*/whole")), default=0)


def test_a_training_killed_at_bad_moments_goes_on_and_ends_the_same(
    folder: Path, tmp_path: Path, brief: Brief
) -> None:
    """With SIGKILL: before any checkpoint, within the first and the second, after a step."""
    out = tmp_path / "out"
    asked = command(folder, "t5", out, **BRIEF)
    killed: list[tuple[Any, int, int]] = [
        ((signal_at_step, 1, signal.SIGKILL), 0, 0),
        ((die_at_save, 1), 0, 0),  # the first is the optimizer's
        ((die_at_save, 6), 0, 2),  # and each checkpoint has four
        ((signal_at_step, 7, signal.SIGKILL), 2, 6),
    ]
    for prepare, before, after in killed:
        ended = run_command(asked, tmp_path / "err", *prepare)
        assert ended.code == -signal.SIGKILL, ended.err
        assert (f"going on from step {before}" in ended.err) == bool(before)
        assert newest(out) == after
    ended = run_command(asked, tmp_path / "err")
    assert ended.code == 0, ended.err
    assert "going on from step 6" in ended.err
    same(out, brief)
    assert not (out / "checkpoints").exists()


def test_sigterm_keeps_a_checkpoint_of_the_step(folder: Path, tmp_path: Path, brief: Brief) -> None:
    out = tmp_path / "out"
    asked = command(folder, "t5", out, **BRIEF)
    ended = run_command(asked, tmp_path / "err", signal_at_step, 5, signal.SIGTERM)
    assert ended.code == 128 + signal.SIGTERM
    assert "interrupted: the last checkpoint is kept" in ended.err
    assert newest(out) == 5
    ended = run_command(asked, tmp_path / "err", signal_at_step, 7, signal.SIGINT)
    assert ended.code == 128 + signal.SIGINT
    assert newest(out) == 7
    assert run_command(asked, tmp_path / "err").code == 0
    same(out, brief)


def interrupt_at(wanted: int) -> Progress:
    def on_progress(step: int, _: int | None) -> None:
        if step == wanted:
            signal.raise_signal(signal.SIGINT)

    return Progress(on_progress)


@pytest.mark.parametrize("file", ["optimizer.pt", "model.safetensors", "whole"])
def test_a_damaged_checkpoint_is_said_and_the_one_before_counts(
    folder: Path, tmp_path: Path, questions: list[Question], brief: Brief, file: str
) -> None:
    out, wanted = tmp_path / "out", options(folder, "t5", **BRIEF)
    with pytest.raises(KeyboardInterrupt):
        train(questions, questions, out, wanted, progress=interrupt_at(7), max_checkpoints=3)
    assert {path.name[11:] for path in (out / "checkpoints").iterdir()} == {"4", "6", "7"}
    damaged = out / "checkpoints/checkpoint-7" / file
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    said: list[object] = []
    told = Progress(on_resume=said.append, on_damage=lambda *given: said.extend(given))
    train(questions, questions, out, wanted, progress=told)
    (path, name, step) = said
    assert path == out / "checkpoints/checkpoint-7"
    assert name in (file, "optimizer.pt") if file == "whole" else name == file
    assert step == 6
    same(out, brief)


def test_one_checkpoint_is_enough(
    folder: Path, tmp_path: Path, questions: list[Question], brief: Brief
) -> None:
    """The one before goes when the next is whole, and no sooner."""
    out, wanted = tmp_path / "out", options(folder, "t5", **BRIEF)
    given: Any = {"max_checkpoints": 1, "keep_checkpoints": True}
    with pytest.raises(KeyboardInterrupt):
        train(questions, questions, out, wanted, progress=interrupt_at(3), **given)
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["checkpoint-3"]
    train(questions, questions, out, wanted, **given)
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["checkpoint-8"]
    same(out, brief)


def test_a_full_disk_is_said_and_nothing_is_lost(
    folder: Path, tmp_path: Path, questions: list[Question], brief: Brief
) -> None:
    out, wanted = tmp_path / "out", options(folder, "t5", **BRIEF)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "save", full)
        with pytest.raises(UnavailableError, match="written: got 'No space left on device'"):
            train(questions, questions, out, wanted)
    # What weights are written by says it in its own way.
    ended = run_command(command(folder, "t5", out, **BRIEF), tmp_path / "err", small_files, 1 << 16)
    assert ended.code == 1
    assert "could not be written: got" in ended.err
    assert "Traceback" not in ended.err
    assert not (out / "training.json").exists()
    train(questions, questions, out, wanted)
    same(out, brief)


@pytest.mark.parametrize("at", [7, 2])
def test_a_training_that_diverges_is_said_each_time(
    folder: Path,
    tmp_path: Path,
    questions: list[Question],
    monkeypatch: pytest.MonkeyPatch,
    at: int,
) -> None:
    """In its last step as in any other; what is no number gets into no file."""
    out, wanted = tmp_path / "out", options(folder, "t5", **BRIEF)
    computed: Any = GuardedTrainer.compute_loss

    def compute_loss(trainer: Any, *given: Any, **named: Any) -> Any:
        loss = computed(trainer, *given, **named)
        return loss * float("nan") if trainer.state.global_step == at else loss

    monkeypatch.setattr(GuardedTrainer, "compute_loss", compute_loss)
    for _ in range(2):
        with pytest.raises(InputError, match=r"diverged by step \d: got a loss that is no number"):
            train(questions, questions, out, wanted)
    assert newest(out) == at - at % 2
    assert not (out / "training.json").exists()
    state = json.loads((out / "model/semqa-training.json").read_text())
    assert state["step"] <= at


def test_an_interrupted_training_with_dropout_ends_the_same(
    folder: Path, questions: list[Question]
) -> None:
    wanted = options(
        folder, "chat", **{**DECODER, "max_steps": 5, "eval_steps": 4, "max_new_tokens": 12}
    )
    assert wanted.lora_dropout > 0
    whole = train(questions, questions[:2], folder / "whole", wanted)
    with pytest.raises(KeyboardInterrupt):
        train(questions, questions[:2], folder / "parts", wanted, progress=interrupt_at(3))
    last: Any = {"out": folder / "parts", "options": wanted, "keep_checkpoints": True}
    assert train(questions, questions[:2], **last) == whole
    name = "model/model.safetensors"
    assert (folder / "parts" / name).read_bytes() == (folder / "whole" / name).read_bytes()

    # As when it was killed after the adapters were merged, before the record was written.
    (folder / "parts/training.json").unlink()
    assert train(questions, questions[:2], **last) == whole
    assert (folder / "parts" / name).read_bytes() == (folder / "whole" / name).read_bytes()
