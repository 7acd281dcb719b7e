"""The language of the copy constraint as a question about a finished text: is it an answer?

Nothing but regular expressions, `str.find` and the words of ``docs/constraint.md``; no tokens and
no prefixes, but for `masks_by_enumeration`, which tries every sequence of tokens.
"""

from __future__ import annotations

import re
from itertools import groupby, product
from typing import TYPE_CHECKING, NamedTuple

from semqa.decoding import QuotePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa import Source

__all__ = [
    "Piece",
    "is_answer",
    "is_answer_bytes",
    "masks_by_enumeration",
    "may_be_quoted",
    "pieces_of",
]

ANSWER = re.compile(r"[^\[\]]*(?:\[ [1-9][0-9]* [^\[\]]+ \][^\[\]]*)*")
QUOTE = re.compile(r"\[ ([0-9]+) ([^\[\]]+) \]")

ENDERS = ".!?…。！？"
CLOSERS = ENDERS + "\"'”’»)*"


class Piece(NamedTuple):
    """A run of free text (source 0), or the span of a quote."""

    source: int
    text: str


def pieces_of(text: str) -> list[Piece] | None:
    """Split a text into free text, quote, free text, …; None where the marks are wrong."""
    if not ANSWER.fullmatch(text):
        return None
    pieces, at = [], 0
    for quote in QUOTE.finditer(text):
        pieces += [Piece(0, text[at : quote.start()]), Piece(int(quote[1]), quote[2])]
        at = quote.end()
    return [*pieces, Piece(0, text[at:])]


def is_answer_bytes(
    data: bytes, sources: Sequence[Source], policy: QuotePolicy, question: str = ""
) -> bool:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return is_answer(text, sources, policy, question)


def is_answer(
    text: str, sources: Sequence[Source], policy: QuotePolicy, question: str = ""
) -> bool:
    pieces = pieces_of(text)
    return (
        pieces is not None
        and all(piece.source == 0 or stands(piece, sources, policy) for piece in pieces)
        and counts_fit(pieces, policy)
        and (policy.numbers == "free" or numbers_fit(pieces, question))
        and (policy.names == "free" or names_fit(pieces, question))
    )


def stands(piece: Piece, sources: Sequence[Source], policy: QuotePolicy) -> bool:
    """Say whether a span may be cut from the source that it names."""
    if piece.source > len(sources):
        return False
    if policy.sources is not None and piece.source not in policy.sources:
        return False
    if piece.text != piece.text.strip():
        return False
    source = sources[piece.source - 1]
    return any(
        policy.boundary == "char" or (cuts_no_word(field, at) and cuts_no_word(field, at + size))
        for field, size in [(source.title, len(piece.text)), (source.text, len(piece.text))]
        for at in range(len(field))
        if field.find(piece.text, at, at + size) == at
    )


def cuts_no_word(text: str, at: int) -> bool:
    return at in {0, len(text)} or not (text[at - 1].isalnum() and text[at].isalnum())


def may_be_quoted(span: str, source: Source, policy: QuotePolicy) -> bool:
    """Say whether a span may be cut from this source, whatever its number."""
    return is_answer(f"[ 1 {span} ]", [source], QuotePolicy(boundary=policy.boundary)) and not any(
        "\ud800" <= char <= "\udfff" for char in span
    )


def words_of(piece: Piece) -> int:
    if piece.source:
        return len(piece.text.split())
    return sum(any(char.isalnum() for char in word) for word in piece.text.split())


def counts_fit(pieces: Sequence[Piece], policy: QuotePolicy) -> bool:
    free = [words_of(piece) for piece in pieces if not piece.source]
    spans = [words_of(piece) for piece in pieces if piece.source]
    return (
        (policy.max_words is None or sum(free) + sum(spans) <= policy.max_words)
        and (policy.max_free_words is None or max(free) <= policy.max_free_words)
        and (policy.max_span_words is None or max(spans, default=0) <= policy.max_span_words)
        and len(spans) >= policy.min_quotes
    )


def runs(text: str, belongs: Callable[[str], bool]) -> list[str]:
    return ["".join(run) for fits, run in groupby(text, belongs) if fits]


def numbers_fit(pieces: Sequence[Piece], question: str) -> bool:
    known = runs(question, str.isdigit)
    return all(
        number in known
        for piece in pieces
        if not piece.source
        for number in runs(piece.text, str.isdigit)
    )


def names_fit(pieces: Sequence[Piece], question: str) -> bool:
    status = "start"
    for piece in pieces:
        if piece.source:
            status = "ended" if piece.text[-1] in ENDERS else "inside"
            continue
        at_word = ""
        for at, char in enumerate(piece.text):
            begins_word = char.isalnum() and not (at and piece.text[at - 1].isalnum())
            if begins_word and status != "start" and (char.isupper() or char.istitle()):
                at_word = runs(piece.text[at:], str.isalnum)[0]
                if not any(is_same_word(at_word, asked) for asked in runs(question, str.isalnum)):
                    return False
            status = status_after(status, char)
    return True


def is_same_word(word: str, asked: str) -> bool:
    return len(word) == len(asked) and all(
        c == q or c == q.lower() or c == q.upper() or c == q.title()
        for c, q in zip(word, asked, strict=True)
    )


def status_after(status: str, char: str) -> str:
    if char == "\n":
        return "start"
    if status == "start":
        return "inside" if char.isalnum() else "start"
    if status == "inside":
        return "ended" if char in ENDERS else "inside"
    if char.isspace():
        return "start"
    return "ended" if char in CLOSERS else "inside"


def masks_by_enumeration(
    tokens: Sequence[bytes], most: int, accepts: Callable[[bytes], bool]
) -> dict[tuple[int, ...], set[int]]:
    """Return for every beginning of an answer of at most so many tokens which may follow.

    -1 stands for the end, which is no token here and does not count.
    """
    masks: dict[tuple[int, ...], set[int]] = {}
    for size in range(most + 1):
        for ids in product(range(len(tokens)), repeat=size):
            if accepts(b"".join(tokens[token] for token in ids)):
                for at, token in enumerate((*ids, -1)):
                    masks.setdefault(ids[:at], set()).add(token)
    return masks
