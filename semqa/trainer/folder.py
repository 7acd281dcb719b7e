"""The folder of a training: what it is of, its checkpoints, the best model so far, its record.

    plan.json      settings and data; another training in the same folder is refused
    checkpoints/   where a training that was killed goes on; only whole ones count
    model/         the best model so far with its tokenizer, and a file of its step and scores
    training.json  the record, once all is done

A process killed at any moment leaves a folder from which the next one goes on.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

from semqa.data.atomic import sync_folder, write_atomic
from semqa.data.files import decode_text, open_input
from semqa.data.jsonl import as_row, decode_json
from semqa.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["TrainingFolder"]

_WHOLE = "whole"
"""A file in a checkpoint that is written last."""


class TrainingFolder:
    """A folder that one training owns; made where it is missing.

    Args:
        path: the folder.
        scores: name of the file in the model's folder that holds step and scores.

    Attributes:
        path: the folder.
        checkpoints: where checkpoints go.
        model: the best model.

    Raises:
        InputError: it is no folder, or may not be written.
    """

    def __init__(self, path: Path, scores: str) -> None:
        self.path = path
        self._scores = scores
        self.checkpoints = path / "checkpoints"
        self.model = path / "model"
        self._old, self._new = path / ".model-old", path / ".model-new"
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written: got {error.strerror!r}, expected a folder, or room for "
                "one; choose another"
            ) from error

    def check(self, plan: Mapping[str, Any]) -> None:
        """See that nothing else is trained here.

        Raises:
            InputError: the folder is of another training.
        """
        file = self.path / "plan.json"
        if not file.exists():
            return
        found = _read(file)
        wanted = json.loads(_encoded(plan))
        if found != wanted:
            name = next(
                key for key in sorted({*found, *wanted}) if found.get(key) != wanted.get(key)
            )
            raise InputError(
                f"{self.path}: of another training: got other {name}, expected the same settings and "
                "data to go on with; choose another folder, or give the same command again"
            )

    def claim(self, plan: Mapping[str, Any]) -> None:
        """State what is trained here, or see that it is the same.

        Raises:
            InputError: the folder is of another training.
        """
        self.check(plan)
        write_atomic(self.path / "plan.json", [_encoded(plan)])

    def record(self) -> dict[str, Any] | None:
        """Return the record of a training that is done, or None."""
        file = self.path / "training.json"
        return _read(file) if file.exists() else None

    def finish(self, record: Mapping[str, Any], *, keep_checkpoints: bool) -> None:
        """Write the record; checkpoints go, unless they are kept."""
        write_atomic(self.path / "training.json", [_encoded(record)])
        if not keep_checkpoints:
            shutil.rmtree(self.checkpoints, ignore_errors=True)

    def mark_whole(self, step: int) -> None:
        """State that the checkpoint of a step is written."""
        write_atomic(self.checkpoints / f"checkpoint-{step}" / _WHOLE, [b"\n"])

    def last_checkpoint(self) -> Path | None:
        """Return the newest whole checkpoint; torn ones are removed."""
        found: dict[int, Path] = {}
        for path in self.checkpoints.iterdir():
            step = re.fullmatch(r"checkpoint-(\d+)", path.name)
            if step and (path / _WHOLE).is_file():
                found[int(step[1])] = path
            elif path.is_dir():
                shutil.rmtree(path)
        return found[max(found)] if found else None

    def best(self) -> dict[str, Any] | None:
        """Return step and scores of the best model, or None where there is none yet."""
        if not self.model.exists() and self._old.exists():
            self._old.rename(self.model)  # killed between the two renamings of `keep`
        shutil.rmtree(self._new, ignore_errors=True)
        shutil.rmtree(self._old, ignore_errors=True)
        return _read(self.model / self._scores) if self.model.exists() else None

    def keep(self, state: Mapping[str, Any], save: Callable[[str], object]) -> None:
        """Take a model for the best.

        Args:
            state: its step and scores.
            save: writes model and tokenizer to a folder.

        Raises:
            UnavailableError: the disk failed or is full; the one before is still there.
        """
        try:
            shutil.rmtree(self._new, ignore_errors=True)
            self._new.mkdir()
            save(str(self._new))
            write_atomic(self._new / self._scores, [_encoded(state)])
            if self.model.exists():
                self.model.rename(self._old)
            self._new.rename(self.model)
            sync_folder(self.path)
            shutil.rmtree(self._old, ignore_errors=True)
        except OSError as error:
            raise UnavailableError(
                f"{self.path}: could not be written: got {error.strerror or error!r}, expected room on "
                "a working disk; free some space and give the same command again"
            ) from error


def _encoded(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode("utf-8")


def _read(file: Path) -> dict[str, Any]:
    with open_input(file) as opened:
        return as_row(
            decode_json(decode_text(opened.read_all(), opened.name), opened.name), opened.name
        ).fields
