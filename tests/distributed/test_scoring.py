"""Scores that come in blocks from elsewhere are those of this process; no Ray in it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa import Source
from semqa.bench.plan import Item
from semqa.bench.results import score_items
from semqa.data.quotesum import Question, Reference
from semqa.distributed import RaySettings, RayWorkers
from semqa.errors import UnavailableError
from semqa.metrics import Example, NoReferenceError, score_example
from tests.effort import effort

BLOCK = 2

free = st.lists(st.sampled_from(["a", "b", "c", "the", "é"]), max_size=4).map(" ".join)
quote = st.builds("[ {} {} ]".format, st.integers(1, 9), free)
answers = st.lists(free | quote, max_size=4).map(" ".join)
examples = st.builds(
    Example,
    qid=st.sampled_from(["q1", "q2"]),
    prediction=answers,
    references=st.lists(answers, min_size=1, max_size=3).map(tuple),
    short_answers=st.lists(answers, max_size=3).map(tuple),
    present=st.sets(st.integers(1, 9), min_size=1).map(tuple),
)


@st.composite
def items(draw: st.DrawFn) -> Item:
    """Draw an item, of an engine or of the human row."""
    texts = draw(st.lists(answers, min_size=1, max_size=3))
    question = Question(
        "q",
        "Which?",
        tuple(Source(text) for text in draw(st.lists(free, min_size=1, max_size=9))),
        tuple(Reference(f"q_{n}", text, draw(answers)) for n, text in enumerate(texts)),
    )
    return Item("q", question, draw(st.none() | st.integers(0, len(texts) - 1)))


def scored_elsewhere(random: Random, work: Callable[[RayWorkers], Any]) -> Any:
    """Have blocks scored as on machines that die: some come late, some twice, some never."""
    rounds = 0

    def map_tasks(
        _: object, work: Callable[[Any], Any], tasks: Sequence[bytes], **__: object
    ) -> Iterator[tuple[int, Any]]:
        nonlocal rounds
        rounds += 1
        numbers = [*range(len(tasks)), *random.sample(range(len(tasks)), len(tasks) // 2)]
        random.shuffle(numbers)
        kept = numbers if rounds == 3 else numbers[: random.randint(0, len(numbers))]
        for number in kept:
            reply = work(pickle.loads(tasks[number]))
            yield number, pickle.loads(pickle.dumps(reply))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("semqa.distributed.workers.BLOCK", BLOCK)
        patch.setattr("semqa.distributed.workers.map_tasks", map_tasks)
        return work(RayWorkers(None, RaySettings()))


@settings(max_examples=effort(50))
@given(st.lists(examples, max_size=7), st.booleans(), st.booleans(), st.randoms())
def test_predictions_score_as_one_by_one(
    given: list[Example], official: bool, all_sources: bool, random: Random
) -> None:
    how = {"official": official, "all_sources": all_sources}
    found = scored_elsewhere(random, lambda workers: workers.score_examples(given, **how))
    # As text, in which a NaN of the official scorer is equal to itself, and no digit is lost.
    assert repr(found) == repr([score_example(each, **how) for each in given])


@settings(max_examples=effort(50))
@given(st.lists(st.tuples(items(), answers), max_size=7), st.randoms())
def test_items_score_as_in_a_run(given: list[tuple[Item, str]], random: Random) -> None:
    asked, predictions = [item for item, _ in given], [text for _, text in given]
    found = scored_elsewhere(random, lambda workers: workers.score(asked, predictions))
    assert found == score_items(asked, predictions)


@pytest.mark.parametrize("count", [1, BLOCK, BLOCK + 1])
def test_what_cannot_be_scored_is_said(count: int) -> None:
    broken = [Example("q", "[ 1 a ]", (), (), (1,))] * count
    with pytest.raises(NoReferenceError):
        scored_elsewhere(Random(0), lambda workers: workers.score_examples(broken))


def test_workers_that_never_reply_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semqa.distributed.workers.BLOCK", 1)
    monkeypatch.setattr("semqa.distributed.workers.map_tasks", lambda *_, **__: iter(()))
    example = Example("q", "[ 1 a ]", ("[ 1 a ]",), ("",), (1,))
    with pytest.raises(UnavailableError, match="0 of 2 blocks are done after 3 tries"):
        RayWorkers(None, RaySettings()).score_examples([example] * 2)
