"""The output folder of a collection, and steps that can be resumed.

A step appends to its files and regularly saves a checkpoint: the place in its input, the sizes of
its files, and its counts. If a process is killed, the next one truncates the files to the sizes in
the checkpoint and continues from there. So finished steps are not repeated, and a long step loses
at most a few seconds of work.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.bench.folder import claim, own_errors, pretty, read_object
from semqa.data.files import locked, make_folder, write_atomic
from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

COUNTS_FILE = "counts.json"
QUESTIONS_FILE = "questions.jsonl"
STEPS = "steps"

CHECKPOINT_SECONDS = 5.0
"""Seconds between checkpoints."""


class StepOutput(NamedTuple):
    """A part of the output of a step.

    Attributes:
        place: where to continue in the input, JSON-ready.
        lines: lines to append, each with the index of its file.
        counts: counts to add.
        done: progress.
    """

    place: Any
    lines: Sequence[tuple[int, bytes]]
    counts: Mapping[str, int]
    done: int = 0


@contextmanager
def open_folder(
    out: Path, identity: Mapping[str, object], about: Mapping[str, object]
) -> Iterator[Path]:
    """Create or reopen the folder of a collection, and lock it while the block runs.

    Args:
        out: the folder.
        identity: identity of the run; a folder of another run is refused.
        about: further information about the run.

    Yields:
        The subfolder for the files of the steps.
    """
    make_folder(out)
    with own_errors(out), locked(out / ".lock", wait_seconds=0):
        claim(out, identity, about)
        make_folder(out / STEPS)
        yield out / STEPS


def run_step(
    note: Path,
    files: Sequence[Path],
    work: Callable[[Any], Iterable[StepOutput]],
    on_progress: Callable[[int], None] = lambda _: None,
) -> dict[str, int]:
    """Run a step, or resume it from its checkpoint.

    Args:
        note: the checkpoint file.
        files: output files; all exist afterwards.
        work: called with the place to continue from (None at the start); yields the output in
            order.
        on_progress: called with the progress.

    Returns:
        The counts of the whole step.
    """
    state: dict[str, Any] = read_object(note) if note.exists() else {}
    counts: Counter[str] = Counter(state.get("counts", {}))
    if state.get("finished"):
        return dict(counts)
    sizes: list[int] = state.get("sizes", [0] * len(files))
    try:
        with ExitStack() as stack:
            streams = [stack.enter_context(path.open("ab")) for path in files]
            for stream, size in zip(streams, sizes, strict=True):
                stream.truncate(size)

            def save(place: Any, *, finished: bool) -> None:
                for stream in streams:
                    stream.flush()
                    os.fsync(stream.fileno())
                sizes = [os.fstat(stream.fileno()).st_size for stream in streams]
                state = {"place": place, "sizes": sizes, "counts": counts, "finished": finished}
                write_atomic(note, [pretty(state)])

            place = state.get("place")
            saved_at = time.monotonic()
            for output in work(place):
                for number, line in output.lines:
                    streams[number].write(line)
                counts.update(output.counts)
                place = output.place
                on_progress(output.done)
                if time.monotonic() - saved_at > CHECKPOINT_SECONDS:
                    save(place, finished=False)
                    saved_at = time.monotonic()
            save(place, finished=True)
    except OSError as error:
        raise UnavailableError(
            f"Cannot write {error.filename or note.parent}: {error.strerror or error!r}. Free some "
            "space and run again to resume."
        ) from error
    return dict(counts)


def write_counts(out: Path, counts: Iterable[Mapping[str, object]]) -> None:
    """Write the counts of all steps, in order."""
    write_atomic(out / COUNTS_FILE, [pretty({"steps": list(counts)})])
