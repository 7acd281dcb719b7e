"""The folder of a collection: steps that resume where they were killed, and the counts of each.

A step appends to its files and notes now and then how far it is: the place in its input, the sizes of
its files, its counts. A process killed at any moment leaves more in the files than was noted; the next
one cuts that off and goes on from the note. So a finished step is never done again, and a long one
loses seconds.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.bench.folder import claim, make_folder, own_errors, pretty, read_object
from semqa.data.files import locked, write_atomic
from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

COUNTS_FILE = "counts.json"
QUESTIONS_FILE = "questions.jsonl"
STEPS = "steps"

NOTE_SECONDS = 5.0
"""Work that a kill may cost."""


class Piece(NamedTuple):
    """Some work of a step.

    Attributes:
        place: where the input goes on after it, ready for JSON.
    """

    place: Any
    lines: Sequence[tuple[int, bytes]]
    counts: Mapping[str, int]
    done: int = 0


@contextmanager
def opened(
    out: Path, identity: Mapping[str, object], about: Mapping[str, object]
) -> Iterator[Path]:
    """Make or reopen the folder of a collection, alone in it while the block runs.

    Yields:
        The folder for the files of the steps.
    """
    make_folder(out)
    with own_errors(out), locked(out / ".lock", wait_seconds=0):
        claim(out, identity, about)
        make_folder(out / STEPS)
        yield out / STEPS


def run_step(
    note: Path,
    files: Sequence[Path],
    work: Callable[[Any], Iterable[Piece]],
    on_progress: Callable[[int], None] = lambda _: None,
) -> dict[str, int]:
    """Run a step to its end, or go on where it was killed.

    Args:
        files: what it writes; all are there afterwards.
        work: called with the place to go on from, None at the start; gives the pieces in order.

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

            def keep(place: Any, *, finished: bool) -> None:
                for stream in streams:
                    stream.flush()
                    os.fsync(stream.fileno())
                found = [os.fstat(stream.fileno()).st_size for stream in streams]
                told = {"place": place, "sizes": found, "counts": counts, "finished": finished}
                write_atomic(note, [pretty(told)])

            place = state.get("place")
            noted = time.monotonic()
            for piece in work(place):
                for number, line in piece.lines:
                    streams[number].write(line)
                counts.update(piece.counts)
                place = piece.place
                on_progress(piece.done)
                if time.monotonic() - noted > NOTE_SECONDS:
                    keep(place, finished=False)
                    noted = time.monotonic()
            keep(place, finished=True)
    except OSError as error:
        raise UnavailableError(
            f"Cannot write {error.filename or note.parent}: {error.strerror or error!r}. Free some "
            "space and run again; what is done is kept."
        ) from error
    return dict(counts)


def write_counts(out: Path, counts: Iterable[Mapping[str, object]]) -> None:
    """Write the counts of all steps, in order."""
    write_atomic(out / COUNTS_FILE, [pretty({"steps": list(counts)})])
