"""Answers from documents: the units that answer, plus the context a reader needs."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.documents.structure import AMOUNT, DECIDES, NEGATES
from semqa.engines.extractive.answerable import kinds_of_answer
from semqa.engines.extractive.direct import ASKS_HOW, missing_names
from semqa.engines.extractive.judging import blend, judge, select
from semqa.engines.extractive.matching import (
    DURATION,
    TIME,
    match,
    question_terms,
    read_units,
)
from semqa.quotes.marks import canonical_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.judging import Judgement, Model
    from semqa.engines.extractive.matching import Match, Units
    from semqa.quotes import QuotedAnswer, Source
    from semqa.retrieval.encoder import SentenceEncoder

__all__ = ["Quoted", "Reading", "are_documents", "choose", "is_near", "rate", "read", "write"]

LONGEST_LIST, LIST_SHARE, SAYS = 12, 0.4, 0.5
"""A list of at most this many items is quoted whole if this share of it is quoted anyway, or if the
text above it is nearer to the question than this cosine."""

MOST_INSTRUCTIONS = 8
"""Maximum number of instructions to quote around one."""

MOST_BESIDE = 10
"""Number of units around the best one in which a part such as "and when is it?" may be answered."""

MOST_THINGS = 6
"""Maximum number of things of a question "… at home, at school and at work"."""

LEAST_WORDS = 3
"""Minimum number of words in a part of a question."""

NEAR = {"tuned": 0.40, "meaning": 0.45}
"""Minimum cosine of a near text, by `Match.judged_by`. Of the 45 questions in QuoteSum's dev_a, 42 and
45 reach it with their own sources; of 90 pairs of a question and another's sources, 2 and 1 do."""

