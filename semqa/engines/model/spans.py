"""Write an answer span by span: choose spans to quote and connect them, with a model's scores."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import copysign
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.engines.extractive import documents
from semqa.engines.extractive.compose import join_pick, words_of
from semqa.engines.extractive.engine import DEFAULT_COVERAGE, DEFAULT_MAX_WORDS, ExtractiveEngine
from semqa.engines.model.text import find_stop
from semqa.errors import InputError
from semqa.quotes import ABSTENTION, Source
from semqa.quotes.marks import canonical_mark
from semqa.quotes.words import glue_words, language_of, question_words

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from semqa.decoding import CopyConstraint, Vocabulary
    from semqa.engines.base import Request
    from semqa.engines.extractive.compose import Pick
    from semqa.engines.extractive.documents import Reading
    from semqa.engines.extractive.engine import Slot

_ANCHOR = "\n"
"""A character that tokenizers do not merge with the text after it."""


class ContinuationEncoder:
    """Encodes text that continues an output.

    SentencePiece prepends a space to separate text, and other tokenizers would merge it with the
    text before it. Here the tokens' bytes are exactly those of the text.
    """

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        self._encode: Callable[[str], list[int]] = lambda text: tokenizer(
            text, add_special_tokens=False
        )["input_ids"]
        self._vocabulary = vocabulary
        self._longest = 0
        self._tokens: dict[bytes, int] = {}

    def __call__(self, text: str) -> list[int] | None:
        """Return the tokens of a text, or None if the vocabulary cannot encode it."""
        data = text.encode()
        for tokens in self._attempts(text):
            if self._bytes(tokens) == data:
                return tokens
        return self._by_longest_match(data)

    def _attempts(self, text: str) -> Iterator[list[int]]:
        yield list(self._encode(text))
        if text.startswith(" "):
            yield list(self._encode(text[1:]))
        tokens = list(self._encode(_ANCHOR + text))
        for count in range(1, min(3, len(tokens)) + 1):
            if self._bytes(tokens[:count]).strip(b" ") == _ANCHOR.encode():
                yield tokens[count:]

    def _bytes(self, tokens: Sequence[int]) -> bytes:
        size = self._vocabulary.size
        return b"".join(self._vocabulary.token_bytes(token) for token in tokens if token < size)

    def _by_longest_match(self, data: bytes) -> list[int] | None:
        if not self._tokens:
            for token in range(self._vocabulary.size - 1, -1, -1):
                if written := self._vocabulary.token_bytes(token):
                    self._tokens[written] = token
            self._longest = max(map(len, self._tokens))
        tokens, at = [], 0
        while at < len(data):
            for length in range(min(self._longest, len(data) - at), 0, -1):
                found = self._tokens.get(data[at : at + length])
                if found is not None:
                    tokens.append(found)
                    at += length
                    break
            else:
                return None
        return tokens


GENERIC_QUESTION = "What do the sources say?"
"""A generic question that favours no span."""

CANDIDATES = 3
"""Maximum number of spans per source that the model chooses from."""

GAIN = 0.02
"""Weight of a nat of log-probability, relative to expected F1 and relevance (both 0 to 1)."""

ODDS = 0.05
"""Weight of a nat of log-probability in the log odds that a unit of a document is quoted."""

NOISE = 5.0
"""Nats of difference to ignore: two standard deviations of the noise in the preferences of a model
with 135M parameters among QuoteSum's spans."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible quote at one place in an answer: a span, or a title and a span.

    Attributes:
        text: the marks and the text that joins them.
        worth: expected F1, from 0 to 1; `plan` adds the model's preference.
        follows: whether it can follow a comma: it begins with a name or in lower case.
    """

    text: str
    plain: tuple[str, ...]
    worth: float
    words: int
    follows: bool


class Piece(NamedTuple):
    """A quote of an answer from documents, with the layout around it.

    Attributes:
        before: line feed, bullet or space.
        mark: the quote with its mark; after a title, with a colon.
    """

    before: str
    mark: str
    source: int
    span: str


_PIECE = re.compile(r"([^\[\]]*?)(\[ (\d+) ([^\[\]]+) \]:?)")


def pieces(text: str) -> list[Piece]:
    r"""Split an answer from documents into its quotes, without duplicates.

    No text of a source may be quoted twice, so a quote is left out if another one contains it.

    Example:
        >>> [each.mark for each in pieces("[ 1 Fees ]\n- [ 1 Fees: €5 ]\n- [ 1 none ]")]
        ['[ 1 Fees: €5 ]', '[ 1 none ]']
    """
    found = [Piece(m[1], m[2], int(m[3]), m[4]) for m in _PIECE.finditer(text)]
    return [
        piece
        for at, piece in enumerate(found)
        if not any(
            piece.source == other.source
            and piece.span in other.span
            and (len(piece.span) < len(other.span) or place < at)
            for place, other in enumerate(found)
            if place != at
        )
    ]


def read_documents(request: Request, numbers: Sequence[int] | None = None) -> Reading | None:
    """Compare documents with a question; None if the sources are passages.

    Args:
        numbers: the sources that may be quoted; None for all.
    """
    if not documents.are_documents(request.sources):
        return None
    allowed = [
        source if numbers is None or number in numbers else Source("")
        for number, source in enumerate(request.sources, start=1)
    ]
    return ExtractiveEngine().read_documents(request.question, allowed, request.history)


def is_relevant(request: Request, numbers: Sequence[int] | None = None) -> bool:
    """Relevance gate: return whether a source may answer the question.

    Args:
        numbers: the sources that may be quoted; None for all.
    """
    reading = read_documents(request, numbers)
    return bool(propose(request, numbers)) if reading is None else reading.answers


@dataclass(frozen=True, slots=True)
class Place:
    """A place in an answer that quotes one source.

    Attributes:
        strength: relevance of the source, from 0 to 1; the best source has 1.
        candidates: possible quotes, best first; at least one.
    """

    source: int
    strength: float
    candidates: tuple[Candidate, ...]
    kind: str = ""


_FINAL = re.compile(r"[.!?…。！？؟۔।][\"'”’)»]*$")


def propose(request: Request, numbers: Sequence[int] | None = None) -> list[Place]:
    """Return the possible quotes from passages, in reading order."""
    question, sources, history = request
    slots = ExtractiveEngine().slots(question, sources, CANDIDATES, history)
    known = request.understood
    places = (_place(slot, known) for slot in slots if numbers is None or slot.source in numbers)
    return [place for place in places if place.candidates]


def _place(slot: Slot, question: str) -> Place:
    found = (_candidate(*both) for both in zip(slot.picks, slot.worths, strict=True))
    informative = (one for one in found if _is_informative(one, question))
    return Place(slot.source, slot.strength, tuple(informative), slot.kind)


def _is_informative(candidate: Candidate, question: str) -> bool:
    """Return whether a candidate contains any information beyond the question."""
    known = glue_words(language_of(question)) | question_words(question)
    return any(word.lower() not in known for word in re.findall(r"\w+", " ".join(candidate.plain)))


def _candidate(pick: Pick, worth: float) -> Candidate:
    quotes = tuple(quote for quote in (pick.title, pick.span) if quote)
    marks = [canonical_mark(pick.source, quote) for quote in quotes]
    text = join_pick(pick).join(marks) if len(marks) == 2 else marks[0]
    return Candidate(text, quotes, worth, words_of(pick), pick.follows or len(quotes) == 2)


def plan(
    places: Sequence[Place],
    generic: Sequence[Sequence[float]],
    asked: Sequence[Sequence[float]],
    max_words: int = DEFAULT_MAX_WORDS,
) -> list[Place]:
    """Choose the places of an answer and sort the candidates of each.

    Args:
        generic: log-probability of the start of each candidate after the generic question.
        asked: the same after the user's question.

    Returns:
        At least one place, unless there are no places or nothing fits.
    """
    gains = _significant(
        [
            [after - before for before, after in zip(*both, strict=True)]
            for both in zip(generic, asked, strict=True)
        ]
    )
    ranked = []
    for place, row in zip(places, gains, strict=True):
        scored = [
            replace(candidate, worth=candidate.worth + GAIN * gain)
            for candidate, gain in zip(place.candidates, row, strict=True)
        ]
        candidates = tuple(sorted(scored, key=lambda candidate: -candidate.worth))
        strength = place.strength + GAIN * max(row)
        ranked.append(replace(place, strength=strength, candidates=candidates))
    least = max((place.strength for place in ranked), default=0.0) - DEFAULT_COVERAGE
    chosen: dict[int, Place] = {}
    quoted: list[str] = []
    words_left = max_words
    for number in sorted(range(len(ranked)), key=lambda i: -ranked[i].strength):
        place = ranked[number]
        if chosen and (place.strength < least or place.strength <= 0.0):
            continue
        fitting = tuple(
            candidate
            for candidate in place.candidates
            if candidate.words <= words_left and not _repeats(candidate, quoted)
        )
        if fitting:
            chosen[number] = replace(place, candidates=fitting)
            quoted += [text.lower() for text in fitting[0].plain]
            words_left -= fitting[0].words
    return [chosen[number] for number in sorted(chosen)]


def _significant(gains: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the deviations of gains from their mean, shrunk by `NOISE` towards zero."""
    every = [gain for row in gains for gain in row]
    mean = fmean(every) if every else 0.0
    return [
        [copysign(max(0.0, abs(gain - mean) - NOISE), gain - mean) for gain in row] for row in gains
    ]


