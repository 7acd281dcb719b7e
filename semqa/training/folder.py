"""What every training needs besides a model: its folder, its processes, its interruptions.

    plan.json      settings and data; another training in the same folder is refused
    checkpoints/   where a training that was killed goes on; only whole ones count
    model/         the best model so far with its tokenizer, and a file of its step and scores
    training.json  the record, once all is done

A process killed at any moment leaves a folder from which the next one goes on. Loads no torch unless
there are several processes.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import signal
import threading
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import semqa
from semqa.data.files import decode_text, locked, open_input, sync_folder, write_atomic
from semqa.data.jsonl import as_row, decode_json
from semqa.engines.model.hub import model_versions
from semqa.errors import InputError, SemqaError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import FrameType

    from semqa.training.trainer import Fit

T = TypeVar("T")

_SEAL = "whole"
"""An empty file in a checkpoint that is written last."""
_PATIENCE = timedelta(hours=2)
"""How long a process waits for the others, of which one may write a large model."""


class TrainingFolder:
    """A folder that one training owns, made if missing.

    Its ``model`` has a file of step and scores by that name, and further files `beside` it.
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
            raise InputError(f"Cannot write the folder {path}: {error.strerror}.") from error

    def check(self, plan: Mapping[str, Any]) -> None:
        """Check that nothing else is trained here; None in a plan is unknown yet, and equal to all."""
        file = self.path / "plan.json"
        if not file.exists():
            return
        found, wanted = _read(file), json.loads(_encoded(plan))
        for key in sorted({*found, *wanted}):
            known = (found.get(key), wanted.get(key))
            if known[0] != known[1] and None not in known:
                raise InputError(
                    f"{self.path} holds another training: its {key} differ.",
                    hint="Choose another folder, or give the same command again.",
                )

    def claim(self, plan: Mapping[str, Any]) -> None:
        """Record what is trained here, after checking that it is the same."""
        self.check(plan)
        write_atomic(self.path / "plan.json", [_encoded(plan)])

    def record(self) -> dict[str, Any] | None:
        """Return the record of a finished training, or None."""
        file = self.path / "training.json"
        return _read(file) if file.exists() else None

    def finish(self, record: Mapping[str, Any], *, keep_checkpoints: bool) -> None:
        """Write the record, and remove the checkpoints unless they are kept."""
        write_atomic(self.path / "training.json", [_encoded(record)])
        if not keep_checkpoints:
            shutil.rmtree(self.checkpoints, ignore_errors=True)

    def seal(self, step: int, most: int) -> None:
        """Mark the checkpoint of a step as whole, and remove the oldest beyond `most`."""
        checkpoint = self.checkpoints / f"checkpoint-{step}"
        with self.writing():
            for path in checkpoint.rglob("*"):
                if path.is_file():
                    with path.open("rb") as stream:
                        os.fsync(stream.fileno())
            sync_folder(checkpoint)
            write_atomic(checkpoint / _SEAL, [])
            sync_folder(self.checkpoints)
        found = self._found()
        for old in sorted(found)[:-most]:
            shutil.rmtree(found[old], ignore_errors=True)

    def last_checkpoint(self) -> Path | None:
        """Return the newest whole checkpoint, after removing those that are not whole."""
        found = self._found()
        for step in sorted(found, reverse=True):
            if (found[step] / _SEAL).is_file():
                return found[step]
            shutil.rmtree(found[step])
        return None

    def _found(self) -> dict[int, Path]:
        steps = ((re.fullmatch(r"checkpoint-(\d+)", p.name), p) for p in self.checkpoints.iterdir())
        return {int(step[1]): path for step, path in steps if step and path.is_dir()}

    def best(self) -> dict[str, Any] | None:
        """Return step and scores of the best model, or None if there is none yet."""
        if not self.model.exists() and self._old.exists():
            self._old.rename(self.model)  # killed between the two renamings of `keep`
        shutil.rmtree(self._new, ignore_errors=True)
        shutil.rmtree(self._old, ignore_errors=True)
        return _read(self.model / self._scores) if self.model.exists() else None

    def keep(self, state: Mapping[str, Any], save: Callable[[str], object]) -> None:
        """Replace the best model by what `save` writes; `state` is its step and scores."""
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
        """Blame the disk for what fails in the block, which does nothing but write."""
        try:
            yield
        except SemqaError:
            raise
        except Exception as error:  # the libraries that write weights raise all sorts
            told = error.strerror if isinstance(error, OSError) else None
            what = told or " ".join(str(error).split())[:200]
            raise UnavailableError(
                f"Cannot write {self.path}: {what}. Free some space and give the same command again."
            ) from error


