"""Shared by all renderers: safe text, verdict sentences, source excerpts, paragraphs and tables."""

from __future__ import annotations

import itertools
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from semqa.quotes.answer import QuotedAnswer
from semqa.quotes.quote import Claim, Dropped, Field, Quote, Verdict

# Control characters except tab and newline, and the overrides and embeddings that reorder text.
# The marks U+200E and U+200F, which right-to-left text needs, do not reorder words.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def safe_text(text: str) -> str:
    r"""Show control characters as ``<U+001B>`` and turn Windows line endings into newlines.

    Example:
        >>> safe_text("a\x1b[31mred\r\n")
        'a<U+001B>[31mred\n'
    """
    lines = text.replace("\r\n", "\n")
    return _UNSAFE.sub(lambda match: f"<U+{ord(match.group()):04X}>", lines)


def web_address(url: str | None) -> str | None:
    """Return a URL that is safe to link to (http or https); None for any other."""
    if url is None or not re.fullmatch(r"https?://[^\s<>]+", url, re.IGNORECASE):
        return None
    return None if _UNSAFE.search(url) else url


_T = TypeVar("_T")

Part = Quote | Dropped | Claim | str
"""A quote, a mark that lost its brackets, words that make a claim, or other free text."""

LOW, DOUBTFUL = 0.5, 0.75
"""Readers are warned if the best quote's relevance, or the answer's `answerable`, is lower."""

MOST_CLAIMS = 5
"""Maximum number of claims to list; the rest are only counted."""


def _is_doubtful(answer: QuotedAnswer) -> bool:
    """Whether the quotes may not answer the question."""
    return (answer.answerable is not None and answer.answerable < DOUBTFUL) or (
        answer.relevance is not None and answer.relevance < LOW
    )


def has_tick(answer: QuotedAnswer, question: str = "") -> bool:
    """Return whether an answer is shown with a tick, which readers take to mean "correct".

    It needs the verdict ``quoted``, no quote that cuts a word, no part of the question without an
    answer, and a relevance that is not low.
    """
    if _is_doubtful(answer) or answer.unanswered or any(quote.cut for quote in answer.quotes):
        return False
    return answer.verdict(question) is Verdict.QUOTED


def verdict_text(answer: QuotedAnswer, question: str = "") -> str:
    """Return the verdict on an answer in a few sentences.

    Example:
        >>> from semqa import Source
        >>> from semqa.quotes.repair import repair
        >>> verdict_text(repair("[ 1 bing ] sang [ 1 bong ].", [Source("Bing sang.")]))
        '✗ 2 quotes: 1 verified, 1 dropped. 1 was repaired. Not quoted: “sang bong”.'
    """
    verdict = answer.verdict(question)
    if verdict is Verdict.ABSTAINED:
        return "No answer, so nothing to check."
    quotes = answer.quotes
    if not quotes and not answer.dropped:
        return "! Nothing is quoted, so nothing can be checked."
    total = len(quotes) + len(answer.dropped)
    noun = "quote" if total == 1 else "quotes"
    if verdict is Verdict.UNVERIFIED:
        counts = [f"{count} {status}" for status, count in answer.counts.items() if count]
        if answer.dropped:
            counts.append(f"{len(answer.dropped)} dropped")
        sentences = [f"✗ {total} {noun}: {', '.join(counts)}."]
    else:
        sign = "✓" if has_tick(answer, question) else "!"
        sentences = [f"{sign} {total} {noun}, verified character for character."]
    if repaired := sum(quote.repaired is not None for quote in quotes):
        sentences.append(f"{repaired} {'was' if repaired == 1 else 'were'} repaired.")
    if cut := sum(quote.cut for quote in quotes):
        sentences.append(f"{cut} {'cuts a word' if cut == 1 else 'cut words'} of the source.")
    if claims := answer.claims(question):
        named = [f"“{' '.join(claim.text.split())}”" for claim in claims[:MOST_CLAIMS]]
        more = len(claims) - MOST_CLAIMS
        sentences.append(
            f"Not quoted: {', '.join(named)}{f' and {more} more' if more > 0 else ''}."
        )
    elif verdict is Verdict.UNQUOTED:
        sentences.append("No quote has a content word.")
    if answer.relevance is not None:
        low = answer.relevance < LOW
        doubt = (
            "; it may not answer the question" if low else ", but the sources may lack the answer"
        )
        doubt = doubt if _is_doubtful(answer) else ""
        sentences.append(f"Relevance: {percent(answer.relevance)}{doubt}.")
    if missing := [f"“{' '.join(part.split())}”" for part in answer.unanswered]:
        sentences.append(f"Not found in the sources: {', '.join(missing)}.")
    return " ".join(sentences)


def percent(share: float) -> str:
    """Return a share as a whole percentage.

    Example:
        >>> percent(0.614)
        '61%'
    """
    return f"{int(100 * share + 0.5)}%"


def dropped_words(mark: Dropped) -> str:
    """Return the words of a dropped mark, or its number if it has none."""
    return mark.text or f"[{mark.source}]"


