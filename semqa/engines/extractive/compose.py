"""Compose: from chosen spans to one fluent paragraph in which only quotes carry facts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from semqa.engines.extractive.lexicon import PREPOSITIONS, PRONOUNS, is_verb
from semqa.engines.extractive.passage import SIGN_AFTER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.engines.extractive.passage import Passage

__all__ = [
    "Pick",
    "count_words",
    "join_pick",
    "span_text",
    "words_of",
    "write_list",
    "write_paragraph",
]

_YEAR = re.compile(r"(?<![\d,.])(?:1[0-9]|20)\d\d(?![\d,.]\d|\d)")

_DANGLING = " \t\r\n\u00a0:;,(-–—"
"""Characters that no quote ends with."""

_FINAL = re.compile(r"[.!?…。！？؟۔।][\"'”’)»]*$")

_SIGN_BEFORE = re.compile(r"(?<![^\s()\[\]\"“'‘«「])[-−–+±~≈<>≤≥$€£¥₹#№§.]+$")
"""Without them a number after them is another number."""


@dataclass(frozen=True, slots=True)
class Pick:
    """The quote chosen from one source.

    Attributes:
        source: number of the source, from 1.
        span: the quote from the body; empty when only the title is quoted.
        title: the title where it is quoted too, else empty.
        start: offset of the span's first word in the body, in code points.
        opens: whether the span begins where a sentence begins.
        breaks_off: whether the body ends in the middle of the quoted sentence.
        follows: whether the span reads well after a connector and a comma: it begins with a name
            or in lower case.
    """

    source: int
    span: str
    title: str = ""
    start: int = 0
    opens: bool = True
    breaks_off: bool = False
    follows: bool = False


def count_words(text: str) -> int:
    """Count the words of a text as a reader does: between white space."""
    return len(text.split())


def span_text(passage: Passage, first: int, last: int) -> str:
    """Return the verbatim text of a span, with the punctuation that belongs to it.

    A span takes an opening quotation mark or bracket with it where its partner is inside, the sign
    that a number begins or ends with, and the closing punctuation of a sentence it reaches the end
    of.

    Example:
        >>> from semqa.engines.extractive.passage import read_passage
        >>> passage = read_passage("At -40 °C it lost 5%, or (in all) $3.")
        >>> span_text(passage, 1, 3), span_text(passage, 4, 6), span_text(passage, 7, 10)
        ('-40 °C', 'lost 5%', '(in all) $3.')
    """
    text = passage.text
    start, end = passage.starts[first], passage.ends[last - 1]
    floor = passage.ends[first - 1] if first else 0
    if text[start].isdigit():
        leading = _SIGN_BEFORE.search(text, floor, start)
        start = leading.start() if leading else start
    if sign := SIGN_AFTER.match(text, end):
        end = sign.end()
    sentence = next((s for s in passage.sentences if s.last == last), None)
    if sentence is not None:
        end = max(end, sentence.end)
    while start > floor and text[start - 1] in _unmatched(text[start:end])[0]:
        start -= 1
    while end < len(text) and (
        text[end] in _unmatched(text[start:end])[1]
        or (text[end] in ".,!?" and text[end + 1 : end + 2] in _unmatched(text[start:end])[1])
    ):
        end += 1
    return text[start:end].rstrip(_DANGLING).lstrip()


def _unmatched(text: str) -> tuple[list[str], list[str]]:
    """Return the opening marks missing before a text and the closing marks missing after it.

    A straight quotation mark opens where it stands before a word and not after one.
    """
    missing: list[str] = []
    awaited: list[str] = []
    for i, char in enumerate(text):
        if char not in _MARKS:
            continue
        if char == '"':
            opening = text[i + 1 : i + 2].isalnum() and not (i and text[i - 1].isalnum())
        else:
            opening = char in _PARTNERS
        if opening:
            awaited.append(_PARTNERS[char])
        elif char in awaited:
            awaited.remove(char)
        else:
            missing.append(_OPENERS[char])
    return missing, awaited


_PARTNERS = {"(": ")", "“": "”", "«": "»", '"': '"', "「": "」"}
_OPENERS = {closing: opening for opening, closing in _PARTNERS.items()}
_MARKS = frozenset(_PARTNERS) | frozenset(_OPENERS)


def join_pick(pick: Pick) -> str:
    """Return what stands between a quoted title and the span after it."""
    first = pick.span.split(maxsplit=1)[0].lower().strip("\"“'(")
    if pick.opens:
        return ": "
    if is_verb(first):
        return " "
    if first in PREPOSITIONS or first in PRONOUNS:
        return ", "
    return ": "


def _marked(source: int, quote: str) -> str:
    return f"[ {source} {quote} ]"


def _plain(_source: int, quote: str) -> str:
    return quote


def _piece(pick: Pick, mark: Callable[[int, str], str]) -> str:
    """Return one source's part of the paragraph, a sentence."""
    quotes = [mark(pick.source, quote) for quote in (pick.title, pick.span) if quote]
    body = join_pick(pick).join(quotes) if len(quotes) == 2 else quotes[0]
    if _FINAL.search(pick.span or pick.title):
        return body
    return body + ("…" if pick.breaks_off else ".")


def _list(picks: Sequence[Pick], mark: Callable[[int, str], str]) -> str:
    """Return one sentence that lists the spans as meanings of an abbreviation."""
    quotes = [mark(pick.source, pick.span) for pick in picks]
    if len(quotes) == 1:
        return f"It stands for {quotes[0]}."
    comma = "," if len(quotes) > 2 else ""
    return f"It stands for {', '.join(quotes[:-1])}{comma} or {quotes[-1]}."


def words_of(pick: Pick) -> int:
    """Count the words that a pick adds to the paragraph."""
    return count_words(_piece(pick, _plain))


def write_list(picks: Sequence[Pick], max_words: int) -> str | None:
    """Write the meanings of an abbreviation, as many as fit; None where not even one does."""
    kept = list(picks)
    while kept and count_words(_list(kept, _plain)) > max_words:
        kept.pop()
    return _list(kept, _marked) if kept else None


def write_paragraph(picks: Sequence[Pick], max_words: int) -> str:
    """Join the picks, in the order given, to one paragraph of marked text.

    Glue says only what the quotes bear out: "Later" and "Earlier" where all years of a quote are
    after or before those of the quote before it, and once "Also" between two statements.

    Args:
        picks: what to quote; at least one.
        max_words: most words of the paragraph, connectors included.
    """
    room = max_words - sum(words_of(pick) for pick in picks)
    out = _piece(picks[0], _marked)
    used: set[str] = {""}
    for before, pick in pairwise(picks):
        connector = _connector(before, pick)
        if connector in used or count_words(connector) > room:
            connector = ""
        used.add(connector)
        room -= count_words(connector)
        out += f" {connector}{_piece(pick, _marked)}"
    return out


def _connector(before: Pick, pick: Pick) -> str:
    titled = bool(pick.title and pick.span)
    if not (titled or pick.follows):
        return ""
    old, new = (list(map(int, _YEAR.findall(each.span))) for each in (before, pick))
    if old and new and before.source != pick.source:
        if min(new) > max(old):
            return "Later, "
        if max(new) < min(old):
            return "Earlier, "
    return "" if titled else "Also, "
