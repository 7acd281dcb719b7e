"""The verdict on an answer in words, and the answer cut where a reader sees a difference."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from semqa.quotes.quote import Claim, Dropped, Quote, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.quotes.answer import QuotedAnswer

__all__ = ["Part", "dropped_words", "is_low", "parts", "percent", "verdict_text"]

Part = Quote | Dropped | Claim | str
"""A quote, a mark that lost its brackets, words that claim something, or other free text."""

LOW = 0.2
"""Relevance of the best quote below which a reader is warned."""

MOST_CLAIMS = 5
"""Claims that are named; of more, the number is."""


def is_low(answer: QuotedAnswer) -> bool:
    """Whether a reader should see for himself that an answer answers the question."""
    return answer.relevance is not None and answer.relevance < LOW


def verdict_text(answer: QuotedAnswer, question: str = "") -> str:
    """Return what checking an answer showed, in a few sentences for a reader.

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
        said = [f"✗ {total} {noun}: {', '.join(counts)}."]
    else:
        sign = "✓" if verdict is Verdict.QUOTED else "!"
        said = [f"{sign} {total} {noun}, verified character for character."]
    if repaired := sum(quote.repaired is not None for quote in quotes):
        said.append(f"{repaired} {'was' if repaired == 1 else 'were'} repaired.")
    if cut := sum(quote.cut for quote in quotes):
        said.append(f"{cut} {'cuts a word' if cut == 1 else 'cut words'} of the source.")
    if claims := answer.claims(question):
        named = [f"“{' '.join(claim.text.split())}”" for claim in claims[:MOST_CLAIMS]]
        more = len(claims) - MOST_CLAIMS
        said.append(f"Not quoted: {', '.join(named)}{f' and {more} more' if more > 0 else ''}.")
    if answer.relevance is not None:
        low = "; see whether it answers the question" if is_low(answer) else ""
        said.append(f"Relevance: {percent(answer.relevance)}{low}.")
    said += [f"Nothing found for: “{' '.join(part.split())}”." for part in answer.unanswered]
    return " ".join(said)


def percent(share: float) -> str:
    """Return a share in whole percents.

    Example:
        >>> percent(0.614)
        '61%'
    """
    return f"{int(100 * share + 0.5)}%"


def dropped_words(mark: Dropped) -> str:
    """Return what is shown of a dropped mark: its words, or its number if it held none."""
    return mark.text or f"[{mark.source}]"


def parts(answer: QuotedAnswer, question: str = "") -> Iterator[Part]:
    """Cut an answer into its parts, in reading order; dropped marks go before claims.

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
    """Cut free text at the claims in it; claims that end within it are used up."""
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
