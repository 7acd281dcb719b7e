"""Sem-F1 over the sources that somebody quotes, against its definition written out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.metrics import Example
from semqa.metrics.bootstrap import mean_interval
from semqa.metrics.quoted_f1 import quoted_f1, quoted_leave_one_out
from semqa.metrics.tokens import normalised_tokens

MARKS = st.lists(
    st.tuples(
        st.integers(1, 8), st.lists(st.sampled_from(["a", "b", "c", "the", "d"]), max_size=4)
    ),
    max_size=4,
)
TEXTS = MARKS.map(lambda marks: " x ".join(f"[ {n} {' '.join(words)} ]" for n, words in marks))


def bags(text: str) -> dict[int, Counter[str]]:
    """The words quoted from each source, by the marks of a text of the strategy above."""
    found: dict[int, Counter[str]] = {}
    for part in text.split("[ ")[1:]:
        number, _, words = part.partition(" ")
        found.setdefault(int(number), Counter()).update(normalised_tokens(words.partition("]")[0]))
    return {source: bag for source, bag in found.items() if bag}


def by_definition(prediction: str, references: list[str], present: tuple[int, ...]) -> float | None:
    said, wanted = bags(prediction), [bags(text) for text in references]
    quoted = {s for bag in wanted for s in bag if s in present} | set(said)
    scores = []
    for source in (s for s in quoted if s <= 7):
        best = 0.0
        for bag in wanted:
            if source in bag and source in said and source in present:
                shared = (bag[source] & said[source]).total()
                best = max(best, 2 * shared / (bag[source].total() + said[source].total()))
        scores.append(best)
    return 100 * fmean(scores) if scores else None


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.sets(st.integers(1, 8)))
def test_as_defined(prediction: str, references: list[str], present: set[int]) -> None:
    numbers = tuple(sorted(present))
    found = quoted_f1(Example("q", prediction, tuple(references), ("",) * len(references), numbers))
    expected = by_definition(prediction, references, numbers)
    assert (found.f1 is None) == (expected is None)
    assert found.f1 == (expected if expected is None else pytest.approx(expected, abs=1e-9))


def test_an_answer_without_quotes_is_worth_nothing(shared: Path) -> None:
    from semqa.data.quotesum import read_quotesum
    from semqa.metrics import score

    examples = [
        Example(q.qid, "no idea", q.texts, q.short_answers, q.numbers)
        for q in read_quotesum(shared / "data/quotesum/dev_a.jsonl")
    ]
    assert fmean(quoted_f1(each).f1 or 0.0 for each in examples) == 0.0
    official = score(examples, resamples=0).value("sem_f1")
    assert official is not None
    assert official > 30


def test_precision_and_recall() -> None:
    found = quoted_f1(Example("q", "[ 1 e b ] [ 2 c ]", ("[ 1 b ] [ 3 d ]",), ("",), (1, 2, 3)))
    assert found.precision == pytest.approx((50 + 0) / 2)
    assert found.recall == pytest.approx((100 + 0) / 2)
    assert found.f1 == pytest.approx(100 * (2 / 3) / 3)


def test_people_are_compared_with_the_others() -> None:
    texts = ["[ 1 b ]", "[ 1 b ] [ 2 c ]", "none"]
    rows = quoted_leave_one_out(texts, (1, 2))
    expected = [
        quoted_f1(Example("q", text, (*texts[:k], *texts[k + 1 :]), ("", ""), (1, 2)))
        for k, text in enumerate(texts)
    ]
    assert rows == expected
    assert [row.f1 for row in rows] == [50.0, 50.0, 0.0]
    assert quoted_leave_one_out(["[ 1 b ]"], (1,)) == [(None, None, None)]


def test_the_interval_of_a_mean_draws_questions() -> None:
    groups = [[0.0, 0.0, 0.0, 0.0], [100.0], []]
    low, high = mean_interval(groups, resamples=2000) or (0.0, 0.0)
    assert (low, high) == (0.0, 100.0)
    assert mean_interval([[], []]) is None
    assert mean_interval([[50.0]] * 9) == (50.0, 50.0)
