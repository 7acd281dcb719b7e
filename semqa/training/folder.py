"""The folder of a training run, its processes and its interruption.

    plan.json      settings and data; a different run in the same folder is refused
    checkpoints/   to resume from; incomplete ones are ignored
    model/         the best model so far with its tokenizer, and a file with its step and scores
    training.json  the record, written at the end

A run can be killed at any moment and resumed from its folder. This module imports torch only if
there are several processes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Self, TypeVar

import semqa
from semqa.data.files import locked, sync_folder, write_atomic
from semqa.data.jsonl import read_object
from semqa.engines.model.hub import model_versions
from semqa.errors import InputError, SemqaError, UnavailableError
from semqa.extras import installed

T = TypeVar("T")

_COMPLETE = "whole"
"""Name of an empty file that is written last and marks a checkpoint as complete."""

KEPT = 2
"""Number of checkpoints to keep during training."""

_TIMEOUT = timedelta(hours=2)
"""How long a process waits for the others; one of them may be writing a large model."""


class TrainingFolder:
    """The folder of one training run, created if missing.

    Args:
        scores: name of the file in ``model`` with its step and scores.
        extra_files: contents of further files in ``model``, by name.
    """

    def __init__(
        self, path: Path, scores: str, extra_files: Mapping[str, bytes] | None = None
    ) -> None:
        self.path = path
        self._scores = scores
        self._extra_files = extra_files or {}
        self.checkpoints = path / "checkpoints"
        self.model = path / "model"
        self._old, self._new = path / ".model-old", path / ".model-new"
        needed = path if self.record() else self.checkpoints
        try:
            needed.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"Cannot write the folder {path}: {error.strerror}.") from error

    def check(self, plan: Mapping[str, Any]) -> None:
        """Raise if the folder contains a different run; None in a plan matches any value."""
        file = self.path / "plan.json"
        if not file.exists():
            return
        stored, given = read_object(file), json.loads(_encoded(plan))
        for key in sorted({*stored, *given}):
            values = (stored.get(key), given.get(key))
            if values[0] != values[1] and None not in values:
                raise InputError(
                    f"{self.path} holds another training run, with different {key}.",
                    hint="Choose another folder, or run the same command as before.",
                )

    def claim(self, plan: Mapping[str, Any]) -> None:
        """Check the plan, and write it to the folder."""
        self.check(plan)
        write_atomic(self.path / "plan.json", [_encoded(plan)])

    def record(self) -> dict[str, Any] | None:
        """Return the record of a finished run, or None."""
        file = self.path / "training.json"
        return read_object(file) if file.exists() else None

    def finish(self, record: Mapping[str, Any]) -> None:
        """Write the record, and remove the checkpoints."""
        write_atomic(self.path / "training.json", [_encoded(record)])
        shutil.rmtree(self.checkpoints, ignore_errors=True)

    def seal(self, step: int) -> None:
        """Mark the checkpoint of a step as complete, and remove all but the newest ones."""
        checkpoint = self.checkpoints / f"checkpoint-{step}"
        with self.writing():
            for path in checkpoint.rglob("*"):
                if path.is_file():
                    with path.open("rb") as stream:
                        os.fsync(stream.fileno())
            sync_folder(checkpoint)
            write_atomic(checkpoint / _COMPLETE, [])
            sync_folder(self.checkpoints)
        found = self._found()
        for old in sorted(found)[:-KEPT]:
            shutil.rmtree(found[old], ignore_errors=True)

    def last_checkpoint(self) -> Path | None:
        """Return the newest complete checkpoint, and remove newer incomplete ones."""
        found = self._found()
        for step in sorted(found, reverse=True):
            if (found[step] / _COMPLETE).is_file():
                return found[step]
            shutil.rmtree(found[step])
        return None

    def _found(self) -> dict[int, Path]:
        steps = ((re.fullmatch(r"checkpoint-(\d+)", p.name), p) for p in self.checkpoints.iterdir())
        return {int(step[1]): path for step, path in steps if step and path.is_dir()}

    def best(self) -> dict[str, Any] | None:
        """Return the step and scores of the best model so far, or None."""
        if not self.model.exists() and self._old.exists():
            self._old.rename(self.model)  # killed between the renames in `keep`
        shutil.rmtree(self._new, ignore_errors=True)
        shutil.rmtree(self._old, ignore_errors=True)
        return read_object(self.model / self._scores) if self.model.exists() else None

    def keep(self, state: Mapping[str, Any], save: Callable[[str], object]) -> None:
        """Replace the best model with one written by `save`; `state` is its step and scores."""
        with self.writing():
            shutil.rmtree(self._new, ignore_errors=True)
            self._new.mkdir()
            try:
                save(str(self._new))
                for name, content in self._extra_files.items():
                    write_atomic(self._new / name, [content])
                write_atomic(self._new / self._scores, [_encoded(state)])
            except BaseException:
                shutil.rmtree(self._new, ignore_errors=True)  # frees space on a full disk
                raise
            if self.model.exists():
                self.model.rename(self._old)
            self._new.rename(self.model)
            sync_folder(self.path)
            shutil.rmtree(self._old, ignore_errors=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Report any error in the block, which must only write files, as a write error."""
        try:
            yield
        except SemqaError:
            raise
        except Exception as error:  # libraries that write weights raise many types
            reason = error.strerror if isinstance(error, OSError) else None
            reason = reason or " ".join(str(error).split())[:200]
            raise UnavailableError(
                f"Cannot write {self.path}: {reason}. Free some space and run the command again."
            ) from error