def parts(answer: QuotedAnswer, question: str = "") -> Iterator[Part]:
    """Split an answer into parts, in reading order; dropped marks take precedence over claims.

    Example:
        >>> from semqa import Source
        >>> from semqa.quotes.repair import repair
        >>> answer = repair("A [1 big] dog: [1 Bing].", [Source("Bing sang.")])
        >>> [getattr(part, "text", part) for part in parts(answer)]
        ['A ', 'big', ' dog', ': ', 'Bing', '.']
    """
    plain = answer.plain
    dropped = deque(answer.dropped)
    claims = deque(answer.claims(question))
    for segment in answer.segments:
        if isinstance(segment, Quote):
            while dropped and dropped[0].plain_end <= segment.plain_start:
                yield dropped.popleft()
            yield segment
            continue
        at = segment.plain_start
        while dropped and dropped[0].plain_start < segment.plain_end:
            mark = dropped.popleft()
            yield from _free(plain, at, mark.plain_start, claims)
            yield mark
            at = mark.plain_end
        yield from _free(plain, at, segment.plain_end, claims)
    yield from dropped


def _free(plain: str, start: int, end: int, claims: deque[Claim]) -> Iterator[Claim | str]:
    """Split free text at its claims, and remove those that end in it from the queue."""
    while claims and claims[0].plain_start < end:
        claim = claims[0]
        low, high = max(start, claim.plain_start), min(end, claim.plain_end)
        if low < high:
            if start < low:
                yield plain[start:low]
            yield claim._replace(text=plain[low:high])
            start = high
        if claim.plain_end > end:
            break
        claims.popleft()
    if start < end:
        yield plain[start:end]


_SIGNS = {"supported": "✓", "not supported": "✗", "unclear": "?"}


class JudgedSentence(NamedTuple):
    """A sentence and its judgement.

    Attributes:
        support: ``supported``, ``not supported`` or ``unclear``.
        reason: why the judge was not asked; empty if it was.
    """

    text: str
    support: str
    sources: tuple[int, ...] = ()
    reason: str = ""

    @property
    def sign(self) -> str:
        """A one-character symbol for the judgement."""
        return _SIGNS.get(self.support, "?")

    @property
    def held_against(self) -> str:
        """The sources that it was judged against, or the reason they are missing.

        Example:
            >>> JudgedSentence("Bing sang.", "supported", (1, 3)).held_against
            '[1] [3]'
        """
        if self.reason:
            return f"({self.reason})"
        return " ".join(f"[{number}]" for number in self.sources)


class Judged(NamedTuple):
    """The sentences of an answer, as judged."""

    judge: str
    sentences: tuple[JudgedSentence, ...]

    @property
    def headline(self) -> str:
        """A one-line summary, which says that this is a judgement.

        Example:
            >>> Judged("lexical", (JudgedSentence("Bing sang.", "unclear"),)).headline
            'Judged by lexical (a judgement, not a verification): 1 unclear.'
        """
        counts = Counter(sentence.support for sentence in self.sentences)
        listed = ", ".join(f"{counts[each]} {each}" for each in _SIGNS if counts[each])
        return (
            f"Judged by {self.judge} (a judgement, not a verification): "
            f"{listed or 'no sentence to judge'}."
        )


SHORTEST_CUT = 20
"""Minimum number of characters worth cutting from an excerpt."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a field's text, and the quotes that cover it.

    Attributes:
        text: the characters; empty only for a cut.
        quotes: indices into ``answer.quotes``, ascending; empty for unquoted text.
        cut: whether text was left out here.
        inside: whether it begins inside a line.
    """

    text: str
    quotes: tuple[int, ...] = ()
    cut: bool = False
    inside: bool = False

    @property
    def unmarked(self) -> list[str]:
        """The text split at heading marks and table rulers, unless it is quoted.

        The items at odd indexes are the marks and rulers.
        """
        if self.quotes:
            return [self.text]
        parts = _MARKUP.split(self.text)
        if self.inside and not parts[0]:
            parts[:3] = ["".join(parts[:3])]
        return parts


_MARKUP = re.compile(r"^([ \t]*(?:#{1,6} |\|[ :|-]+\|[ \t]*(?:\n|\Z)))", re.MULTILINE)


def quoted_pieces(answer: QuotedAnswer, number: int, field: Field) -> list[Piece]:
    """Split one field of a source at the edges of its verified quotes.

    The joined pieces are the whole field; overlapping quotes share pieces.
    """
    text = answer.sources[number - 1].field(field)
    spans = quotes_in(answer, number, field)
    pieces: list[Piece] = []
    for piece, quotes in split_at(text, spans):
        inside = bool(pieces) and not pieces[-1].text.endswith("\n")
        pieces.append(Piece(piece, tuple(quotes), inside=inside))
    return pieces


def quotes_in(answer: QuotedAnswer, number: int, field: Field) -> list[tuple[int, int, int]]:
    """Return (start, end, index) of each verified quote of one field of a source."""
    return [
        (quote.source_start, quote.source_end, index)
        for index, quote in enumerate(answer.quotes)
        if quote.verified and quote.source == number and quote.field == field
        if quote.source_start is not None and quote.source_end is not None
    ]