_NEXT_PART = re.compile(
    r"[,;]?\s+and\s+(?=(?:(?:at|by|for|from|in|on|to|until) )?(?:what|which|whom?|when|where|how|why|"
    r"whether|is|are|can|do|does|did|must|may|will|should)\b)|\?\s+(?=\S)",
    re.IGNORECASE,
)
_FOLLOW_UPS = (
    (re.compile(r"\bwhen\b", re.IGNORECASE), TIME),
    (re.compile(r"\bhow much\b", re.IGNORECASE), re.compile(r"[£$€\d]")),
    (re.compile(r"\bhow long\b", re.IGNORECASE), DURATION),
)
"""What parts of a question ask, and what an answer to them has."""
_AND = re.compile(r",? and (at|by|for|from|in|on|to|with) ", re.IGNORECASE)
"""Between the last of several things and the others, as in "at home, at school and at work"."""
_ASKS = re.compile(r"\b(?:what|which|who|whom?|when|where|why|how)\b", re.IGNORECASE)
_ASKS_WHICH = re.compile(
    r"\W*(?:(?:at|for|from|in|on|to|with) )?(?:which|whose|who)\b", re.IGNORECASE
)
_ASKS_FOR_ALL = re.compile(
    r"\A(?>.*?\b(?:what|which)\b).*\b(?:must|should|may|can|need|allowed|are)\b",
    re.IGNORECASE | re.DOTALL,
)
"""A question for all items of a list, such as "What should we pack?"."""
_BRACKETS = re.compile(r"[\[\]]+")
_NOTE = re.compile(r"\[(?:[^\w\[\]]|[\d_])*\](?!\()")
"""The mark of a note, such as [1], but not the text of a link."""
_WORD = re.compile(r"[^\s\[\]]*\w[^\s\[\]]*")
_BULLET = re.compile(r"[ \t]*[-*+•‣–·][ \t]+")
_NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]\s|[A-Z]\)\s")
"""The number or letter of a list item."""
_ITEM_NUMBER = re.compile(r"(\d{1,3})[.)]\s+(?=.*\w)", re.DOTALL)
"""The number before the text of a list item."""
_OUTER_BARS = re.compile(r"[ \t]*+\|?+[ \t]*+(.*?\S)(?:[ \t]*+\|)?+[ \t]*+")
"""The bars around a row are not quoted; those of empty cells are, so that columns still line up."""
_PRONOUN = re.compile(
    r"\W*(?:(?:(?:after|as soon as|once|until|when) )?(?:it|they|he|she)\b|"
    r"(?:then|otherwise|after that|in that case)\b|"
    r"to \w+ (?:it|them|one)\b|during (?:the|this|that) (?:period|time|works?)\b|"
    r"(?:you|we) (?:can|may|must|need not|should) \w+ (?:it|them)\b|"
    r"(?!(?:as|because|but|did|does|has|if|is|once|since|so|that|was|when|while)\b)[a-z]+ (?:it|them)\b)",
    re.IGNORECASE,
)
"""A sentence about something named in the one before it, such as "It is red" or "Turn it off"."""
_REFERS = re.compile(
    r"\b(?:its?|they|them|their|theirs|this|that|these|those|each|ones?|both|others?|same|such|"
    r"before|after|then|there|his|her|how many (?:can|could|do|does|may|must|of|should|will))\b",
    re.IGNORECASE,
)
"""Words by which one part of a question refers to the subject of another."""
_INSTRUCTS = re.compile(
    r"\W*(?:(?:to|if|when|once|after|before|for|with|in|on|at)\b[^.?!]{,80}?, )?"
    r"(?:(?:first|then|next|now|finally|please|always|never|don['’]t|do not)[,:]? ){,2}"
    r"(?:add|adjust|apply|ask|attach|break|bring|call|change|check|choose|clean|clear|click|close|"
    r"connect|contact|count|cover|cut|dial|disconnect|drain|drop|dry|empty|enter|fill|find|fit|fold|"
    r"follow|get|give|go|hang|heat|hold|insert|install|keep|lay|leave|let|lift|load|lock|look|make|"
    r"mix|move|note|open|pack|pay|pick|place|plug|pour|press|print|pull|push|put|raise|read|release|"
    r"remember|remove|repeat|replace|ring|rinse|rub|run|save|screw|seal|select|send|set|shake|show|"
    r"shut|sign|slide|start|stir|stop|store|submit|switch|take|tap|tell|tick|tie|tighten|turn|type|"
    r"unlock|unplug|unscrew|use|wait|walk|wash|wipe|wrap|write)\b"
    r"|.*\b(?:do not|don['’]t|(?:has|have) to|must|should)\b",
    re.IGNORECASE,
)
"""A sentence that tells the reader to do something."""
_ASKS_OR_DENIES = re.compile(r"\?$|^\W*(?:(?-i:[A-Z])[\w. ]{,20}: ?)?no,", re.IGNORECASE)
"""A sentence that is unclear without the one after it, such as "No, there were not 400"."""
_ASKED = re.compile(
    r"\b(?:asked|enquired|inquired|queried|questioned|wanted to know)\b", re.IGNORECASE
)
_REPLIED = re.compile(
    r"[^,.;]{,60}\b(?:answered|confirmed|explained|promised|replied|responded|said)\b",
    re.IGNORECASE,
)
"""The sentence after "Ann asked whether …"."""
_CASE = re.compile(
    r"\b(?:or (?:earlier|fewer|later|less|longer|more)|(?:earlier|fewer|later|less|longer|more) than|"
    r"at least|between|up to)\b[^.:]{,40}: \S",
    re.IGNORECASE,
)
"""One of several cases, such as "Less than three days: the full fee."; it needs the others."""
_QUALIFIES = re.compile(
    r"^\W*(?:however|but|except|unless|otherwise|in that case|only|not|nor|exceptions?|"
    r"(?:above|below|beyond|over|under) (?:that|this)|\w+ never(?=\W*$)|"
    r"(?:this|these|it|they) (?:are|do|does|is|was|were) not|if (?:it|they|you|not))\b|"
    r"\b(?:do|does)(?:n['’]t| not) (?:apply|cover|include)\b|"
    r"\b(?:is|are) (?:an |the (?:one |only )?)?exceptions?\b|\bthe (?:one|only) exception\b|"
    r"\b(?:not |un)affected\b|\b(?:is|are) (?:waived|exempt|excluded)\b",
    re.IGNORECASE,
)
"""A sentence that qualifies the one before it."""


