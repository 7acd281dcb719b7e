"""Whether a finished text is an answer that the constraint could have written; if not, why not.

Reads text, as the rules are defined (``docs/constraint.md``), and shares no code with what makes
masks: an answer that came from elsewhere, such as a server, is checked by this and not by trust.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from semqa.decoding.policy import QuotePolicy
    from semqa.quotes import Source

__all__ = ["find_breach"]

# Possessive, so that hostile text costs no more than its length.
_QUOTE = re.compile(r"\[ ([1-9][0-9]{0,8}+) ([^\[\]]++)\]")
_ENDERS = frozenset(".!?…。！？")
_CLOSERS = _ENDERS | frozenset("\"'”’»)*")


class _Piece(NamedTuple):
    """A run of free text (source 0), or the span of a quote."""

    source: int
    text: str


def find_breach(
    text: str, sources: Sequence[Source], policy: QuotePolicy, question: str = ""
) -> str | None:
    """Return in words the first rule that a text breaks; None for a valid answer.

    Args:
        text: the whole answer.
        sources: the numbered sources.
        policy: the rules.
        question: the question, whose numbers and names free text may repeat.

    Example:
        >>> from semqa import Source
        >>> from semqa.decoding import QuotePolicy, find_breach
        >>> find_breach("In [ 1 1943 ].", [Source("It was 1943.")], QuotePolicy())
        >>> find_breach("In [ 1 1944 ].", [Source("It was 1943.")], QuotePolicy())
        "'1944' does not stand in source 1"
    """
    pieces: list[_Piece] = []
    for piece in _pieces(text):
        if piece.source == 0 and (bracket := re.search(r"[\[\]]", piece.text)):
            near = piece.text[bracket.start() : bracket.start() + 20]
            return f"a bracket that belongs to no quote: {near!r}"
        pieces.append(piece)
    found = (
        _in_quotes(pieces, sources, policy),
        _in_counts(pieces, policy),
        _in_numbers(pieces, question) if policy.numbers == "quoted" else None,
        _in_names(pieces, question) if policy.names == "quoted" else None,
        "it is no valid Unicode" if re.search("[\ud800-\udfff]", text) else None,
    )
    return next((reason for reason in found if reason is not None), None)


def _pieces(text: str) -> Iterator[_Piece]:
    """Split a text into free text, quote, free text, and so on."""
    at = 0
    for quote in _QUOTE.finditer(text):
        span = quote[2]
        if len(span) > 1 and span[-1] == " ":
            yield _Piece(0, text[at : quote.start()])
            yield _Piece(int(quote[1]), span[:-1])
            at = quote.end()
    yield _Piece(0, text[at:])


def _in_quotes(
    pieces: Sequence[_Piece], sources: Sequence[Source], policy: QuotePolicy
) -> str | None:
    for number, span in dict.fromkeys(pieces):  # a quote made often costs as much as one
        if number == 0:
            continue
        if number > len(sources):
            return f"there is no source {number}"
        if policy.sources is not None and number not in policy.sources:
            return f"source {number} may not be quoted"
        if span != span.strip():
            return f"{_shown(span)} begins or ends with white space"
        fields = (sources[number - 1].title, sources[number - 1].text)
        if not any(span in field for field in fields):
            return f"{_shown(span)} does not stand in source {number}"
        if policy.boundary == "word" and not any(_cuts_no_word(span, field) for field in fields):
            return f"{_shown(span)} cuts a word of source {number}"
    return None


def _cuts_no_word(span: str, field: str) -> bool:
    """Say whether a span stands somewhere in a field with no word cut at its edges."""
    at = field.find(span)
    while at >= 0:
        end = at + len(span)
        before = at == 0 or not (field[at - 1].isalnum() and span[0].isalnum())
        behind = end == len(field) or not (span[-1].isalnum() and field[end].isalnum())
        if before and behind:
            return True
        at = field.find(span, at + 1)
    return False


def _in_counts(pieces: Sequence[_Piece], policy: QuotePolicy) -> str | None:
    free = [_free_words(text) for number, text in pieces if number == 0]
    spans = [len(text.split()) for number, text in pieces if number]
    words = sum(free) + sum(spans)
    if policy.max_words is not None and words > policy.max_words:
        return f"{words} words, more than {policy.max_words}"
    if policy.max_free_words is not None and max(free) > policy.max_free_words:
        return f"{_counted(max(free), 'word')} outside of quotes, more than {policy.max_free_words}"
    longest = max(spans, default=0)
    if policy.max_span_words is not None and longest > policy.max_span_words:
        return f"{longest} words in one quote, more than {policy.max_span_words}"
    if len(spans) < policy.min_quotes:
        return f"{_counted(len(spans), 'quote')}, fewer than {policy.min_quotes}"
    return None


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _free_words(text: str) -> int:
    return sum(any(map(str.isalnum, piece)) for piece in text.split())


def _in_numbers(pieces: Sequence[_Piece], question: str) -> str | None:
    known = set(_runs(question, str.isdigit))
    for source, text in pieces:
        for number in _runs(text, str.isdigit) if source == 0 else ():
            if number not in known:
                return f"the number {_shown(number)} stands outside of quotes"
    return None


def _in_names(pieces: Sequence[_Piece], question: str) -> str | None:
    known = list(_runs(question, str.isalnum))
    status = "start"
    for source, text in pieces:
        if source:
            status = "ended" if text[-1] in _ENDERS else "inside"
            continue
        for in_word, letters in groupby(text, str.isalnum):
            run = "".join(letters)
            capital = in_word and (run[0].isupper() or run[0].istitle())
            if capital and status != "start" and not any(_same_word(run, asked) for asked in known):
                return f"the name {_shown(run)} stands outside of quotes"
            for char in run:
                status = _next_status(status, char)
    return None


def _same_word(word: str, asked: str) -> bool:
    return len(word) == len(asked) and all(
        c in (q, q.lower(), q.upper(), q.title()) for c, q in zip(word, asked, strict=True)
    )


def _next_status(status: str, char: str) -> str:
    """Return the status of the sentence after a character of free text."""
    if char == "\n":
        return "start"
    if status == "start":
        return "inside" if char.isalnum() else "start"
    if status == "inside":
        return "ended" if char in _ENDERS else "inside"
    if char.isspace():
        return "start"
    return "ended" if char in _CLOSERS else "inside"


def _runs(text: str, belongs: Callable[[str], bool]) -> Iterator[str]:
    return ("".join(run) for fits, run in groupby(text, belongs) if fits)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
