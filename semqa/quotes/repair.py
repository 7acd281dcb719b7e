"""Repairing the quotes of a text that nothing kept to its sources.

Each mark is compared with its source (``docs/endpoints.md`` says it for readers):

- verbatim: it stays as it is;
- nearly verbatim (`semqa.quotes.align` says what that is): the source's own words take its place;
- verbatim in exactly one other source, with at least `MOVED_WORDS` words: it gets that number;
- anything else loses its brackets, and its words stay as free text.

So every mark of a repaired text is a quote that verifies, and whatever was changed is on record. A
text whose marks are all verbatim stays as it is, character for character. Knows nothing of engines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from semqa.quotes.align import Aligner
from semqa.quotes.answer import QuotedAnswer, check_bounds
from semqa.quotes.marks import BrokenMark, FreePiece, Mark, canonical_mark, scan_marks
from semqa.quotes.quote import Dropped, FreeText, Quote, Repair
from semqa.quotes.words import read_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from semqa.quotes.quote import Segment
    from semqa.quotes.source import Source

__all__ = ["MOVED_WORDS", "Repairer", "Repairs", "repair"]

MOVED_WORDS = 5
"""Words of a quote that may get the number of another source: of five words that humans quoted from one
source of a question, 3% stand in another by chance, of three words 10%."""

_BRACKET = re.compile(r"[\[\]]")
_MAY_BE_MARK = re.compile(r"\[\s*+(?:$|[0-9]++(?:$|\s|[,;–-](?:[0-9,;–\s-])*+$))")
_FRAME = re.compile(r"\[\s*+[0-9]*+\s*+")
_CITATION = re.compile(r"[\[\]0-9,;–\s-]*")
_STOPS = ".!?,;:…"


class _DroppedMark(NamedTuple):
    """A mark that lost its brackets, and where its words are.

    Attributes:
        quotes: how many quotes stand before it.
        offset: of its words in the free text after the last of them.
    """

    quotes: int
    offset: int
    source: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Repairs:
    """What was changed in the marks of one text.

    Attributes:
        quotes: for each quote of the repaired text, how it was repaired; None where it was verbatim.
        dropped: the marks that lost their brackets.
    """

    quotes: tuple[Repair | None, ...] = ()
    dropped: tuple[_DroppedMark, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything was changed."""
        return bool(self.dropped) or any(self.quotes)

    def read(self, text: str, sources: Iterable[Source]) -> QuotedAnswer:
        """Read the repaired text, as `QuotedAnswer.parse` does, with what was changed on record."""
        answer = QuotedAnswer.parse(text, sources)
        if not self:
            return answer
        segments: list[Segment] = []
        runs: list[FreeText | None] = [None]
        changes = iter(self.quotes)
        for segment in answer.segments:
            if isinstance(segment, Quote):
                segments.append(replace(segment, repaired=next(changes, None)))
                runs.append(None)
            else:
                segments.append(segment)
                runs[-1] = segment
        dropped = [_placed(mark, runs[mark.quotes], answer) for mark in self.dropped]
        return replace(answer, segments=tuple(segments), dropped=tuple(dropped))


def repair(text: str, sources: Iterable[Source]) -> QuotedAnswer:
    """Read a marked answer with its quotes repaired: all that remain are verified.

    Raises:
        InputError: as `QuotedAnswer.parse`.

    Example:
        >>> from semqa import Source
        >>> source = Source("Bing Crosby released it in 1942.")
        >>> answer = repair("By [1 bing crosby], not in [1 1943].", [source])
        >>> answer.marked, answer.verified
        ('By [ 1 Bing Crosby ], not in 1943.', False)
        >>> answer.quotes[0].repaired.text, answer.dropped[0].text
        ('bing crosby', '1943')
    """
    numbered = tuple(sources)
    repairer = Repairer(numbered)
    repaired = repairer.add(text) + repairer.end()
    return repairer.repairs.read(repaired, numbered)