_SPECIAL_CASE = re.compile(
    r"\W*(?:at|between|during|for|from|in|on|with)\b[^.;:]{,60}?,? the (\w+) (?:is|are|was|were)\b",
    re.IGNORECASE,
)


class Quoted(NamedTuple):
    """A unit of an answer.

    Attributes:
        source: 1-based number of its source.
        start: offset of its first character, after any bullet.
        end: offset after its last character.
        kind: ``sentence``, ``item``, ``row`` or another kind of `semqa.documents.structure`.
        group: number of its paragraph, list or table.
        chance: probability that a person would quote it; 0 for units added as context.
    """

    source: int
    start: int
    end: int
    kind: str
    group: int
    chance: float


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
    def answerable(self) -> float | None:
        """The estimated chance that the documents answer the question, of its answered parts the lowest.

        None if only words were compared, unless the kind of answer asked for is missing.
        """
        judged = [part for _, part in self.parts if part.answers] or [self.judgement]
        unanswerable = max(judgement.unanswerable for judgement in judged)
        return 1.0 - unanswerable if self.found.by_meaning or unanswerable else None

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
    """Whether sources are documents or excerpts, rather than passages of one paragraph each."""
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
    *,
    by_part: bool = True,
) -> Reading:
    """Compare documents with a question.

    Args:
        question: the question.
        sources: the documents.
        encoder: compares by meaning; None to compare words only.
        model: replaces the model that ships with the package.
        by_part: judge each part of the question as well.

    Raises:
        InputError: the encoder is invalid.
        UnavailableError: the encoder cannot be loaded, or a package is missing.
    """
    found = match(question, sources, encoder)
    judgement = judge(found, model)
    parts = _parts(question) if by_part else []
    if len(parts) < 2:
        reading = Reading(found, _check_kind(question, sources, found, judgement))
        return _follow_up(reading, sources) if by_part else reading
    judged = []
    for text in parts:
        part = judge(match(text, sources, encoder), model)
        blended = blend(judgement, part)  # a part alone may not name its subject
        if not _REFERS.search(text):
            blended = replace(blended, relevance=part.relevance, unanswerable=part.unanswerable)
        judged.append((text, _check_kind(text, sources, found, blended)))
    return _follow_up(Reading(found, judgement, tuple(judged)), sources)


def _follow_up(reading: Reading, sources: Sequence[Source]) -> Reading:
    """Answer parts without words to search for, such as "and when is it?".

    Unless the quotes answer such a part, the nearest unit of their section that does is quoted too.
    """
    question = reading.found.question
    first, *others = _NEXT_PART.split(question)
    parts = list(reading.parts)
    for part in others:
        text = part.strip(" ,;?")
        kind = next((kind for asks, kind in _FOLLOW_UPS if asks.search(text)), None)
        if kind is None or question_terms(text) or not reading.answers:
            continue
        quoted = choose(reading, sources, sys.maxsize)
        if any(kind.search(sources[each.source - 1].text, each.start, each.end) for each in quoted):
            continue
        whole, found = reading.judgement, reading.found
        best = int(whole.chances.argmax())
        chances = np.zeros_like(whole.chances)
        s, u = found.places[best]
        units = found.sources[s].structure.units
        for row in sorted(range(len(chances)), key=lambda row: abs(row - best))[:MOST_BESIDE]:
            other, v = found.places[row]
            if (
                other == s
                and units[v].headings == units[u].headings
                and kind.search(found.sources[s].texts[v])
            ):
                chances[row] = whole.chances[best] / 2
                break
        parts = parts or [(first, whole)]
        parts.append((text, replace(whole, chances=chances, relevance=chances, unanswerable=0.0)))
    return reading._replace(parts=tuple(parts))


