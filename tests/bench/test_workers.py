"""A run whose work others do: what they deliver late, twice, or out of order; no Ray in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from semqa.bench import Plan, run
from semqa.bench.plan import Item
from semqa.bench.record import Record
from semqa.bench.run import answer_items
from semqa.engines import create_engine
from semqa.errors import InputError, UnavailableError
from semqa.prompting import PromptBuilder
from tests.bench.test_run import many_questions, rows_of, without_times

COUNT = 9


class Others:
    """Answers in this process, the last first, and the first of them twice.

    Args:
        stop: after how many records something outside fails.
        wrong: whether the engine cannot be made.
    """

    def __init__(self, stop: int | None = None, wrong: bool = False) -> None:
        self.stop = stop
        self.wrong = wrong
        self.sizes: list[int] = []

    def answer(
        self,
        plan: Plan,
        prompts: PromptBuilder | None,
        groups: Sequence[Sequence[Item]],
    ) -> Iterator[Record]:
        assert prompts is None
        if self.wrong:
            raise InputError("model: got none, expected one; give one")
        engine = create_engine(plan.engine)
        self.sizes += map(len, groups)
        given = 0
        for group in reversed(groups):
            for record in answer_items(group, engine):
                if given == self.stop:
                    raise UnavailableError("gone")
                given += 1
                yield record
                if given == 1:
                    yield record

    def describe(self) -> dict[str, object]:
        return {"distributed": "others"}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(many_questions(tmp_path / "many.jsonl", COUNT), "lead-1")


def same(found: Path, expected: Path) -> bool:
    (one, rows), (other, others) = without_times(found), without_times(expected)
    assert one.pop("machine") == other.pop("machine") | {"distributed": "others"}
    return bool(one == other and rows == others)


def test_rows_stand_once_and_in_order(plan: Plan, tmp_path: Path) -> None:
    run(plan, tmp_path / "here")
    others = Others()
    run(plan, tmp_path / "there", workers=others)
    assert same(tmp_path / "there", tmp_path / "here")
    assert [row["id"] for row in rows_of(tmp_path / "there")] == [f"q{n}" for n in range(COUNT)]
    assert others.sizes == [1] * COUNT


def test_a_run_goes_on_where_it_stopped(plan: Plan, tmp_path: Path) -> None:
    run(plan, tmp_path / "here")
    with pytest.raises(UnavailableError):
        run(plan, tmp_path / "there", workers=Others(stop=4))
    assert len(rows_of(tmp_path / "there")) == 4
    others = Others()
    run(plan, tmp_path / "there", workers=others)
    assert len(others.sizes) == COUNT - 4
    assert same(tmp_path / "there", tmp_path / "here")


def test_a_folder_in_which_nothing_was_done_is_free(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        run(plan, tmp_path / "there", workers=Others(wrong=True))
    run(Plan(plan.data, "tail-1"), tmp_path / "there")