class Repairer:
    """Repairs a text while it is written.

    What `add` and `end` return, joined, is the repaired text, however the text is cut into pieces.

    Args:
        sources: the numbered sources.

    Example:
        >>> from semqa import Source
        >>> repairer = Repairer([Source("Bing Crosby sang it in 1943.")])
        >>> [repairer.add(piece) for piece in ("By [ 1 bing ", "crosby ] in", " [ 1 1944 ]")]
        ['By ', '[ 1 Bing Crosby ] in', ' 1944']
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)
        self._aligner = Aligner(self._sources)
        self._held = ""
        self._looked = 1
        self._strays = ""
        self._stop = ""
        self._free = 0
        self._marks = 0
        self._quotes: list[Repair | None] = []
        self._dropped: list[_DroppedMark] = []
        self._out: list[str] = []

    @property
    def repairs(self) -> Repairs:
        """What was changed so far."""
        return Repairs(tuple(self._quotes), tuple(self._dropped))

    def add(self, piece: str) -> str:
        """Take more of the text, and return what is sure by now.

        Raises:
            InputError: there are more marks than `QuotedAnswer.parse` takes.
        """
        return self._take(piece, final=False)

    def end(self) -> str:
        """Return the rest, after the last piece.

        Raises:
            InputError: as `add`.
        """
        return self._take("", final=True)

    def _take(self, piece: str, *, final: bool) -> str:
        text = self._held + piece
        at = 0
        while at < len(text):
            opening = text.find("[", at)
            if opening < 0:
                self._write(text[at:])
                at = len(text)
                break
            self._write(text[at:opening])
            at = opening
            bracket = _BRACKET.search(text, opening + self._looked)
            if bracket is None:
                if not final and _MAY_BE_MARK.match(text, opening):
                    break
                self._decide(text[opening:], last=True)
                at = len(text)
            else:
                at = bracket.end() if bracket[0] == "]" else bracket.start()
                self._decide(text[opening:at])
            self._looked = 1
        self._held = text[at:]
        self._looked = max(1, len(self._held))
        if final:
            self._write(self._strays)
            self._strays = ""
            self._write_stop("")
        written, self._out = "".join(self._out), []
        return written

    def _decide(self, candidate: str, *, last: bool = False) -> None:
        """Decide what becomes of a bracket and what follows, up to where the next one begins."""
        (piece,) = scan_marks(candidate)
        if isinstance(piece, FreePiece):
            if not last and candidate[-1] != "]" and _MAY_BE_MARK.match(candidate):
                # Without the next bracket, this one would go on.
                self._strays += candidate
            else:
                self._keep_strays()
                self._write(candidate)
            return
        self._marks += 1
        check_bounds(self._marks, self._sources)
        if isinstance(piece, BrokenMark):
            words = _FRAME.sub("", piece.raw, count=1)
            if words.endswith("]"):
                words = words[:-1].rstrip()
            if _CITATION.fullmatch(piece.raw):
                words = ""
            self._drop(piece.source, words, piece.reason)
        else:
            self._check(piece, candidate)

    def _check(self, mark: Mark, raw: str) -> None:
        number, span = mark.source, mark.span
        if 0 < number <= len(self._sources):
            if _holds(self._sources[number - 1], span):
                self._quote(raw, None)
                return
            passage = self._aligner.find(span, number)
            if passage is not None:
                field = self._sources[number - 1].field(passage.field)
                said = field[passage.start : passage.end]
                self._quote(canonical_mark(number, said), Repair(number, span, passage.distance))
                stops = span[len(span.rstrip(_STOPS)) :]
                self._stop = "" if said.endswith(stops) else stops
                return
        elsewhere = [k for k, s in enumerate(self._sources, 1) if k != number and _holds(s, span)]
        if len(elsewhere) == 1 and len(read_words(span)) >= MOVED_WORDS:
            self._quote(canonical_mark(elsewhere[0], span), Repair(number, span, 0.0))
            return
        self._drop(number, span, self._reason(number, elsewhere))

    def _reason(self, number: int, elsewhere: list[int]) -> str:
        missing = (
            f"source {number} does not hold this text, nor anything near enough"
            if 0 < number <= len(self._sources)
            else f"there is no source {number}"
        )
        if self._aligner.exhausted:
            missing = f"source {number} does not hold this text; too much text to look for more"
        if len(elsewhere) > 1:
            return f"{missing}; it stands in sources {', '.join(map(str, elsewhere))}"
        if elsewhere:
            return f"{missing}; it stands in source {elsewhere[0]}, perhaps by chance"
        return missing

    def _quote(self, mark: str, change: Repair | None) -> None:
        self._keep_strays()
        self._write_stop("")
        self._out.append(mark)
        self._quotes.append(change)
        self._free = 0

    def _drop(self, number: int, words: str, reason: str) -> None:
        strays, self._strays = self._strays, ""
        # With this bracket gone, the one before it might begin a mark that nobody wrote.
        self._write(strays.replace("[", "("))
        self._write_stop(words)
        self._dropped.append(_DroppedMark(len(self._quotes), self._free, number, words, reason))
        self._write(words)

    def _keep_strays(self) -> None:
        strays, self._strays = self._strays, ""
        self._write(strays)

    def _write(self, text: str) -> None:
        if text:
            self._write_stop(text)
            self._out.append(text)
            self._free += len(text)

    def _write_stop(self, following: str) -> None:
        """Write the stop that a repaired quote ended with, unless one follows."""
        stop, self._stop = self._stop, ""
        if stop and (not following or following[0] not in _STOPS):
            self._out.append(stop)
            self._free += len(stop)


def _holds(source: Source, span: str) -> bool:
    return span in source.text or span in source.title


def _placed(mark: _DroppedMark, run: FreeText | None, answer: QuotedAnswer) -> Dropped:
    if run is None:  # nothing was left of it, next to a quote
        quotes = answer.quotes
        before = quotes[mark.quotes - 1] if mark.quotes else None
        answer_at = before.answer_end + len(" ]") if before else 0
        plain_at = before.plain_end if before else 0
    else:
        answer_at, plain_at = run.answer_start + mark.offset, run.plain_start + mark.offset
    size = len(mark.text)
    return Dropped(
        mark.source,
        mark.text,
        mark.reason,
        *(answer_at, answer_at + size, plain_at, plain_at + size),
    )
