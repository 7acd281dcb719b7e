"""Training in several processes, started like torchrun does."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from semqa.data.quotesum import Question
from semqa.errors import InputError
from semqa.training.folder import Ranks
from semqa.training.train import train
from tests.training.processes import run_ranks, signal_at_step
from tests.training.toy import BRIEF, command, options

# A low learning rate keeps the effect of a different order of sums small.
SHARED: dict[str, Any] = {**BRIEF, "learning_rate": 0.0001}


def test_two_processes_give_the_same_result_as_one_even_if_interrupted(
    folder: Path, tmp_path: Path, questions: list[Question]
) -> None:
    """Batches and dev questions are divided; if one gets SIGTERM, both stop after the same step."""
    from safetensors.torch import load_file

    one, two = tmp_path / "one", tmp_path / "two"
    train(questions, questions[:4], one, options(folder, "t5", **SHARED))
    asked = command(folder, "t5", two, **SHARED)
    ends = run_ranks(2, asked, tmp_path, signal_at_step, 5, signal.SIGTERM, "1")
    assert [end.code for end in ends] == [128 + signal.SIGINT, 128 + signal.SIGTERM]
    assert not (two / "training.json").exists()
    ends = run_ranks(2, asked, tmp_path)
    assert [end.code for end in ends] == [0, 0], ends[0].err + ends[1].err
    assert "resuming from step 5" in ends[0].err
    assert "model: " in ends[0].err
    assert "model: " not in ends[1].err
    weights = [load_file(out / "model/model.safetensors") for out in (one, two)]
    assert max(float((weights[0][key] - weights[1][key]).abs().max()) for key in weights[0]) < 1e-5
    records = [json.loads((out / "training.json").read_text()) for out in (one, two)]
    assert records[0] == records[1]
    assert [each["step"] for each in records[0]["history"]] == [2, 4, 6, 8]


def test_a_batch_is_divided_evenly() -> None:
    assert Ranks(0, 2).share(10) == 5
    with pytest.raises(InputError, match="batch_size must be a multiple of 2"):
        Ranks(0, 2).share(9)


def test_sharded_weights_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LOCAL_RANK", "0"), ("WORLD_SIZE", "2"), ("ACCELERATE_USE_FSDP", "true")):
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match="ACCELERATE_USE_FSDP"):
        Ranks.join("cpu")
