"""Answers from documents: the units that answer, plus the context a reader needs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from semqa.engines.extractive.answerable import answered_features, chance_answered, has_kinds
from semqa.engines.extractive.asked import (
    MONTH,
    NEXT_PART,
    missing_names,
    named_documents,
    parts_of,
    series_of,
)
from semqa.engines.extractive.choosing import choose
from semqa.engines.extractive.direct import ASKS_HOW
from semqa.engines.extractive.judging import SHARE, blend, judge, select
from semqa.engines.extractive.layout import WORD, Quoted, count_words, layout, quoted_unit
from semqa.engines.extractive.matching import (
    DURATION,
    match,
    question_terms,
    read_units,
)
from semqa.quotes.marks import canonical_mark
from semqa.quotes.words import function_words, language_of, question_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from semqa.engines.extractive.judging import Judgement, Model
    from semqa.engines.extractive.matching import Match, Units
    from semqa.quotes import Quote, QuotedAnswer, Source
    from semqa.retrieval.encoder import SentenceEncoder

_WORDS = re.compile(r"[^\W_]+")

UNSURE = 0.4
"""Chance that documents do not answer if the quotes lack the kind of answer asked for. The answer then
gets no tick, but the engine does not abstain, because the answer may be worded differently."""

MOST_BESIDE = 10
"""Number of units around the best one that may answer a part such as "and when is it?"."""

MANY_LINES = 6
"""A text with this many lines, at least half of which begin a sentence, is a document."""

PART_LEAST, PART_MOST = 0.02, 0.65
"""`Judgement.least` and `most` for parts of a question of which some part is answered.

Measured with the previous trees: of 120 unanswerable parts, made from traps, 20 were reported as
missing and 22 as doubtful; of 148 answerable parts, 3 and 11.
"""

NEAR = {"tuned": 0.42, "meaning": 0.45}
"""Minimum cosine of a near text, by `Match.judged_by`. Of the 45 questions in QuoteSum's dev_a, 39 and
45 reach it with their own sources; of 90 pairs of a question and another's sources, one does."""

MOST_CONTENDERS, CONTENDS = 10, 0.2
"""Maximum number of units that a language model chooses from, and their minimum probability relative
to the best one."""

_WHEN = re.compile(
    r"\b(?:\d{1,2}[:.]\d\d|\d{1,2} ?[ap]\.?m|(?:19|20)\d\d|noon|midnight|daily|weekly|"
    rf"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|{MONTH})\b"
)
_FOLLOW_UPS = (
    (
        re.compile(r"\bwhen\b", re.IGNORECASE),
        re.compile(f"{_WHEN.pattern}|(?i:{DURATION.pattern})"),
    ),
    (re.compile(r"\bhow much\b", re.IGNORECASE), re.compile(r"[£$€\d]")),
    (re.compile(r"\bhow long\b", re.IGNORECASE), DURATION),
)
"""Patterns of parts of a question, each with the pattern of an answer."""

_REFERS = re.compile(
    r"\b(?:its?|they|them|their|theirs|this|that|these|those|each|ones?|both|others?|same|such|"
    r"before|after|then|there|his|her|how many (?:can|could|do|does|may|must|of|should|will))\b",
    re.IGNORECASE,
)
"""Words by which one part of a question refers to the subject of another."""

_IT = re.compile(r"\b(?:it|its|they|them|their)\b", re.IGNORECASE)

MOST_DOCUMENTS = 20
"""Maximum number of documents to compare with the question one by one, too."""

ALONE = 0.5
"""Minimum relevance of the best unit of a document, judged alone, to be quoted with others."""

_ASKS_OF_SEVERAL = re.compile(
    r"\b(?:all|any of|both|compare\w*|differ\w*|each|every\w*|same|which of)\b",
    re.IGNORECASE,
)
"""Matches a question about several documents."""

OUTSIDE = 0.35
"""Factor of the probability of units for a part with "it" if another section answers the first part."""


