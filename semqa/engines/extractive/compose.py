"""Choose the best quote of each source that fits, and compose a paragraph from them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive import tuning
from semqa.engines.extractive.evidence import evidence, trust
from semqa.engines.extractive.lexicon import PREPOSITIONS, PRONOUNS, STOPWORDS, is_verb
from semqa.engines.extractive.passage import SIGN_AFTER, quotable
from semqa.engines.extractive.reading import score_spans
from semqa.engines.extractive.relevance import max_per_sentence
from semqa.engines.extractive.spans import (
    Cut,
    has_open_reference,
    has_wrong_subject,
    is_surely_name,
)
from semqa.quotes.marks import canonical_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.passage import Passage
    from semqa.engines.extractive.question import Inquiry
    from semqa.engines.extractive.reading import Reading, Weights
    from semqa.engines.extractive.spans import Candidates
    from semqa.quotes import Source

_YEAR = re.compile(r"(?<![\d,.])(?:1[0-9]|20)\d\d(?![\d,.]\d|\d)")

_DANGLING = " \t\r\n\u00a0:;,(-–—"
"""Characters that a quote must not end with."""

_FINAL = re.compile(r"[.!?…。！？؟۔।][\"'”’)»]*$")

_SIGN_BEFORE = re.compile(r"(?<![^\s()\[\]\"“'‘«「])[-−–+±~≈<>≤≥$€£¥₹#№§.]+$")
"""Signs that change the value of the number after them."""


@dataclass(frozen=True, slots=True)
class Pick:
    """The quote chosen from one source.

    Attributes:
        span: the quote from the body; empty if only the title is quoted.
        title: the title if it is quoted, else empty.
        start: offset of the span's first word in the body, in code points.
        opens: whether the span begins at the start of a sentence.
        breaks_off: whether the body ends in the middle of the quoted sentence.
        follows: whether the span can follow a connector and a comma because it begins with a name
            or in lower case.
    """

    source: int
    span: str
    title: str = ""
    start: int = 0
    opens: bool = True
    breaks_off: bool = False
    follows: bool = False


def span_text(passage: Passage, first: int, last: int) -> str:
    """Return the verbatim text of a span, with the punctuation that belongs to it.

    That includes a quotation mark or bracket that pairs with one inside the span, the sign before
    or after a number, and the closing punctuation if the span reaches the end of a sentence.

    Example:
        >>> from semqa.engines.extractive.passage import read_passage
        >>> passage = read_passage("At -40 °C it lost 5%, or (in all) $3.")
        >>> span_text(passage, 1, 3), span_text(passage, 4, 6), span_text(passage, 7, 10)
        ('-40 °C', 'lost 5%', '(in all) $3.')
    """
    text = passage.text
    start, end = passage.starts[first], passage.ends[last - 1]
    floor = passage.ends[first - 1] if first else 0
    if text[start].isdigit():
        leading = _SIGN_BEFORE.search(text, floor, start)
        start = leading.start() if leading else start
    if sign := SIGN_AFTER.match(text, end):
        end = sign.end()
    sentence = next((s for s in passage.sentences if s.last == last), None)
    if sentence is not None:
        end = max(end, sentence.end)
    while start > floor and text[start - 1] in _unmatched(text[start:end])[0]:
        start -= 1
    while end < len(text) and (
        text[end] in _unmatched(text[start:end])[1]
        or (text[end] in ".,!?" and text[end + 1 : end + 2] in _unmatched(text[start:end])[1])
    ):
        end += 1
    return text[start:end].rstrip(_DANGLING).lstrip()


def _unmatched(text: str) -> tuple[list[str], list[str]]:
    """Return the opening marks missing before a text and the closing marks missing after it.

    A straight quotation mark is an opening mark if a word follows it and none precedes it.
    """
    missing: list[str] = []
    expected: list[str] = []
    for i, char in enumerate(text):
        if char not in _MARKS:
            continue
        if char == '"':
            opening = text[i + 1 : i + 2].isalnum() and not (i and text[i - 1].isalnum())
        else:
            opening = char in _PARTNERS
        if opening:
            expected.append(_PARTNERS[char])
        elif char in expected:
            expected.remove(char)
        else:
            missing.append(_OPENERS[char])
    return missing, expected


_PARTNERS = {"(": ")", "“": "”", "«": "»", '"': '"', "「": "」"}
_OPENERS = {closing: opening for opening, closing in _PARTNERS.items()}
_MARKS = frozenset(_PARTNERS) | frozenset(_OPENERS)


def join_pick(pick: Pick) -> str:
    """Return the text between a quoted title and the span after it."""
    first = pick.span.split(maxsplit=1)[0].lower().strip("\"“'(")
    if pick.opens:
        return ": "
    if is_verb(first):
        return " "
    if first in PREPOSITIONS or first in PRONOUNS:
        return ", "
    return ": "


def _plain(_source: int, quote: str) -> str:
    return quote


def _piece(pick: Pick, mark: Callable[[int, str], str]) -> str:
    """Return the sentence that quotes one source."""
    quotes = [mark(pick.source, quote) for quote in (pick.title, pick.span) if quote]
    body = join_pick(pick).join(quotes) if len(quotes) == 2 else quotes[0]
    if _FINAL.search(pick.span or pick.title):
        return body
    return body + ("…" if pick.breaks_off else ".")


def _list(picks: Sequence[Pick], mark: Callable[[int, str], str]) -> str:
    """Return a sentence that lists the spans as meanings of an abbreviation."""
    quotes = [mark(pick.source, pick.span) for pick in picks]
    if len(quotes) == 1:
        return f"It stands for {quotes[0]}."
    comma = "," if len(quotes) > 2 else ""
    return f"It stands for {', '.join(quotes[:-1])}{comma} or {quotes[-1]}."


def words_of(pick: Pick) -> int:
    """Count the words that a pick adds to the paragraph."""
    return len(_piece(pick, _plain).split())


def write_list(picks: Sequence[Pick], max_words: int) -> str | None:
    """List as many meanings of an abbreviation as fit; None if not even one fits."""
    kept = list(picks)
    while kept and len(_list(kept, _plain).split()) > max_words:
        kept.pop()
    return _list(kept, canonical_mark) if kept else None


def write_paragraph(picks: Sequence[Pick], max_words: int) -> str:
    """Join the picks, in reading order, into one paragraph of marked text.

    Connectors state only what the quotes support: "Later" or "Earlier" if all years of a quote are
    after or before those of the previous quote, and "Also", once, between two statements.
    """
    picks = sorted(picks, key=lambda pick: (pick.source, pick.start))
    words_left = max_words - sum(words_of(pick) for pick in picks)
    out = _piece(picks[0], canonical_mark)
    used: set[str] = {""}
    for before, pick in pairwise(picks):
        connector = _connector(before, pick)
        if connector in used or words_left < 1:
            connector = ""
        used.add(connector)
        words_left -= bool(connector)
        out += f" {connector}{_piece(pick, canonical_mark)}"
    return out


def _connector(before: Pick, pick: Pick) -> str:
    titled = bool(pick.title and pick.span)
    if not (titled or pick.follows):
        return ""
    old, new = (list(map(int, _YEAR.findall(each.span))) for each in (before, pick))
    if old and new and before.source != pick.source:
        if min(new) > max(old):
            return "Later, "
        if max(new) < min(old):
            return "Earlier, "
    return "" if titled else "Also, "


_BARE = (Cut.VERB, Cut.PREPOSITION, Cut.PURPOSE, Cut.RELATIVE, Cut.EVIDENCE)
"""Cuts at which a span begins without its subject."""


class Chooser:
    """Chooses the quote from one source, given its 1-based number."""

    def __init__(
        self, number: int, source: Source, inquiry: Inquiry, reading: Reading, weights: Weights
    ) -> None:
        self._number = number
        self._reading = reading
        self._title = quotable(source.title, reading.passage)
        self._weights = weights
        self._doubt = trust(inquiry).span

    def best(self, max_words: int) -> Pick | None:
        """Return the quote with the highest expected F1 among those that fit in `max_words`."""
        return next((pick for _, pick in self.ranked(max_words)), None)

    def ranked(self, max_words: int) -> Iterator[tuple[float, Pick]]:
        """Yield the quotes of at most `max_words` words with their worth, best first.

        All are worth at least `tuning.LEAST` times the best.
        """
        c = self._reading.candidates
        if not len(c.first):
            pick = Pick(self._number, "", self._title)
            if self._title and words_of(pick) <= max_words:
                yield 0.0, pick
            return
        alone, titled = score_spans(self._reading, self._weights)
        if not self._title:
            titled = np.full(len(titled), -1.0)
        own = {word for word in self._reading.title_words if word not in STOPWORDS}
        unnamed = has_open_reference(self._reading.passage, c, own)
        named = np.where(c.before == Cut.VERB, 0.0, tuning.NAMED * unnamed)
        titled = np.where(has_wrong_subject(self._reading.passage, c, own), -1.0, titled)
        scores = np.concatenate([alone - self._fragments(c), titled - tuning.TITLE_MARGIN + named])
        if not self._reading.relevance.query.any():
            # Without a match there is no reason to quote only part of a sentence.
            scores[np.tile((c.before != Cut.SENTENCE) | (c.after != Cut.SENTENCE), 2)] = -1.0
        scores -= tuning.BROKEN_OFF * np.tile(self._breaks_off(c.last), 2)
        scores *= np.tile(self._answering(c), 2)
        least = max(tuning.LEAST * float(scores.max()), -tuning.BROKEN_OFF)
        for i in np.argsort(-scores, kind="stable").tolist():
            if scores[i] < least:
                break
            span = i % len(alone)
            # Cheap check first: only dashes make several words of one between spaces.
            if c.last[span] - c.first[span] > 3 * max_words:
                continue
            title = self._title if i >= len(alone) else ""
            pick = self._pick(int(c.first[span]), int(c.last[span]), int(c.sentence[span]), title)
            if words_of(pick) <= max_words:
                yield (
                    float(scores[i]),
                    self._with_antecedent(pick, span, max_words) if unnamed[span] else pick,
                )

    def _with_antecedent(self, pick: Pick, span: int, max_words: int) -> Pick:
        """Extend a pick to the previous sentence if no title can resolve its reference."""
        passage, c = self._reading.passage, self._reading.candidates
        number = int(c.sentence[span])
        before = passage.sentences[number - 1] if number else None
        if self._title or before is None or before.last != c.first[span]:
            return pick
        gap = passage.text[before.end : passage.starts[before.last]]
        first = before.first
        if gap.strip(" \"'“‘") or passage.words[first] in PRONOUNS:
            return pick
        longer = self._pick(first, int(c.last[span]), number - 1)
        return longer if words_of(longer) <= min(max_words, tuning.LONGEST_PAIR) else pick

    def _fragments(self, c: Candidates) -> NDArray[np.float64]:
        """Return the penalty of each span for being a sentence fragment."""
        passage = self._reading.passage
        lower = np.array([passage.text[start].islower() for start in passage.starts])[c.first]
        bare = np.isin(c.before, _BARE)
        penalty: NDArray[np.float64] = np.where(
            lower, np.where(bare, tuning.LOWER_BARE, tuning.LOWER), tuning.FRAGMENT * bare
        )
        return penalty

    def _answering(self, c: Candidates) -> NDArray[np.float64]:
        """Return a factor for each span: lower if it lacks an answer or is off topic."""
        r, passage = self._reading.relevance, self._reading.passage
        asking = max_per_sentence(r.asked, passage) > 0
        on_topic = asking | ~asking.any()
        held = c.holds(r.answers > 0)
        kept: NDArray[np.float64] = np.where(held | ~held.any(), 1.0, self._doubt)
        off_topic: NDArray[np.float64] = np.where(on_topic[c.sentence], 1.0, tuning.OFF_TOPIC)
        return kept * off_topic

    def shortened(self, max_words: int) -> Pick | None:
        """Return the best quote cut to `max_words`, at least one word; None if there is no text."""
        c = self._reading.candidates
        if not len(c.first):
            cut = _first_words(self._title, max_words)
            return Pick(self._number, "", cut) if cut else None
        alone, _ = score_spans(self._reading, self._weights)
        span = int(np.argmax(alone))
        first, sentence = int(c.first[span]), int(c.sentence[span])
        for last in range(min(int(c.last[span]), first + 3 * max_words), first + 1, -1):
            pick = self._pick(first, last, sentence)
            if words_of(pick) <= max_words:
                return pick
        # Even a single word may be followed by marks that count as words.
        pick = self._pick(first, first + 1, sentence)
        return replace(pick, span=_first_words(pick.span, max_words))

    def _pick(self, first: int, last: int, sentence: int, title: str = "") -> Pick:
        passage = self._reading.passage
        lower = passage.text[passage.starts[first]].islower()
        return Pick(
            self._number,
            span_text(passage, first, last),
            title,
            start=passage.starts[first],
            opens=first == passage.sentences[sentence].first,
            breaks_off=bool(self._breaks_off(np.array([last]))[0]),
            follows=lower or is_surely_name(passage, first),
        )

    def _breaks_off(self, last: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each span ends at the end of the body without a final stop."""
        passage = self._reading.passage
        end = passage.sentences[-1].end
        open_ended = end == passage.ends[-1] and not passage.text[end:].strip()
        broken: NDArray[np.bool_] = (last == len(passage.words)) & open_ended
        return broken


def _first_words(text: str, count: int) -> str:
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return text[: ends[min(count, len(ends)) - 1]] if ends else ""


def other_part(inquiry: Inquiry, reading: Reading, pick: Pick, max_words: int) -> Pick | None:
    """Return a sentence that answers the part of the question that `pick` leaves unanswered.

    It must contain a word of that part and an answer of its kind.
    """
    passage, relevance = reading.passage, reading.relevance
    spans = [span_text(passage, s.first, s.last) for s in passage.sentences]
    quoted = [span in pick.span or pick.span in span for span in spans]
    for kind, stems in inquiry.parts:
        asked = replace(inquiry, kind=kind, parts=())
        held = evidence(passage, asked) >= trust(asked).least
        answers = [
            bool(held[s.first : s.last].any())
            and (not stems or bool(stems & set(passage.stems[s.first : s.last])))
            for s in passage.sentences
        ]
        if any(answer and there for answer, there in zip(answers, quoted, strict=True)):
            continue
        for i in sorted(range(len(spans)), key=lambda i: -relevance.brief[i]):
            if answers[i] and not quoted[i]:
                other = Pick(
                    pick.source, spans[i], start=passage.starts[passage.sentences[i].first]
                )
                return other if words_of(other) <= max_words else None
    return None
