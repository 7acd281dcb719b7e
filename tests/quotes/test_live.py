"""Streaming: the result does not depend on the pieces, and nothing is retracted."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from semqa import Quote, QuotedAnswer, Source
from semqa.quotes import FreeText
from semqa.quotes.live import AnswerReader
from semqa.quotes.quote import Segment
from tests.strategies import answers


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


def read(pieces: list[str], sources: list[Source]) -> tuple[list[Segment], QuotedAnswer]:
    reader = AnswerReader(sources)
    shown = [segment for piece in pieces for segment in reader.add(piece)]
    return shown + reader.end(), reader.answer


def joined(segments: list[Segment]) -> list[Segment]:
    """Join adjacent free text, whose offsets must be consecutive."""
    out: list[Segment] = []
    for free, run in groupby(segments, key=lambda s: isinstance(s, FreeText)):
        parts = list(run)
        if not free:
            out += parts
            continue
        for one, next_one in pairwise(parts):
            assert one.answer_end == next_one.answer_start
            assert one.plain_end == next_one.plain_start
        text = "".join(part.text for part in parts)
        out.append(
            replace(
                parts[0], text=text, answer_end=parts[-1].answer_end, plain_end=parts[-1].plain_end
            )
        )
    return out


def without_place(segment: Segment) -> Segment:
    if isinstance(segment, Quote):
        return replace(segment, field=None, source_start=None, source_end=None)
    return segment


@given(answers(), st.lists(st.integers(0, 200), max_size=8))
@example(("[ 1 a b", [Source("a b")]), [3])
@example(("[1, 2] [1", [Source("a")]), [2, 3, 4])
@example(("[ 1 a [ 1 a ]", [Source("a")]), [1, 5])
@example(("[2nd [ 1 a ] [ 1", [Source("a")]), [1, 2, 3])
@example(("[ 1 a ] [ 1 b ]", [Source("a b a")]), [4])
def test_any_pieces_give_the_parsed_answer(
    drawn: tuple[str, list[Source]], places: list[int]
) -> None:
    text, sources = drawn
    shown, answer = read(cut(text, places), sources)
    assert answer == QuotedAnswer.parse(text, sources)
    assert [*map(without_place, joined(shown))] == [*map(without_place, answer.segments)]
    for quote in shown:
        if isinstance(quote, Quote) and quote.verified:
            assert quote.field is not None
            field = sources[quote.source - 1].field(quote.field)
            assert field[quote.source_start : quote.source_end] == quote.text
            assert (quote.field, quote.source_start, quote.source_end) in quote.occurrences


def test_free_text_is_emitted_at_once() -> None:
    reader = AnswerReader([Source("a b")])
    assert [s.text for s in reader.add("In [2nd ")] == ["In ", "[2nd "]
    assert [s.text for s in reader.add("ed.] of ")] == ["ed.] of "]
    assert reader.add("[") == []
    assert [s.text for s in reader.add("x")] == ["[x"]


def test_an_open_quote_is_held_back() -> None:
    reader = AnswerReader([Source("a b")])
    for piece in ("[", " 1", " ", "a", " b", " "):
        assert reader.add(piece) == []
    (quote,) = reader.add("]")
    assert isinstance(quote, Quote)
    assert quote.verified


def test_a_later_quote_can_change_the_place() -> None:
    sources = [Source("a x a y")]
    shown, answer = read(["[ 1 a ] and [ 1 y ]"], sources)
    first = shown[0]
    assert isinstance(first, Quote)
    assert (first.source_start, answer.quotes[0].source_start) == (0, 4)


def test_a_long_open_mark_takes_linear_time() -> None:
    reader = AnswerReader([Source("a")])
    reader.add("[ 1 ")
    for _ in range(20_000):
        assert reader.add("word ") == []
    (quote,) = reader.end()
    assert len(quote.text) == 100_004
