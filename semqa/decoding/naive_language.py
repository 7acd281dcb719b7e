"""The language of the copy constraint, read byte by byte: ``docs/constraint.md`` as plain Python.

Part of the slow reference; knows nothing of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.decoding.policy import QuotePolicy
    from semqa.quotes import Source

__all__ = ["Ended", "Free", "Language", "Mark", "Place", "Span"]

_ENDERS = frozenset(".!?…。！？")
_CLOSERS = _ENDERS | frozenset("\"'”’»)*")


@dataclass(frozen=True, slots=True)
class Free:
    """In free text.

    What no rule of the policy asks for keeps its first value, so that places with the same future
    are equal.

    Attributes:
        pending: bytes of a character that is not whole yet.
        status: of the sentence: start, inside or ended.
        in_word: whether the last character is alphanumeric.
        name: the word so far, where it has to stand in the question.
        digits: the number so far.
        counted: whether the piece since the last white space is counted as a word.
        run_words: words of this run of free text.
        words: words of the whole answer.
        quotes: finished quotes, up to the number that the policy wants.
    """

    pending: bytes = b""
    status: str = "start"
    in_word: bool = False
    name: str = ""
    digits: str = ""
    counted: bool = False
    run_words: int = 0
    words: int = 0
    quotes: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """In a mark, before its span: ``text`` begins with the bracket."""

    text: str
    words: int
    quotes: int


@dataclass(frozen=True, slots=True)
class Span:
    """In a span, or after the space that closes it.

    Attributes:
        source: its number.
        places: where the next byte may stand: field, character, byte within the character.
        begun: whether anything of the span is written.
        gap: whether a character that is no white space would begin a word.
        closing: the status after the quote, if a closing space is the last byte; else empty.
    """

    source: int
    places: frozenset[tuple[int, int, int]]
    words: int
    quotes: int
    begun: bool = False
    gap: bool = True
    span_words: int = 0
    closing: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """After an end token."""


Place = Free | Mark | Span | Ended


class Language:
    """The answers that are valid, read byte by byte; knows nothing of tokens."""

    def __init__(self, sources: Sequence[Source], policy: QuotePolicy, question: str) -> None:
        self._policy = policy
        self._fields = {
            number: (source.title, source.text)
            for number, source in enumerate(sources, start=1)
            if policy.sources is None or number in policy.sources
        }
        self._starts = {
            number: frozenset(
                (field, index, 0)
                for field, text in enumerate(fields)
                for index, char in enumerate(text)
                if not char.isspace() and self._may_cut(text, index)
            )
            for number, fields in self._fields.items()
        }
        self._numbers = set(_runs(question, str.isdigit))
        self._names = [
            [{q, q.lower(), q.upper(), q.title()} for q in run]
            for run in _runs(question, str.isalnum)
        ]
        known = {c for run in self._names for chars in run for c in chars}.union(*self._numbers)
        # Any other character matters by its kind alone.
        self._known = {_quotable(char) for char in known if len(char) == 1}
        self._by_kind = "quoted" in {policy.names, policy.numbers} or self._counts
        self._alike: dict[object, bytes] = {}
        self._stand_ins: dict[bytes, bytes] = {}

    @property
    def _counts(self) -> bool:
        return self._policy.max_words is not None or self._policy.max_free_words is not None

    def step(self, at: Place, byte: int) -> Place | None:
        """Read one more byte; None where no answer goes on so."""
        if isinstance(at, Free):
            return self._free_byte(at, byte)
        if isinstance(at, Mark):
            return self._mark_byte(at, byte)
        if isinstance(at, Span):
            return self._span_byte(at, byte)
        return None

    def may_end(self, at: Place) -> bool:
        """Say whether an end token may follow."""
        return isinstance(at, Free) and self._run_ends(at) and at.quotes >= self._policy.min_quotes

    def begins_any_character(self, at: Place, after: Place) -> bool:
        """Say whether a step begins, in free text, a character that the question does not hold."""
        return (
            isinstance(at, Free)
            and isinstance(after, Free)
            and not at.pending
            and after.pending != b""
            and not self._begins_known(after.pending)
        )

    @staticmethod
    def missing_bytes(at: Place) -> int:
        """Return how many bytes a character of free text lacks."""
        if not isinstance(at, Free) or not at.pending:
            return 0
        lead = at.pending[0]
        return 2 + (lead >= 0xE0) + (lead >= 0xF0) - len(at.pending)

    def _free_byte(self, at: Free, byte: int) -> Place | None:
        pending = at.pending + bytes([byte])
        char = _character(pending)
        if char is None:
            return replace(at, pending=self._stand_in(pending))
        if char in {"", "]"}:
            return None
        if char == "[":
            return Mark("[", at.words, at.quotes) if self._run_ends(at) else None
        return self._free_character(at, char)

    def _free_character(self, at: Free, char: str) -> Free | None:
        policy = self._policy
        digits = self._digits_with(at, char) if policy.numbers == "quoted" else ""
        name = self._name_with(at, char) if policy.names == "quoted" else ""
        if digits is None or name is None:
            return None
        status, in_word = at.status, False
        if policy.names == "quoted":
            status, in_word = _next_status(status, char), char.isalnum()
        counted, run_words, words = at.counted, at.run_words, at.words
        if self._counts and char.isspace():
            counted = False
        elif self._counts and char.isalnum() and not counted:
            counted = True
            run_words += policy.max_free_words is not None
            words += policy.max_words is not None
            if _over(run_words, policy.max_free_words) or self._too_long(words, at.quotes):
                return None
        return Free(b"", status, in_word, name, digits, counted, run_words, words, at.quotes)

    def _digits_with(self, at: Free, char: str) -> str | None:
        """Return the number so far; None where it becomes none of the question's."""
        if char.isdigit():
            digits = at.digits + char
            return digits if any(n.startswith(digits) for n in self._numbers) else None
        return "" if not at.digits or at.digits in self._numbers else None

    def _name_with(self, at: Free, char: str) -> str | None:
        """Return the name so far, if the word is one; None where the question does not hold it."""
        if char.isalnum():
            begins = not at.in_word and at.status != "start" and _is_capital(char)
            name = at.name + char if begins or at.name else ""
            return name if not name or self._in_question(name, whole=False) else None
        return "" if not at.name or self._in_question(at.name, whole=True) else None

    def _too_long(self, words: int, quotes: int) -> bool:
        """Say whether there are too many words, one for each quote to come included."""
        return _over(words + max(0, self._policy.min_quotes - quotes), self._policy.max_words)

    def _run_ends(self, at: Free) -> bool:
        """Say whether the run of free text may end here, whole and with allowed words only."""
        return (
            not at.pending
            and (not at.digits or at.digits in self._numbers)
            and (not at.name or self._in_question(at.name, whole=True))
        )

    def _in_question(self, name: str, *, whole: bool) -> bool:
        return any(
            (len(run) == len(name) if whole else len(run) >= len(name))
            and all(char in chars for char, chars in zip(name, run, strict=False))
            for run in self._names
        )

    def _stand_in(self, pending: bytes) -> bytes:
        """Choose one of all beginnings of characters that have the same future as this one."""
        if pending not in self._stand_ins:
            known = self._by_kind and self._begins_known(pending)
            future = pending if known else _futures(pending, self._by_kind)
            self._stand_ins[pending] = self._alike.setdefault(future, pending)
        return self._stand_ins[pending]

    def _begins_known(self, pending: bytes) -> bool:
        return any(char.startswith(pending) for char in self._known)

    def _mark_byte(self, at: Mark, byte: int) -> Place | None:
        if at.text != "[" and byte == ord(" "):
            digits = at.text.removeprefix("[ ")
            for number, starts in self._starts.items():
                if digits == str(number):
                    return Span(number, starts, at.words, at.quotes)
        text = at.text + chr(byte)
        if any(f"[ {number}".startswith(text) for number in self._fields):
            return replace(at, text=text)
        return None

    def _span_byte(self, at: Span, byte: int) -> Place | None:
        if at.closing and byte == ord("]"):
            quotes = min(at.quotes + 1, self._policy.min_quotes)
            return Free(status=at.closing, words=at.words, quotes=quotes)
        places = set()
        written = closing = ""
        for field, index, offset in at.places:
            text = self._fields[at.source][field]
            char = text[index : index + 1]
            encoded = _quotable(char)
            if encoded[offset : offset + 1] == bytes([byte]):
                if offset + 1 < len(encoded):
                    places.add((field, index, offset + 1))
                else:
                    places.add((field, index + 1, 0))
                    written = char
            if byte == ord(" ") and at.begun and offset == 0:
                last = text[index - 1]
                if not last.isspace() and self._may_cut(text, index):
                    closing = self._status_after(last)
        if not places and not closing:
            return None
        policy, words, in_span = self._policy, at.words, at.span_words
        if written and at.gap and not written.isspace():
            words += policy.max_words is not None
            in_span += policy.max_span_words is not None
            if _over(in_span, policy.max_span_words) or self._too_long(words, at.quotes + 1):
                return None
        gap = written.isspace() if written else at.gap
        return Span(at.source, frozenset(places), words, at.quotes, True, gap, in_span, closing)

    def _status_after(self, last: str) -> str:
        if self._policy.names == "free":
            return "start"
        return "ended" if last in _ENDERS else "inside"

    def _may_cut(self, text: str, index: int) -> bool:
        """Say whether the boundary rule lets a span begin or end before this character."""
        if self._policy.boundary == "char" or index == 0:
            return True
        return not (text[index - 1].isalnum() and text[index : index + 1].isalnum())