class Reading(NamedTuple):
    """Documents matched against one question.

    Attributes:
        found: their units, compared with the question.
        judgement: which units answer the question.
        parts: each part of a question such as "What is it, and who pays?", with its judgement;
            empty if the question has only one part.
    """

    found: Match
    judgement: Judgement
    parts: tuple[tuple[str, Judgement], ...] = ()

    @property
    def answers(self) -> bool:
        """Whether the documents answer the question or a part of it, according to the model."""
        return self.judgement.answers or any(part.answers for _, part in self.parts)

    @property
    def judged(self) -> list[Judgement]:
        """The judgements of the answered parts, or else of the whole question."""
        return [judgement for _, judgement in self._asked]

    @property
    def _asked(self) -> list[tuple[str, Judgement]]:
        """The answered parts, or else the whole question, each with its judgement."""
        answered = [(text, part) for text, part in self.parts if part.answers]
        return answered or [(self.found.question, self.judgement)]

    @property
    def chances(self) -> NDArray[np.float64]:
        """The highest probability of each unit in these judgements; shape [rows]."""
        highest: NDArray[np.float64] = np.max([each.chances for each in self.judged], axis=0)
        return highest

    @property
    def answerable(self) -> float | None:
        """The estimated chance that the documents answer the question.

        None if only words were compared, unless the kind of answer asked for is missing.
        """
        if not self.has_kinds:
            return 1.0 - max(self._unanswerable, UNSURE)
        if not self.found.by_meaning:
            return None
        if not self._unanswerable:  # a unit has the form of an answer
            return 1.0
        return chance_answered(self.answered_features)

    @property
    def has_kinds(self) -> bool:
        """Whether the chosen units have the kinds of answer asked for, such as a price."""
        return all(
            has_kinds(text, Reading(self.found, part)._quoted_texts) for text, part in self._asked
        )

    @property
    def answered_features(self) -> tuple[float, float, float]:
        """The features of the chance that the chosen units answer the question."""
        rows = self._rows
        relevance = max(float(each.relevance[rows].max()) for each in self.judged)
        return answered_features(
            self.found.question, self._unanswerable, relevance, self._quoted_texts
        )

    @property
    def quoted(self) -> list[Quoted]:
        """The units to quote, with their context."""
        return choose(self.found, self._rows, self.judgement.chances)

    @property
    def _rows(self) -> list[int]:
        """The rows that answer each part of the question."""
        chosen = (row for judgement in self.judged for row in select(judgement.chances))
        return list(dict.fromkeys(chosen))

    @property
    def _quoted_texts(self) -> list[str]:
        sources = self.found.sources
        return [
            sources[each.source - 1].structure.text[each.start : each.end] for each in self.quoted
        ]

    @property
    def _unanswerable(self) -> float:
        return max(judgement.unanswerable for _, judgement in self._asked)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The parts of the question that the documents do not answer if they answer others.

        That includes codes and names, such as "E41" and "Kenya", that are in none of the documents.
        """
        if not self.answers:
            return ()
        texts = [f"{units.title} {units.structure.text}" for units in self.found.sources]
        parts = (text for text, part in self.parts if not part.answers)
        return (*parts, *missing_names(self.found.question, texts))


def are_documents(sources: Sequence[Source]) -> bool:
    """Whether sources are documents or excerpts, not passages of one paragraph each."""
    return any(source.context or _has_structure(read_units(source)) for source in sources)


def _has_structure(units: Units) -> bool:
    text, found = units.structure.text, units.structure.units
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2:
        return False
    begun = sum(text[unit.start - 1 : unit.start] == "\n" for unit in found)
    if len(lines) >= MANY_LINES and 2 * begun >= len(lines):
        return True  # not the lines of one paragraph
    return any(unit.kind != "sentence" for unit in found) or len({unit.group for unit in found}) > 1


def read(
    question: str,
    sources: Sequence[Source],
    encoder: SentenceEncoder | None,
    model: Model | None = None,
    *,
    by_part: bool = True,
) -> Reading:
    """Compare documents with a question; see `match` for errors.

    Args:
        encoder: compares by meaning; None to compare words only.
        model: replaces the model that ships with the package.
        by_part: judge each part of the question as well.
    """
    question = " ".join(question.split())
    kept = named_documents(question, [read_units(source) for source in sources])
    found = _match(question, sources, kept, encoder)
    judgement = judge(found, model)
    parts = parts_of(question) if by_part else []
    if len(parts) < 2:
        judgement = _each_document(found, judgement, kept, sources, encoder, model)
        reading = Reading(found, judgement)
        return _follow_up(reading, sources) if by_part else reading
    judged: list[tuple[str, Judgement]] = []
    for text in parts:
        part = judge(_match(text, sources, kept, encoder), model)
        blended = blend(judgement, part)  # a part alone may not name its subject
        if not _REFERS.search(text):
            blended = replace(blended, relevance=part.relevance, unanswerable=part.unanswerable)
        elif judged and _IT.search(text):
            blended = _beside(found, judged[0][1], blended)
        judged.append((text, blended))
    if judgement.answers or any(part.answers for _, part in judged):
        judged = [(text, _lenient(part)) for text, part in judged]
    return _follow_up(Reading(found, judgement, tuple(judged)), sources)


def _match(
    question: str, sources: Sequence[Source], kept: Sequence[int], encoder: SentenceEncoder | None
) -> Match:
    """Compare some of the sources with a question, without the others."""
    found = match(question, [sources[s] for s in kept], encoder)
    places = tuple((kept[s], u) for s, u in found.places)
    return replace(found, sources=tuple(map(read_units, sources)), places=places)


def _each_document(
    found: Match,
    judgement: Judgement,
    kept: Sequence[int],
    sources: Sequence[Source],
    encoder: SentenceEncoder | None,
    model: Model | None,
) -> Judgement:
    """Raise the best unit of each document that answers the question by itself, so that it is quoted.

    Next to a better answer from another document, it would seem worse than it is. This applies to
    questions about several documents, and to documents that are newer than a quoted one of their
    series.
    """
    documents: dict[str | int, list[int]] = {}
    for s in kept:
        documents.setdefault(found.sources[s].title or s, []).append(s)
    if not found.by_meaning or not 1 < len(documents) <= MOST_DOCUMENTS:
        return judgement
    quoted = {found.places[row][0] for row in select(judgement.chances)}
    of_several = _ASKS_OF_SEVERAL.search(found.question) is not None
    series = series_of(found.question, [units.title for units in found.sources])
    chances, relevance = judgement.chances.copy(), judgement.relevance.copy()
    for title, members in documents.items():
        newer = title in series and any(
            series[title] > series[older]
            for s in quoted
            if (older := found.sources[s].title) in series and series[older][0] == series[title][0]
        )
        if not quoted.isdisjoint(members) or not (of_several or newer):
            continue
        alone = _match(found.question, sources, members, encoder)
        if (own := judge(alone, model)).answers:
            best = int(own.chances.argmax())
            if own.relevance[best] >= ALONE:
                row = found.places.index(alone.places[best])
                chances[row] = max(chances[row], SHARE * float(judgement.chances.max()))
                relevance[row] = max(relevance[row], own.relevance[best])
    return replace(judgement, chances=chances, relevance=relevance)


def _beside(found: Match, first: Judgement, part: Judgement) -> Judgement:
    """For a part that refers to the subject of the first part, prefer the section that answers that."""
    sections = [(s, found.unit(row).headings) for row, (s, _) in enumerate(found.places)]
    here = sections[int(first.chances.argmax())]
    factors = np.array([1.0 if section == here else OUTSIDE for section in sections])
    return replace(part, chances=part.chances * factors)


def _lenient(part: Judgement) -> Judgement:
    return replace(part, least=min(part.least, PART_LEAST), most=max(part.most, PART_MOST))


def _follow_up(reading: Reading, sources: Sequence[Source]) -> Reading:
    """Answer parts without words to search for, such as "and when is it?".

    If the quotes do not answer such a part, the nearest unit in their section that does is quoted.
    """
    question = reading.found.question
    first, *others = NEXT_PART.split(question)
    parts = list(reading.parts)
    for part in others:
        text = part.strip(" ,;?")
        kind = next((kind for asks, kind in _FOLLOW_UPS if asks.search(text)), None)
        if kind is None or question_terms(text) or not reading.answers:
            continue
        quoted = reading.quoted
        if any(kind.search(sources[each.source - 1].text, each.start, each.end) for each in quoted):
            continue
        whole, found = reading.judgement, reading.found
        best = int(whole.chances.argmax())
        chances = np.zeros_like(whole.chances)
        here = found.places[best][0], found.unit(best).headings
        for row in sorted(range(len(chances)), key=lambda row: abs(row - best))[:MOST_BESIDE]:
            section = found.places[row][0], found.unit(row).headings
            if section == here and kind.search(found.texts[row]):
                chances[row] = whole.chances[best] / 2
                break
        parts = parts or [(first, whole)]
        parts.append((text, replace(whole, chances=chances, relevance=chances, unanswerable=0.0)))
    return reading._replace(parts=tuple(parts))


def is_near(question: str, sources: Sequence[Source], encoder: SentenceEncoder | None) -> bool:
    """Return whether a unit or paragraph is near the question; False without an encoder."""
    found = match(question, sources, encoder)
    if not found.by_meaning or not found.places:
        return False
    cosine = max(float(found.column(name).max()) for name in ("near", "near_group"))
    return cosine >= NEAR[found.judged_by]


def rate(
    question: str,
    answer: QuotedAnswer,
    encoder: SentenceEncoder | None,
    reading: Reading | None = None,
) -> QuotedAnswer:
    """Add to each verified quote the probability that a person would quote it.

    This is the probability of the best unit that overlaps the quote. Documents are compared with the
    question together. Passages are compared by words only and one at a time, because each may have
    its own answer. A quote of a title only names its source and gets None. If no quote says more
    than the question does, it gets the probability of the source's best unit. Fragments that only
    repeat words of the question get 0 if nothing else is quoted.

    Args:
        encoder: compares by meaning; None to compare words only.
        reading: the answer's sources as already read for the question, if they are documents.
    """
    if reading is None and are_documents(answer.sources):
        reading = read(question, answer.sources, encoder)
    units: dict[int, _Rated] = {}
    if reading is not None:
        units = _rate_units(reading)
    else:
        for number in {quote.source for quote in answer.quotes if quote.verified}:
            units[number] = _rate_units(read(question, [answer.sources[number - 1]], None))[1]
    asked = question_words(question) | function_words(language_of(question))
    kinds = [_kind(quote, answer.sources, asked) for quote in answer.quotes]
    relevance: list[float | None] = []
    for quote, kind in zip(answer.quotes, kinds, strict=True):
        found = None
        if kind == "title":
            if "told" not in kinds:
                found = units[quote.source].best(0, len(answer.sources[quote.source - 1].text))
        elif quote.source_start is not None and quote.source_end is not None:
            found = units[quote.source].best(quote.source_start, quote.source_end)
            part = units[quote.source].is_part(quote.source_start, quote.source_end)
            if kind == "asked" and part and not {"told", "title"} & {*kinds}:
                found = 0.0
        relevance.append(found)
    if reading is None:
        return answer.with_relevance(relevance)
    return answer.with_relevance(relevance, reading.unanswered, reading.answerable)


def _kind(
    quote: Quote, sources: Sequence[Source], asked: AbstractSet[str]
) -> Literal["told", "title", "asked"] | None:
    """Return whether a verified quote is a title, has only words of the question, or tells more."""
    if not quote.verified:
        return None
    if quote.field == "title" or quote.text == sources[quote.source - 1].title:
        return "title"
    words = _WORDS.findall(quote.text)
    return "asked" if all(w in asked or w.lower() in asked for w in words) else "told"


class _Rated(NamedTuple):
    """The units of a source, in order, and the chance of each; shape [units]."""

    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    chances: NDArray[np.float64]

    def best(self, start: int, end: int) -> float | None:
        """Return the highest chance of a unit that overlaps ``[start, end)``; None if no unit does."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, end, side="left"))
        return float(self.chances[first:last].max()) if first < last else None

    def is_part(self, start: int, end: int) -> bool:
        """Return whether ``[start, end)`` is part of a unit, not all of it (except for its final mark)."""
        within = (self.starts <= start) & (end <= self.ends)
        whole = (self.starts == start) & (self.ends - 1 <= end)
        return bool(np.any(within & ~whole))