def _encoded(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode("utf-8")


class Terminated(KeyboardInterrupt):
    """SIGTERM, which clusters send before they reclaim a machine."""


class Interrupt:
    """A context manager that defers Ctrl-C and SIGTERM.

    The first signal sets `requested`; the second one raises at once. Signals are only handled in
    the main thread; elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self.requested = False
        self._kind: type[KeyboardInterrupt] = KeyboardInterrupt
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            signals = (signal.SIGINT, signal.SIGTERM)
            self._before = {number: signal.signal(number, self._note) for number in signals}
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def error(self) -> KeyboardInterrupt:
        """Return the exception to raise after the current step: `Terminated` after SIGTERM."""
        return self._kind()

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._kind = Terminated if number == signal.SIGTERM else KeyboardInterrupt
        if self.requested:
            raise self._kind
        self.requested = True


class Ranks(NamedTuple):
    """This process among those started by ``torchrun`` or ``accelerate launch``.

    Each process trains on its share of every batch. Only the first one accesses the folder, and
    shares the results with the others.
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls, device: str | None) -> Ranks:
        """Join the processes described by the environment variables, if any."""
        if os.environ.get("LOCAL_RANK", "-1") == "-1" or os.environ.get("WORLD_SIZE", "1") == "1":
            return cls()
        for name in ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED"):
            if os.environ.get(name, "").lower() in ("1", "true"):
                raise InputError(
                    "is not supported: each process needs the whole model.",
                    field=name,
                    hint="Configure accelerate with MULTI_GPU or MULTI_CPU, or use torchrun.",
                )
        from accelerate import PartialState

        state = PartialState(cpu=device == "cpu", timeout=_TIMEOUT)
        return cls(state.process_index, state.num_processes)

    @staticmethod
    def first_here() -> bool:
        """Whether this is the first process, the only one that prints."""
        return os.environ.get("RANK", "0") == "0"

    def share(self, batch_size: int) -> int:
        """Return the number of examples of a batch in this process; raise if it is not whole."""
        if batch_size % self.size:
            raise InputError(
                f"must be a multiple of {self.size}, the number of processes, got {batch_size}.",
                field="batch_size",
            )
        return batch_size // self.size

    def first(self, do: Callable[[], T]) -> T:
        """Run a function in the first process only; return its result or raise its error in all."""
        if self.size == 1:
            return do()
        from torch.distributed import broadcast_object_list

        outcome: list[Any] = [None, None]
        if self.rank == 0:
            try:
                outcome[0] = do()
            except Exception as error:  # noqa: BLE001  (raised below, in all processes)
                outcome[1] = error
        broadcast_object_list(outcome)
        if outcome[1] is not None:
            raise outcome[1]
        result: T = outcome[0]
        return result

    def spread(self, items: Sequence[T]) -> Sequence[T]:
        """Return this process's share of the items."""
        return items[self.rank :: self.size]

    def join_spread(self, results: Sequence[T]) -> list[T]:
        """Gather the results of all processes, in the order of the items passed to `spread`."""
        if self.size == 1:
            return list(results)
        from torch.distributed import all_gather_object

        shares: list[list[T]] = [[] for _ in range(self.size)]
        all_gather_object(shares, list(results))
        total = sum(map(len, shares))
        return [shares[place % self.size][place // self.size] for place in range(total)]

    def wait(self) -> None:
        """Wait until all processes have reached this point."""
        self.join_spread([None])

    def any(self, value: bool) -> bool:
        """Whether the value is true in any process."""
        return any(self.join_spread([value]))

    def leave(self) -> None:
        """Leave the process group at the end."""
        if self.size > 1:
            from torch.distributed import destroy_process_group

            destroy_process_group()


class Fit(NamedTuple):
    """How a batch is split, with the estimated memory and time."""

    micro_batch: int
    needed: int  # bytes, in addition to the loaded model
    free: int  # bytes
    seconds: float  # of a step, without evaluations


class Progress(NamedTuple):
    """Callbacks that report progress."""

    on_progress: Callable[[int, int | None], None] | None = None  # finished steps, all steps
    on_resume: Callable[[int], None] | None = None  # the step that the run resumes from
    say: Callable[[str], None] | None = None  # messages about slow operations
    on_fit: Callable[[Fit, int], None] | None = None  # before the first step; all steps


class Session(NamedTuple):
    """A training run in its folder, from the lock to the record."""

    folder: TrainingFolder
    ranks: Ranks
    progress: Progress

    def run(
        self, plan: Mapping[str, Any], work: Callable[[Session], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the record of the run; unless it is finished, `work` claims the folder and trains."""
        with ExitStack() as stack:

            def begin() -> dict[str, Any] | None:
                stack.enter_context(locked(self.folder.path / "lock", wait_seconds=1.0))
                self.folder.check(plan)
                return self.folder.record()

            record = self.ranks.first(begin)
            if record is None:
                new = record = work(self)
                self.ranks.first(lambda: self.folder.finish(new))
            self.ranks.leave()
            return record

    def claim(self, plan: Mapping[str, Any]) -> Path | None:
        """Claim the folder, and return the checkpoint to resume from, or None."""

        def find() -> Path | None:
            self.folder.claim(plan)
            return self.folder.last_checkpoint()

        checkpoint = self.ranks.first(find)
        on_resume = self.progress.on_resume
        if checkpoint is not None and on_resume is not None and self.ranks.rank == 0:
            on_resume(int(checkpoint.name.rpartition("-")[2]))
        return checkpoint


def versions() -> dict[str, str]:
    """Return the versions of the packages that affect training."""
    packages = installed("accelerate", "peft")
    return {"semqa": semqa.__version__, **model_versions(), **packages}
