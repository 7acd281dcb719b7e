"""The quoted answer: parse marked text and check its quotes against the sources.

Only `QuotedAnswer.parse` decides which quotes are verified. Independent of models, prompts and HTTP.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from semqa.errors import InputError
from semqa.quotes.locate import Locator
from semqa.quotes.marks import FreePiece, Mark, canonical_mark, scan_marks
from semqa.quotes.quote import (
    Claim,
    Dropped,
    FreeText,
    Occurrence,
    Quote,
    Segment,
    Source,
    Status,
    Verdict,
)
from semqa.quotes.words import cuts_word, has_content, leaks, read_words

ABSTENTION = "The sources do not answer this question."
"""The "no answer" reply."""

NO_QUESTION = "This is not a question. Ask about the sources."
"""The reply to a greeting or thanks."""

MAX_MARKS = 10_000
"""Answers with more marks are refused."""

MAX_WORK = 10**10
"""Limit for marks times characters of all sources: checking more would take seconds."""

_SENTENCE_END = re.compile(r"""(?:(?<!\b[A-Z])\.|[!?。！？])["'”’)]*(?=\s|$)""")
"""An initial, as in "P. G. Wodehouse", does not end a sentence."""

_BROKEN = re.compile(
    r"""\b([^\W\d_]+)(?:[\s-]+\1){2}\b | \b((?:[^\W\d_]+\W+){3,10}?)\2 |
    \([^\S\n]*[\n,;:)] | \([^\S\n]+[.!?] | \s[,;:.!?]\s*[,;:] | \n-[^\S\n]*\n""",
    re.IGNORECASE | re.VERBOSE,
)
"""Repetitions and stray punctuation, which a constrained model writes when it has nothing left to say."""

_CLAUSE = 5
"""Minimum number of words of a quote that says something by itself; names and dates are shorter."""

_ITEM = re.compile(r"\W*(?:\w{1,3}[.)])?\W*")
"""Text that may precede an item on its line."""

