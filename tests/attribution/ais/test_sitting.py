"""One annotator at one output, question by question."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from semqa.attribution.ais import Rating, Sitting, Subject
from semqa.errors import InputError

SUBJECT = Subject("q1", "m", "She sang it.", "Ella sang it.", "Who?", "qrecc", 2)


def clock(*seconds: float) -> Iterator[float]:
    yield from seconds


def sitting(*seconds: float) -> Sitting:
    ticks = clock(*seconds)
    return Sitting(SUBJECT, "ann", design="two-step", clock=lambda: next(ticks))


def test_the_source_is_hidden_until_interpretability_is_settled() -> None:
    it = sitting(100.0, 142.5)
    first = it.view()
    assert first.source is None
    assert "Ella" not in "".join(part for part in first if part)
    assert (first.context, first.output) == ("Who?", "She sang it.")
    it.answer(True)
    second = it.view()
    assert second.source == "Ella sang it."
    assert second.question != first.question
    it.answer(False, "Who is she?")
    assert it.rating() == Rating(
        "q1",
        "m",
        "ann",
        interpretable=True,
        attributable=False,
        justification="Who is she?",
        seconds=42.5,
        task="qrecc",
        design="two-step",
        sentence=2,
        output="She sang it.",
    )


def test_what_is_unclear_is_never_compared_with_its_source() -> None:
    it = sitting(0.0, 3.0)
    it.answer(False, "She?")
    assert it.stage == "done"
    assert (it.rating().interpretable, it.rating().attributable) == (False, None)
    for step in (it.view, it.flag, lambda: it.answer(True)):
        with pytest.raises(InputError, match="expected none after the last answer"):
            step()


@pytest.mark.parametrize("answered_first", [False, True])
def test_a_flag_ends_it_at_any_stage(answered_first: bool) -> None:
    it = sitting(0.0, 5.0)
    if answered_first:
        it.answer(True, "Clear.")
    it.flag("The source is empty.")
    rating = it.rating()
    assert (rating.flagged, rating.interpretable, rating.seconds) == (True, None, 5.0)
    assert rating.justification.splitlines()[-1] == "The source is empty."


def test_there_is_no_rating_before_the_last_answer() -> None:
    it = sitting(0.0)
    with pytest.raises(InputError, match="got a sitting at interpretability"):
        it.rating()
    it.answer(True)
    with pytest.raises(InputError, match="got a sitting at attribution"):
        it.rating()