def _encoded(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode("utf-8")


def _read(file: Path) -> dict[str, Any]:
    with open_input(file) as opened:
        text = decode_text(opened.read_all(), opened.name)
        return as_row(decode_json(text, opened.name), opened.name).fields


class Terminated(KeyboardInterrupt):
    """SIGTERM, which clusters send before they take a machine away."""


class Interrupt:
    """Within its block, the first Ctrl-C or SIGTERM is noted as `wanted`; the second raises at once.

    Outside the main thread, which gets no signals, it does nothing.
    """

    def __init__(self) -> None:
        self.wanted = False
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
        """Return what to raise when the step is finished: `Terminated` after SIGTERM."""
        return self._kind()

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._kind = Terminated if number == signal.SIGTERM else KeyboardInterrupt
        if self.wanted:
            raise self._kind
        self.wanted = True


class Ranks(NamedTuple):
    """This process among those of a training, as ``torchrun`` and ``accelerate launch`` start them.

    Each trains on its share of every batch. The first alone writes to the folder, and tells the
    others what it found there.
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls, device: str | None) -> Ranks:
        """Join the processes named by the environment, if there are any; ``cpu`` keeps off the GPUs."""
        if os.environ.get("LOCAL_RANK", "-1") == "-1" or os.environ.get("WORLD_SIZE", "1") == "1":
            return cls()
        for name in ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED"):
            if os.environ.get(name, "").lower() in ("1", "true"):
                raise InputError(
                    "is not supported: each process holds the whole model.",
                    field=name,
                    hint="Choose MULTI_GPU or MULTI_CPU for accelerate, or use torchrun.",
                )
        from accelerate import PartialState

        state = PartialState(cpu=device == "cpu", timeout=_PATIENCE)
        return cls(state.process_index, state.num_processes)

    @staticmethod
    def first_here() -> bool:
        """Whether this process is the one that talks to the user."""
        return os.environ.get("RANK", "0") == "0"

    def share(self, batch_size: int) -> int:
        """Return this process's share of a batch, which must be shared out evenly."""
        if batch_size % self.size:
            raise InputError(
                f"must be a multiple of the {self.size} processes, got {batch_size}.",
                field="batch_size",
                value=batch_size,
            )
        return batch_size // self.size

    def first(self, do: Callable[[], T]) -> T:
        """Have the first process do something; all get what it returns or raises."""
        if self.size == 1:
            return do()
        from torch.distributed import broadcast_object_list

        told: list[Any] = [None, None]
        if self.rank == 0:
            try:
                told[0] = do()
            except Exception as error:  # noqa: BLE001  (raised below, by all)
                told[1] = error
        broadcast_object_list(told)
        if told[1] is not None:
            raise told[1]
        result: T = told[0]
        return result

    def spread(self, items: Sequence[T]) -> Sequence[T]:
        """Return this process's share of some items."""
        return items[self.rank :: self.size]

    def join_spread(self, results: Sequence[T]) -> list[T]:
        """Return what all processes made of their shares, in the order of the items."""
        if self.size == 1:
            return list(results)
        from torch.distributed import all_gather_object

        shares: list[list[T]] = [[] for _ in range(self.size)]
        all_gather_object(shares, list(results))
        total = sum(map(len, shares))
        return [shares[place % self.size][place // self.size] for place in range(total)]

    def wait(self) -> None:
        """Wait until all processes are here."""
        self.join_spread([None])

    def any(self, value: bool) -> bool:
        """Whether it is so in any process."""
        return any(self.join_spread([value]))

    def leave(self) -> None:
        """Part with the others when all is done."""
        if self.size > 1:
            from torch.distributed import destroy_process_group

            destroy_process_group()


class Progress(NamedTuple):
    """Callbacks that report progress.

    `on_progress` is called with the number of steps done, and their total; `on_resume` with the step
    that a killed training goes on from; `say` with messages on slow steps; `on_fit` with memory and
    time of a training of so many steps, before the first.
    """

    on_progress: Callable[[int, int | None], None] | None = None
    on_resume: Callable[[int], None] | None = None
    say: Callable[[str], None] | None = None
    on_fit: Callable[[Fit, int], None] | None = None


class Session(NamedTuple):
    """A training in its folder, from the folder's lock to its record."""

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
        """Return the record of a training, after running it if it is not finished.

        `work` claims the folder when all is well, trains, and returns the record.
        """
        with ExitStack() as stack:

            def begin() -> dict[str, Any] | None:
                stack.enter_context(locked(self.folder.path / "lock", wait_seconds=1.0))
                self.folder.check(plan)
                return self.folder.record()

            record = self.ranks.first(begin)
            if record is None:
                found = record = work(self)
                self.ranks.first(
                    lambda: self.folder.finish(found, keep_checkpoints=keep_checkpoints)
                )
            self.ranks.leave()
            return record

    def claim(self, plan: Mapping[str, Any]) -> Path | None:
        """Claim the folder, and return the checkpoint to go on from."""

        def find() -> Path | None:
            self.folder.claim(plan)
            return self.folder.last_checkpoint()

        checkpoint = self.ranks.first(find)
        told = self.progress.on_resume
        if checkpoint is not None and told is not None and self.ranks.rank == 0:
            told(int(checkpoint.name.rpartition("-")[2]))
        return checkpoint


def versions() -> dict[str, str]:
    """Return the versions of the packages that train."""
    found = {"semqa": semqa.__version__, **model_versions()}
    for name in ("accelerate", "peft"):
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