def split_at(text: str, spans: Sequence[tuple[int, int, _T]]) -> Iterator[tuple[str, list[_T]]]:
    """Split a text at the edges of labelled spans (start, end, label).

    Yields each piece with the labels of the spans that cover it, in the order of the spans.

    Example:
        >>> list(split_at("abc", [(1, 3, "x"), (0, 2, "y")]))
        [('a', ['y']), ('b', ['x', 'y']), ('c', ['x'])]
    """
    begins: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for at, (start, end, _) in enumerate(spans):
        begins.setdefault(start, []).append(at)
        ends.setdefault(end, []).append(at)
    covering: set[int] = set()
    for start, end in itertools.pairwise(sorted({0, len(text), *begins, *ends})):
        covering.difference_update(ends.get(start, ()))
        covering.update(begins.get(start, ()))
        yield text[start:end], [spans[at][2] for at in sorted(covering)]


def excerpt(pieces: Sequence[Piece], context: int) -> list[Piece]:
    """Shorten unquoted pieces to about ``context`` characters beside each quote, at word boundaries.

    If nothing is quoted, return the beginning of the text.
    """
    if not any(piece.quotes for piece in pieces):
        whole = "".join(piece.text for piece in pieces)
        head = _head(whole, 2 * context)
        return [Piece(head)] + ([Piece("", cut=True)] if len(head) < len(whole) else [])
    shown: list[Piece] = []
    for at, piece in enumerate(pieces):
        if piece.quotes:
            shown.append(piece)
            continue
        head = _head(piece.text, context) if at > 0 else ""
        tail = _tail(piece.text, context) if at + 1 < len(pieces) else ""
        if len(head) + len(tail) + SHORTEST_CUT > len(piece.text):
            shown.append(piece)
            continue
        parts = Piece(head, inside=piece.inside), Piece("", cut=True), Piece(tail, inside=True)
        shown += [part for part in parts if part.text or part.cut]
    return shown


def _head(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: max(text.rfind(" ", 0, limit), 0) or limit]


def _tail(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    cut = text.find(" ", len(text) - limit)
    return text[len(text) - limit :] if cut < 0 else text[cut + 1 :]


Kind = Literal["text", "list", "table"]

_ITEM = "- "


class Block(NamedTuple):
    """Lines of one kind.

    Attributes:
        kind: each line of a ``list`` is an item without its dash; each line of a ``table`` is one
            quote, which `cells` splits.
    """

    kind: Kind
    lines: list[list[Part]]


def blocks(answer: QuotedAnswer, question: str = "") -> list[Block]:
    r"""Split an answer into blocks, in reading order, without line breaks and list dashes.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> source = Source("Fee | 5\nTax | 2")
        >>> answer = QuotedAnswer.parse("So:\n- this\n[ 1 Fee | 5 ]\n[ 1 Tax | 2 ]", [source])
        >>> [block.kind for block in blocks(answer)]
        ['text', 'list', 'table']
    """
    found: list[Block] = []
    lines = _lines(parts(answer, question))
    for (given, _), group in itertools.groupby(lines, key=_kind):
        members = list(group)
        single_row = given == "table" and len(members) < 2
        kind: Kind = "text" if single_row else given
        if kind == "list":
            members = [_without_dash(line) for line in members]
        if found and found[-1].kind == kind == "text":
            found[-1].lines.extend(members)
        else:
            found.append(Block(kind, members))
    return found


def cells(quote: Quote) -> list[str]:
    """Return the cells of a table row, which bars separate; a pair of outer bars is ignored.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> header = QuotedAnswer.parse("[ 1 | Mon | Fri ]", [Source("| | Mon | Fri |")])
        >>> cells(header.quotes[0])
        ['', 'Mon', 'Fri']
    """
    row = quote.text.strip()
    if len(row) > 1 and row[0] == row[-1] == "|":
        row = row[1:-1]
    return [cell.strip() for cell in row.split("|")]


def _lines(found: Iterable[Part]) -> Iterator[list[Part]]:
    line: list[Part] = []
    for part in found:
        if not isinstance(part, str):
            line.append(part)
            continue
        first, *more = re.split(r"\r?\n", part)
        line.append(first)
        for text in more:
            yield line
            line = [text]
    yield line


def _kind(line: list[Part]) -> tuple[Kind, int]:
    """Return the kind of a line, and its number of cells if it is a table row, else 0."""
    found = [part for part in line if not isinstance(part, str) or part.strip()]
    only = found[0] if len(found) == 1 else None
    if isinstance(only, Quote) and only.verified and "|" in only.text:
        return "table", len(cells(only))
    if line and isinstance(line[0], str) and line[0].startswith(_ITEM):
        return "list", 0
    return "text", 0


def _without_dash(line: list[Part]) -> list[Part]:
    first, *more = line
    return [first.removeprefix(_ITEM) if isinstance(first, str) else first, *more]