def _rate_units(reading: Reading) -> dict[int, _Rated]:
    """Return the units of each source by its 1-based number."""
    highest = np.max([judgement.relevance for judgement in reading.judged], axis=0)
    relevance = dict(zip(reading.found.places, highest.tolist(), strict=True))
    out = {}
    for s, units in enumerate(reading.found.sources):
        found = [units.structure.units[u] for u in units.content]
        starts = np.array([unit.start for unit in found], dtype=np.intp)
        ends = np.array([unit.end for unit in found], dtype=np.intp)
        chances = np.array([relevance.get((s, u), 0.0) for u in units.content])
        out[s + 1] = _Rated(starts, ends, chances)
    return out


def contenders(reading: Reading, sources: Sequence[Source]) -> dict[int, str]:
    """Return the rows that a language model may choose from, likeliest first, as marked text."""
    chances = reading.chances
    order = np.argsort(-chances, kind="stable")[:MOST_CONTENDERS].tolist()
    places = reading.found.places
    out = {}
    for row in order:
        s, u = places[row]
        if chances[row] >= CONTENDS * float(chances.max()):
            unit = quoted_unit(reading.found.sources[s], s + 1, u, 0.0)
            out[row] = layout([unit], sources, canonical_mark, signs=False)
    return {row: text for row, text in out.items() if text}