def _repeats(candidate: Candidate, quoted: Sequence[str]) -> bool:
    texts = [text.lower() for text in candidate.plain]
    return any(text in other or other in text for text in texts for other in quoted)


def connectors(written: str, place: Place, candidate: Candidate, *, last: bool) -> list[str]:
    """Return the fixed connectors that may precede a quote.

    Example:
        >>> ada = Candidate("[ 1 Ada ]", ("Ada",), 1.0, 1, follows=True)
        >>> place = Place(1, 1.0, (ada,))
        >>> connectors("", place, ada, last=True), connectors("[ 2 It rained ]", place, ada, last=True)
        ([''], ['. ', ', and '])
    """
    if place.kind == "expansion":
        return [", or " if last else ", "] if written else ["It stands for "]
    if not written:
        return [""]
    if _is_final(written):
        return [" "]
    return [". ", ", and "] if last and candidate.follows else [". "]


def _is_final(written: str) -> bool:
    return _FINAL.search(written.removesuffix("]").rstrip()) is not None


_START = 8
"""Number of tokens of a candidate to score: the source number and the first words."""

_OWN_TOKENS = 12
"""Maximum number of tokens of the model's own words before a quote."""


class Score(NamedTuple):
    """Request for the log-probabilities of several continuations of `before`.

    The reply has one row per continuation, with the log-probability of each token.
    """

    before: list[int]
    rows: list[list[int]]


