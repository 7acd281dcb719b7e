"""What golden cases say of marks, read off the pieces that `split_marks` makes."""

from __future__ import annotations

from semqa.metrics.text import split_marks


def non_quoted(text: str, *, all_sources: bool = False) -> str:
    return "".join(split_marks(text, all_sources=all_sources)[::3])


def quoted_sources(text: str, *, all_sources: bool = False) -> list[int]:
    return sorted(set(map(int, split_marks(text, all_sources=all_sources)[1::3])))


def quotes_by_source(text: str, *, all_sources: bool = False) -> dict[int, str]:
    pieces = split_marks(text, all_sources=all_sources)
    quotes: dict[int, str] = {}
    for number, span in zip(map(int, pieces[1::3]), pieces[2::3], strict=True):
        quotes[number] = f"{quotes[number]} {span}" if number in quotes else span
    return quotes
