"""One training in several processes, as torchrun starts them: the same training, each with a share."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from semqa.errors import InputError
from semqa.trainer import Ranks
from tests.training.processes import run_ranks, signal_at_step
from tests.training.wanted import BRIEF, command

# So few steps that sums in another order have not grown to another answer.
SHARED: dict[str, Any] = {**BRIEF, "learning_rate": 0.0001}


def test_two_processes_train_as_one_does_killed_or_not(folder: Path, tmp_path: Path) -> None:
    """Their shares of the batch of one make its gradients; the dev questions are shared too."""
    from safetensors.torch import load_file

    alone = command(folder, "t5", tmp_path / "alone", **SHARED)
    (ended,) = run_ranks(1, alone, tmp_path)
    assert ended.code == 0, ended.err
    for name, deaths in (("whole", ()), ("killed", ((5, signal.SIGKILL), (7, signal.SIGTERM)))):
        asked = command(folder, "t5", tmp_path / name, **SHARED)
        for step, number in deaths:
            codes = {
                end.code for end in run_ranks(2, asked, tmp_path, signal_at_step, step, number)
            }
            assert codes == {-number if number == signal.SIGKILL else 128 + number}
            assert not (tmp_path / name / "training.json").exists()
        first, second = run_ranks(2, asked, tmp_path)
        assert (first.code, second.code) == (0, 0), first.err + second.err
        assert ("going on from step 7" in first.err) == bool(deaths)
        assert "model: " in first.err
        assert "model: " not in second.err  # told once
    model = "model/model.safetensors"
    assert (tmp_path / "whole" / model).read_bytes() == (tmp_path / "killed" / model).read_bytes()
    one, two = (load_file(tmp_path / name / model) for name in ("alone", "whole"))
    assert max(float((one[key] - two[key]).abs().max()) for key in one) < 1e-5
    records = [
        json.loads((tmp_path / name / "training.json").read_text()) for name in ("alone", "whole")
    ]
    assert records[0] == records[1]
    assert [each["step"] for each in records[0]["history"]] == [2, 4, 6, 8]


def test_a_mistake_ends_all_processes(folder: Path, tmp_path: Path) -> None:
    asked = command(folder, "t5", tmp_path / "out", **{**SHARED, "batch_size": 9})
    for ended in run_ranks(2, asked, tmp_path):
        assert ended.code == 2
        assert "--batch-size: got 9, expected a multiple of the 2 processes" in ended.err
        assert "Traceback" not in ended.err
    assert not (tmp_path / "out/plan.json").exists()


def test_weights_are_not_split_between_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LOCAL_RANK", "0"), ("WORLD_SIZE", "2"), ("ACCELERATE_USE_FSDP", "true")):
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match="ACCELERATE_USE_FSDP: got FSDP, expected processes that"):
        Ranks.join("cpu")


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 5, 6])
def test_what_is_spread_comes_back_in_order(
    size: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch import distributed

    items = list(range(count))
    everyone = [list(Ranks(rank, size).spread(items)) for rank in range(size)]

    def gather(shares: list[Any], _: object) -> None:
        shares[:] = everyone

    monkeypatch.setattr(distributed, "all_gather_object", gather)
    assert sorted(each for share in everyone for each in share) == items
    assert Ranks(0, size).join_spread(everyone[0]) == items
