"""The text of an answer from documents: sentences, lists and tables of quotes, by source."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from semqa.documents.structure import STRUCK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.engines.extractive.matching import Units
    from semqa.quotes import Source

_NOTE = re.compile(r"\[(?!0\])(?:(?:[^\w\[\]:]|[\d_])*|\^\w{1,9})\](?!\()")
"""The mark of a note, such as [1], but not an index, the text of a link or the time of a message."""
_BETWEEN = re.compile(
    r"(?P<box>(?<!\S)\[[ xX]?\](?=\s+\w))"
    rf"|(?P<note>{_NOTE.pattern})"
    rf"|(?P<struck>{STRUCK.pattern})"
    r"|(?P<link>\[(?=[^\[\]]*\]\()|\](?:\(#[^()\s]*\)|(?=\()))"
    r"|[\[\]]"
)
"""Text that is not quoted: checkboxes, marks of notes, struck-through text, brackets of links and their
targets within the document, other brackets."""

WORD = re.compile(r"[^\w\s\[\]]{,40}\w[^\s\[\]]*")
_BULLET = re.compile(r"[ \t]*[-*+•‣–·][ \t]+")
NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]\s|[A-Z]\)\s")
"""The number or letter of a list item."""

_ITEM_NUMBER = re.compile(r"(\d{1,3})[.)]\s+(?=.*\w)", re.DOTALL)
"""The number before the text of a list item."""

_OUTER_BARS = re.compile(r"[ \t]*+\|?+[ \t]*+(.*?\S)(?:[ \t]*+\|)?+[ \t]*+")
"""The bars around a row, which are not quoted. Bars of empty cells are, to keep columns aligned."""

_EMPHASIS = re.compile(r"(\*\*|__|[*_])(?=[^\s*_])((?:(?!\1).)*)(?<![\s*_])\1", re.DOTALL)
"""Text that is all bold or all italic."""


class Quoted(NamedTuple):
    """A unit of an answer.

    Attributes:
        source: 1-based number of its source.
        start: offset of its first character, after any bullet.
        end: offset after its last character.
        kind: ``sentence``, ``item``, ``row`` or another kind of `semqa.documents.structure`.
        group: number of its paragraph, list or table.
        chance: probability that a person would quote it, or the unit that needs it as context.
    """

    source: int
    start: int
    end: int
    kind: str
    group: int
    chance: float


def quoted_unit(units: Units, number: int, u: int, chance: float) -> Quoted:
    """Return unit `u` of source `number` (from 1), without its bullet, outer bars or emphasis."""
    unit, text = units.structure.units[u], units.structure.text
    start, end = unit.start, unit.end
    if unit.kind in ("row", "header") and (outer := _OUTER_BARS.fullmatch(text, start, end)):
        start, end = outer.span(1)
        over = units.structure.units[unit.over] if unit.over is not None else None
        if unit.kind == "header" and over is not None and over.kind == "header":
            end = start + len(text[start:end].rstrip("| \t"))  # of a section of the table
    elif bullet := _BULLET.match(text, start, end):
        start = bullet.end()
    if inner := _EMPHASIS.fullmatch(text, start, end):
        start, end = inner.span(2)
    return Quoted(number, start, end, unit.kind, unit.group, chance)


def count_words(quoted: Sequence[Quoted], sources: Sequence[Source]) -> int:
    """Count the words of an answer; table bars do not count."""
    return len(WORD.findall(layout(quoted, sources, lambda _source, span: span)))


def layout(
    quoted: Sequence[Quoted],
    sources: Sequence[Source],
    mark: Callable[[int, str], str],
    *,
    signs: bool = True,
) -> str:
    """Return the text of an answer, with each quote as `mark` writes it for its source and words.

    With `signs`, text outside quotes includes square brackets, checkboxes, and the numbers of a list
    that is quoted from its beginning. Otherwise the numbers are quoted, and the rest is left out.
    """
    several = len({sources[each.source - 1].title or each.source for each in quoted}) > 1
    numbered = _numbered_from_one(quoted, sources) if signs else set()
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
        marks = _with_marks(
            text[number.end() if number else 0 :], partial(mark, each.source), signs
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
        goes_on = last is not None and (
            last.kind == "sentence" or (last.kind == "meta" and last.group == each.group)
        )
        if new_source or not goes_on or each.kind != "sentence":
            bullet = each.kind == "item" and each.source not in alone and not NUMBERED.match(text)
            lines.append(f"- {marks}" if bullet else marks)
        else:
            lines[-1] += f" {marks}"
        last = each
    return "\n".join(lines)


def _numbered_from_one(quoted: Sequence[Quoted], sources: Sequence[Source]) -> set[tuple[int, int]]:
    """Return source and group of each list whose quoted items are numbered from 1 without a gap.

    Only these numbers are written outside quotes: others would refer to items that are not shown.
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


def _with_marks(text: str, mark: Callable[[str], str], signs: bool) -> str:
    """Return a text as quotes; empty if it has no letters or digits to quote.

    Struck-through text is left out. With `signs`, square brackets, except those of notes and links,
    are written between the quotes, and checkboxes are shown as ☐ and ☑.
    """
    only_notes = not any(map(str.isalnum, _NOTE.sub("", text)))
    out, at, said = "", len(text) - len(text.lstrip("\\")), False
    while True:
        match = _BETWEEN.search(text, at)
        part = text[at : match.start() if match else len(text)]
        if part[:1].isspace() and out:
            out = f"{out.rstrip()} "
        words = part.strip()
        if any(map(str.isalnum, words)):
            out, said = out + mark(words), True
        elif signs:
            out += words
        if words and part[-1].isspace():
            out += " "
        if match is None:
            return out.strip() if said else ""
        at, between = match.end(), match[0]
        if match["struck"]:
            between = ""
        elif match["box"]:
            between = "☑" if between[1] in "xX" else "☐"
        elif match["link"]:
            between = " " if between == "]" else ""
        elif match["note"]:
            in_code = text.count("`", 0, match.start()) % 2
            between = ""
            if only_notes or in_code:
                at, between = match.start() + 1, "["
            elif not out:  # the note itself
                at += text.startswith(":", at)
        out = out + between if signs and between != " " else f"{out.rstrip()} "


def _quotable(title: str) -> bool:
    return any(map(str.isalnum, title)) and not set("[]") & set(title) and title == title.strip()


def _joined(quoted: Sequence[Quoted], sources: Sequence[Source]) -> list[Quoted]:
    """Merge adjacent sentences of a paragraph or list item into one quote."""
    out: list[Quoted] = []
    for each, after in zip_longest(quoted, quoted[1:]):
        place = each.source, each.group
        if each.kind == "meta" and not _introduces(each, after, sources):
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


def _introduces(meta: Quoted, after: Quoted | None, sources: Sequence[Source]) -> bool:
    """Whether the next quoted unit belongs to the same message as a sender or date."""
    if after is None or after.source != meta.source:
        return False
    if after.kind != "meta":
        return meta.group in (after.group, -1)
    between = sources[meta.source - 1].text[meta.end : after.start].split("\n")[1:-1]
    return meta.group == after.group and all(any(map(str.isalnum, line)) for line in between)
