"""Texts as units, and how near each is to a question: what is searched for an answer."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from semqa.documents.structure import CONTENT, plain, read_structure
from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.documents.structure import Structure
    from semqa.quotes import Source
    from semqa.retrieval.encoder import SentenceEncoder

__all__ = ["Units", "embed", "read_units", "texts_of"]

LONGEST_GROUP = 1_200
"""Characters of a paragraph, list or table that are embedded: what an encoder of sentences reads."""

READ_AT_ONCE = 512
"""Texts whose units are kept in memory."""


@dataclass(frozen=True)
class Units:
    """A source as units.

    Attributes:
        title: its title, plain.
        structure: its text and units.
        texts: each unit, plain.
        above: for each unit the plain texts above it, the outermost first: headings, then the
            lead-in, header or question that it belongs to.
        content: indexes of the units that say something and can be quoted.
    """

    title: str
    structure: Structure
    texts: tuple[str, ...]
    above: tuple[tuple[str, ...], ...]
    content: tuple[int, ...]

    @cached_property
    def embedded(self) -> tuple[str, ...]:
        """For each unit what is embedded of it: a row names its columns, others are as they are."""
        out = list(self.texts)
        for i in self.content:
            unit = self.structure.units[i]
            if unit.kind == "row" and unit.over is not None:
                header = map(plain, _cells(self.structure.of(unit.over)))
                row = map(plain, _cells(self.structure.of(i)))
                out[i] = "; ".join(
                    ": ".join(filter(None, both)) for both in zip_longest(header, row)
                )
        return tuple(out)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """For each unit the paragraph, list or table it is in, under its heading."""
        members: dict[int, list[int]] = {}
        for i in self.content:
            members.setdefault(self.structure.units[i].group, []).append(i)
        out = list(self.texts)
        for group in members.values():
            first = self.structure.units[group[0]]
            above = self.above[group[0]]
            head = [above[-1]] if above else []
            if first.over is not None and len(above) > 1:
                head = list(above[-2:])
            text = " ".join([*map(_ended, head), *(self.texts[i] for i in group)])[:LONGEST_GROUP]
            for i in group:
                out[i] = text
        return tuple(out)


def read_units(source: Source) -> Units:
    """Read a source; of the same text the result is kept."""
    return _read(source.text, source.title, source.context)


@lru_cache(maxsize=READ_AT_ONCE)
def _read(text: str, title: str, context: str) -> Units:
    structure = read_structure(text)
    texts = tuple(plain(structure.of(i)) for i in range(len(structure.units)))
    outer = tuple(filter(None, (plain(line) for line in context.split("\n"))))
    above = []
    for unit in structure.units:
        over: list[str] = []
        at = unit.over
        while at is not None and at not in unit.headings:
            over.insert(0, texts[at])
            at = structure.units[at].over
        above.append((*outer, *(texts[h] for h in unit.headings), *over))
    content = tuple(
        i for i, unit in enumerate(structure.units) if unit.kind in CONTENT and texts[i]
    )
    return Units(plain(title), structure, texts, tuple(above), content)


def texts_of(units: Units, indexes: Sequence[int]) -> list[str]:
    """Return what is embedded for some units: themselves, their groups, and what is above them."""
    wanted: dict[str, None] = {}
    for i in indexes:
        wanted.setdefault(units.embedded[i])
        wanted.setdefault(units.groups[i])
        for text in units.above[i]:
            wanted.setdefault(text)
    return list(wanted)


def embed(encoder: SentenceEncoder, question: str, texts: Sequence[str]) -> dict[str, float]:
    """Return the cosine of each text and the question.

    Vectors of texts are kept on disk, if that can be written to; those of questions are not.

    Raises:
        InputError: the model is not usable.
        UnavailableError: it cannot be had, or packages are missing.
    """
    try:
        vectors = encoder.encode(texts)
    except UnavailableError:
        vectors = encoder.embed(texts)  # no cache; or no model, which this says again
    asked = encoder.embed([question])[0]
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(asked)
    near = vectors @ asked / np.maximum(lengths, 1e-12)
    return dict(zip(texts, near.tolist(), strict=True))


def _cells(row: str) -> list[str]:
    """Return the cells of a row of a table, or of comma-separated values.

    Example:
        >>> _cells("| Gas | 4 hours |"), _cells('A1,"Phlox, white",8')
        (['Gas', '4 hours'], ['A1', 'Phlox, white', '8'])
    """
    if "|" in row:
        return [cell.strip() for cell in row.strip().strip("|").split("|")]
    sign = max("\t;,", key=row.count)
    return next(csv.reader([row], delimiter=sign), [])


def _ended(text: str) -> str:
    return text if text[-1:] in ".?!:" else f"{text}."
