"""The training folder: a run resumes whatever a killed process left there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from semqa.errors import UnavailableError
from semqa.training.folder import TrainingFolder


class Killed(BaseException):
    """Simulates a kill: nothing handles it."""


def kept(folder: TrainingFolder, step: int) -> None:
    folder.keep({"step": step}, lambda path: (Path(path) / "m").write_text(str(step)))


@pytest.mark.parametrize("wanted", range(1, 6))
def test_a_kill_while_a_model_is_kept_leaves_the_old_or_the_new_one(
    tmp_path: Path, wanted: int
) -> None:
    """Killed before each change of the folder, and during each removal."""
    folder = TrainingFolder(tmp_path / "out", "scores.json")
    kept(folder, 1)
    changes: list[str] = []
    with pytest.MonkeyPatch.context() as patch:

        def counted(owner: Any, name: str) -> None:
            whole = getattr(owner, name)

            def told(*given: Any, **named: Any) -> Any:
                changes.append(name)
                if len(changes) == wanted:
                    raise Killed
                return whole(*given, **named)

            patch.setattr(owner, name, told)

        for name in ("rename", "mkdir", "replace"):
            counted(Path, name)
        # A killed process does not clean up.
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        if wanted < 5:
            with pytest.raises(Killed):
                kept(folder, 2)
        else:
            kept(folder, 2)
    again = TrainingFolder(tmp_path / "out", "scores.json")
    best = again.best()
    assert best == {"step": 2 if wanted >= 5 else 1}
    assert (again.model / "m").read_text() == str(best["step"])
    kept(again, 3)
    assert again.best() == {"step": 3}
    assert {path.name for path in again.path.iterdir()} == {"model", "checkpoints"}


def checkpoint(folder: TrainingFolder, step: int) -> Path:
    path = folder.checkpoints / f"checkpoint-{step}"
    (path / "sub").mkdir(parents=True)
    (path / "weights").write_bytes(b"w" * 100)
    (path / "sub/draws").write_bytes(b"d")
    return path


def test_the_newest_complete_checkpoint_counts(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "out", "scores.json")

    def last() -> str | None:
        found = folder.last_checkpoint()
        return None if found is None else found.name

    assert last() is None

    def names() -> set[str]:
        return {path.name for path in folder.checkpoints.iterdir()}

    for step in (9, 10, 11):
        checkpoint(folder, step)
        folder.seal(step)
    assert names() == {"checkpoint-10", "checkpoint-11"}
    assert last() == "checkpoint-11"
    checkpoint(folder, 100)  # incomplete
    (folder.checkpoints / "checkpoint-11/whole").unlink()
    assert last() == "checkpoint-10"
    checkpoint(folder, 13)
    assert names() == {"checkpoint-10", "checkpoint-13"}
    folder.seal(13)
    checkpoint(folder, 14)
    assert names() == {"checkpoint-10", "checkpoint-13", "checkpoint-14"}
    folder.seal(14)  # an old one is removed only once the new one is complete
    assert names() == {"checkpoint-13", "checkpoint-14"}


def test_a_failed_write_keeps_the_previous_model(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "out", "scores.json")
    kept(folder, 1)

    def full(path: str) -> None:
        (Path(path) / "m").write_text("half")
        raise RuntimeError("enforce fail: unexpected pos\n64 vs 0")

    with pytest.raises(UnavailableError, match="enforce fail: unexpected pos 64 vs 0"):
        folder.keep({"step": 2}, full)
    assert folder.best() == {"step": 1}
    assert (folder.model / "m").read_text() == "1"