def _check_kind(
    question: str, sources: Sequence[Source], found: Match, judgement: Judgement
) -> Judgement:
    """Doubt that a question is answered if nothing that would be quoted is of the kind asked for."""
    kinds = kinds_of_answer(question)
    if not kinds:
        return judgement
    quoted = choose(Reading(found, judgement), sources, sys.maxsize)
    texts = [sources[each.source - 1].text[each.start : each.end] for each in quoted]
    for s, u in map(found.places.__getitem__, select(judgement.chances)):
        texts += found.sources[s].above[u]
    lacking = (chance for kind, chance in kinds if not any(map(kind.search, texts)))
    return replace(judgement, unanswerable=max(judgement.unanswerable, *lacking, 0.0))


def _parts(question: str) -> list[str]:
    """Split a question into parts; leave out those without words to search for ("how much is it").

    Example:
        >>> _parts("How much is the deposit, and when is it due?")
        ['How much is the deposit', 'when is it due']
        >>> _parts("Which keys need a deposit, and how much is it?")
        ['Which keys need a deposit']
        >>> _parts("How much notice is needed at work and at school?")
        ['How much notice is needed at work', 'How much notice is needed at school']
    """
    subject, colon, rest = question.partition(": ")
    if not colon or _ASKS.search(subject):
        subject, colon, rest = "", "", question
    parts = [f"{subject}{colon}{part.strip(' ,;?')}" for part in _NEXT_PART.split(rest)]
    if len(parts) == 1 and (ends := list(_AND.finditer(question))):
        before, last = question[: ends[-1].start()], question[ends[-1].end() :]
        head, *items = before.split(f" {ends[-1][1]} ")
        if 0 < len(items) < MOST_THINGS and not re.search(r"[,;?]", last.strip(" ?")):
            things = [*items, last]
            parts = [f"{head.rstrip(' ,:')} {ends[-1][1]} {each.strip(' ,?')}" for each in things]
    return [part for part in parts if len(part.split()) >= LEAST_WORDS and question_terms(part)]


def is_near(question: str, sources: Sequence[Source], encoder: SentenceEncoder | None) -> bool:
    """Return whether a unit or paragraph is near the question; False without an encoder.

    Raises:
        InputError: the encoder is invalid.
        UnavailableError: the encoder cannot be loaded, or a package is missing.
    """
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

    That is the probability of the best unit that overlaps the quote. Documents are compared with
    the question together. Passages are compared one at a time, because each may have its own
    answer, and by words only. A quote of a title only names its source and gets None.

    Args:
        question: the question.
        answer: the answer.
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
    relevance = []
    for quote in answer.quotes:
        named = quote.verified and quote.text == answer.sources[quote.source - 1].title
        places = () if named else quote.occurrences
        found = (
            units[quote.source].best(place.start, place.end)
            for place in places
            if place.field == "body"
        )
        relevance.append(max((chance for chance in found if chance is not None), default=None))
    if reading is None:
        return answer.with_relevance(relevance)
    return answer.with_relevance(relevance, reading.unanswered, reading.answerable)


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


def _rate_units(reading: Reading) -> dict[int, _Rated]:
    """Return the units of each source by its 1-based number."""
    judged = [part for _, part in reading.parts if part.answers] or [reading.judgement]
    relevance = np.max([judgement.relevance for judgement in judged], axis=0)
    source_of = np.array([s for s, _ in reading.found.places], dtype=np.intp)
    out = {}
    for s, units in enumerate(reading.found.sources):
        found = [units.structure.units[u] for u in units.content]
        starts = np.array([unit.start for unit in found], dtype=np.intp)
        ends = np.array([unit.end for unit in found], dtype=np.intp)
        out[s + 1] = _Rated(starts, ends, relevance[source_of == s])
    return out


