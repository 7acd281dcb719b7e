"""A training from its folder's lock to its record."""

from __future__ import annotations

import importlib.metadata
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import semqa
from semqa.data.lock import locked
from semqa.engines.model.hub import model_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from semqa.trainer.fit import Fit
    from semqa.trainer.folder import TrainingFolder
    from semqa.trainer.ranks import Ranks

__all__ = ["Progress", "Session", "versions"]


class Progress(NamedTuple):
    """Who is told what.

    Attributes:
        on_progress: called with how many steps are done, and of how many.
        on_resume: called with the step that a killed training goes on from.
        on_damage: called with a checkpoint that was whole once, and which of its files is not.
        say: told in words what takes long.
        on_fit: called with what a training of so many steps will take, before the first.
    """

    on_progress: Callable[[int, int | None], None] | None = None
    on_resume: Callable[[int], None] | None = None
    on_damage: Callable[[Path, str], None] | None = None
    say: Callable[[str], None] | None = None
    on_fit: Callable[[Fit, int], None] | None = None


class Session(NamedTuple):
    """A training in its folder.

    Attributes:
        folder: of the training.
        ranks: its processes.
        progress: who is told how it goes.
        most_checkpoints: that are left at a time.
    """

    folder: TrainingFolder
    ranks: Ranks
    progress: Progress
    most_checkpoints: int

    def run(
        self,
        plan: Mapping[str, Any],
        work: Callable[[Session], dict[str, Any]],
        *,
        keep_checkpoints: bool,
    ) -> dict[str, Any]:
        """Return the record of a training, which is done now if it was not.

        Args:
            plan: settings and data.
            work: trains and returns the record; has claimed the folder when all was well.
            keep_checkpoints: leave them when all is done.

        Raises:
            InputError: the folder is of another training.
            UnavailableError: another process trains there.
        """
        with ExitStack() as stack:

            def begin() -> dict[str, Any] | None:
                stack.enter_context(locked(self.folder.path / "lock", wait_seconds=1.0))
                self.folder.check(plan)
                return self.folder.record()

            record = self.ranks.first(begin)
            if record is None:
                record = work(self)
                found = record
                self.ranks.first(
                    lambda: self.folder.finish(found, keep_checkpoints=keep_checkpoints)
                )
            self.ranks.leave()
            return record

    def claim(self, plan: Mapping[str, Any]) -> Path | None:
        """Claim the folder, and return the checkpoint to go on from.

        Raises:
            InputError: the folder is of another training.
            UnavailableError: a checkpoint cannot be read.
        """

        def find() -> Path | None:
            self.folder.claim(plan)
            return self.folder.last_checkpoint(self._damaged)

        checkpoint = self.ranks.first(find)
        told = self.progress.on_resume
        if checkpoint is not None and told is not None and self.ranks.rank == 0:
            told(int(checkpoint.name.rpartition("-")[2]))
        return checkpoint

    def _damaged(self, checkpoint: Path, file: str) -> None:
        if self.progress.on_damage is not None:
            self.progress.on_damage(checkpoint, file)


def versions() -> dict[str, str]:
    """Return the versions of the packages that train."""
    found = {"semqa": semqa.__version__, **model_versions()}
    for name in ("accelerate", "peft"):
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
