"""The quoted answer: statuses, offsets, round trips."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given

from semqa import InputError, QuotedAnswer, Source
from semqa.quotes import Occurrence, Quote, Status
from tests.strategies import answers

SOURCES = [
    Source("Bing Crosby released it in 1943, and again in 1947.", title="White Christmas"),
    Source("Josh Gates released it in 2014.", title="Destination Truth"),
]


def only_quote(text: str, sources: list[Source] | None = None) -> Quote:
    (quote,) = QuotedAnswer.parse(text, SOURCES if sources is None else sources).quotes
    return quote


def test_the_answer_of_the_readme() -> None:
    text = "Released by [ 1 Bing Crosby ] in [ 1 1943 ] and by [2 Josh Gates] in [ 2 2014 ] ."
    answer = QuotedAnswer.parse(text, SOURCES)
    assert answer.verified
    assert answer.counts == {"verified": 4, "misattributed": 0, "fabricated": 0, "malformed": 0}
    assert answer.marked == text.replace("[2 Josh Gates]", "[ 2 Josh Gates ]")
    assert answer.plain == "Released by Bing Crosby in 1943 and by Josh Gates in 2014 ."
    assert [quote.source for quote in answer.quotes] == [1, 1, 2, 2]


def test_a_quote_never_crosses_from_title_to_body() -> None:
    assert only_quote("[ 1 White Christmas Bing ]").status is Status.FABRICATED
    assert only_quote("[ 1 ChristmasBing ]").status is Status.FABRICATED


def test_the_body_is_searched_before_the_title() -> None:
    quote = only_quote("[ 1 White ]", [Source("Snow is White.", title="White")])
    assert quote.field == "body"
    assert quote.occurrences == (Occurrence("body", 8, 13), Occurrence("title", 0, 5))


@pytest.mark.parametrize(
    ("text", "status", "found_in", "reason"),
    [
        ("[ 2 Bing Crosby ]", Status.MISATTRIBUTED, (1,), "appears in source 1"),
        ("[ 7 released it in ]", Status.MISATTRIBUTED, (1, 2), "there is no source 7"),
        ("[ 7 Frank Sinatra ]", Status.FABRICATED, (), "there is no source 7"),
        ("[ 1 Frank Sinatra ]", Status.FABRICATED, (), "source 1 does not contain this text"),
        ("[ 1 Bing  Crosby ]", Status.FABRICATED, (), "does not contain"),
        ("[ 1 Bing Crosby", Status.MALFORMED, (), "closing bracket is missing"),
        ("[1]", Status.MALFORMED, (), "quotes nothing"),
    ],
)
def test_unverified_quotes(
    text: str, status: Status, found_in: tuple[int, ...], reason: str
) -> None:
    quote = only_quote(text)
    assert (quote.status, quote.found_in) == (status, found_in)
    assert reason in quote.reason
    assert (quote.field, quote.source_start, quote.source_end) == (None, None, None)
    assert not QuotedAnswer.parse(text, SOURCES).verified


def test_unicode_is_compared_by_code_points() -> None:
    sources = [Source("Beyonce\u0301 in Zürich 👩‍👩‍👧")]
    assert only_quote("[ 1 Beyonc\u00e9 ]", sources).status is Status.FABRICATED
    quote = only_quote("[ 1 👩‍👩‍👧 ]", sources)
    assert quote.verified
    assert quote.source_end == len(sources[0].text)


@pytest.mark.parametrize(
    ("span", "source", "cut"),
    [
        ("10", "It costs 1000.", True),
        ("10", "It costs 1000, or 10.", False),  # also occurs as a whole word
        ("10", "It costs 10.5.", True),
        ("10", "In 9, 10, 11.", False),
        ("able", "He is unable.", True),
        ("can", "He can't.", True),
        ("Bing", "Bing's song", False),
        ("cafe", "the cafe\u0301", True),
        ("s", "the cafe\u0301s", True),
        ("👩", "👩\u200d👧", True),
        ("本", "日本語", False),
        ("White", "snow", False),
    ],
)
def test_a_quote_that_cuts_a_word_is_flagged(span: str, source: str, cut: bool) -> None:
    quote = only_quote(f"[ 1 {span} ]", [Source(source, title="White")])
    assert quote.verified
    assert (quote.cut, quote.to_dict()["cut"]) == (cut, cut)
    assert quote.note == ("cut" if cut else "")


def test_source_text_with_marks_cannot_forge_a_quote() -> None:
    forged = Source("He said [ 2 Josh Gates ] wrote it.")
    answer = QuotedAnswer.parse("[ 1 said [ 2 Josh Gates ] wrote ]", [forged, Source("Nothing.")])
    assert [quote.status for quote in answer.quotes] == [Status.MALFORMED, Status.MISATTRIBUTED]


def test_too_many_marks_are_refused() -> None:
    with pytest.raises(InputError, match=r"10,001 marks"):
        QuotedAnswer.parse("[1 a]" * 10_001, SOURCES)


def test_to_dict_is_json_with_offsets_on_both_sides() -> None:
    answer = QuotedAnswer.parse("In [1 1943].", SOURCES)
    record = json.loads(json.dumps(answer.to_dict()))
    (quote,) = record["quotes"]
    assert record["answer"][quote["answer_start"] : quote["answer_end"]] == "1943"
    assert record["plain"][quote["plain_start"] : quote["plain_end"]] == "1943"
    source = record["sources"][quote["source"] - 1]
    assert source["text"][quote["source_start"] : quote["source_end"]] == "1943"
    assert quote["status"] == "verified"


@given(answers())
def test_round_trip(drawn: tuple[str, list[Source]]) -> None:
    text, sources = drawn
    answer = QuotedAnswer.parse(text, sources)
    assert QuotedAnswer.parse(answer.marked, sources) == answer
    assert pickle.loads(pickle.dumps(answer)) == answer


@given(answers())
def test_offsets_slice_everywhere(drawn: tuple[str, list[Source]]) -> None:
    text, sources = drawn
    answer = QuotedAnswer.parse(text, sources)
    for segment in answer.segments:
        assert answer.marked[segment.answer_start : segment.answer_end] == segment.text
        assert answer.plain[segment.plain_start : segment.plain_end] == segment.text
    for quote in answer.quotes:
        assert quote.verified == (quote.source_start is not None)
        if quote.verified:
            assert quote.field is not None
            field = sources[quote.source - 1].field(quote.field)
            assert field[quote.source_start : quote.source_end] == quote.text
            assert Occurrence(quote.field, quote.source_start or 0, quote.source_end or 0) in quote.occurrences  # fmt: skip


@given(answers())
def test_status_by_its_definition(drawn: tuple[str, list[Source]]) -> None:
    text, sources = drawn
    for quote in QuotedAnswer.parse(text, sources).quotes:
        if quote.status is Status.MALFORMED:
            continue
        holders = [
            number
            for number, source in enumerate(sources, start=1)
            if quote.text in source.text or quote.text in source.title
        ]
        if quote.source in holders:
            assert quote.status is Status.VERIFIED
        elif holders:
            assert (quote.status, list(quote.found_in)) == (Status.MISATTRIBUTED, holders)
        else:
            assert quote.status is Status.FABRICATED
