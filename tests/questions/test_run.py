"""A step that is killed at any moment and resumed gives the same result."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.questions import run as steps
from semqa.questions.run import StepOutput, run_step
from tests.effort import effort

PIECES = 7


class Killed(BaseException):
    """An exception that nothing catches."""


def work(place: Any, dies_at: int = PIECES) -> Iterator[StepOutput]:
    for number in range(place or 0, PIECES):
        if number >= dies_at:
            raise Killed
        yield StepOutput(
            number + 1, [(number % 2, f"{number}\n".encode() * 3)], {"pieces": 1}, number
        )


@settings(max_examples=effort(30), deadline=None)
@given(
    deaths=st.lists(st.integers(0, PIECES - 1), max_size=4),
    noted=st.booleans(),
    torn=st.binary(max_size=20),
)
def test_killed_and_run_again(
    tmp_path_factory: pytest.TempPathFactory, deaths: list[int], noted: bool, torn: bytes
) -> None:
    folder = tmp_path_factory.mktemp("step")
    files = [folder / "a", folder / "b"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "CHECKPOINT_SECONDS", -1.0 if noted else 1e9)
        for at in deaths:
            with pytest.raises(Killed):
                run_step(folder / "note.json", files, partial(work, dies_at=at))
            for path in files:  # written after the last checkpoint
                with path.open("ab") as stream:
                    stream.write(torn)
        counts = run_step(folder / "note.json", files, work)
    assert counts == {"pieces": PIECES}
    assert files[0].read_text() == "".join(f"{n}\n" * 3 for n in range(0, PIECES, 2))
    assert files[1].read_text() == "".join(f"{n}\n" * 3 for n in range(1, PIECES, 2))


def test_a_finished_step_is_not_done_again(tmp_path: Path) -> None:
    first = run_step(tmp_path / "note.json", [tmp_path / "a", tmp_path / "b"], work)

    again = run_step(tmp_path / "note.json", [tmp_path / "a", tmp_path / "b"], never)
    assert again == first


def never(_: Any) -> Iterator[StepOutput]:
    raise AssertionError("done again")
