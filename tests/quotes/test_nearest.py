"""The passage that an unverified quote most resembles."""

from __future__ import annotations

from semqa import Source
from semqa.quotes.nearest import nearest_passage

SOURCES = [
    Source("Nothing alike, zzz."),
    Source("Sales rose by 5% in 2014, the report says.", title="Sales"),
]


def test_finds_source_and_place() -> None:
    near = nearest_passage("Sales rose by 6% in 2014", SOURCES)
    assert near is not None
    assert (near.source, near.field) == (2, "body")
    assert SOURCES[1].text[near.start : near.end] == "Sales rose by 5% in 2014"
    assert 0.9 < near.similarity < 1


def test_a_field_shorter_than_the_text_is_compared_as_a_whole() -> None:
    near = nearest_passage("The Sales", [Source("", title="Sales")])
    assert near is not None
    assert (near.field, near.start, near.end) == ("title", 0, 5)
    assert 0.5 < near.similarity < 0.9


def test_nothing_alike() -> None:
    assert nearest_passage("xyz", [Source("abc")]) is None
    assert nearest_passage("xyz", []) is None
