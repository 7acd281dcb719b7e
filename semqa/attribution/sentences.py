"""Split plain text into sentences by rules, without a model or a package.

Scores by sentence must be the same on every machine, so no optional tokenizer is used. The rules
know common English abbreviations. For quoted answers, use `semqa.quotes.citations.sentence_spans`,
which knows where quotes begin.
"""

from __future__ import annotations

import re

_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？][”’」』）]*|\n+")
_LAST_WORD = re.compile(r"(?<!\w)([A-Za-z](?:[A-Za-z.]*[A-Za-z])?)$")
_NEXT = re.compile(r"[\s\"'“‘«„(\[]*(\w+)")


def word_set(listed: str) -> frozenset[str]:
    """Return the words of a list in one string."""
    return frozenset(listed.split())


_NEVER_FINAL = word_set(
    "mr mrs ms dr prof gen col lt sgt capt cmdr rev hon gov sen rep pres vs cf ca approx e.g i.e viz"
)
"""Abbreviations that hardly ever end a sentence."""

_BEFORE_NUMBERS = word_set("no nos vol vols fig figs p pp ch sec art eq")
"""Words that are abbreviations if a number follows them."""

_MAYBE_FINAL = word_set(
    "jr sr inc ltd co corp bros etc al dept univ st mt ft est ave blvd rd a.m p.m "
    "jan feb mar apr jun jul aug sept sep oct nov dec"
)
"""Abbreviations that can end a sentence."""

_STARTERS = word_set(
    "the a an this that these those it its he she his her they their we our you your i there here in "
    "on at by for from with as after before when while if but and or however also although because "
    "since both many most some all each one two three during other another"
)
"""Words that, if capitalised, start a sentence rather than a name."""


def sentence_ranges(text: str, *, any_case: bool = False) -> list[tuple[int, int]]:
    r"""Return the spans (start, end) of the sentences, end exclusive, without surrounding blanks.

    A sentence ends at the end of a line. It also ends at ``.``, ``!`` or ``?`` with any closing
    quotation marks and brackets, if white space follows and the next character is not a lower-case
    letter (or, with `any_case`, even then). It does not end after a title (*Dr.*), a single initial
    or a list number. After another abbreviation (*Inc.*, *U.S.*), it only ends if the next word is
    likely to start a sentence.

    Example:
        >>> text = "Dr. J. Lee of the U.S. Navy left. (It rained.) Why?"
        >>> [text[start:end] for start, end in sentence_ranges(text)]
        ['Dr. J. Lee of the U.S. Navy left.', '(It rained.)', 'Why?']
    """
    ranges: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if _ends(text, start, match, any_case=any_case):
            _add(ranges, text, start, match.end())
            start = match.end()
    _add(ranges, text, start, len(text))
    return ranges


def split_sentences(text: str, *, any_case: bool = False) -> list[str]:
    """Split a text into sentences; see `sentence_ranges`."""
    return [text[start:end] for start, end in sentence_ranges(text, any_case=any_case)]


def _add(ranges: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    if piece.strip():
        ranges.append(
            (start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip()))
        )


def _ends(text: str, start: int, match: re.Match[str], *, any_case: bool) -> bool:
    mark = match[0]
    if mark[0] in "\n。！？":
        return True
    rest = text[match.end() : match.end() + 80].lstrip()
    if not rest:
        return True
    if rest[0].islower() and (not any_case or mark.startswith(("..", "…"))):
        return False
    if mark != ".":
        return True
    before = text[max(start, match.start() - 40) : match.start()]
    if before.strip().isdigit() and match.start() - start < 5:
        return False  # "1." at the beginning of a list item
    word = _LAST_WORD.search(before)
    if word is None:
        return True
    name = word[1].casefold()
    if name in _NEVER_FINAL or (len(name) == 1 and name != "i" and word[1].isupper()):
        return False
    if name in _BEFORE_NUMBERS:
        return not rest[0].isdigit()
    if name in _MAYBE_FINAL or "." in name:
        following = _NEXT.match(rest)
        return following is None or following[1].casefold() in _STARTERS
    return True
