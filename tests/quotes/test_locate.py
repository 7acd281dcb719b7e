"""Which of several occurrences a quote means, and the passage most similar to a wrong quote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import QuotedAnswer, Source
from semqa.quotes.locate import MAX_OCCURRENCES, Locator, NearestSearch
from semqa.quotes.quote import FIELDS, Occurrence


def chosen(text: str, source: str) -> list[int | None]:
    return [quote.source_start for quote in QuotedAnswer.parse(text, [Source(source)]).quotes]


SONG = "In 1942 Berlin wrote it. Crosby sang it in 1942, a hit at once; Gates sang it in 1942."


def test_ambiguous_quotes_follow_each_other() -> None:
    starts = chosen("[ 1 Gates ] [ 1 sang it ] in [ 1 1942 ]", SONG)
    assert starts == [SONG.index("Gates"), SONG.rindex("sang it"), SONG.rindex("1942")]


def test_all_occurrences_are_listed_and_bounded() -> None:
    (quote,) = QuotedAnswer.parse("[ 1 aa ]", [Source("aaaa")]).quotes
    assert [place.start for place in quote.occurrences] == [0, 1, 2]
    (quote,) = QuotedAnswer.parse("[ 1 a ]", [Source("a" * 5_000)]).quotes
    assert len(quote.occurrences) == MAX_OCCURRENCES


def naive_places(spans: list[tuple[int, str]], sources: list[Source]) -> list[Occurrence | None]:
    """The rule, by listing every place."""

    def everywhere(index: int, text: str) -> list[Occurrence]:
        for name in FIELDS:
            field = sources[index].field(name)
            found = [
                Occurrence(name, at, at + len(text))
                for at in range(len(field))
                if field.startswith(text, at)
            ]
            if found:
                return found
        return []

    result: list[Occurrence | None] = []
    for at, (index, text) in enumerate(spans):
        candidates = everywhere(index, text)
        if not candidates:
            result.append(None)
            continue
        before = [result[j] for j in range(at) if spans[j][0] == index and result[j]][-1:]
        after = [
            everywhere(*spans[j])[0]
            for j in range(at + 1, len(spans))
            if spans[j][0] == index and len(everywhere(*spans[j])) == 1
        ][:1]
        anchors = [a for a in before + after if a and a.field == candidates[0].field]

        def distance(place: Occurrence, anchors: list[Occurrence] = anchors) -> tuple[int, ...]:
            return min(
                (
                    max(0, a.start - place.end, place.start - a.end),
                    abs(place.start - a.start),
                    place.start,
                )
                for a in anchors
            )

        result.append(min(candidates, key=distance) if anchors else candidates[0])
    return result


spans = st.lists(st.tuples(st.integers(0, 1), st.text("ab ", min_size=1, max_size=3)), max_size=6)
fields = st.text("ab ", max_size=12)


@given(spans, st.lists(st.builds(Source, fields, fields), min_size=2, max_size=2))
def test_fast_equals_naive(given_spans: list[tuple[int, str]], sources: list[Source]) -> None:
    assert Locator(given_spans, sources).places() == naive_places(given_spans, sources)


SALES = [
    Source("Nothing alike, zzz."),
    Source("Sales rose by 5% in 2014, the report says.", title="Sales"),
]


def test_the_most_similar_passage_is_found() -> None:
    near = NearestSearch(SALES).find("Sales rose by 6% in 2014")
    assert near is not None
    assert (near.source, near.field) == (2, "body")
    assert SALES[1].text[near.start : near.end] == "Sales rose by 5% in 2014"
    assert 0.9 < near.similarity < 1


def test_the_search_for_similar_passages_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semqa.quotes.locate.BUDGET", 150)
    search = NearestSearch(SALES)
    assert search.find("rose by 6%") is not None
    assert search.find("rose by 6%") is not None, "a text found before costs nothing"
    assert not search.exhausted
    assert search.find("rose by 7%") is not None
    assert search.find("rose by 8%") is None
    assert search.exhausted
