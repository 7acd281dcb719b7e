"""Renumbering by first mention, the same for a stream and for a whole answer."""

from __future__ import annotations

from hypothesis import given

from semqa import QuotedAnswer, Source
from semqa.quotes.renumber import Renumbering, named_sources
from semqa.quotes.repair import repair
from tests.strategies import answers

SOURCES = [Source(text) for text in "abcdefghijklm"]


@given(answers())
def test_it_equals_the_answer_over_the_mentioned_sources(
    drawn: tuple[str, list[Source]],
) -> None:
    text, sources = drawn
    before = QuotedAnswer.parse(text, sources)
    renumbering = Renumbering(sources)
    after = renumbering.answer(before)
    assert after.sources == tuple(sources[number - 1] for number in renumbering.numbers)
    assert after == QuotedAnswer.parse(after.marked, after.sources)
    assert after.plain == before.plain
    assert after.counts == before.counts
    for old, new in zip(before.quotes, after.quotes, strict=True):
        if old.verified:
            assert after.sources[new.source - 1] == sources[old.source - 1]
            assert (old.field, old.source_start) == (new.field, new.source_start)


@given(answers())
def test_streaming_gives_the_same(drawn: tuple[str, list[Source]]) -> None:
    text, sources = drawn
    answer = QuotedAnswer.parse(text, sources)
    step = Renumbering(sources)
    # A source mentioned later may contain an earlier quote, which names another number.
    assert tuple(step.add(segment) for segment in answer.segments) == (
        Renumbering(sources).answer(answer).segments
    )
    assert step.numbers == named_sources(answer)


def test_offsets_move_with_the_digits() -> None:
    answer = QuotedAnswer.parse("[ 12 l ] and [ 3 c ], [ 12 l ].", SOURCES)
    renumbering = Renumbering(SOURCES)
    after = renumbering.answer(answer)
    assert after.marked == "[ 1 l ] and [ 2 c ], [ 1 l ]."
    assert renumbering.numbers == (12, 3)
    for segment in after.segments:
        assert after.marked[segment.answer_start : segment.answer_end] == segment.text


def test_undefined_numbers_are_kept() -> None:
    answer = QuotedAnswer.parse("[ 99 zz ] [ 99 a ] [ 5 e ]", SOURCES)
    after = Renumbering(SOURCES).answer(answer)
    assert after.marked == "[ 99 zz ] [ 99 a ] [ 2 e ]"
    assert [quote.status.value for quote in after.quotes] == [
        "fabricated",
        "misattributed",
        "verified",
    ]
    assert after.quotes[1].found_in == (1,)
    assert "appears in source 1" in after.quotes[1].reason


def test_repairs_are_kept() -> None:
    sources = [Source("Bing Crosby sang it in New York on a Sunday."), Source("It was 1942.")]
    answer = repair("[ 2 it was 1942 ] [ 2 zzz ] [ 2 Bing Crosby sang it in New York ]", sources)
    after = Renumbering(sources).answer(answer)
    assert [q.repaired and q.repaired.source for q in answer.quotes] == [2, 2]
    assert [q.repaired and q.repaired.source for q in after.quotes] == [1, 1]
    (mark,) = after.dropped
    assert after.marked[mark.answer_start : mark.answer_end] == mark.text == "zzz"
    assert mark.source == 1
