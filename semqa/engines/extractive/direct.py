"""Find units that answer a question by their form (definitions, labels, steps), or its contrary.

"Who is the landlord?" is answered by 'Anna Berg (hereinafter the "Landlord")', "Who attended the
meeting?" by "Present: Ada Lund, Bo Ek", and "How much do I have to pay?" by "Balance due   922.80".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from semqa.documents.structure import NEGATES
from semqa.engines.extractive.lexicon import stem
from semqa.engines.extractive.matching import question_terms, stems_of
from semqa.engines.extractive.tables import column_rows

if TYPE_CHECKING:
    from semqa.engines.extractive.matching import Match

_QUOTE = "[\"'“”„‘’«»]"
_ASKS = re.compile(
    r"\W*(?:(?:who|what|how (?:long|much))(?:'s|’s| is| are| does| do)|what (?:is|are) meant by|define)"
    rf"(?: the terms?)?(?: an?\b| the\b)?\s+{_QUOTE}?((?:[\w&/’'-]+ ){{0,3}}?[\w&/-]+){_QUOTE}?"
    r"(?: mean| stand for)?(?: (?:in|under|of|to) (?:the|this) \w+)?\W*",
    re.IGNORECASE,
)
"""A question about a term of up to four words."""

_PARTIES = re.compile(
    r"\A(?>.*?\bbetween\b)(?>.+?\([^()]*\))(?>.+?\band\b).+\(", re.IGNORECASE | re.DOTALL
)
"""The sentence that names the parties and their short names. Matching takes linear time."""


def direct_rows(found: Match) -> tuple[list[int], list[int]]:
    """Return the rows that answer the question by their form, and others that may answer it too.

    The others are rows without a label that have all words of the question, because a label may
    mislead ("Warranty: page 12").
    """
    if rows := _defining_rows(found) or _usual_rows(found) or _steps(found) or column_rows(found):
        return rows, []
    rows = _labelled_rows(found)
    named = np.flatnonzero(found.column("words") > ALL_WORDS).tolist() if rows else []
    texts = found.texts
    return rows, [row for row in named if row not in rows and _LABEL.match(texts[row]) is None]


def _defining_rows(found: Match) -> list[int]:
    """Return the rows that define the term that a question asks for.

    The term is in brackets after its definition, in quotation marks before "means", or in the first
    cell of a table. Empty for abbreviations, because their long form may not answer the question.
    """
    asked = _ASKS.fullmatch(found.question)
    if asked is None or asked[1].isupper():
        return []
    term = r"\s+".join(map(re.escape, asked[1].split()))
    defines = re.compile(
        rf"\w\W{{1,3}}\([^()\"“„‘«]{{0,40}}{_QUOTE}(?:the |an? )?{term}{_QUOTE}[^()]{{0,60}}\)"
        rf"|\w\W{{1,3}}\((?=(?:the |an? )?(?-i:[A-Z])|herein|called|together|collectively|jointly|each)"
        rf"(?:(?:herein\w++|called|together|collectively|jointly|each|the|an?)[, ]++)*+{term}\)"
        rf"|{_QUOTE}{term}{_QUOTE},? (?:shall )?(?:means?|refers? to|(?:is|are) defined as)\b",
        re.IGNORECASE,
    )
    if asked[1].lower() in ("parties", "contracting parties"):
        defines = _PARTIES
    asks_how, states = "how " in asked[0].lower(), found.column("answer")
    cell = re.compile(rf"\|?\W*{_QUOTE}{term}{_QUOTE}\W*\|", re.IGNORECASE)
    return [
        row
        for row, ((s, u), text) in enumerate(zip(found.places, found.texts, strict=True))
        if (defines.search(text) or cell.match(found.sources[s].structure.of(u)))
        and (states[row] or not asks_how)
    ]


def _usual(asks: str, label: str, value: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return (
        re.compile(rf"\W*(?:{asks})(?: in total| altogether| now)?\W*", re.IGNORECASE),
        re.compile(rf"\W*((?i:{label}))\.?(?: ?\([^()]*\))?:? ?{value}"),
    )


_I_PAY = r"(?:can|could|do|must|should) (?:I|we|you|one) (?:still )?(?:have to |need to )?"
_TO_PAY = rf"(?:how much|what) {_I_PAY}(?:pay|owe)|how much is (?:due|(?:the|this) (?:bill|invoice)|to be paid)"
_MONEY = r"(?=.*(?:[£$€]|[.,]\d\d\b|\b[A-Z]{3}\b))(?:[A-Z]{3}|[£$€])? ?\d[\d.,’' ]*+(?:[A-Z]{3}|[£$€])?\W*"
_USUAL = (
    _usual(
        rf"how {_I_PAY}(?:reach|contact|call|get in touch with)"
        r"(?: (?:them|you|us|the (?:company|seller|sender|shop|store|supplier)))?",
        r"(?:tele)?phone(?: number)?|(?:tele)?fax|tel|mobile|e-?mail|web(?:site)?",
        r"\S*(?:\d|@|www\.|://).*",
    ),
    _usual(
        _TO_PAY,
        r"(?:total |outstanding )?(?:amount|balance|sum) (?:due|payable|to pay|outstanding|owed)|"
        r"total (?:due|payable|to pay)|balance|to pay",
        _MONEY,
    ),
    _usual(
        _TO_PAY,
        r"(?:grand |invoice )?total(?: amount| price)?",
        _MONEY,
    ),
    _usual(
        rf"(?:by )?when {_I_PAY}pay|when is (?:it|payment|the (?:bill|invoice|payment)) due",
        r"(?:payment )?due(?: date| by| on)?|(?:pay(?:able|ment)? )(?:by|date|due)|date due",
        r".*\d.*",
    ),
)
"""Common questions about an invoice or letter, each with the lines that answer it; the first match wins."""


def _usual_rows(found: Match) -> list[int]:
    """Return the rows that answer a common question; none if several rows of a document share a label."""
    texts = found.texts
    for asks, says in _USUAL:
        if asks.fullmatch(found.question):
            said = {row: match for row, text in enumerate(texts) if (match := says.fullmatch(text))}
            kinds = {(found.places[row][0], match[1].lower()) for row, match in said.items()}
            if said and len(kinds) == len(said):
                return list(said)
    return []


ASKS_HOW = re.compile(
    r"\W*+(?:how (?:do|does|can|could|should|must|would) (?:I|we|you|one|he|she|they|people)\b|how to\b"
    r"|(?:what are |list )?(?:the )?(?:steps|instructions) (?:to|for)\b"
    r"|(?:.*\W)?what (?:do|should|must|can) (?:I|we|you) (?:have to |need to )?do\b)",
    re.IGNORECASE | re.DOTALL,
)

MOST_STEPS, LONGEST_STEPS = 10, 800
"""Maximum number of units below a heading to quote together, and of their characters."""


def _steps(found: Match) -> list[int]:
    """Return the steps below the heading that names the task in a how-to question.

    They are the first list below it, or else its first paragraph. The title and outer headings may
    name a part of the task: the answer to "How do I reset the boiler?" is below "Resetting" in "The
    boiler". Empty if several sections have such a heading.
    """
    if not ASKS_HOW.match(found.question):
        return []
    asked = set(question_terms(found.question))
    sections: dict[tuple[int, int], list[int]] = {}
    for row, (s, _) in enumerate(found.places):
        if headings := found.unit(row).headings:
            sections.setdefault((s, headings[-1]), []).append(row)
    fitting = []
    for (s, heading), rows in sections.items():
        source = found.sources[s]
        named = set(stems_of(source.texts[heading]))
        outer = {w for text in (source.title, *source.above[heading]) for w in stems_of(text)}
        if asked - outer and asked - outer <= named and asked & named:
            fitting.append(rows)
    if len(fitting) != 1:
        return []
    (rows,) = fitting
    units = [found.unit(row) for row in rows]
    group = next((unit for unit in units if unit.kind == "item"), units[0]).group
    steps = [row for row, unit in zip(rows, units, strict=True) if unit.group == group]
    length = sum(unit.end - unit.start for unit in units if unit.group == group)
    return steps if len(steps) <= MOST_STEPS and length <= LONGEST_STEPS else []


MOST_LABELLED = 10
"""A label of more rows than this is a speaker, or belongs to a log."""

ALL_WORDS = 0.999
"""If the weights of words add up to more than this, they are all words of the question."""

_LABEL = re.compile(r"\W*+([^\W\d_][\w’'-]*+(?: [\w’'-]++){0,2}+) ?(?:\([^()]{0,40}\))?: (?=\S)")

_MEANS = {
    "present": "attend attended attendee participant participated there came",
    "attendees": "attend attended present participant",
    "participants": "attend attended present attendee",
    "apologies": "absent missing away excused",
    "absent": "missing apologies away excused",
    "regrets": "absent missing away excused",
    "decision": "decide decided resolved resolution agreed",
    "resolved": "decide decided decision resolution",
    "agreed": "decide decided decision",
    "action": "task todo follow-up",
    "task": "action todo",
    "todo": "action task",
}
_STEMS = {stem(label): {stem(label), *map(stem, words.split())} for label, words in _MEANS.items()}
"""For each label in minutes, the words that questions use for it."""

_WHO_IS = re.compile(r"\W*who(?:'s|’s| is)\b", re.IGNORECASE)
"""Asks for one person, so several turns of a speaker do not answer it."""

_IGNORED_WORDS = "meeting item point minutes document list made take taken given say said"
_IGNORED = frozenset(map(stem, _IGNORED_WORDS.split()))


def _labelled_rows(found: Match) -> list[int]:
    """Return the rows whose label ("Decision: …") covers all that a question asks for.

    A question may also name the document or section: "Who attended the committee meeting?". The
    sentences after a labelled one belong to it, up to the next label or paragraph.
    """
    asked_for = set(question_terms(found.question)) - _IGNORED
    rows: list[int] = []
    labelled = 0
    for row, text in enumerate(found.texts):
        label = _LABEL.match(text)
        if label is None:
            if rows and rows[-1] == row - 1 and _goes_on(found, row):
                rows.append(row)
            continue
        subject = _subject(found, row)
        while label is not None:  # there may be several on a line
            named = [_STEMS.get(word, {word}) for word in stems_of(label[1])]
            every = set().union(*named)
            terms = asked_for - (subject - every)
            if named and terms and terms <= every and all(terms & each for each in named):
                rows.append(row)
                labelled += 1
                break
            label = _LABEL.match(text, label.end())
    most = 1 if _WHO_IS.match(found.question) else MOST_LABELLED
    return rows if labelled <= most else []


def _subject(found: Match, row: int) -> set[str]:
    """Return the words of the titles and headings above a row."""
    s, u = found.places[row]
    source = found.sources[s]
    titles = (text for text in source.texts[:2] if ":" not in text)  # without markup
    return {w for text in (source.title, *titles, *source.above[u]) for w in stems_of(text)}


def _goes_on(found: Match, row: int) -> bool:
    """Return whether a row is a sentence in the same paragraph as the previous row."""
    (before, _), (after, _) = found.places[row - 1 : row + 1]
    unit = found.unit(row)
    return before == after and unit.kind == "sentence" and unit.group == found.unit(row - 1).group


_ASKS_WHAT = re.compile(r"\W*(?:what|which)\b", re.IGNORECASE)
_LISTS_WHAT = re.compile(r"\b(?:what|which)\b|:$", re.IGNORECASE)
_DENIES = re.compile(rf"n['’]t\b|\bcannot\b|{NEGATES.pattern}", re.IGNORECASE)


def contrary(found: Match) -> list[int]:
    """Return the rows of contrary lists, such as "What to bring" if asked what not to bring.

    The question has all words of the heading or lead-in of such a list.
    """
    if not (_ASKS_WHAT.match(found.question) and _DENIES.search(found.question)):
        return []
    asked = set(question_terms(_DENIES.sub(" ", found.question)))
    listed: set[tuple[int, int | None]] = set()
    for s, u in found.places:
        source = found.sources[s]
        unit, over = source.structure.units[u], ("", *source.above[u])[-1]
        said = set(stems_of(over)) if unit.kind == "item" and _LISTS_WHAT.search(over) else set()
        if said and said <= asked and not any(map(_DENIES.search, (over, source.texts[u]))):
            listed |= {(s, u), (s, unit.over)}
    return [row for row, place in enumerate(found.places) if place in listed]
