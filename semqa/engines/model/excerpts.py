"""Excerpts of documents that are too long for a model's context."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from semqa.documents import Document, split
from semqa.engines.extractive import ExtractiveEngine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.documents import Passage
    from semqa.engines.base import Request
    from semqa.quotes import Source

__all__ = ["LEAST", "Excerpts", "quotable"]

LEAST = 500
"""Minimum length of excerpts that are worth reading, in characters."""

_GAP = "\n[…]\n"
"""Marks omitted text. Quotes contain no brackets, so none can span a gap."""


class Excerpts:
    """The passages of a request's sources by relevance to its question."""

    def __init__(self, request: Request) -> None:
        self._sources = request.sources
        reading = ExtractiveEngine().read_documents(*request)
        places: dict[int, list[tuple[int, float]]] = {}
        for (s, u), chance in zip(reading.found.places, reading.chances.tolist(), strict=True):
            start = reading.found.sources[s].structure.units[u].start
            places.setdefault(s, []).append((start, chance))
        found: list[tuple[float, int, Passage]] = []
        for s, source in enumerate(self._sources):
            units = iter(places.get(s, ()))
            unit = next(units, None)
            for passage in split(Document("", "txt", source.title, source.text)):
                best = 0.0
                while unit is not None and unit[0] < passage.end:
                    best, unit = max(best, unit[1]), next(units, None)
                found.append((best, s, passage))
        self._ranked = sorted(found, key=lambda each: -each[0])

    def within(self, characters: int) -> list[Source]:
        """Return the sources cut to their best passages, at most so many characters in total.

        Sources without such a passage become blank; the others keep their numbers. Each passage has the
        lines above it that it needs, such as its heading or the header of its table.
        """
        kept: list[list[Passage]] = [[] for _ in self._sources]
        for _, s, passage in self._ranked:
            length = passage.end - passage.start + sum(map(len, passage.context))
            if length <= characters:
                kept[s].append(passage)
                characters -= length
        return [
            replace(source, text=_excerpt(source.text, passages))
            if passages
            else replace(source, text="", title="")
            for source, passages in zip(self._sources, kept, strict=True)
        ]


def _excerpt(text: str, passages: list[Passage]) -> str:
    written, at = "", 0
    for passage in sorted(passages, key=lambda passage: passage.start):
        between = text[at : passage.start]
        if between.strip():
            between = _GAP + "".join(line + _GAP for line in passage.context)
        written += between + text[passage.start : passage.end]
        at = passage.end
    return (written + (_GAP if text[at:].strip() else "")).strip()


def quotable(shown: Sequence[Source], sources: Sequence[Source]) -> list[Source]:
    """Return excerpts without the lines of context that are not verbatim in their sources.

    Brackets replace these lines, because no quote can span a bracket.
    """
    return [
        replace(
            part,
            text="][".join(
                run for run in re.split(r"[\[\]]", part.text) if run.strip() in source.text
            ),
        )
        for part, source in zip(shown, sources, strict=True)
    ]
