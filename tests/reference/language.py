"""The language of the copy constraint, byte by byte: ``docs/constraint.md`` as plain Python.

Except for the word lists, it shares no code with the constraint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from unicodedata import category

from semqa.decoding import QuotePolicy
from semqa.quotes import ABSTENTION, Source
from semqa.quotes.words import (
    UNSPACED,
    function_words,
    glue_words,
    language_of,
    question_words,
    words_as_asked,
)

_SPACES = " \n"
_OPENING = '("-/'
_CLOSING = ",.;:!?)"
_MOST_WORDS, _MOST_MARKS, _SHARED_WORDS = 10, 3, 3

Stretch = tuple[int, int, int, int]
"""Source, field, first and last index of quoted text."""


@dataclass(frozen=True, slots=True)
class Free:
    """A place in free text.

    Attributes:
        run: the text since the last quote; empty with ``free="any"``.
        pending: the bytes of an incomplete character.
        whole: the answer so far if it may become the abstention, else None.
        possible: whether the run obeys the rules; if not, only the abstention is possible.
        used: the quoted text.
        heads: the first words of earlier runs.
    """

    run: str = ""
    pending: bytes = b""
    whole: str | None = ""
    possible: bool = True
    used: frozenset[Stretch] = frozenset()
    heads: frozenset[tuple[str, ...]] = frozenset()


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a mark before its span; ``text`` begins with the bracket."""

    text: str
    used: frozenset[Stretch]
    heads: frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a span or after its closing space.

    Attributes:
        source: the number of the source.
        places: possible places: field, first index, next index, bytes read of the next character.
        closing: the places of the whole span, if the last byte may be the closing space.
    """

    source: int
    places: frozenset[tuple[int, int, int, int]]
    used: frozenset[Stretch]
    heads: frozenset[tuple[str, ...]]
    closing: frozenset[tuple[int, int, int]] = frozenset()


Place = Free | Mark | Span


class Language:
    """The valid answers, byte by byte and without tokens.

    `step` only returns places from which an answer can be finished if every byte can be written.
    """

    def __init__(self, sources: Sequence[Source], policy: QuotePolicy, question: str) -> None:
        self._policy = policy
        self._fields = {
            number: (source.text, source.title)
            for number, source in enumerate(sources, start=1)
            if policy.quote_from is None or number in policy.quote_from
        }
        listed = glue_words(language_of(question))
        self._functions = function_words(language_of(question))
        known = listed | question_words(question)
        self._words = known | {word[0].upper() + word[1:] for word in known}
        for word in words_as_asked(question):
            self._words |= {word, *word.split("'")}
        # These are called many times with the same arguments.
        self._starts = cache(self._find_starts)
        self._holds_content = cache(self._touches_content)
        self._words |= {word.upper() for word in question_words(question)}
        self._prefixes = {word[:end] for word in self._words for end in range(len(word) + 1)}
        self._byte_prefixes = {
            word.encode()[:end] for word in self._words for end in range(len(word.encode()) + 1)
        }

    def first(self) -> Place:
        """Return the place before the first byte."""
        return Free(possible=any(self._starts(number, frozenset()) for number in self._fields))

    def step(self, at: Place, byte: int) -> Place | None:
        """Return the place after one more byte; None if no answer continues with it."""
        if isinstance(at, Free):
            return self._free_byte(at, byte)
        if isinstance(at, Mark):
            return self._mark_byte(at, byte)
        return self._span_byte(at, byte)

    def may_end(self, at: Place) -> bool:
        """Tell whether an end token may follow."""
        if not isinstance(at, Free) or at.pending:
            return False
        if at.whole is not None and at.whole.removeprefix(" ") == ABSTENTION:
            return True
        return at.possible and bool(at.used) and self._run_is_whole(at.run)

    def _free_byte(self, at: Free, byte: int) -> Place | None:
        pending = at.pending + bytes([byte])
        try:
            char = pending.decode()
        except UnicodeDecodeError:
            return self._unfinished(at, pending)
        whole = None
        if at.whole is not None and _begins_abstention(at.whole + char):
            whole = at.whole + char
        if at.possible and char == "[" and self._may_open(at):
            head = tuple(word.lower() for word in _pieces(at.run))[:_SHARED_WORDS]
            heads = at.heads | {head} if len(head) == _SHARED_WORDS else at.heads
            return Mark("[", at.used, heads)
        possible = at.possible and char not in "[]" and self._run_fits(at, char)
        if not possible and whole is None:
            return None
        run = at.run + char if possible and self._policy.free == "glue" else ""
        return replace(at, run=run, pending=b"", whole=whole, possible=possible)

    def _unfinished(self, at: Free, pending: bytes) -> Free | None:
        if not at.possible or not _becomes_character(pending):
            return None
        if self._policy.free == "glue":
            word = _last_word(at.run)
            if word.encode() + pending not in self._byte_prefixes:
                return None
            if not word and not self._may_begin_word(at):
                return None
        return replace(at, pending=pending, whole=None)

    def _may_open(self, at: Free) -> bool:
        if self._policy.free == "glue":
            # The last word must be complete and followed by white space or an opening mark.
            before = at.run[-1:] if at.run else "" if not at.used else "]"
            if before and before not in _SPACES + _OPENING:
                return False
        return any(self._starts(number, at.used) for number in self._fields)

    def _run_is_whole(self, run: str) -> bool:
        return self._policy.free == "any" or _last_word(run) in {"", *self._words}

    def _may_begin_word(self, at: Free) -> bool:
        words = [word.lower() for word in _pieces(at.run)]
        before = at.run[-1:] if at.run else "" if not at.used else "]"
        if before and before not in _SPACES + _OPENING:
            return False
        if len(words) >= _MOST_WORDS:
            return False
        return len(words) != _SHARED_WORDS or tuple(words) not in at.heads

    def _run_fits(self, at: Free, char: str) -> bool:
        if self._policy.free == "any":
            return True
        word = _last_word(at.run)
        if char.isalnum() or char == "'":
            if not word and not self._may_begin_word(at):
                return False
            return word + char in self._prefixes and word + char != ""
        if word and word not in self._words:
            return False
        before = at.run[-1:] if at.run else "" if not at.used else "]"
        if char in _SPACES:
            return before == "" or before not in _SPACES
        marks = sum(one in _OPENING + _CLOSING for one in at.run)
        return char != "" and char in _OPENING + _CLOSING and marks < _MOST_MARKS

    def _mark_byte(self, at: Mark, byte: int) -> Place | None:
        digits = at.text[2:]
        if byte == 0x20 and digits and int(digits) in self._fields:
            places = self._starts(int(digits), at.used)
            if places:
                return Span(int(digits), places, at.used, at.heads)
        text = at.text + chr(byte)
        for known in self._fields:
            if f"[ {known}".startswith(text) and self._starts(known, at.used):
                return replace(at, text=text)
        return None

    def _span_byte(self, at: Span, byte: int) -> Place | None:
        if byte == 0x5D:
            if not at.closing:
                return None
            # All quotable occurrences of the text are used.
            texts = {self._fields[at.source][field][a:b] for field, a, b in at.closing}
            (text,) = texts
            used = frozenset(
                (at.source, field, a, a + len(text))
                for field, a, *_ in self._starts(at.source, at.used)
                if self._fields[at.source][field][a : a + len(text)] == text
                and self._may_stop(at.source, field, a, a + len(text), at.used)
            )
            return Free(whole=None, used=at.used | used, heads=at.heads)
        places, closing = set(), set()
        for field, first, index, offset in at.places:
            text = self._fields[at.source][field]
            if (
                byte == 0x20
                and not offset
                and self._may_stop(at.source, field, first, index, at.used)
            ):
                closing.add((field, first, index))
            encoded = _encoded(text[index : index + 1])
            if encoded[offset : offset + 1] != bytes([byte]):
                continue
            after = (index, offset + 1) if offset + 1 < len(encoded) else (index + 1, 0)
            furthest = index + 1
            if any(
                self._may_stop(at.source, field, first, end, at.used)
                for end in range(furthest, len(text) + 1)
            ):
                places.add((field, first, *after))
        if not places and not closing:
            return None
        return replace(at, places=frozenset(places), closing=frozenset(closing))

    def _find_starts(
        self, number: int, used: frozenset[Stretch]
    ) -> frozenset[tuple[int, int, int, int]]:
        return frozenset(
            (field, first, first, 0)
            for field, text in enumerate(self._fields[number])
            for first, char in enumerate(text)
            if _encoded(char)
            and not char.isspace()
            and self._may_cut(text, first)
            and any(
                self._may_stop(number, field, first, end, used)
                for end in range(first + 1, len(text) + 1)
            )
        )

    def _may_stop(
        self, number: int, field: int, first: int, end: int, used: frozenset[Stretch]
    ) -> bool:
        """Tell whether ``text[first:end]`` may be a span, given that it may begin at ``first``."""
        text = self._fields[number][field]
        span = text[first:end]
        if not span or span[-1].isspace() or not all(map(_encoded, span)):
            return False
        if not self._may_cut(text, end):
            return False
        for source, other, a, b in used:
            if source == number and other == field and a < end and first < b:
                return False
        return self._holds_content(text, first, end)

    def _touches_content(self, text: str, first: int, end: int) -> bool:
        position = 0
        for in_word, characters in groupby(
            text, lambda char: char.isalnum() and bool(_encoded(char))
        ):
            run = "".join(characters)
            begin, position = position, position + len(run)
            if in_word and begin < end and first < position and run not in self._functions:
                return True
        return False

    def _may_cut(self, text: str, index: int) -> bool:
        """Tell whether a span may begin or end before this character."""
        if self._policy.boundary == "char":
            return True
        before, after = re.split(r"[\[\]\ud800-\udfff]", text[:index])[-1], text[index:]
        if not before or not after or re.match(r"[\[\]\ud800-\udfff]", after):
            return True
        last, next_ = before[-1], after[0]
        in_character = category(next_)[0] == "M" or "\u200d" in (last, next_)
        in_word = (last.isalnum() or category(last)[0] == "M") and next_.isalnum()
        unspaced = any(re.match(f"[{UNSPACED}]", char) for char in (last, next_))
        in_negation = re.search("[nN]['’]?$", before) and re.match("['’]?[tT]", after)
        has_apostrophe = (last in "'’") != (next_ in "'’")
        left = before[-2:-1] if last in ".," else last if next_ in ".," else ""
        right = next_ if last in ".," else after[1:2] if next_ in ".," else ""
        in_number = left.isdigit() and right.isdigit()
        return not (
            in_character
            or (in_word and not unspaced)
            or (in_negation and has_apostrophe)
            or in_number
        )


def _pieces(text: str) -> list[str]:
    """Return the words of free text: runs of letters, digits and apostrophes."""
    runs = groupby(text, lambda char: char.isalnum() or char == "'")
    return ["".join(run) for is_word, run in runs if is_word]


def _last_word(run: str) -> str:
    end = len(run)
    while end and (run[end - 1].isalnum() or run[end - 1] == "'"):
        end -= 1
    return run[end:]


def _begins_abstention(text: str) -> bool:
    return ABSTENTION.startswith(text.removeprefix(" "))


def _becomes_character(pending: bytes) -> bool:
    """Tell whether bytes are a prefix of one character."""
    for tail in (b"\x80", b"\xbf", b"\x80\x80", b"\xbf\xbf", b"\x80\x80\x80", b"\xbf\xbf\xbf"):
        for mixed in (tail, tail[:-1] + b"\x80"):
            try:
                if len((pending + mixed).decode()) == 1:
                    return True
            except UnicodeDecodeError:
                continue
    return False


def _encoded(char: str) -> bytes:
    """Encode a character of a source; empty if spans cannot contain it."""
    try:
        return b"" if char in {"", "[", "]"} else char.encode()
    except UnicodeEncodeError:
        return b""
