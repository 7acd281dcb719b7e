"""The text of an answer from documents: sentences, lists and tables of quotes, by source."""

from __future__ import annotations

import re
from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.engines.extractive.matching import Units
    from semqa.quotes import Source

__all__ = ["NUMBERED", "WORD", "Quoted", "count_words", "layout", "quoted_unit"]

_BRACKETS = re.compile(r"[\[\]]+")
_NOTE = re.compile(r"\[(?:[^\w\[\]:]|[\d_])*\](?!\()")
"""The mark of a note, such as [1], but not the text of a link or the time of a message."""

WORD = re.compile(r"[^\s\[\]]*\w[^\s\[\]]*")
_BULLET = re.compile(r"[ \t]*[-*+•‣–·][ \t]+")
NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]\s|[A-Z]\)\s")
"""The number or letter of a list item."""

_ITEM_NUMBER = re.compile(r"(\d{1,3})[.)]\s+(?=.*\w)", re.DOTALL)
"""The number before the text of a list item."""

_OUTER_BARS = re.compile(r"[ \t]*+\|?+[ \t]*+(.*?\S)(?:[ \t]*+\|)?+[ \t]*+")
"""The bars around a row are not quoted; those of empty cells are, so that columns still line up."""


class Quoted(NamedTuple):
    """A unit of an answer.

    Attributes:
        source: 1-based number of its source.
        start: offset of its first character, after any bullet.
        end: offset after its last character.
        kind: ``sentence``, ``item``, ``row`` or another kind of `semqa.documents.structure`.
        group: number of its paragraph, list or table.
        chance: probability that a person would quote it, or the unit that it is quoted for.
    """

    source: int
    start: int
    end: int
    kind: str
    group: int
    chance: float


def quoted_unit(units: Units, number: int, u: int, chance: float) -> Quoted:
    """Return a unit of the source with this 1-based number, without its bullet or outer bars."""
    unit, text = units.structure.units[u], units.structure.text
    start, end = unit.start, unit.end
    if unit.kind in ("row", "header") and (outer := _OUTER_BARS.fullmatch(text, start, end)):
        start, end = outer.span(1)
    elif bullet := _BULLET.match(text, start, end):
        start = bullet.end()
    return Quoted(number, start, end, unit.kind, unit.group, chance)


def count_words(quoted: Sequence[Quoted], sources: Sequence[Source]) -> int:
    """Count the words of an answer; table bars do not count."""
    return len(WORD.findall(layout(quoted, sources, lambda _source, span: span)))


def layout(
    quoted: Sequence[Quoted],
    sources: Sequence[Source],
    mark: Callable[[int, str], str],
    *,
    numbers: bool = True,
) -> str:
    """Return the text of an answer, with each quote as `mark` writes it for its source and words.

    With `numbers`, those of a list that is quoted from its beginning stand before the quotes;
    otherwise they are quoted as well.
    """
    several = len({sources[each.source - 1].title or each.source for each in quoted}) > 1
    numbered = _numbered_from_one(quoted, sources) if numbers else set()
    lines: list[str] = []
    last: Quoted | None = None
    joined = _joined(quoted, sources)
    alone = {
        source for source, count in Counter(each.source for each in joined).items() if count == 1
    }
    for each in joined:
        text = sources[each.source - 1].text[each.start : each.end]
        in_order = each.kind == "item" and (each.source, each.group) in numbered
        number = _ITEM_NUMBER.match(text) if in_order else None
        marks = " ".join(
            mark(each.source, part)
            for part in _quotable_parts(text[number.end() if number else 0 :])
        )
        if not marks:
            continue
        if number:
            marks = f"{number[0].rstrip()} {marks}"
        title = sources[each.source - 1].title
        new_source = last is None or last.source != each.source
        named = last is not None and sources[last.source - 1].title == title
        if new_source and several and not named and _quotable(title):
            lines.append(f"{mark(each.source, title)}:")
        goes_on = last is not None and last.kind in ("sentence", "meta")
        if new_source or not goes_on or each.kind != "sentence":
            bullet = each.kind == "item" and each.source not in alone and not NUMBERED.match(text)
            lines.append(f"- {marks}" if bullet else marks)
        else:
            lines[-1] += f" {marks}"
        last = each
    return "\n".join(lines)


def _numbered_from_one(quoted: Sequence[Quoted], sources: Sequence[Source]) -> set[tuple[int, int]]:
    """Return source and group of each list whose quoted items are numbered from 1 without a gap.

    Only these numbers stand before the quotes: others would claim an order that is not shown.
    """
    numbers: dict[tuple[int, int], list[int]] = {}
    for each in quoted:
        number = _ITEM_NUMBER.match(sources[each.source - 1].text, each.start, each.end)
        if each.kind == "item" and number:
            numbers.setdefault((each.source, each.group), []).append(int(number[1]))
    return {
        place
        for place, found in numbers.items()
        if len(found) > 1 and found == [*range(1, len(found) + 1)]
    }


def _quotable_parts(text: str) -> list[str]:
    """Split a text at square brackets, which a quote must not contain; leave out marks of notes."""
    for each in (_NOTE.sub("[]", text), text):
        parts = [part.strip() for part in _BRACKETS.split(each)]
        if said := [part for part in parts if any(map(str.isalnum, part))]:
            return said
    return []


def _quotable(title: str) -> bool:
    return any(map(str.isalnum, title)) and not _BRACKETS.search(title) and title == title.strip()


def _joined(quoted: Sequence[Quoted], sources: Sequence[Source]) -> list[Quoted]:
    """Merge adjacent sentences of a paragraph or list item into one quote."""
    out: list[Quoted] = []
    for each, after in zip_longest(quoted, quoted[1:]):
        place = each.source, each.group
        if each.kind == "meta" and (after is None or (after.source, after.group) != place):
            continue  # the sender of a message that is left out
        before = out[-1] if out else None
        if (
            before is not None
            and (before.source, before.group) == place
            and before.kind in ("sentence", "item", "meta")
            and each.kind == "sentence"
            and before.end <= each.start
            and not sources[each.source - 1].text[before.end : each.start].strip()
        ):
            out[-1] = before._replace(end=each.end)
        else:
            out.append(each)
    return out
