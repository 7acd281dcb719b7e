"""Parse a question about documents: its parts, and the names and codes in it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING
from unicodedata import normalize

from rapidfuzz import fuzz, process

from semqa.engines.extractive.lexicon import language_of
from semqa.engines.extractive.matching import TIME, question_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.engines.extractive.matching import Units

MOST_PARTS = 6
"""Maximum number of parts of a question; one with more is not split."""

LEAST_WORDS = 3
"""Minimum number of words in a part of a question."""

_ASKING = (
    r"(?:(?:at|by|for|from|in|on|to|until) )?(?:what|which|whom?|when|where|how|why|whether)(?:['’]s)?\b"
    r"|(?:is|are|can|do|does|did|must|may|will|should)\b"
    r"(?! (?:also|be|been|in|left|not|now|on|only|out|still)\b)"
)
"""The beginning of a question: "is it", but not "is out" in "My ankle is broken and is out until May"."""
NEXT_PART = re.compile(
    rf"[,;]?(?<!\s)\s+and\s+(?={_ASKING})|\?\s+(?:and\s+)?(?={_ASKING})", re.IGNORECASE
)
_AND = re.compile(r",? and (at|by|for|from|in|on|to|with) ", re.IGNORECASE)
"""The text before the last of several things, as in "at home, at school and at work"."""

_ABOUT = re.compile(r".*?(?:: | [-–—] )")
"""The subject before the parts, as in "Night vet - what's the number and what does it cost?"."""

_ASKS = re.compile(r"\b(?:what|which|who|whom?|when|where|why|how)\b", re.IGNORECASE)
_CODE = re.compile(r"(?<![\w-])[A-Za-z]+-?\d[\w-]*")
_NAME = re.compile(
    r"(?<=[\w,;]\s)(?!(?:BBQ|CV|DIY|GP|ID|PC|PIN|TV|USB|WC|Dr|Mr|Mrs|Ms|OK|Prof|Are|Can|Do|Does|Hello|Hi|How|Is|Please|Thanks|What|When|Where|"
    r"Which|Who|Why|Article|Chapter|Clause|Page|Part|Room|Section|Table)\b)([A-Z][\w-]*[^\W\d_])(?=\W|\Z)(?: (\d+)\b(?![.:,]\d))?"
)
"""A capitalised word within a question, with the number after it."""
_RUN = re.compile(r"\w+(?:-\w+)*")
_WORD = re.compile(r"[^\W_]+")
_WITHIN = re.compile(r"(?<=[^\W_] )[A-Z][\w-]+")
_SEVERAL = re.compile(r"\b(?:and|both|compared?|or|than|versus|vs)\b", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<!\S)\S*?(?:@|://|www\.)\S*")
_MONTHS = (
    *("Jan(?:uary)?", "Feb(?:ruary)?", "Mar(?:ch)?", "Apr(?:il)?", "May", "June?", "July?"),
    *("Aug(?:ust)?", "Sept?(?:ember)?", "Oct(?:ober)?", "Nov(?:ember)?", "Dec(?:ember)?"),
)
MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"(?:(?<!\d)(\d{{1,2}})\.? )?(?:\b({MONTH})\.? (?:(\d{{1,2}}), )?)?"
    r"(?<!\d)((?:19|20)\d\d)(?:[-_.](\d\d)(?:[-_.](\d\d))?)?(?!\d)",
    re.IGNORECASE,
)
_NAMES_DATE = re.compile(rf"\d{{4}}|\b(?:{MONTH}|(?!may)(?i:{MONTH}))\b")
"""A year or month; "may" begins questions."""
MOST_NAMES = 10
"""Maximum number of names to look for."""
MOST_INITIALS = 5
"""Maximum number of letters of an abbreviation."""
ALIKE = 80
"""Minimum similarity, of 100, of a name and a word that may be another spelling of it."""


def parts_of(question: str) -> list[str]:
    """Split a question into parts; leave out those without words to search for ("how much is it").

    Example:
        >>> parts_of("How much is the deposit, and when is it due?")
        ['How much is the deposit', 'when is it due']
        >>> parts_of("Which keys need a deposit, and how much is it?")
        ['Which keys need a deposit']
        >>> parts_of("How much notice is needed at work and at school?")
        ['How much notice is needed at work', 'How much notice is needed at school']
        >>> parts_of("My pass is lost and is not cancelled. Can I get in? I am 15.")
        ['My pass is lost and is not cancelled. Can I get in? I am 15.']
        >>> parts_of("Night vet - what's the number and what does it cost?")
        ["Night vet - what's the number", 'Night vet - what does it cost']
    """
    about = _ABOUT.match(question)
    subject = about[0] if about and not _ASKS.search(about[0]) else ""
    rest = question[len(subject) :]
    parts = [f"{subject}{part.strip(' ,;?')}" for part in NEXT_PART.split(rest)]
    if len(parts) == 1 and (ends := list(_AND.finditer(question))):
        before, last = question[: ends[-1].start()], question[ends[-1].end() :]
        head, *items = before.split(f" {ends[-1][1]} ")
        if items and not re.search(r"[,;?]", last.strip(" ?")):
            things = [*items, last]
            parts = [f"{head.rstrip(' ,:')} {ends[-1][1]} {each.strip(' ,?')}" for each in things]
    if len(parts) > MOST_PARTS:
        return []
    return [part for part in parts if len(part.split()) >= LEAST_WORDS and question_terms(part)]


def named_documents(question: str, sources: Sequence[Units]) -> list[int]:
    """Return the indexes of the sources that the question may be about; all unless it names some.

    "When can Priya start?" is not about other people's CVs. Such a name is in the titles of some
    documents, and in neither the title nor the text of others. If the question is about several
    things, as in "at Pinion and at the hospital", all sources are returned, because one thing may
    not be called by its name.
    """
    every = list(range(len(sources)))
    titles = [{_without_s(word) for word in _WORD.findall(units.title)} for units in sources]
    given = {_without_s(word) for word in _WORD.findall(question)}
    if given.isdisjoint(set().union(*titles)) or _SEVERAL.search(question):
        return every
    texts = [_ADDRESS.sub(" ", units.structure.text) for units in sources]
    runs = [set(_WORD.findall(text)) for text in texts]
    # A name is capitalised wherever it occurs, unlike "Refunds" in a title.
    known = {_without_s(word) for text in (*texts, question) for word in _WITHIN.findall(text)}
    names = (given & known & set().union(*titles)).difference(*runs)
    about = {
        units.title
        for units, title, words in zip(sources, titles, runs, strict=True)
        if not names.isdisjoint((*title, *map(_without_s, words)))
    }
    return [s for s in every if sources[s].title in about] or every


def series_of(question: str, titles: Sequence[str]) -> dict[str, tuple[str, tuple[int, int, int]]]:
    """Return for each title that differs from others only in its date: its series and the date.

    The series is the title without its date; the date is year, month and day, with 0 for a missing
    part. Nothing is returned if the question names a year or month: it may ask about that time.

    Example:
        >>> series_of("Are fires allowed?", ["Minutes 2025-11", "Minutes, 8 April 2025", "Rules 2025"])
        {}
        >>> series_of("Are fires allowed?", ["Minutes 2025-11", "Minutes 2025-04-08", "Rules 2025"])
        {'Minutes 2025-11': ('Minutes ', (2025, 11, 0)), 'Minutes 2025-04-08': ('Minutes ', (2025, 4, 8))}
    """
    if _NAMES_DATE.search(question):
        return {}
    found = {title: dated for title in titles if (dated := _split_date(title))}
    shared = Counter(series for series, _ in found.values())
    return {title: dated for title, dated in found.items() if shared[dated[0]] > 1}


def _split_date(title: str) -> tuple[str, tuple[int, int, int]] | None:
    """Return a title without its last date, and the date."""
    found = [*_DATE.finditer(title)]
    if not found:
        return None
    before, name, after, year, month, day = found[-1].groups()
    number = 1 + [m[:3] for m in _MONTHS].index(name[:3].title()) if name else int(month or 0)
    rest = title[: found[-1].start()] + title[found[-1].end() :]
    return rest, (int(year), number, int((name and (before or after)) or day or 0))


def _without_s(word: str) -> str:
    """Return a word in lower case, without the "s" of "Ann's" or "Anns"."""
    return word.lower().removesuffix("s")


def missing_names(question: str, texts: Sequence[str]) -> list[str]:
    """Return the codes and, in an English question, the names that are in none of the texts.

    Example:
        >>> missing_names("What do E17 and E-41 mean in Kenya?", ["| E-17 | 2 bar |", "one 41"])
        ['E-41', 'Kenya']
    """
    codes = dict.fromkeys(_CODE.findall(question))
    known = normalize("NFKD", "\n".join(texts)).lower() if codes else ""
    spelled = {code: r"[\W_]?".join(_plain(code)) for code in codes}
    missing = [code for code in codes if not re.search(rf"(?<![^\W_]){spelled[code]}(?!\d)", known)]
    names = {
        name[0]: name
        for name in _NAME.finditer(question)
        if not TIME.fullmatch(name[1]) and not any(code.startswith(name[1]) for code in codes)
    }
    if names and language_of(question) is None and 2 * len(names) < len(question.split()):
        runs = {run for text in texts for run in _RUN.findall(text)}
        words = {_plain(word) for run in runs for word in (run, *run.split("-"))}
        missing += [
            name[0] if name[2] else name[1]
            for name in islice(names.values(), MOST_NAMES)
            if not all(_is_named(part, words, texts) for part in _parts(name[1], words))
            or (name[2] and name[2] not in words)
        ]
    return missing


def _parts(name: str, words: set[str]) -> list[str]:
    """Return the parts of a name with hyphens, such as "Off-Peak", unless the texts have it as one word."""
    return [name] if _plain(name) in words else name.split("-")


def _is_named(name: str, words: set[str], texts: Sequence[str]) -> bool:
    """Whether a name, another form of it or what it abbreviates is in the texts."""
    form = _plain(name)
    base = form.rstrip("s") or form
    if form in words or any(word.startswith(base) for word in words):
        return True
    if name.isupper() and len(name) <= MOST_INITIALS:
        initials = re.compile(rf"\b{'[a-z]*[ -]'.join(form)}", re.IGNORECASE)
        return any(map(initials.search, texts))
    like = [word for word in words if word[:1] == form[:1] and abs(len(word) - len(form)) < 3]
    return process.extractOne(form, like, scorer=fuzz.ratio, score_cutoff=ALIKE) is not None


def _plain(text: str) -> str:
    """Return the letters and digits of a text, without accents and case."""
    return re.sub(r"[\W_]+", "", normalize("NFKD", text)).lower()
