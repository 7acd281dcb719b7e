"""Choose what to quote: the units that answer, and the lead-ins, headers, exceptions and so on they need."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from semqa.documents.structure import AMOUNT, DECIDES, NEGATES, SIGNS_OFF
from semqa.engines.extractive.asked import series_of
from semqa.engines.extractive.direct import ASKS_HOW
from semqa.engines.extractive.layout import NUMBERED, Quoted, quoted_unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.matching import Match, Units

    Array = NDArray[np.float64]

TERM_WORDS = 3
"""Maximum number of words of a heading that counts as a term."""

LONGEST_LIST, LIST_SHARE, SAYS = 12, 0.4, 0.5
"""A list with at most this many items is quoted as a whole if at least this share of it is quoted anyway,
or if the cosine of the text above it and the question is at least the last value."""

MOST_QUOTED = 3
"""Maximum distance in units from a unit quoted in a message to the reply below it."""

_ASKS_WHICH = re.compile(
    r"\W*(?:(?:at|for|from|in|on|to|with) )?(?:which|whose|who)\b", re.IGNORECASE
)
_ASKS_VERSION = re.compile(
    r"\W*(?:(?:at|for|from|in|on|since|to|with) )?(?:when|(?:which|what) (?:version|release))\b",
    re.IGNORECASE,
)
_ASKS_FOR_ALL = re.compile(
    r"\A(?>.*?\b(?:what|which)\b).*\b(?:must|should|may|can|need|allowed|are)\b",
    re.IGNORECASE | re.DOTALL,
)
"""A question for all items of a list, such as "What should we pack?"."""

_PRONOUN = re.compile(
    r"\W*(?:(?:(?:after|as soon as|if|once|until|when) )?(?:it|they|he|she)\b|"
    r"(?:then|otherwise|after that|in that case)\b|"
    r"to \w+ (?:it|them|one)\b|during (?:the|this|that) (?:period|time|works?)\b|"
    r"(?:you|we) (?:can|may|must|need not|should) \w+ (?:it|them)\b|"
    r"(?!(?:as|because|but|did|does|has|if|is|once|since|so|that|was|when|while)\b)[a-z]+ (?:it|them)\b)",
    re.IGNORECASE,
)
"""A sentence about something named in the one before it, such as "It is red" or "Turn it off"."""

_ASKS_OR_DENIES = re.compile(r"\?$|^\W*(?:(?-i:[A-Z])[\w. ]{,20}: ?)?no,", re.IGNORECASE)
"""A sentence that is unclear without the one after it, such as "No, there were not 400"."""

_ASKED = re.compile(
    r"\b(?:asked|enquired|inquired|queried|questioned|wanted to know)\b", re.IGNORECASE
)
_REPLIED = re.compile(
    r"(?-i:[A-Z])[\w. ]{,30}: |[^,.;]{,60}\b(?:answered|confirmed|explained|promised|replied|responded|said)\b",
    re.IGNORECASE,
)
"""The sentence after "Ann asked whether …"."""

_HEAD = re.compile(r"(?:from|date|sent|on|am|le|el)\b", re.IGNORECASE)
"""Lines above a message that name its sender and date."""

_REPLY = re.compile(r"subject: (?:re|aw|fwd?|wg|tr|rv)\b", re.IGNORECASE)

_UNNAMED = re.compile(r"\|\s*\|(?!\W*(?:sub)?-?total\b)", re.IGNORECASE)
"""A row with an empty first cell, as below a merged cell; but not a row of totals."""

_CALLED = re.compile(r"`?(?:--?\w|\S*?\w\((?!s\))|(?=\S+\Z)\S*?\w_\w)")
"""The name of a function, option or setting, such as "silence(name)"."""

_NAMED = re.compile(r"\|[^|]*[^\W\d_]")

_VERSION = re.compile(r"(?:[Vv]ersion )?v?\d+(?:\.\d+)+(?: [–(-].*)?")
_PROPER_NAME = re.compile(r"[A-Z][\w-]*(?: [A-Z\d][\w.-]*){1,3}")

_DATED = re.compile(
    r"[^.?!]{2,60}?\b(?:\d{1,2}\b[^.?!\d]{,12}\b(?:19|20)\d\d|(?:19|20)\d\d-\d\d|\d{1,2}[:.]\d\d|"
    r"ago|today|yesterday)\b",
    re.IGNORECASE,
)
"""The name and date above a comment; a year alone, as in "New in 2026", is not a date."""

_CASE = re.compile(
    r"\b(?:or (?:earlier|fewer|later|less|longer|more)|(?:earlier|fewer|later|less|longer|more) than|"
    r"at least|between|up to)\b[^.:]{,40}: \S",
    re.IGNORECASE,
)
"""One of several cases, such as "Less than three days: the full fee."; it needs the others."""

_QUALIFIES = re.compile(
    r"^\W*(?:however|but|except|unless|otherwise|in that case|only|not|nor|exceptions?|"
    r"(?:above|below|beyond|over|under) (?:that|this)|\w+ never(?=\W*$)|"
    r"after (?:that|this)\b.*\b(?:charge[ds]?|costs?|fees?|no|refund\w*)|"
    r"(?:this|these|it|they) (?:are|do|does|is|was|were) not|if (?:it|they|you|not))\b|"
    r"\b(?:do|does)(?:n['’]t| not) (?:apply|cover|include)\b|"
    r"\b(?:is|are) (?:an |the (?:one |only )?)?exceptions?\b|\bthe (?:one|only) exception\b|"
    r"\b(?:not |un)affected\b|\b(?:is|are) (?:waived|exempt|excluded)\b",
    re.IGNORECASE,
)
"""A sentence that qualifies the one before it."""

_MARK = re.compile(
    r"(?:(?<=[^\s*\\|])|(?<=\w )(?=[¹²³⁰⁴-⁹]))\\?(\*{1,3}|[†‡§]|[¹²³⁰⁴-⁹]{1,2}|\[\^\w{1,9}\])(?=[\s|.,;:!?)]|$)",
    re.MULTILINE,
)
"""The mark of a note, as in "£90*" and "Express ¹"."""

_NOTE = re.compile(
    r"(?:[-•] )?\\?(\*{1,3}|[†‡§]|[¹²³⁰⁴-⁹]{1,2}|\[\^\w{1,9}\](?=:)):?\s*+(?!.*\*\*)"
)
"""The mark at the beginning of a note; a line with "**" further on begins with bold text instead."""

_EMPHASIS = re.compile(r"(?<!\w)(\*{1,3})(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*\\])\1(?![\w*])")
"""Bold or italic text, whose last asterisk is not the mark of a note."""

_SPECIAL_CASE = re.compile(
    r"\W*(?:at|between|during|for|from|in|on|with)\b[^.;:]{,60}?,? the (\w+) (?:is|are|was|were)\b",
    re.IGNORECASE,
)


def choose(found: Match, rows: Sequence[int], chances: Array) -> list[Quoted]:
    """Return the units to quote, by document, the best document first, in reading order.

    These are the rows that answer, the context that each needs, and the rest of partly quoted lists.
    Context and lists have the probability of the unit for which they are quoted.
    """
    versions = _ASKS_VERSION.match(found.question) is not None
    asks_which = versions or _ASKS_WHICH.match(found.question)
    asks_how = ASKS_HOW.match(found.question)
    chosen = {found.places[row] for row in rows}
    kept: dict[tuple[int, int], float] = {}
    seen: set[str] = set()

    def add(place: tuple[int, int], chance: float) -> None:
        s, u = place
        units = found.sources[s]
        steps = _whole_steps(units, u) if asks_how else []
        names = _named_by(units, u, versions=versions) if asks_which else []
        members = _members_of(units, u)
        if chosen.intersection((s, member) for member in members):
            members = []  # a lead-in alone is not an answer
        for each in (u, *_needed_by(units, u), *steps, *names, *members):
            kept[s, each] = max(kept.get((s, each), 0.0), chance)

    for row in sorted(rows, key=lambda row: -chances[row]):
        s, u = found.places[row]
        text = found.sources[s].texts[u].lower()
        if text not in seen:  # the same sentence may be in several documents
            add((s, u), float(chances[row]))
        seen.add(text)
    for members in list(_rest_of_lists(found, kept)):
        chance = max(kept.get(place, 0.0) for place in members)
        for place in members:
            add(place, chance)
    return _in_order(found, kept)


def _in_order(found: Match, kept: Mapping[tuple[int, int], float]) -> list[Quoted]:
    # Passages of one document share its title and stay together, as do documents of one series.
    titles = [units.title or s for s, units in enumerate(found.sources)]
    series = series_of(found.question, [units.title for units in found.sources])
    dated = [series.get(units.title) for units in found.sources]
    groups = [each[0] if each else title for each, title in zip(dated, titles, strict=True)]
    dates = [[-part for part in each[1]] if each else [] for each in dated]
    best: dict[str | int, float] = {}
    for (s, _), chance in kept.items():
        best[groups[s]] = max(best.get(groups[s], 0.0), chance)

    def order(place: tuple[int, int]) -> tuple[Any, ...]:
        s = place[0]
        return -best[groups[s]], groups.index(groups[s]), dates[s], titles.index(titles[s]), place

    in_order = sorted(kept, key=order)
    return [quoted_unit(found.sources[s], s + 1, u, kept[s, u]) for s, u in in_order]


def _named_by(units: Units, u: int, *, versions: bool) -> Sequence[int]:
    """Return the heading that tells which of several things a unit is about, and any heading below it.

    It is the heading of one of several lists, or a name among other names, such as "Nordal Dry 12",
    or "Ann Lee" above "Head of sales".

    Args:
        versions: count only headings of versions, such as "2.1 (3 May)".
    """
    name = _VERSION if versions else _PROPER_NAME
    found = units.structure.units
    above = [h for h in found[u].headings[-2:] if found[h].kind == "heading"]
    if found[u].kind == "item" and above and not versions:
        lists = {
            unit.headings[-1]
            for unit in found
            if unit.kind == "item"
            and unit.headings[:-1] == found[u].headings[:-1]
            and unit.headings
        }
        if len(lists) > 1:
            return above[-1:]
    for at, heading in enumerate(above):
        named = sum(
            unit.kind == "heading"
            and unit.headings == found[heading].headings
            and name.fullmatch(units.texts[v]) is not None
            for v, unit in enumerate(found)
        )
        if named > 1 and name.fullmatch(units.texts[heading]):
            return above[at:]
    return ()


def _members_of(units: Units, lead: int) -> list[int]:
    """Return the items, or the rows with their header, that a unit introduces; empty if there are many."""
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
) -> Iterator[list[tuple[int, int]]]:
    """Yield the items of each short list that a question asks for, or of which enough are quoted.

    Half of "You need: …" would mislead. Items below a heading without a lead-in can be quoted alone,
    unless the heading is about what the question asks.
    """
    if not kept:  # there may be no units at all
        return
    share = 0.0 if _ASKS_FOR_ALL.search(found.question) else LIST_SHARE
    above = found.column("near_above") if found.by_meaning else np.zeros(len(found.places))
    near = {place for place, cosine in zip(found.places, above, strict=True) if cosine >= SAYS}
    quoted = {
        (s, unit.group, unit.over): (s, u) in near
        for s, u in kept
        if (unit := found.sources[s].structure.units[u]).kind == "item"
        and ((s, u) in near or _has_lead_in(found, s, u))
    }
    for (s, group, over), says in quoted.items():
        units = found.sources[s].structure.units
        members = [
            (s, u)
            for u, unit in enumerate(units)
            if (unit.group, unit.over) == (group, over) and unit.kind == "item"
        ]
        if len(members) <= LONGEST_LIST and (
            says or len(kept.keys() & set(members)) >= share * len(members)
        ):
            yield members


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
    numbered = all(NUMBERED.match(units.structure.of(i)) for i in items)
    return group if numbered and 1 < len(items) <= LONGEST_LIST else []


def _has_lead_in(found: Match, s: int, u: int) -> bool:
    units = found.sources[s].structure.units
    over = units[u].over
    return over is not None and units[over].kind != "heading"


def _needed_by(units: Units, u: int) -> list[int]:
    """Return the units without which a unit is unclear or misleading."""
    found = units.structure.units
    out = []
    over = found[u].over
    while over is not None:
        out.append(over)
        over = found[over].over
    out += [note for v in (u, *out) for note in _notes(units, v)]
    out += _head_of_message(units, u) + _rows_above(units, u)
    named = AMOUNT.match(units.texts[u]) or _is_value(units, u)
    out += [h for h in found[u].headings[-1:] if named or NEGATES.search(units.texts[h])]
    for v in (u, *out):
        before = _neighbour(units, v, -1) if found[v].kind != "item" else None
        if before is not None and _PRONOUN.match(units.texts[v]):
            out.append(before)
    for step in (1, -1) if _CASE.search(units.texts[u]) else ():
        at = _neighbour(units, u, step)
        for _ in range(LONGEST_LIST):
            if at is None or not _CASE.search(units.texts[at]):
                break
            out.append(at)
            at = _neighbour(units, at, step)
    if units.texts[u].endswith("?") or _is_message(units, u):
        out += _reply(units, u)
    out += _reply_between(units, u)
    after = _neighbour(units, u, 1)
    if after is not None and (
        (_ASKED.search(units.texts[u]) and _REPLIED.match(units.texts[after]))
        or _ASKS_OR_DENIES.search(units.texts[u])
        or _QUALIFIES.search(units.texts[after])
        or _is_special_case(units.texts[u], units.texts[after])
        or DECIDES.fullmatch(units.texts[after])
    ):
        out.append(after)
    return out


def _notes(units: Units, u: int) -> list[int]:
    """Return the notes after a unit that its marks refer to, such as "* without breakfast".

    A list with asterisks for bullets has no notes.
    """
    marks = set(_MARK.findall(_EMPHASIS.sub(r"\2", units.structure.of(u))))
    out: list[int] = []
    for v in range(u + 1, len(units.structure.units)) if marks else ():
        note = _NOTE.match(units.structure.of(v))
        listed = units.structure.units[v].kind == "item" and any(
            _neighbour(units, v, step) is not None for step in (1, -1)
        )
        if note and note[1] in marks and not listed:
            marks.remove(note[1])
            out.append(v)
            after = _neighbour(units, v, 1)
            if after is not None and not _NOTE.match(units.structure.of(after)):
                out.append(after)  # the note's second sentence
    return out


def _rows_above(units: Units, u: int) -> list[int]:
    """Return the rows above a row with an empty first cell, up to the one that names it, if any."""
    rows: list[int] = []
    at: int | None = u
    while at is not None and _UNNAMED.match(units.structure.of(at)):
        at = _neighbour(units, at, -1)
        rows += [at] if at is not None and units.structure.units[at].kind == "row" else []
    named = at in rows and _NAMED.match(units.structure.of(rows[-1]))
    return rows if named and len(rows) <= LONGEST_LIST else []


def _head_of_message(units: Units, u: int) -> list[int]:
    """Return the sender and date of a message that is below a reply, which may contradict it."""
    found = units.structure.units
    heads = {v for v, unit in enumerate(found) if unit.kind == "meta" and unit.group == -1}
    firsts = sorted(v for v in heads if v - 1 not in heads)
    for first in reversed(firsts):
        head = list(takewhile(heads.__contains__, range(first, u)))
        # A reply between quoted lines has fewer marks than they have.
        if head and _depth(units, u) >= _depth(units, head[-1] + 1):
            newest = takewhile(heads.__contains__, range(firsts[0], first))
            older = any(_REPLY.match(units.texts[v]) for v in newest)
            older = older or units.texts[first].endswith(":")  # "On Monday, Ann wrote:"
            return [v for v in head if older and _HEAD.match(units.texts[v])]
    return []


def _depth(units: Units, u: int) -> int:
    """Return the number of marks ">" before the line of a unit."""
    text, start = units.structure.text, units.structure.units[u].start
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return line[: len(line) - len(line.lstrip("> \t"))].count(">")


def _is_special_case(rule: str, text: str) -> bool:
    """Whether "In zone B the limit is 1" follows "There is a limit of 2 permits"."""
    case = _SPECIAL_CASE.match(text)
    return case is not None and re.search(rf"\b{case[1]}\b", rule, re.IGNORECASE) is not None


def _is_value(units: Units, u: int) -> bool:
    """Whether a unit directly below its name defines a short term or describes a function."""
    found = units.structure.units
    if found[u].kind != "sentence" or found[u].headings[-1:] != (u - 1,):
        return False
    return _CALLED.match(units.structure.of(u - 1)) is not None or (
        len(units.texts[u - 1].split()) <= TERM_WORDS
        and units.texts[u][-1:].isalnum()
        and ":" not in units.texts[u]
        and "\n" not in units.structure.of(u)
        and _neighbour(units, u, 1) is None
    )


def _reply(units: Units, u: int) -> list[int]:
    """Return the reply to a question: the next post, or the sentence after its paragraph."""
    found = units.structure.units
    last = u
    while (after := _neighbour(units, last, 1)) is not None:
        last = after
    if not (last + 1 < len(found) and found[u].kind == "sentence" and last <= u + 2):
        return []
    reply = found[last + 1]
    if reply.kind in ("item", "heading") and _DATED.match(units.texts[last + 1]):
        groups = {reply.group, *(unit.group for unit in found[last + 2 : last + 3])} - {-1}
        below = range(last + 2, min(last + 5, len(found)))
        return [*range(u + 1, last + 2), *(v for v in below if found[v].group in groups)]
    if _is_message(units, u):
        if not any(units.texts[v].endswith("?") for v in (u, last)) or reply.kind != "meta":
            return []
        below = range(last + 2, min(last + 4, len(found)))
        return [*range(u + 1, last + 2), *(v for v in below if found[v].group == reply.group)]
    if (
        reply.kind == "sentence"
        and reply.headings == found[u].headings
        and last == u
        and not SIGNS_OFF.fullmatch(units.texts[last + 1])
    ):
        return [last + 1]
    return []


def _reply_between(units: Units, u: int) -> list[int]:
    """Return the first sentence of a reply directly below the lines that it quotes."""
    found = units.structure.units
    below = next((v for v in range(u, len(found)) if found[v].group != found[u].group), u)
    replies = found[below].kind == "sentence" and _depth(units, below) < _depth(units, u)
    return [below] if replies and below <= u + MOST_QUOTED else []


def _is_message(units: Units, u: int) -> bool:
    """Whether a unit is in a message of a chat, below its sender and date."""
    over = units.structure.units[u].over
    return over is not None and units.structure.units[over].kind == "meta"


def _neighbour(units: Units, u: int, step: int) -> int | None:
    found = units.structure.units
    other = u + step
    if 0 <= other < len(found) and found[other].group == found[u].group != -1:
        return other
    return None