def _runs(text: str, belongs: Callable[[str], bool]) -> list[str]:
    """Return the maximal runs of characters of one sort."""
    return ["".join(run) for fits, run in groupby(text, belongs) if fits]


def _over(count: int, limit: int | None) -> bool:
    return limit is not None and count > limit


def _is_capital(char: str) -> bool:
    return char.isupper() or char.istitle()


def _next_status(status: str, char: str) -> str:
    if char == "\n":
        return "start"
    if status == "start":
        return "inside" if char.isalnum() else "start"
    if status == "inside":
        return "ended" if char in _ENDERS else "inside"
    if char.isspace():
        return "start"
    return "ended" if char in _CLOSERS else "inside"


@cache
def _character(data: bytes) -> str | None:
    """Decode one character: empty if it cannot become one, None if bytes are missing."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None if any(_decodes(data + tail) for tail in _TAILS) else ""


# If any bytes complete a beginning, then some of these do.
_TAILS = [bytes(tail) for size in (1, 2, 3) for tail in product((0x80, 0xBF), repeat=size)]


def _decodes(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


@cache
def _quotable(char: str) -> bytes:
    """Encode a character of a source; empty if no span may hold it."""
    try:
        return b"" if char in {"", "[", "]"} else char.encode()
    except UnicodeEncodeError:
        return b""


@cache
def _futures(pending: bytes, by_kind: bool) -> tuple[object, ...]:
    """Describe all that may become of the beginning of a character; equal futures are equal."""
    longer = [pending + bytes([byte]) for byte in range(0x80, 0xC0)]
    if _character(longer[0]):
        whole = b"".join(longer).decode()
        return tuple(map(_kind, whole)) if by_kind else ()
    parts = [_futures(part, by_kind) if _character(part) is None else None for part in longer]
    return tuple((outcome, len(list(run))) for outcome, run in groupby(parts))


def _kind(char: str) -> str:
    """Sort a character that the question does not hold by all that the rules ask of it."""
    if char.isalnum():
        return "digit" if char.isdigit() else "capital" if _is_capital(char) else "letter"
    if char.isspace():
        return "space"
    return "ender" if char in _ENDERS else "closer" if char in _CLOSERS else "other"