def _named_by(units: Units, u: int) -> Sequence[int]:
    """Return the heading of an item if it names one of several lists, such as those of tariffs."""
    found = units.structure.units
    above = found[u].headings[-1:]
    if found[u].kind != "item" or not above or found[above[0]].kind != "heading":
        return ()
    listed = {
        unit.headings[-1]
        for unit in found
        if unit.kind == "item" and unit.headings[:-1] == found[u].headings[:-1] and unit.headings
    }
    return above if len(listed) > 1 else ()


def choose(reading: Reading, sources: Sequence[Source], max_words: int) -> list[Quoted]:
    """Return the units to quote, by document, the best document first, in reading order.

    Units are added by decreasing probability, each with the context it needs, and finally the rest
    of partly quoted lists. Except for the first, a unit that would exceed `max_words` is left out.
    """
    found, chances = reading.found, reading.judgement.chances
    asks_which = _ASKS_WHICH.match(found.question) is not None
    asks_how = ASKS_HOW.match(found.question) is not None
    rows = _chosen(reading)
    chosen = {found.places[row] for row in rows}
    kept: dict[tuple[int, int], float] = {}
    seen: set[str] = set()

    def add(place: tuple[int, int], chance: float) -> None:
        s, u = place
        steps = (
            _whole_steps(found.sources[s], u) or _instructions(found.sources[s], u)
            if asks_how
            else []
        )
        names = _named_by(found.sources[s], u) if asks_which else []
        more = {(s, needed): 0.0 for needed in (*_needed(found.sources[s], u), *steps, *names)}
        members = [(s, member) for member in _members(found.sources[s], u)]
        if not chosen.intersection(members):  # a lead-in alone is no answer
            more |= dict.fromkeys(members, 0.0)
        longer = more | kept | {place: chance}
        if not kept or _length(_in_order(found, longer), sources) <= max_words:
            kept.update(longer)

    for row in sorted(rows, key=lambda row: -chances[row]):
        s, u = found.places[row]
        text = found.sources[s].texts[u].lower()
        if text not in seen:  # the same sentence may be in several documents
            add((s, u), float(chances[row]))
        seen.add(text)
    for place in _rest_of_lists(found, kept):
        add(place, kept.get(place, 0.0))
    return _in_order(found, kept)


def _in_order(found: Match, kept: Mapping[tuple[int, int], float]) -> list[Quoted]:
    # Passages of one document share its title and stay together.
    titles = [units.title or s for s, units in enumerate(found.sources)]
    best: dict[str | int, float] = {}
    for (s, _), chance in kept.items():
        best[titles[s]] = max(best.get(titles[s], 0.0), chance)
    in_order = sorted(kept, key=lambda at: (-best[titles[at[0]]], titles.index(titles[at[0]]), at))
    return [_quoted(found.sources[s], s + 1, u, kept[s, u]) for s, u in in_order]


def _chosen(reading: Reading) -> list[int]:
    """Return the rows that answer each part of the question."""
    answered = [part for _, part in reading.parts if part.answers] or [reading.judgement]
    return list(dict.fromkeys(row for judgement in answered for row in select(judgement.chances)))


def _members(units: Units, lead: int) -> list[int]:
    """Return the items, or the rows with their header, that a unit introduces, if these are few."""
    members: list[int] = []
    above = {lead}
    for u, unit in enumerate(units.structure.units):
        if unit.over in above and unit.kind in ("sentence", "item", "row", "header"):
            members.append(u)
            if unit.kind == "header":
                above.add(u)
    return members if len(members) <= LONGEST_LIST else []


