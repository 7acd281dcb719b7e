"""Check whether a finished text obeys the rules of the copy constraint.

This checks text by the rules of ``docs/constraint.md``, such as an answer from a server. It shares
no code with the masks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from semqa.quotes import Source
from semqa.quotes.answer import ABSTENTION
from semqa.quotes.words import (
    cuts_word,
    function_words,
    glue_words,
    language_of,
    question_words,
    words_as_asked,
)

if TYPE_CHECKING:
    from semqa.decoding.policy import QuotePolicy

# Possessive quantifiers keep the time linear on malicious text.
_QUOTE = re.compile(r"\[ ([1-9][0-9]{0,8}+) ([^\[\]]++)\]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_MARK = re.compile(r"[-/(\",.:;!?)]")
_GLUE = re.compile(r"[^\W_]|[-/(\",.:;!?)' \n]")
_MAX_WORDS, _MAX_MARKS, _SHARED_WORDS = 10, 3, 3


class _Piece(NamedTuple):
    """A run of free text (source 0), or the span of a quote."""

    source: int
    text: str


def find_breach(
    text: str, sources: Sequence[Source], policy: QuotePolicy, question: str = ""
) -> str | None:
    """Return a description of a rule that a text breaks; None for a valid answer.

    Example:
        >>> from semqa import Source
        >>> from semqa.decoding import QuotePolicy, find_breach
        >>> find_breach("In [ 1 1943 ].", [Source("It was 1943.")], QuotePolicy())
        >>> find_breach("Alas [ 1 1943 ].", [Source("It was 1943.")], QuotePolicy())
        "'Alas' is not allowed outside quotes"
    """
    if text.removeprefix(" ") == ABSTENTION:
        return None
    pieces: list[_Piece] = []
    for piece in _pieces(text):
        if piece.source == 0 and (bracket := re.search(r"[\[\]]", piece.text)):
            near = piece.text[bracket.start() : bracket.start() + 20]
            return f"a bracket is not part of a quote: {near!r}"
        pieces.append(piece)
    if re.search("[\ud800-\udfff]", text):
        return "the text is not valid Unicode"
    if len(pieces) == 1:
        return "nothing is quoted, and this is not the abstention sentence"
    quotes = _in_quotes(pieces, sources, policy, language_of(question))
    return quotes or (_in_free_text(pieces, question) if policy.free == "glue" else None)


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
    pieces: Sequence[_Piece], sources: Sequence[Source], policy: QuotePolicy, language: str
) -> str | None:
    functions = function_words(language)
    used: dict[int, list[tuple[int, int, int]]] = {}
    for number, span in pieces:
        if number == 0:
            continue
        if number > len(sources):
            return f"there is no source {number}"
        if policy.quote_from is not None and number not in policy.quote_from:
            return f"source {number} may not be quoted"
        if span != span.strip():
            return f"{_shown(span)} begins or ends with white space"
        source = sources[number - 1]
        if span not in source.title and span not in source.text:
            return f"{_shown(span)} is not in source {number}"
        words = policy.boundary == "word"
        places = [*_places(span, source.text, 0, words), *_places(span, source.title, 1, words)]
        if not places:
            return f"{_shown(span)} cuts a word of source {number}"
        fields = (source.text, source.title)
        places = [place for place in places if _holds_content(fields[place[0]], place, functions)]
        if not places:
            return f"{_shown(span)} has no content word"
        taken = used.setdefault(number, [])
        places = [
            (field, start, end)
            for field, start, end in places
            if not any(field == other and start < b and a < end for other, a, b in taken)
        ]
        if not places:
            return f"{_shown(span)} repeats an earlier quote"
        taken += places
    return None


def _places(span: str, field: str, number: int, words: bool) -> Iterator[tuple[int, int, int]]:
    """Yield the occurrences of a span in a field; with `words`, only those that cut no word."""
    at = field.find(span)
    while at >= 0:
        end = at + len(span)
        if not words or not (cuts_word(field, at) or cuts_word(field, end)):
            yield number, at, end
        at = field.find(span, at + 1)


def _holds_content(field: str, place: tuple[int, int, int], functions: frozenset[str]) -> bool:
    """Return whether a span includes part of a content word."""
    _, start, end = place
    while start and field[start - 1].isalnum() and field[start].isalnum():
        start -= 1
    while end < len(field) and field[end - 1].isalnum() and field[end].isalnum():
        end += 1
    runs = groupby(field[start:end], str.isalnum)
    return any(in_word and "".join(run) not in functions for in_word, run in runs)


def _in_free_text(pieces: Sequence[_Piece], question: str) -> str | None:
    known = glue_words(language_of(question)) | question_words(question)
    written = known | {word[0].upper() + word[1:] for word in known}
    written |= {word.upper() for word in question_words(question)}
    for word in words_as_asked(question):
        written |= {word, *word.split("'")}
    heads: set[tuple[str, ...]] = set()
    for place, (number, text) in enumerate(pieces):
        if number:
            continue
        words = _WORD.findall(text)
        for word in words:
            if word not in written:
                return f"{_shown(word)} is not allowed outside quotes"
        if len(words) > _MAX_WORDS:
            return f"{len(words)} words in a row are outside quotes"
        if len(_MARK.findall(text)) > _MAX_MARKS:
            return f"more than {_MAX_MARKS} punctuation marks in a row are outside quotes"
        if problem := _in_spacing(text, first=place == 0, last=place == len(pieces) - 1):
            return problem
        head = tuple(word.lower() for word in words[:_SHARED_WORDS])
        if len(words) > _SHARED_WORDS and head in heads:
            return f"{_shown(' '.join(words))} begins like an earlier run"
        if len(head) == _SHARED_WORDS:
            heads.add(head)
    return None


def _in_spacing(text: str, *, first: bool, last: bool) -> str | None:
    if odd := "".join(_GLUE.sub("", text)):
        return f"{_shown(odd[0])} is not allowed outside quotes"
    if re.search(r"[ \n][ \n]", text):
        return "there are two white-space characters in a row"
    if re.search(r"(?<![^\W_])'|'(?![^\W_])", text):
        return "an apostrophe is outside a word"
    joined = text if first else f"]{text}"
    if not last:
        joined += "["
    if found := re.search(r"[\],.:;!?)](?=[^\W_]|\[)|[^\W_](?=\[)", joined):
        return f"there is no space after {_shown(found[0])}"
    return None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