def weigh(reading: Reading, log_odds: Mapping[int, float]) -> Reading:
    """Add to the log odds that rows are quoted."""
    rows = [*log_odds]

    def weighed(judgement: Judgement) -> Judgement:
        chances = judgement.chances.copy()
        odds = np.exp([log_odds[row] for row in rows]) * chances[rows]
        chances[rows] = odds / (1.0 - chances[rows] + odds)
        return replace(judgement, chances=chances)

    parts = tuple((text, weighed(part)) for text, part in reading.parts)
    return reading._replace(judgement=weighed(reading.judgement), parts=parts)


def write(
    reading: Reading, sources: Sequence[Source], max_words: int, *, signs: bool = True
) -> str:
    """Write an answer as marked text: paragraphs, lists and tables, grouped by source.

    Titles are quoted if the answer has more than one; passages of one document share a title. At
    least one unit is quoted, and cut if it exceeds `max_words`. Empty if there are no units. For
    `signs` see `layout`.
    """
    kept = reading.quoted
    if any(each.kind == "item" for each in kept) or ASKS_HOW.match(reading.found.question):
        max_words = max_words * 3 // 2  # items or steps that were left out would mislead
    while len(kept) > 1 and count_words(kept, sources) > max_words:
        least = min(each.chance for each in kept)
        # A unit and its context, such as the header of a row, have the same chance and go together.
        if better := [each for each in kept if each.chance > least]:
            kept = better
        else:
            kept.remove(min(kept, key=lambda each: (each.kind != "header", -each.start)))
    if len(kept) == 1:
        text = sources[kept[0].source - 1].text
        words = list(WORD.finditer(text, kept[0].start, kept[0].end))
        count = min(max_words, len(words))
        while count and count_words(kept, sources) > max_words:
            kept = [kept[0]._replace(start=words[0].start(), end=words[count - 1].end())]
            count -= 1
        if kept[0].kind == "item":
            kept = [kept[0]._replace(kind="sentence")]  # a single item is not a list
    return layout(kept, sources, canonical_mark, signs=signs)