def _rest_of_lists(
    found: Match, kept: Mapping[tuple[int, int], float]
) -> Iterator[tuple[int, int]]:
    """Yield all items of short lists if the question, their heading or most quotes ask for them.

    Half of "You need: …" is misleading; items below a mere heading stand for themselves, unless it
    says what the question asks.
    """
    share = 0.0 if _ASKS_FOR_ALL.search(found.question) else LIST_SHARE
    above = found.column("near_above") if found.by_meaning else np.zeros(len(found.places))
    near = {place for place, cosine in zip(found.places, above, strict=True) if cosine >= SAYS}
    quoted = {
        (s, unit.group): (s, u) in near
        for s, u in kept
        if (unit := found.sources[s].structure.units[u]).kind == "item"
        and ((s, u) in near or _has_lead_in(found, s, u))
    }
    for (s, group), says in sorted(quoted.items()):
        units = found.sources[s].structure.units
        members = [
            (s, u) for u, unit in enumerate(units) if unit.group == group and unit.kind == "item"
        ]
        if len(members) <= LONGEST_LIST and (
            says or len(kept.keys() & set(members)) >= share * len(members)
        ):
            yield from members


def _whole_steps(units: Units, u: int) -> list[int]:
    """Return the units of the short numbered list that a unit is in or directly above, if any."""
    found = units.structure.units
    for after in range(u, len(found)):
        if found[after].headings != found[u].headings or found[after].group == -1:
            return []
        if found[after].kind == "item" or found[after].group > found[u].group:
            break
    else:
        return []
    group = [i for i, unit in enumerate(found) if unit.group == found[after].group]
    items = [i for i in group if found[i].kind == "item"]
    numbered = all(_NUMBERED.match(units.structure.of(i)) for i in items)
    return group if numbered and 1 < len(items) <= LONGEST_LIST else []


def _instructions(units: Units, u: int) -> list[int]:
    """Return the instructions around an instruction in its paragraph, at most `MOST_INSTRUCTIONS`."""
    if not _INSTRUCTS.match(units.texts[u]):
        return []
    out: list[int] = []
    for step in (1, -1):
        at = _neighbour(units, u, step)
        while at is not None and len(out) < MOST_INSTRUCTIONS and _INSTRUCTS.match(units.texts[at]):
            out.append(at)
            at = _neighbour(units, at, step)
    return out


def _has_lead_in(found: Match, s: int, u: int) -> bool:
    units = found.sources[s].structure.units
    over = units[u].over
    return over is not None and units[over].kind != "heading"


def _needed(units: Units, u: int) -> list[int]:
    """Return the units without which a unit is unclear or misleading."""
    found = units.structure.units
    out = []
    over = found[u].over
    while over is not None:
        out.append(over)
        over = found[over].over
    named = AMOUNT.match(units.texts[u]) or _is_value(units, u)
    out += [h for h in found[u].headings[-1:] if named or NEGATES.search(units.texts[h])]
    before = _neighbour(units, u, -1)
    if before is not None and _PRONOUN.match(units.texts[u]):
        out.append(before)
    after = _neighbour(units, u, 1)
    out += _rest(units, u)
    for step in (1, -1) if _CASE.search(units.texts[u]) else ():
        at = _neighbour(units, u, step)
        for _ in range(LONGEST_LIST):
            if at is None or not _CASE.search(units.texts[at]):
                break
            out.append(at)
            at = _neighbour(units, at, step)
    if after is None and units.texts[u].endswith("?"):
        after = _reply(units, u)
    if after is not None and (
        (_ASKED.search(units.texts[u]) and _REPLIED.match(units.texts[after]))
        or _ASKS_OR_DENIES.search(units.texts[u])
        or _QUALIFIES.search(units.texts[after])
        or _is_special_case(units.texts[u], units.texts[after])
        or DECIDES.fullmatch(units.texts[after])
    ):
        out.append(after)
    return out


def _is_special_case(rule: str, text: str) -> bool:
    """Whether "In zone B the limit is 1" follows "There is a limit of 2 permits"."""
    case = _SPECIAL_CASE.match(text)
    return case is not None and re.search(rf"\b{case[1]}\b", rule, re.IGNORECASE) is not None


