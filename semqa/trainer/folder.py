"""The folder of a training: what it is of, its checkpoints, the best model so far, its record.

    plan.json      settings and data; another training in the same folder is refused
    checkpoints/   where a training that was killed goes on; only whole ones count
    model/         the best model so far with its tokenizer, and a file of its step and scores
    training.json  the record, once all is done

A process killed at any moment leaves a folder from which the next one goes on.
"""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from semqa.data.atomic import sync_folder, write_atomic
from semqa.data.files import decode_text, open_input
from semqa.data.jsonl import as_row, decode_json
from semqa.errors import InputError, SemqaError, UnavailableError
from semqa.trainer.checkpoint import damage, find, is_whole, seal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

__all__ = ["TrainingFolder"]


class TrainingFolder:
    """A folder that one training owns; made where it is missing.

    Args:
        path: the folder.
        scores: name of the file in the model's folder that holds step and scores.
        beside: further files of the model's folder, by name.

    Attributes:
        path: the folder.
        checkpoints: where checkpoints go.
        model: the best model.

    Raises:
        InputError: it is no folder, or may not be written.
    """

    def __init__(self, path: Path, scores: str, beside: Mapping[str, bytes] | None = None) -> None:
        self.path = path
        self._scores = scores
        self._beside = beside or {}
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

        Args:
            plan: settings and data; None stands for what is not known yet, and agrees with all.

        Raises:
            InputError: the folder is of another training.
        """
        file = self.path / "plan.json"
        if not file.exists():
            return
        found = _read(file)
        wanted = json.loads(_encoded(plan))
        name = next((key for key in sorted({*found, *wanted}) if _differ(found, wanted, key)), None)
        if name is not None:
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

    def seal(self, step: int, most: int) -> None:
        """State that the checkpoint of a step is written, and remove the oldest beyond `most`."""
        with self.writing():
            seal(self.checkpoints / f"checkpoint-{step}")
        found = find(self.checkpoints)
        for old in sorted(found)[:-most]:
            shutil.rmtree(found[old], ignore_errors=True)

    def last_checkpoint(self, on_damage: Callable[[Path, str], object]) -> Path | None:
        """Return the newest whole checkpoint; torn and damaged ones are removed.

        Args:
            on_damage: told of a checkpoint that was whole once, and which of its files is not.

        Raises:
            UnavailableError: one cannot be read.
        """
        found = find(self.checkpoints)
        for step in sorted(found, reverse=True):
            path = found[step]
            if is_whole(path):
                try:
                    file = damage(path)
                except OSError as error:
                    raise UnavailableError(
                        f"{path}: could not be read: got {error.strerror or error!r}, expected a "
                        "checkpoint on a working disk; try again, or remove it"
                    ) from error
                if file is None:
                    return path
                on_damage(path, file)
            shutil.rmtree(path)
        return None

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
        with self.writing():
            shutil.rmtree(self._new, ignore_errors=True)
            self._new.mkdir()
            try:
                save(str(self._new))
                for name, content in self._beside.items():
                    write_atomic(self._new / name, [content])
                write_atomic(self._new / self._scores, [_encoded(state)])
            except BaseException:
                shutil.rmtree(self._new, ignore_errors=True)  # makes room on a full disk
                raise
            if self.model.exists():
                self.model.rename(self._old)
            self._new.rename(self.model)
            sync_folder(self.path)
            shutil.rmtree(self._old, ignore_errors=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Take what goes wrong in the block for the disk's fault: nothing but writing is done there.

        Raises:
            UnavailableError: the disk failed or is full.
        """
        try:
            yield
        except SemqaError:
            raise
        except Exception as error:  # the libraries that write weights raise all sorts
            told = error.strerror if isinstance(error, OSError) else None
            what = told or " ".join(str(error).split())[:200]
            raise UnavailableError(
                f"{self.path}: could not be written: got {what!r}, expected room on a working disk; "
                "free some space and give the same command again"
            ) from error


def _differ(found: Mapping[str, Any], wanted: Mapping[str, Any], key: str) -> bool:
    known = (found.get(key), wanted.get(key))
    return known[0] != known[1] and None not in known


def _encoded(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode("utf-8")


def _read(file: Path) -> dict[str, Any]:
    with open_input(file) as opened:
        return as_row(
            decode_json(decode_text(opened.read_all(), opened.name), opened.name), opened.name
        ).fields
