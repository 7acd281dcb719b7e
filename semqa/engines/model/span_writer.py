"""Write an answer span by span: the questions put to the model, and the use of its replies.

Masking token by token chooses the first token of a quote blind to what it leads to. Here the model
reads each candidate to its closing bracket before one is chosen.

Knows of no library that runs models: `SpanWriter.write` yields what it needs to know, and is sent
the reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.engines.abstention import ABSTENTION
from semqa.engines.model.spans import closing, connectors, plan, propose
from semqa.engines.model.text import find_stop
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from semqa.decoding import CopyConstraint, Vocabulary
    from semqa.engines.base import Request
    from semqa.engines.model.continuation import ContinuationEncoder
    from semqa.engines.model.spans import Place

__all__ = ["Ask", "Score", "SpanWriter", "Tokens", "Words"]

_START = 8
"""How many tokens of a candidate tell whether the model favours it: number and first words."""

_OWN_TOKENS = 12
"""The longest run of its own words that the model may put before a quote."""


class Score(NamedTuple):
    """Asks how likely each of several continuations is.

    The reply has a row for each continuation: the log-probability of each of its tokens.

    Attributes:
        before: the tokens read before each continuation.
        rows: the continuations, none of them empty.
    """

    before: list[int]
    rows: list[list[int]]


class Words(NamedTuple):
    """Asks what the model writes next, greedily and without masks.

    The reply is its tokens: at most `most`, and none behind the first that `goes_on` refuses.

    Attributes:
        before: the tokens read before.
        most: the largest number of tokens.
        goes_on: whether to write on after some tokens.
    """

    before: list[int]
    most: int
    goes_on: Callable[[Sequence[int]], bool]


class Tokens(NamedTuple):
    """Asks for a whole answer, token by token under the constraint. The reply is its tokens."""


Ask = Score | Words | Tokens


class SpanWriter:
    """Writes one answer.

    Args:
        vocabulary: the model's tokens.
        encode: text to tokens in the middle of an answer.
        constraint: which tokens may come next.
        request: the question and its sources.
        budget: the largest number of tokens; None for no limit.
        stops: texts that end an answer; the model's own words hold none of them.

    Attributes:
        tokens: the answer so far; at the end, with its end token.
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
        self._state, self._stops = constraint.start(budget), stops
        self.tokens: list[int] = []

    def write(self, prompt: Sequence[int], generic: Sequence[int]) -> Generator[Ask, Any, None]:
        """Write the answer to `tokens`.

        Args:
            prompt: the tokens of the prompt.
            generic: the same with the generic question.
        """
        places = yield from self._plan(prompt, generic)
        for place in places:
            yield from self._quote(prompt, place, last=place is places[-1])
        if places and not self.tokens:  # the constraint refuses all that was planned
            self._add((yield Tokens()))
        else:
            self._end()

    @property
    def _written(self) -> str:
        return self._vocabulary.decode(self.tokens)

    def _plan(
        self, prompt: Sequence[int], generic: Sequence[int]
    ) -> Generator[Ask, list[list[float]], list[Place]]:
        """Choose what to quote: by what the proposals are worth, and what the question adds."""
        question, sources = self._request
        places = propose(question, sources, self._constraint.policy.sources)
        if not places:
            return []
        starts = [
            [tuple(self._encode(candidate.text) or ())[:_START] for candidate in place.candidates]
            for place in places
        ]
        distinct = list(dict.fromkeys(start for row in starts for start in row if start))
        asked = []
        for before in (generic, prompt):  # the answer follows the second
            scores = yield Score([*before], [[*start] for start in distinct])
            found = dict(zip(distinct, map(sum, scores), strict=True))
            asked.append([[found.get(start, 0.0) for start in row] for row in starts])
        return plan(places, *asked)

    def _quote(
        self, prompt: Sequence[int], place: Place, *, last: bool
    ) -> Generator[Ask, Any, None]:
        """Add a quote and the words before it, or nothing if the constraint refuses all."""
        before = [*prompt, *self.tokens]
        for candidate in place.candidates:
            fixed = connectors(self._written, place, candidate, last=last)
            rows = [row for words in fixed if (row := self._encoded(words + candidate.text))]
            if not rows:
                continue
            own = None
            # Words of its own fit before the middle of a sentence, or a name.
            if candidate.follows and (place.kind != "expansion" or not self.tokens):
                words = self._own_words((yield Words(before, _OWN_TOKENS, self._goes_on)))
                own = self._encoded(words + candidate.text) if words else None
            scores = yield Score(before, [*rows, *([own] if own else [])])
            best = max(range(len(rows)), key=lambda place: sum(scores[place]))
            chosen = rows[best]
            # Its own words cost probability themselves; they fit if the quote is as likely behind them.
            if own and self._of_quote(own, scores[-1]) >= self._of_quote(chosen, scores[best]):
                chosen = own
            self._add(chosen)
            return

    def _goes_on(self, tokens: Sequence[int]) -> bool:
        return "[" not in self._vocabulary.decode(tokens) and self._allows(tokens)

    def _own_words(self, tokens: Sequence[int]) -> str | None:
        """Return what the model put before a quote, or None if it opened none."""
        text = self._vocabulary.decode([*self.tokens, *tokens])[len(self._written) :]
        words, mark, _ = text.partition("[")
        says = any(map(str.isalnum, words))
        if not (mark and says) or find_stop(words, len(words), self._stops) is not None:
            return None
        return words

    def _of_quote(self, row: Sequence[int], scores: Sequence[float]) -> float:
        """Return the log-probability of a row from its first bracket on."""
        first = next(n for n in range(len(row)) if "[" in self._vocabulary.decode([*row[: n + 1]]))
        return sum(scores[first:])

    def _encoded(self, text: str) -> list[int] | None:
        """Return a text's tokens, if the constraint allows them here."""
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

    def _end(self) -> None:
        """End the last sentence and the answer; without a quote, abstain."""
        self._add(self._encoded(closing(self._written) if self.tokens else ABSTENTION))
        if not self._constraint.is_accepting(self._state):
            self._add(self._constraint.shortest_completion(self._state))
        else:
            ends = set(self._constraint.allowed(self._state).tolist())
            self._add([next(end for end in self._vocabulary.eos_ids if end in ends)])