def _is_value(units: Units, u: int) -> bool:
    """Whether a unit is a phrase right below a short heading, such as a definition below its term."""
    found = units.structure.units
    return (
        found[u].kind == "sentence"
        and found[u].headings[-1:] == (u - 1,)
        and len(units.texts[u - 1].split()) <= LEAST_WORDS
        and units.texts[u][-1:].isalnum()
        and ":" not in units.texts[u]
        and "\n" not in units.structure.of(u)
        and _neighbour(units, u, 1) is None
    )


def _rest(units: Units, u: int) -> list[int]:
    """Return the price below a line that is no sentence, such as "Day ticket", and what follows."""
    out: list[int] = []
    at = _neighbour(units, u, 1)
    if units.texts[u].endswith(tuple(".!?:;,")) or at is None or not AMOUNT.match(units.texts[at]):
        return out
    while at is not None and len(out) < LONGEST_LIST:
        out.append(at)
        at = _neighbour(units, at, 1)
        text = units.texts[at] if at is not None else "."
        if not (text[:1].islower() or text.isupper()):
            break
    return out


def _reply(units: Units, u: int) -> int | None:
    """Return the unit after a question at the end of its paragraph, if it is under the same headings."""
    found = units.structure.units
    if u + 1 < len(found) and found[u].kind == found[u + 1].kind == "sentence":
        return u + 1 if found[u].headings == found[u + 1].headings else None
    return None


def _neighbour(units: Units, u: int, step: int) -> int | None:
    found = units.structure.units
    other = u + step
    if 0 <= other < len(found) and found[other].group == found[u].group != -1:
        return other
    return None


def _quoted(units: Units, number: int, u: int, chance: float) -> Quoted:
    unit, text = units.structure.units[u], units.structure.text
    start, end = unit.start, unit.end
    if unit.kind in ("row", "header") and (outer := _OUTER_BARS.fullmatch(text, start, end)):
        start, end = outer.span(1)
    elif bullet := _BULLET.match(text, start, end):
        start = bullet.end()
    return Quoted(number, start, end, unit.kind, unit.group, chance)


def write(reading: Reading, sources: Sequence[Source], max_words: int) -> str:
    """Write an answer as marked text: paragraphs, lists and tables, grouped by source.

    Titles are quoted if the answer has more than one; passages of one document share a title. At
    least one unit is quoted, and cut if it exceeds `max_words`. Empty if there are no units.
    """
    kept = choose(reading, sources, max_words)
    if ASKS_HOW.match(reading.found.question):
        max_words = max_words * 3 // 2  # steps that were left out would mislead
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
            kept = [kept[0]._replace(kind="sentence")]  # a single item is not a list
    return _text(kept, sources, canonical_mark)


def _length(quoted: Sequence[Quoted], sources: Sequence[Source]) -> int:
    """Count the words of an answer; table bars do not count."""
    return len(_WORD.findall(_text(quoted, sources, lambda _source, span: span)))


def _text(
    quoted: Sequence[Quoted], sources: Sequence[Source], mark: Callable[[int, str], str]
) -> str:
    several = len({sources[each.source - 1].title or each.source for each in quoted}) > 1
    numbered = _numbered_from_one(quoted, sources)
    lines: list[str] = []
    last: Quoted | None = None
    for each in _joined(quoted, sources):
        text = sources[each.source - 1].text[each.start : each.end]
        listed = each.kind == "item" and (each.source, each.group) in numbered
        number = _ITEM_NUMBER.match(text) if listed else None
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
        if last is None or new_source or (last.kind, each.kind) != ("sentence", "sentence"):
            bullet = each.kind == "item" and not _NUMBERED.match(text)
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
    for each in quoted:
        before = out[-1] if out else None
        if (
            before is not None
            and (before.source, before.group) == (each.source, each.group)
            and before.kind in ("sentence", "item")
            and each.kind == "sentence"
            and before.end <= each.start
            and not sources[each.source - 1].text[before.end : each.start].strip()
        ):
            out[-1] = before._replace(end=each.end)
        else:
            out.append(each)
    return out