_LIST_NUMBER = re.compile(r"^([ \t]*)(\d{1,3})[.)](?=\s)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class QuotedAnswer:
    """An answer of free text and quotes, with every quote checked against its source.

    Build it with `parse`. Two answers are equal if their segments and sources are equal.

    Attributes:
        segments: free text and quotes, in reading order; together they are the whole text.
        sources: the numbered sources; source *k* is ``sources[k - 1]``.
        dropped: marks that lost their brackets in a repair (`semqa.quotes.repair`). Ignored by
            equality.
        unanswered: parts of the question without an answer. Ignored by equality.
        answerable: estimated chance that the sources answer the question; None if not estimated.
            Ignored by equality.
    """

    segments: tuple[Segment, ...]
    sources: tuple[Source, ...]
    dropped: tuple[Dropped, ...] = field(default=(), compare=False)
    unanswered: tuple[str, ...] = field(default=(), compare=False)
    answerable: float | None = field(default=None, compare=False)

    @classmethod
    def parse(cls, text: str, sources: Iterable[Source]) -> QuotedAnswer:
        """Parse a marked answer and check each quote against the sources.

        Accepts ``[ 1 span ]`` and the tighter ``[1 span]``. Other brackets, such as ``[sic]``, are
        ordinary text. Untrusted text is safe to parse.

        Offsets are those of the canonical text, `marked`, whichever form was written. Therefore
        ``parse(answer.marked, sources) == answer``.

        Raises:
            InputError: there are more than `MAX_MARKS` marks, or more than `MAX_WORK` to check.

        Example:
            >>> from semqa import QuotedAnswer, Source
            >>> answer = QuotedAnswer.parse("By [1 Bing Crosby].", [Source("Bing Crosby sang it.")])
            >>> answer.marked
            'By [ 1 Bing Crosby ].'
            >>> quote = answer.quotes[0]
            >>> quote.status.value, quote.source_start, quote.source_end
            ('verified', 0, 11)
        """
        numbered = tuple(sources)
        pieces = list(scan_marks(text))
        marks = [piece for piece in pieces if not isinstance(piece, FreePiece)]
        check_bounds(len(marks), numbered)
        checker = _QuoteChecker([mark for mark in marks if isinstance(mark, Mark)], numbered)
        segments: list[Segment] = []
        answer_at = plain_at = 0
        for piece in pieces:
            shown, start, end = piece.text, answer_at, answer_at + len(piece.text)
            if isinstance(piece, Mark):
                end = answer_at + len(canonical_mark(piece.source, shown))
                start = end - len(shown) - len(" ]")
            offsets = (start, start + len(shown), plain_at, plain_at + len(shown))
            if isinstance(piece, FreePiece):
                segments.append(FreeText(shown, *offsets))
            elif isinstance(piece, Mark):
                segments.append(checker.quote(piece, offsets))
            else:
                segments.append(
                    Quote(piece.source, shown, Status.MALFORMED, *offsets, reason=piece.reason)
                )
            answer_at = end
            plain_at += len(shown)
        return cls(tuple(segments), numbered)

    def with_dropped(self, marks: Iterable[Dropped]) -> QuotedAnswer:
        """Return the answer with the marks that a repair dropped.

        Raises:
            InputError: a mark's offsets do not match its words in the free text.
        """
        dropped = tuple(marks)
        marked, plain, at = self.marked, self.plain, 0
        free = [s for s in self.segments if isinstance(s, FreeText)]
        borders = {0, *(segment.plain_end for segment in self.segments)}
        for mark in dropped:
            low, high = mark.plain_start, mark.plain_end
            fits = (
                at <= low <= high
                and plain[low:high] == mark.text
                and marked[mark.answer_start : mark.answer_end] == mark.text
                and (
                    any(s.plain_start <= low and high <= s.plain_end for s in free)
                    or (low == high and low in borders)
                )
            )
            if not fits:
                raise InputError(
                    f"words not found at {low} to {high} in the free text: {mark.text[:40]!r}.",
                    field="dropped",
                )
            at = high
        return replace(self, dropped=dropped)

    def with_relevance(
        self,
        scores: Iterable[float | None],
        unanswered: Iterable[str] = (),
        answerable: float | None = None,
    ) -> QuotedAnswer:
        """Return the answer with one relevance score for each quote, in order."""
        given = iter(scores)
        segments = tuple(
            replace(each, relevance=next(given)) if isinstance(each, Quote) else each
            for each in self.segments
        )
        return replace(self, segments=segments, unanswered=tuple(unanswered), answerable=answerable)

    @property
    def relevance(self) -> float | None:
        """The highest relevance of a verified quote; None if not estimated.

        If most quotes are less relevant fragments, it is the median instead. Fragments have fewer than
        five words and are not a whole line of their source. It is 0 if the text outside quotes is
        broken (empty parentheses or list items, doubled punctuation, repeated words).
        """
        scores = [
            (len(read_words(quote.text)) >= _CLAUSE or self._is_line(quote), quote.relevance)
            for quote in self.quotes
            if quote.verified and quote.relevance is not None
        ]
        if not scores:
            return None
        if any(_BROKEN.search(s.text) for s in self.segments if isinstance(s, FreeText)):
            return 0.0
        best = max(relevance for _, relevance in scores)
        ranked = sorted(best if is_whole else relevance for is_whole, relevance in scores)
        return ranked[len(ranked) // 2]

    def _is_line(self, quote: Quote) -> bool:
        """Whether a quote is a whole line of a body, such as a list item or a table row."""
        start, end = quote.source_start, quote.source_end
        if start is None or end is None or quote.field != "body":
            return False
        text = self.sources[quote.source - 1].text
        before = text[text.rfind("\n", 0, start) + 1 : start]
        after = text[end:].partition("\n")[0]
        return _ITEM.fullmatch(before) is not None and re.search(r"\w", after) is None

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """All quotes, in reading order."""
        return tuple(segment for segment in self.segments if isinstance(segment, Quote))

    @property
    def marked(self) -> str:
        """The answer with canonical marks; ``answer_start`` and ``answer_end`` index into it."""
        return "".join(
            canonical_mark(segment.source, segment.text)
            if isinstance(segment, Quote) and segment.status is not Status.MALFORMED
            else segment.text
            for segment in self.segments
        )

    @property
    def plain(self) -> str:
        """The answer without marks; ``plain_start`` and ``plain_end`` index into it."""
        return "".join(segment.text for segment in self.segments)

    @property
    def verified(self) -> bool:
        """Whether there is a quote, every quote is verified, and no mark was dropped.

        Free text is not considered; `verdict` does that.
        """
        quotes = self.quotes
        return bool(quotes) and not self.dropped and all(quote.verified for quote in quotes)

    @property
    def abstained(self) -> bool:
        """Whether the whole answer is `ABSTENTION` or `NO_QUESTION`, ignoring white space."""
        return self.marked.split() in (ABSTENTION.split(), NO_QUESTION.split())

    def verdict(self, question: str = "") -> Verdict:
        """Return the result of checking the whole answer.

        Example:
            >>> from semqa import QuotedAnswer, Source
            >>> sources = [Source("Bing Crosby sang it.")]
            >>> answer = QuotedAnswer.parse("The singer was [ 1 Bing Crosby ].", sources)
            >>> answer.verdict("Which singer sang it?").value, answer.verdict().value
            ('quoted', 'unquoted')
            >>> QuotedAnswer.parse("Bing Crosby.", sources).verdict().value
            'unquoted'
            >>> QuotedAnswer.parse("The answer is [ 1 it ].", sources).verdict().value
            'unquoted'
        """
        if self.abstained:
            return Verdict.ABSTAINED
        if self.dropped or not all(quote.verified for quote in self.quotes):
            return Verdict.UNVERIFIED
        has_content_word = any(has_content(quote.text, question) for quote in self.quotes)
        if not has_content_word or self.claims(question):
            return Verdict.UNQUOTED
        return Verdict.QUOTED

    def claims(self, question: str = "") -> tuple[Claim, ...]:
        """Return the runs of words outside quotes that make claims, in reading order.

        Such words are neither glue (`semqa.quotes.words`) nor words of the question. In a sentence
        without quotes, words of the question count as claims too. List numbers are not
        claims if there are at least two, in order from 1. An abstention makes no claims.

        Example:
            >>> from semqa import QuotedAnswer, Source
            >>> text = "[ 1 Colin ] is a British explorer."
            >>> [claim.text for claim in QuotedAnswer.parse(text, [Source("Colin")]).claims()]
            ['British explorer']
            >>> text = "The bridge was finished. [ 1 Colin ]"
            >>> answer = QuotedAnswer.parse(text, [Source("Colin")])
            >>> [claim.text for claim in answer.claims("Was the bridge finished?")]
            ['bridge', 'finished']
        """
        if self.abstained:
            return ()
        found = []
        numbers = self._list_numbers()
        for place, segment in enumerate(self.segments):
            if isinstance(segment, Quote):
                continue
            text = segment.text
            runs: list[tuple[int, int]] = []
            unquoted = [
                (start + a, start + b)
                for start, end in self._sentences_without_quotes(place)
                for a, b in leaks(text[start:end], question, asked=False)
            ]
            for start, end in sorted({*leaks(text, question), *unquoted}):
                if segment.plain_start + start in numbers:
                    continue
                between = text[runs[-1][1] : start] if runs else "\n"
                if "\n" not in between and not any(map(str.isalnum, between)):
                    runs[-1] = (runs[-1][0], end)
                else:
                    runs.append((start, end))
            answer_at, plain_at = segment.answer_start, segment.plain_start
            found += [
                Claim(answer_at + a, answer_at + b, plain_at + a, plain_at + b, text[a:b])
                for a, b in runs
            ]
        return tuple(found)

    def _list_numbers(self) -> set[int]:
        """Return the offsets of list numbers in the plain text."""
        blank = "\ufffc"
        text = "".join(
            blank * len(each.text) if isinstance(each, Quote) else each.text
            for each in self.segments
        )
        lists: dict[str, list[int]] = {}  # the numbers of the last list, for each indentation
        found: set[int] = set()
        for match in _LIST_NUMBER.finditer(text):
            numbers = lists.get(match[1], [])
            if int(match[2]) != len(numbers) + 1:
                numbers = []
            if int(match[2]) == len(numbers) + 1:
                numbers.append(match.start(2))
            lists[match[1]] = numbers
            if len(numbers) > 1:
                found.update(numbers[-2:])
        return found

    def _sentences_without_quotes(self, place: int) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each sentence that lies within one segment of free text."""
        text = self.segments[place].text
        before = self.segments[place - 1].text if place else "."
        ends = [match.end() for match in _SENTENCE_END.finditer(text)]
        if place == len(self.segments) - 1 and (not ends or ends[-1] < len(text)):
            ends.append(len(text))
        start = 0 if _SENTENCE_END.search(before, max(0, len(before) - 3)) else None
        for end in ends:
            if start is not None:
                yield start, end
            start = end

    @property
    def counts(self) -> dict[str, int]:
        """The number of quotes by status, zeros included."""
        seen = Counter(quote.status for quote in self.quotes)
        return {status.value: seen[status] for status in Status}

    def to_dict(self, question: str = "") -> dict[str, object]:
        """Return the answer as a JSON-ready object: texts, verdict, quotes with offsets, sources.

        ``verified`` is true only if the verdict is ``quoted``.
        """
        verdict = self.verdict(question)
        return {
            "answer": self.marked,
            "plain": self.plain,
            "verdict": verdict.value,
            "verified": verdict is Verdict.QUOTED,
            "abstained": self.abstained,
            "relevance": None if self.relevance is None else round(self.relevance, 3),
            "answerable": None if self.answerable is None else round(self.answerable, 3),
            "unanswered": list(self.unanswered),
            "counts": self.counts,
            "quotes": [quote.to_dict() for quote in self.quotes],
            "dropped": [mark._asdict() for mark in self.dropped],
            "claims": [claim._asdict() for claim in self.claims(question)],
            "sources": [
                {"number": number, "title": source.title, "text": source.text, "url": source.url}
                for number, source in enumerate(self.sources, start=1)
            ],
        }


def check_bounds(marks: int, sources: Sequence[Source]) -> None:
    """Raise if an answer has too many marks, or too many for sources of this size."""
    if marks > MAX_MARKS:
        raise InputError(f"The answer has {marks:,} marks; the limit is {MAX_MARKS:,}.")
    size = sum(len(source.text) + len(source.title) for source in sources)
    if marks * size > MAX_WORK:
        raise InputError(
            f"Too much to check: {marks:,} marks against {size:,} characters of sources. "
            "Split the answer or give fewer sources."
        )


def sources_in_words(numbers: Sequence[int]) -> str:
    """Return "source 1" or "sources 1, 2"."""
    return f"source{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


class _QuoteChecker:
    """Checks the quotes of an answer, in order."""

    def __init__(self, marks: Sequence[Mark], sources: tuple[Source, ...]) -> None:
        self._sources = sources
        named = [(mark.source - 1, mark.text) for mark in marks if mark.source <= len(sources)]
        self._locator = Locator(named, sources)
        self._places = iter(self._locator.places())
        self._cuts: dict[tuple[int, str], bool] = {}

    def quote(self, mark: Mark, offsets: tuple[int, int, int, int]) -> Quote:
        number, text = mark.source, mark.text
        exists = number <= len(self._sources)
        place = next(self._places) if exists else None
        if place is not None:
            listed = self._locator.occurrences(number - 1, text) or (place,)
            return Quote(
                number,
                text,
                Status.VERIFIED,
                *offsets,
                field=place.field,
                source_start=place.start,
                source_end=place.end,
                occurrences=listed,
                cut=self._cut(number, text, listed),
            )
        elsewhere = tuple(
            other
            for other, source in enumerate(self._sources, start=1)
            if other != number and (text in source.text or text in source.title)
        )
        reason = (
            f"source {number} does not contain this text"
            if exists
            else f"there is no source {number}"
        )
        status = Status.MISATTRIBUTED if elsewhere else Status.FABRICATED
        if elsewhere:
            text_is_in = "it appears in" if exists else "the text appears in"
            reason += f"; {text_is_in} {sources_in_words(elsewhere)}"
        else:
            reason += ", nor does any other" if exists else ", and no source contains this text"
        return Quote(number, text, status, *offsets, found_in=elsewhere, reason=reason)

    def _cut(self, number: int, text: str, places: Sequence[Occurrence]) -> bool:
        key = (number, text)
        if key not in self._cuts:
            source = self._sources[number - 1]
            self._cuts[key] = all(
                cuts_word(source.field(place.field), place.start)
                or cuts_word(source.field(place.field), place.end)
                for place in places
            )
        return self._cuts[key]
