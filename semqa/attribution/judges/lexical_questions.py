"""Questions and answers of the lexical judge: a question is a sentence with a word in a gap.

Knows question words in English. What it asks, it can answer; other questions it answers where the
passage says nearly the same words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semqa.attribution.judges.base import Span
from semqa.attribution.judges.lexical_words import Token, read_tokens, sentence_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semqa.attribution.judges.base import Reading

__all__ = ["answer_reading", "questions_for"]

_LEAST_SHARED = 0.5
"""Share of a question's content words that a sentence must hold to answer it."""

_AROUND = 4
"""Words on each side of the gap that are compared."""

_GAP = re.compile(
    r"\b(how (?:many|much|old|long|far|often)|(?:in |on |at )?(?:which|what) (?:year|date|day|month)"
    r"|who|whom|whose|when|where|which|what|why|how)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1[0-9]|20)[0-9]{2}$")
_DATES = (
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday"
)
_MONTHS = frozenset(_DATES.split())


def questions_for(answer: str, passage: str) -> list[str]:
    """Return questions whose answer is a text, best first; none where the passage lacks it.

    Example:
        >>> questions_for("1932", "The bridge opened in 1932. It is red.")
        ['The bridge opened in which year?', 'The bridge opened in what?']
    """
    wanted = answer.strip()
    if not wanted:
        return []
    found: list[str] = []
    for start, end in sentence_spans(passage):
        at = _find(passage, wanted, start, end)
        if at < 0:
            continue
        before, after = passage[start:at], passage[at + len(wanted) : end].rstrip(" .!?;:")
        for word in _question_words(wanted, before):
            shown = word if before.strip() else word.capitalize()
            found.append(" ".join(f"{before}{shown}{after}?".split()))
    return list(dict.fromkeys(found))


def _find(passage: str, wanted: str, start: int, end: int) -> int:
    at = passage.find(wanted, start, end)
    while at >= 0:
        edges = (passage[at - 1 : at], passage[at + len(wanted) : at + len(wanted) + 1])
        if not any(edge.isalnum() for edge in edges):
            return at
        at = passage.find(wanted, at + 1, end)
    return -1


def _question_words(answer: str, before: str) -> list[str]:
    tokens = read_tokens(answer)
    if any(_YEAR.match(token.key) for token in tokens):
        return ["which year", "what"] if len(tokens) == 1 else ["when", "what"]
    if any(token.number for token in tokens):
        return ["how many", "what"]
    if answer[:1].isupper():
        place = before.rstrip().casefold().endswith((" in", " at", " from", " near"))
        return ["where", "what"] if place else ["who", "what"]
    return ["what", "which"]


def answer_reading(reading: Reading) -> Span | None:
    """Return the span that seems to answer a question, or None.

    Example:
        >>> from semqa.attribution.judges import Reading
        >>> answer_reading(Reading("Who built the bridge?", "Ann Lee built the bridge.")).text
        'Ann Lee'
    """
    question, passage = reading
    gap = _GAP.search(question)
    left = read_tokens(question[: gap.start()] if gap else "")
    right = read_tokens(question[gap.end() :] if gap else question)
    asked = gap[1].casefold() if gap else ""
    wanted = {token.key for token in (*left, *right) if token.content}
    if not wanted:
        return None
    best: tuple[float, int, int, float] | None = None
    for start, end in sentence_spans(passage):
        tokens = [
            token._replace(start=token.start + start, end=token.end + start)
            for token in read_tokens(passage[start:end])
        ]
        shared = len(wanted & {token.key for token in tokens}) / len(wanted)
        if shared < _LEAST_SHARED:
            continue
        for first, last in _runs(tokens, wanted, passage):
            score = shared + _fit(tokens, first, last, asked, left, right)
            if best is None or score > best[0]:
                best = (score, tokens[first].start, tokens[last].end, shared)
    if best is None:
        return None
    _, start, end, shared = best
    return Span(passage[start:end], start, end, shared)


def _runs(tokens: Sequence[Token], wanted: set[str], passage: str) -> Iterator[tuple[int, int]]:
    """Give runs of words that the question lacks, first to last, function words cut off."""
    first = 0
    while first < len(tokens):
        if not _may_answer(tokens[first], wanted):
            first += 1
            continue
        last = at = first
        while at + 1 < len(tokens) and tokens[at + 1].key not in wanted:
            between = passage[tokens[at].end : tokens[at + 1].start]
            if re.search(r"[,;:()—–]", between):
                break
            at += 1
            if _may_answer(tokens[at], wanted):
                last = at
        yield first, last
        # Parts of it of one kind: a number, or a name.
        inner = first
        while inner <= last:
            end = inner
            if tokens[inner].fixed:
                while end < last and tokens[end + 1].fixed:
                    end += 1
                if (inner, end) != (first, last):
                    yield inner, end
            inner = end + 1
        first = last + 1


def _may_answer(token: Token, wanted: set[str]) -> bool:
    return token.content and token.key not in wanted


def _fit(
    tokens: Sequence[Token],
    first: int,
    last: int,
    asked: str,
    left: Sequence[Token],
    right: Sequence[Token],
) -> float:
    """Return how well a run fits into the gap: what stands around it, and its kind."""
    before = [token.key for token in tokens[max(0, first - _AROUND) : first]][::-1]
    after = [token.key for token in tokens[last + 1 : last + 1 + _AROUND]]
    around = _agreeing(before, [token.key for token in left][::-1])
    around += _agreeing(after, [token.key for token in right])
    run = tokens[first : last + 1]
    kind = 0.0
    if asked.startswith("how ") and asked != "how":
        kind = 1.0 if any(token.number for token in run) else -0.5
    elif asked == "when" or asked.endswith(("year", "date", "day", "month")):
        dated = any(_YEAR.match(token.key) or token.key in _MONTHS for token in run)
        kind = 1.0 if dated else -0.5
    elif asked in ("who", "whom", "whose", "where"):
        kind = 0.5 if any(token.fixed and not token.number for token in run) else 0.0
        kind = 0.5 if first == 0 and asked == "who" else kind
    return around / _AROUND + kind - 0.01 * len(run)


def _agreeing(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words agree, from the gap on."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
