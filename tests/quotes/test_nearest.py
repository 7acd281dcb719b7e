"""The passage most similar to an unverified quote."""

from __future__ import annotations

import pytest

from semqa import Source
from semqa.quotes.locate import NearestSearch

SOURCES = [
    Source("Nothing alike, zzz."),
    Source("Sales rose by 5% in 2014, the report says.", title="Sales"),
]


def test_finds_source_and_place() -> None:
    near = NearestSearch(SOURCES).find("Sales rose by 6% in 2014")
    assert near is not None
    assert (near.source, near.field) == (2, "body")
    assert SOURCES[1].text[near.start : near.end] == "Sales rose by 5% in 2014"
    assert 0.9 < near.similarity < 1


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semqa.quotes.locate.BUDGET", 150)
    search = NearestSearch(SOURCES)
    assert search.find("rose by 6%") is not None
    assert search.find("rose by 6%") is not None, "a text found before costs nothing"
    assert not search.exhausted
    assert search.find("rose by 7%") is not None
    assert search.find("rose by 8%") is None
    assert search.exhausted
