"""A step that is killed at any moment and resumed gives the same result."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.questions import run
from semqa.questions.run import Done, Steps
from tests.effort import effort

PIECES = 7


class Killed(BaseException):
    """An exception that nothing catches."""


def work(steps: Steps, place: int | None, dies_at: int) -> Iterator[Done]:
    for number in range(place or 0, PIECES):
        steps.database.execute("INSERT INTO candidate (row) VALUES (?)", (str(number),))
        if number >= dies_at:
            raise Killed
        yield Done(number + 1, {"pieces": 1}, number)


def step(path: Path, dies_at: int) -> tuple[dict[str, int], list[str]]:
    with closing(sqlite3.connect(path)) as database:
        steps = Steps(database)
        counts = steps.run("step", partial(work, steps, dies_at=dies_at))
        return counts, [row for (row,) in database.execute("SELECT row FROM candidate")]


@settings(max_examples=effort(30), deadline=None)
@given(deaths=st.lists(st.integers(0, PIECES - 1), max_size=4), commits=st.booleans())
def test_killed_and_run_again(
    tmp_path_factory: pytest.TempPathFactory, deaths: list[int], commits: bool
) -> None:
    path = tmp_path_factory.mktemp("step") / "steps.sqlite"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "CHECKPOINT_SECONDS", -1.0 if commits else 1e9)
        for at in deaths:
            with pytest.raises(Killed):
                step(path, at)
        expected = {"pieces": PIECES}, [str(number) for number in range(PIECES)]
        assert step(path, PIECES) == expected
        assert step(path, 0) == expected  # finished, so nothing is done again
