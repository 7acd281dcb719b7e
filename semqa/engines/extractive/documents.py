"""Answers from documents: the units that answer, with what a reader needs to understand them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.engines.extractive.matching import blend, judge, match, read_units, select
from semqa.quotes.marks import canonical_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from semqa.engines.extractive.matching import Judgement, Match, Model, Units
    from semqa.quotes import QuotedAnswer, Source
    from semqa.retrieval.encoder import SentenceEncoder

__all__ = ["Quoted", "Reading", "are_documents", "choose", "nearest", "rate", "read", "write"]

LONGEST_LIST, LIST_SHARE = 12, 0.4
"""Items of a list that is quoted whole, if this share of it is quoted anyway."""

LEAST_WORDS = 3
"""Words of a part of a question."""

_NEXT_PART = re.compile(
    r"[,;]?\s+and\s+(?=(?:(?:at|by|for|from|in|on|to|until) )?(?:what|which|whom?|when|where|how|why|"
    r"whether|is|are|can|do|does|did|must|may|will|should)\b)|\?\s+(?=\S)",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"[\[\]]+")
_WORD = re.compile(r"[^\s\[\]]*\w[^\s\[\]]*")
_BULLET = re.compile(r"[ \t]*[-*+•‣–·][ \t]+")
_NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]\s|[A-Z]\)\s")
"""How an item begins that brings its own number or letter; bullets are not quoted."""
_PRONOUN = re.compile(r"\W*(?:it|they|he|she)\b", re.IGNORECASE)
_REFERS = re.compile(
    r"\b(?:its?|they|them|their|theirs|this|that|these|those|each|ones?|both|others?|same|such|"
    r"before|after|then|there)\b",
    re.IGNORECASE,
)
"""Words by which a part of a question speaks of another part's subject."""
_LIMITS = re.compile(
    r"\W*(?:however|but|except|unless|otherwise|in that case|only|nor|exceptions?|"
    r"(?:this|these|it|they) (?:does|do) not|the (?:one|only) exception|if (?:it|they|you|not))\b",
    re.IGNORECASE,
)
"""How a sentence begins that limits the one before it."""


class Quoted(NamedTuple):
    """A unit of an answer.

    Attributes:
        source: number of its source, from 1.
        start: offset of its first character, without the bullet of an item.
        end: offset after its last.
        kind: ``sentence``, ``item``, ``row`` or a kind of `semqa.documents.structure`.
        group: number of its paragraph, list or table.
        chance: chance that a person would quote it; 0 for what only makes others understood.
    """

    source: int
    start: int
    end: int
    kind: str
    group: int
    chance: float