class Words(NamedTuple):
    """Request for a greedy, unconstrained continuation of `before`.

    The reply has at most `most` tokens and ends with the first one for which `goes_on` is false.
    """

    before: list[int]
    most: int
    goes_on: Callable[[Sequence[int]], bool]


class Tokens(NamedTuple):
    """Request for a whole answer, decoded under the constraint; the reply is its tokens."""


Ask = Score | Words | Tokens


class SpanWriter:
    """Writes one answer to `tokens`, including its end token.

    Args:
        stops: strings that end an answer; the model's own words must not contain them.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        encode: ContinuationEncoder,
        constraint: CopyConstraint,
        request: Request,
        *,
        budget: int | None = None,
        stops: Sequence[str] = (),
    ) -> None:
        self._vocabulary, self._encode = vocabulary, encode
        self._constraint, self._request = constraint, request
        self._state, self._budget, self._stops = constraint.start(budget), budget, stops
        self.tokens: list[int] = []

    def write(self, prompt: Sequence[int], generic: Sequence[int]) -> Generator[Ask, Any, None]:
        """Write the answer to `tokens`; `generic` is the prompt with a generic question."""
        reading = read_documents(self._request, self._constraint.policy.quote_from)
        if reading is not None:
            planned = yield from self._lay_out(reading, prompt, generic)
        else:
            places = yield from self._plan(prompt, generic)
            planned = bool(places)
            for place in places:
                yield from self._quote(prompt, place, last=place is places[-1])
        if planned and not self.tokens:  # the constraint rejects all planned quotes
            self._add((yield Tokens()))
        else:
            closed = reading is not None or _is_final(self._written)
            self._end("" if closed else ".")

    def _lay_out(
        self, reading: Reading, prompt: Sequence[int], generic: Sequence[int]
    ) -> Generator[Ask, list[list[float]], bool]:
        """Add the lines, lists and tables that answer from documents; return whether any does.

        The model's scores change the odds of the units. Units that a reader needs for context are
        added. The answer is as long as the limits on words and tokens allow.
        """
        if not reading.answers:
            return False
        texts = documents.contenders(reading, self._request.sources)
        if len(texts) > 1:
            scores = yield from self._score_starts([*texts.values()], prompt, generic)
            gains = [asked - before for before, asked in zip(*scores, strict=True)]
            bonus = [ODDS * gain for gain in _significant([gains])[0]]
            reading = documents.weigh(reading, dict(zip(texts, bonus, strict=True)))
        for piece in pieces(self._fitting(reading)):
            before = piece.before if self.tokens else piece.before.lstrip()
            self._add(self._encoded(before + piece.mark))
        return True

    def _fitting(self, reading: Reading) -> str:
        """Return the answer from documents, with fewer words if it exceeds the token budget."""
        words = DEFAULT_MAX_WORDS
        while True:
            text = documents.write(reading, self._request.sources, words, signs=False)
            tokens = self._encode(text)
            if self._budget is None or words == 1 or (tokens and len(tokens) < self._budget):
                return text
            words = max(1, words * 3 // 4)

    @property
    def _written(self) -> str:
        return self._vocabulary.decode(self.tokens)

    def _plan(
        self, prompt: Sequence[int], generic: Sequence[int]
    ) -> Generator[Ask, list[list[float]], list[Place]]:
        """Choose the quotes by expected F1 and by how much the question raises their likelihood."""
        places = propose(self._request, self._constraint.policy.quote_from)
        if not places:
            return []
        texts = [candidate.text for place in places for candidate in place.candidates]
        scores = [[0.0] * len(texts)] * 2
        if len(texts) > 1:  # there is nothing to prefer otherwise
            scores = yield from self._score_starts(texts, prompt, generic)
        before, asked = (
            [[next(each) for _ in p.candidates] for p in places] for each in map(iter, scores)
        )
        return plan(places, before, asked)

    def _score_starts(
        self, texts: Sequence[str], prompt: Sequence[int], generic: Sequence[int]
    ) -> Generator[Ask, list[list[float]], list[list[float]]]:
        """Return the log-probability of the start of each text, after `generic` and `prompt`."""
        starts = [tuple(self._encode(text) or ())[:_START] for text in texts]
        distinct = list(dict.fromkeys(filter(None, starts)))
        out = []
        for before in (generic, prompt):  # in this order: the answer continues `prompt`
            scores = yield Score([*before], [[*start] for start in distinct])
            found = dict(zip(distinct, map(sum, scores), strict=True))
            out.append([found.get(start, 0.0) for start in starts])
        return out

    def _quote(
        self, prompt: Sequence[int], place: Place, *, last: bool
    ) -> Generator[Ask, Any, None]:
        """Add a quote and the words before it, or nothing if all candidates are rejected."""
        before = [*prompt, *self.tokens]
        for candidate in place.candidates:
            fixed = connectors(self._written, place, candidate, last=last)
            rows = [row for words in fixed if (row := self._encoded(words + candidate.text))]
            if not rows:
                continue
            own = None
            # The model's own words can precede a name or the middle of a sentence.
            if candidate.follows and (place.kind != "expansion" or not self.tokens):
                words = self._own_words((yield Words(before, _OWN_TOKENS, self._goes_on)))
                own = self._encoded(words + candidate.text) if words else None
            chosen = rows[0]
            if own or len(rows) > 1:
                scores = yield Score(before, [*rows, *([own] if own else [])])
                best = max(range(len(rows)), key=lambda place: sum(scores[place]))
                chosen = rows[best]
                # Own words lower the total probability, so only the quote's is compared.
                if own and self._quote_score(own, scores[-1]) >= self._quote_score(
                    chosen, scores[best]
                ):
                    chosen = own
            self._add(chosen)
            return

    def _goes_on(self, tokens: Sequence[int]) -> bool:
        return "[" not in self._vocabulary.decode(tokens) and self._allows(tokens)

    def _own_words(self, tokens: Sequence[int]) -> str | None:
        """Return the model's words before a quote, or None if it did not begin a quote."""
        text = self._vocabulary.decode([*self.tokens, *tokens])[len(self._written) :]
        words, mark, _ = text.partition("[")
        has_word = any(map(str.isalnum, words))
        if not (mark and has_word) or find_stop(words, len(words), self._stops) is not None:
            return None
        return words

    def _quote_score(self, row: Sequence[int], scores: Sequence[float]) -> float:
        """Return the log-probability of a row from its first bracket onwards."""
        first = next(n for n in range(len(row)) if "[" in self._vocabulary.decode([*row[: n + 1]]))
        return sum(scores[first:])

    def _encoded(self, text: str) -> list[int] | None:
        """Return a text's tokens if the constraint allows them here, otherwise None."""
        strips = self._vocabulary.strips_leading_space and not self.tokens
        for written in (text, f" {text}") if strips else (text,):
            tokens = self._encode(written)
            if tokens and self._allows(tokens):
                return tokens
        return None

    def _allows(self, tokens: Sequence[int]) -> bool:
        state = self._state
        try:
            for token in tokens:
                state = self._constraint.advance(state, token)
        except InputError:
            return False
        return True

    def _add(self, tokens: Sequence[int] | None) -> None:
        for token in tokens or ():
            self._state = self._constraint.advance(self._state, token)
            self.tokens.append(token)

    def _end(self, final: str) -> None:
        """End the answer with a final mark; without a quote, abstain."""
        self._add(self._encoded(final if self.tokens else ABSTENTION))
        if not self._constraint.is_accepting(self._state):
            self._add(self._constraint.shortest_completion(self._state))
        else:
            ends = set(self._constraint.allowed(self._state).tolist())
            self._add([next(end for end in self._vocabulary.eos_ids if end in ends)])
