"""The training folder: a run resumes whatever a killed process left there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

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