class Reading(NamedTuple):
    """Documents as read for one question.

    Attributes:
        found: their units, compared with the question.
        judgement: which of them answer it.
        parts: the parts of a question such as "What is it, and who pays?", each with which of them
            answer it; empty for a question in one part.
    """

    found: Match
    judgement: Judgement
    parts: tuple[tuple[str, Judgement], ...] = ()

    @property
    def answers(self) -> bool:
        """Whether the documents are taken to answer the question, or a part of it."""
        return self.judgement.answers or any(part.answers for _, part in self.parts)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The parts of the question that the documents do not answer, where they answer others."""
        return tuple(text for text, part in self.parts if not part.answers and self.answers)


def are_documents(sources: Sequence[Source]) -> bool:
    """Whether sources are documents or parts of them, and not passages of one paragraph each."""
    return any(source.context or _has_structure(read_units(source)) for source in sources)


def _has_structure(units: Units) -> bool:
    if "\n" not in units.structure.text.strip():
        return False
    found = units.structure.units
    return any(unit.kind != "sentence" for unit in found) or len({unit.group for unit in found}) > 1


def read(
    question: str,
    sources: Sequence[Source],
    encoder: SentenceEncoder | None,
    model: Model | None = None,
) -> Reading:
    """Compare documents with a question.

    Args:
        question: the question.
        sources: the documents.
        encoder: compares by meaning; None compares by words only.
        model: other weights than those that ship.

    Raises:
        InputError: the encoder is not usable.
        UnavailableError: the encoder cannot be had, or packages are missing.
    """
    found = match(question, sources, encoder)
    judgement = judge(found, model)
    parts = _parts(question)
    if len(parts) < 2:
        return Reading(found, judgement)
    judged = []
    for text in parts:
        part = judge(match(text, sources, encoder), model)
        blended = blend(judgement, part)  # a part alone may not say what it is about
        if not _REFERS.search(text):
            blended = replace(blended, relevance=part.relevance)
        judged.append((text, blended))
    return Reading(found, judgement, tuple(judged))


def _parts(question: str) -> list[str]:
    """Return the parts of a question that asks more than one thing.

    Example:
        >>> _parts("How much is the deposit, and when is it due?")
        ['How much is the deposit', 'when is it due']
    """
    parts = (part.strip(" ,;?") for part in _NEXT_PART.split(question))
    return [part for part in parts if len(part.split()) >= LEAST_WORDS]


def nearest(question: str, sources: Sequence[Source], encoder: SentenceEncoder | None) -> float:
    """Return the cosine of the question and the nearest unit or paragraph; 0 without an encoder.

    Raises:
        InputError: the encoder is not usable.
        UnavailableError: the encoder cannot be had, or packages are missing.
    """
    found = match(question, sources, encoder)
    if not found.by_meaning or not found.places:
        return 0.0
    return max(0.0, *(float(found.column(name).max()) for name in ("near", "near_group")))


def rate(
    question: str,
    answer: QuotedAnswer,
    encoder: SentenceEncoder | None,
    reading: Reading | None = None,
) -> QuotedAnswer:
    """Say of each verified quote how likely a person would quote it: as the best unit that it is in.

    Units of documents are compared with those of all of them; passages, which may each have their
    own answer, one by one and by words only. A quote of a title names its source and has no figure.

    Args:
        question: the question.
        answer: the answer.
        encoder: compares by meaning; None compares by words only.
        reading: its sources, which are documents, as they were read for the question.
    """
    units: list[_Rated] = []
    if reading is None and are_documents(answer.sources):
        reading = read(question, answer.sources, encoder)
    if reading is not None:
        units += _rated(reading)
    else:
        for number in {quote.source for quote in answer.quotes if quote.verified}:
            alone = read(question, [answer.sources[number - 1]], None)
            units += (each._replace(source=number) for each in _rated(alone))
    figures = []
    for quote in answer.quotes:
        named = quote.verified and quote.text == answer.sources[quote.source - 1].title
        places = () if named else quote.occurrences
        figures.append(
            max(
                (
                    each.chance
                    for each in units
                    for place in places
                    if each.source == quote.source and place.field == "body"
                    if place.start < each.end and each.start < place.end
                ),
                default=None,
            )
        )
    return answer.with_relevance(figures, reading.unanswered if reading is not None else ())


class _Rated(NamedTuple):
    source: int
    start: int
    end: int
    chance: float


def _rated(reading: Reading) -> Iterator[_Rated]:
    judged = [part for _, part in reading.parts if part.answers] or [reading.judgement]
    relevance = np.max([judgement.relevance for judgement in judged], axis=0)
    for chance, (s, u) in zip(relevance.tolist(), reading.found.places, strict=True):
        unit = reading.found.sources[s].structure.units[u]
        yield _Rated(s + 1, unit.start, unit.end, chance)


def choose(reading: Reading, sources: Sequence[Source], max_words: int) -> list[Quoted]:
    """Return the units that an answer quotes: of the best document first, each in reading order.

    The most certain come first, each with what it needs to be understood; what makes the answer
    longer than `max_words` is left out, but for the first. What is missing of lists comes last.
    """
    found, chances = reading.found, reading.judgement.chances
    rows = _chosen(reading)
    chosen = {found.places[row] for row in rows}
    wanted: dict[tuple[int, int], float] = {}
    said: set[str] = set()

    def add(place: tuple[int, int], chance: float) -> None:
        s, u = place
        more = {(s, needed): 0.0 for needed in _needed(found.sources[s], u)}
        members = [(s, member) for member in _members(found.sources[s], u)]
        if not chosen.intersection(members):  # a lead-in alone says nothing
            more |= dict.fromkeys(members, 0.0)
        longer = more | wanted | {place: chance}
        if not wanted or _length(_in_order(found, longer), sources) <= max_words:
            wanted.update(longer)

    for row in sorted(rows, key=lambda row: -chances[row]):
        s, u = found.places[row]
        text = found.sources[s].texts[u].lower()
        if text not in said:  # the same sentence may be in several documents
            add((s, u), float(chances[row]))
        said.add(text)
    for place in _rest_of_lists(found, wanted):
        add(place, wanted.get(place, 0.0))
    return _in_order(found, wanted)


def _in_order(found: Match, wanted: Mapping[tuple[int, int], float]) -> list[Quoted]:
    # Passages of one document have its title; they stay together.
    titles = [units.title or s for s, units in enumerate(found.sources)]
    best: dict[str | int, float] = {}
    for (s, _), chance in wanted.items():
        best[titles[s]] = max(best.get(titles[s], 0.0), chance)
    in_order = sorted(
        wanted, key=lambda at: (-best[titles[at[0]]], titles.index(titles[at[0]]), at)
    )
    return [_quoted(found.sources[s], s + 1, u, wanted[s, u]) for s, u in in_order]


def _chosen(reading: Reading) -> list[int]:
    """Return the rows to quote, for each part of the question what answers it."""
    answered = [part for _, part in reading.parts if part.answers] or [reading.judgement]
    return list(dict.fromkeys(row for judgement in answered for row in select(judgement)))


def _members(units: Units, lead: int) -> list[int]:
    """Return the items or rows of the short list or table that a unit leads to."""
    found = units.structure.units
    led = [u for u, unit in enumerate(found) if unit.over == lead and unit.kind in ("item", "row")]
    return led if len(led) <= LONGEST_LIST else []


def _rest_of_lists(
    found: Match, wanted: Mapping[tuple[int, int], float]
) -> Iterator[tuple[int, int]]:
    """Yield the items of short lists of which a good part is quoted: half a list misleads."""
    quoted = {
        (s, unit.group)
        for s, u in wanted
        if (unit := found.sources[s].structure.units[u]).kind == "item"
    }
    for s, group in sorted(quoted):
        units = found.sources[s].structure.units
        members = [
            (s, u) for u, unit in enumerate(units) if unit.group == group and unit.kind == "item"
        ]
        if len(members) <= LONGEST_LIST and (
            len(wanted.keys() & set(members)) >= LIST_SHARE * len(members)
        ):
            yield from members


def _needed(units: Units, u: int) -> list[int]:
    """Return the units without which a unit is not understood, or misleads."""
    found = units.structure.units
    out = []
    over = found[u].over
    while over is not None:
        out.append(over)
        over = found[over].over
    before = _neighbour(units, u, -1)
    if before is not None and _PRONOUN.match(units.texts[u]):
        out.append(before)
    after = _neighbour(units, u, 1)
    if after is not None and _LIMITS.match(units.texts[after]):
        out.append(after)
    return out


def _neighbour(units: Units, u: int, step: int) -> int | None:
    found = units.structure.units
    other = u + step
    if 0 <= other < len(found) and found[other].group == found[u].group != -1:
        return other
    return None


def _quoted(units: Units, number: int, u: int, chance: float) -> Quoted:
    unit, text = units.structure.units[u], units.structure.text
    start, end = unit.start, unit.end
    if unit.kind in ("row", "header"):
        while start < end and text[start] in "| \t":
            start += 1
        while end > start and text[end - 1] in "| \t":
            end -= 1
    elif bullet := _BULLET.match(text, start, end):
        start = bullet.end()
    return Quoted(number, start, end, unit.kind, unit.group, chance)


def write(reading: Reading, sources: Sequence[Source], max_words: int) -> str:
    """Write an answer as marked text: paragraphs, lists and tables, each source under its title.

    A title is quoted if there are several; passages of one document have the same. At least one unit
    is quoted, cut if it is longer than the answer may be. Empty if there is no unit.
    """
    kept = choose(reading, sources, max_words)
    while len(kept) > 1 and _length(kept, sources) > max_words:
        kept.remove(min(kept, key=lambda each: (each.chance, -each.start)))
    if len(kept) == 1:
        text = sources[kept[0].source - 1].text
        words = list(_WORD.finditer(text, kept[0].start, kept[0].end))
        count = min(max_words, len(words))
        while count and _length(kept, sources) > max_words:
            kept = [kept[0]._replace(start=words[0].start(), end=words[count - 1].end())]
            count -= 1
        if kept[0].kind == "item":
            kept = [kept[0]._replace(kind="sentence")]  # one item is no list
    return _text(kept, sources, canonical_mark)


def _length(quoted: Sequence[Quoted], sources: Sequence[Source]) -> int:
    """Count the words of an answer; the bars of a table are none."""
    return len(_WORD.findall(_text(quoted, sources, lambda _source, span: span)))


def _text(
    quoted: Sequence[Quoted], sources: Sequence[Source], mark: Callable[[int, str], str]
) -> str:
    several = len({sources[each.source - 1].title or each.source for each in quoted}) > 1
    lines: list[str] = []
    last: Quoted | None = None
    for each in _joined(quoted, sources):
        text = sources[each.source - 1].text[each.start : each.end]
        marks = " ".join(mark(each.source, part) for part in _quotable_parts(text))
        if not marks:
            continue
        title = sources[each.source - 1].title
        new_source = last is None or last.source != each.source
        named = last is not None and sources[last.source - 1].title == title
        if new_source and several and not named and _quotable(title):
            lines.append(f"{mark(each.source, title)}:")
        if last is None or new_source or (last.kind, each.kind) != ("sentence", "sentence"):
            bullet = each.kind == "item" and not _NUMBERED.match(text)
            lines.append(f"- {marks}" if bullet else marks)
        else:
            lines[-1] += f" {marks}"
        last = each
    return "\n".join(lines)


def _quotable_parts(text: str) -> list[str]:
    """Return what can be quoted of a text: no quote holds a square bracket."""
    parts = [part.strip() for part in _BRACKETS.split(text)]
    telling = [part for part in parts if any(map(str.isalpha, part))]
    return telling or [part for part in parts if any(map(str.isalnum, part))]


def _quotable(title: str) -> bool:
    return any(map(str.isalnum, title)) and not _BRACKETS.search(title) and title == title.strip()


def _joined(quoted: Sequence[Quoted], sources: Sequence[Source]) -> list[Quoted]:
    """Make one quote of sentences that follow each other in a paragraph."""
    out: list[Quoted] = []
    for each in quoted:
        before = out[-1] if out else None
        if (
            before is not None
            and (before.source, before.group) == (each.source, each.group)
            and before.kind == each.kind == "sentence"
            and before.end <= each.start
            and not sources[each.source - 1].text[before.end : each.start].strip()
        ):
            out[-1] = before._replace(end=each.end)
        else:
            out.append(each)
    return out
