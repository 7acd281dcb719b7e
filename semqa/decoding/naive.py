"""The copy constraint by its definition: slow and plain, the reference for the fast one.

Reads an answer byte by byte, as ``docs/constraint.md`` defines it, and searches the vocabulary for
a way to its end. Has the methods of `semqa.decoding.CopyConstraint` and shares no code with it.
Knows nothing of suffix arrays, compilation or devices.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from semqa.decoding.naive_language import Ended, Free, Language, Mark, Place, Span
from semqa.decoding.policy import QuotePolicy
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.decoding.vocabulary import Vocabulary
    from semqa.quotes import Source

__all__ = ["NaiveConstraint"]

_NO_LIMIT = -1
_NO_RULES = QuotePolicy()


class NaiveConstraint:
    """The copy constraint, slow and obvious.

    A state is two integers: the number of a place in the answer, given in the order in which this
    constraint comes upon them, and the tokens that are left, or -1 without a limit.

    Args:
        vocabulary: the tokens.
        sources: the numbered sources; source *k* is ``sources[k - 1]``.
        policy: what the answer may do besides quoting verbatim.
        question: where the policy's numbers and names may come from.

    Raises:
        InputError: the policy names a source that is not given, or asks for quotes that cannot be
            written.

    Example:
        >>> from semqa import Source
        >>> from semqa.decoding.vocabulary import Vocabulary
        >>> vocabulary = Vocabulary.from_tokens([b"[ 1 ", b"Bing", b" ]", b""], eos_ids=[3])
        >>> constraint = NaiveConstraint(vocabulary, [Source("Bing Crosby")])
        >>> state = constraint.advance(constraint.start(), 0)
        >>> constraint.allowed(state).tolist(), constraint.shortest_completion(state)
        ([1], [1, 2, 3])
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        sources: Sequence[Source],
        policy: QuotePolicy = _NO_RULES,
        *,
        question: str = "",
    ) -> None:
        if policy.sources and policy.sources[-1] > len(sources):
            raise InputError(
                f"policy sources: got {policy.sources[-1]}, expected numbers from 1 to "
                f"{len(sources)}; name sources that are given"
            )
        self._language = Language(sources, policy, question)
        self._size = vocabulary.size
        self._eos = tuple(sorted(vocabulary.eos_ids))
        barred = vocabulary.special_ids.union(self._eos)
        self._bytes = [
            b"" if token in barred else vocabulary.token_bytes(token) for token in range(self._size)
        ]
        self._trie = _Node()
        for token, text in enumerate(self._bytes):
            if text:
                node = self._trie
                for byte in text:
                    node = node.children.setdefault(byte, _Node())
                node.tokens.append(token)
        first = self._trie.children
        self._writes_bytes = all(byte in first and first[byte].tokens for byte in range(256))
        self._halves_alone = self._writes_bytes and not any(
            first[byte].children for byte in range(0x80, 0xC0)
        )
        openers = [token for token, text in enumerate(self._bytes) if b"[" in text]
        self.quote_openers = np.array(openers, np.int64)
        self._lock = Lock()
        # Places are known by their numbers; the rest is remembered work.
        self._places: list[Place] = []
        self._number_of: dict[Place, int] = {}
        self._steps: list[dict[int, int | None]] = []
        self._moves: dict[int, dict[int, list[int]]] = {}
        self._ended = self._number(Ended())
        self._plans: dict[int, tuple[float, int, int]] = {self._ended: (0, -1, -1)}
        self._some: dict[int, float] = {self._ended: 0}
        self._start = self._number(Free())
        if self._enough(self._start) == math.inf:
            raise InputError(
                f"min_quotes: got {policy.min_quotes}, but no answer can hold as many quotes, "
                "expected sources that these tokens can quote; lower it, or give other sources"
            )

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _lock=Lock())

    def start(self, max_tokens: int | None = None) -> tuple[int, ...]:
        """Begin an answer of at most so many tokens, the end token included.

        Raises:
            InputError: no answer is as short.
        """
        if max_tokens is not None and not self._affords(self._start, max_tokens + 1):
            raise InputError(
                f"max_tokens: got {max_tokens}, expected at least {self._distance(self._start):.0f}, the shortest answer "
                "with its end token; raise it"
            )
        return (self._start, _NO_LIMIT if max_tokens is None else max_tokens)

    def advance(self, state: tuple[int, ...], token_id: int) -> tuple[int, ...]:
        """Return the state after one more token.

        Raises:
            InputError: the token is not allowed.
        """
        place, left = state
        after = self._after(place, int(token_id))
        if after is None or not self._affords(after, left):
            raise InputError(
                f"token not allowed here: got {token_id} ({self._shown(token_id)}), expected one of "
                f"the {len(self.allowed(state))} in allowed(state); choose by the mask"
            )
        spent = left != _NO_LIMIT and place != self._ended
        return (after, left - 1 if spent else left)

    def allowed(self, state: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the ids of the tokens that may follow, ascending."""
        place, left = state
        ids = [
            token
            for after, tokens in self._moves_from(place).items()
            if self._affords(after, left)
            for token in tokens
        ]
        return np.array(sorted(ids), np.int64)

    def mask(
        self, state: tuple[int, ...], out: NDArray[np.int32] | None = None
    ) -> NDArray[np.int32]:
        """Return one bit a token, 1 where it may follow: bit ``t % 32`` of word ``t // 32``."""
        width = -(-self._size // 32)
        bits = np.zeros(width * 32, np.uint8)
        bits[self.allowed(state)] = 1
        words = np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)
        if out is None:
            return words
        out[:] = words
        return out

    def is_accepting(self, state: tuple[int, ...]) -> bool:
        """Say whether an end token may follow, or the answer has ended."""
        return self.has_ended(state) or self._language.may_end(self._places[state[0]])

    def has_ended(self, state: tuple[int, ...]) -> bool:
        """Say whether an end token was read."""
        return int(state[0]) == self._ended

    def in_quote(self, state: tuple[int, ...]) -> bool:
        """Say whether the last bracket is an opening one."""
        return isinstance(self._places[state[0]], Mark | Span)

    def shortest_completion(self, state: tuple[int, ...]) -> list[int]:
        """Return as few tokens as finish the answer, an end token last."""
        place = int(state[0])
        tokens = []
        while place != self._ended:
            self._distance(place)
            _, token, place = self._plans[place]
            tokens.append(token)
        return tokens

    def advance_batch(
        self, states: NDArray[np.int32], token_ids: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Advance each state by its token."""
        pairs = zip(states.tolist(), token_ids, strict=True)
        after = [self.advance((place, left), int(token)) for (place, left), token in pairs]
        return np.array(after, np.int32).reshape(-1, 2)

    def mask_batch(
        self, states: NDArray[np.int32], out: NDArray[np.int32] | None = None
    ) -> NDArray[np.int32]:
        """Return the masks of several states, a row each."""
        if out is None:
            out = np.zeros((len(states), -(-self._size // 32)), np.int32)
        for row, (place, left) in zip(out, states.tolist(), strict=True):
            self.mask((place, left), row)
        return out

    def _number(self, place: Place) -> int:
        with self._lock:
            number = self._number_of.setdefault(place, len(self._places))
            if number == len(self._places):
                self._places.append(place)
                self._steps.append({})
            return number

    def _step(self, place: int, byte: int) -> int | None:
        known = self._steps[place]
        if byte not in known:
            after = self._language.step(self._places[place], byte)
            known[byte] = None if after is None else self._number(after)
        return known[byte]

    def _after(self, place: int, token: int) -> int | None:
        """Return the place after a token, whether or not an answer can be finished from there."""
        if token in self._eos:
            may_end = place == self._ended or self._language.may_end(self._places[place])
            return self._ended if may_end else None
        if not (0 <= token < self._size and self._bytes[token]):
            return None
        after: int | None = place
        for byte in self._bytes[token]:
            after = None if after is None else self._step(after, byte)
        return after

    def _moves_from(self, place: int) -> dict[int, list[int]]:
        """Return all places that one token leads to, each with its tokens."""
        if place not in self._moves:
            moves: dict[int, list[int]] = {}
            ends = [token for token in self._eos if self._after(place, token) is not None]
            if ends:
                moves[self._ended] = ends
            walk = [(place, self._trie)]
            while walk:
                at, node = walk.pop()
                for byte, child in node.children.items():
                    after = self._step(at, byte)
                    if after is not None:
                        walk.append((after, child))
                        if child.tokens:
                            moves.setdefault(after, []).extend(child.tokens)
            self._moves[place] = moves
        return self._moves[place]

    def _affords(self, place: int, left: int) -> bool:
        """Say whether a token may lead to this place, when so many are left with it."""
        if place == self._ended:
            return True
        most = math.inf if left == _NO_LIMIT else left - 1
        enough = self._enough(place)
        return enough < math.inf and (enough <= most or self._distance(place) <= most)

    def _enough(self, place: int) -> float:
        """Return a number of tokens that finish an answer, not the least; infinite if none do.

        Takes the first way it finds, looking into quotes first. Where every byte is a token it
        tries single bytes alone, which write whatever longer tokens do.
        """
        known = self._some_known(place)
        if known is not None:
            return known
        came = {place: -1}
        ahead = [(self._unfinished(place), 0, place)]
        goal = -1
        while ahead and goal < 0:
            _, shallowness, at = heappop(ahead)
            for after in self._bytes_from(at) if self._writes_bytes else self._moves_from(at):
                if after in came:
                    continue
                came[after] = at
                onwards = self._some_known(after)
                if onwards is None:
                    heappush(ahead, (self._unfinished(after), shallowness - 1, after))
                elif onwards < math.inf:
                    goal = after
                    break
        if goal < 0:
            self._some.update(dict.fromkeys(came, math.inf))
            return math.inf
        while goal != place:
            self._some[came[goal]] = self._some[goal] + 1
            goal = came[goal]
        return self._some[place]

    def _some_known(self, place: int) -> float | None:
        if place not in self._some and self._language.may_end(self._places[place]):
            self._some[place] = 1
        return self._some.get(place)

    def _bytes_from(self, place: int) -> list[int]:
        steps = (self._step(place, byte) for byte in range(256))
        return [
            after for after in steps if after is not None and not self._is_foreign(place, after)
        ]

    def _is_foreign(self, place: int, after: int) -> bool:
        """Say whether this step begins a character that one of a single byte can replace.

        One that the question does not hold counts by its kind only, and each kind has such a one.
        """
        return self._language.begins_any_character(self._places[place], self._places[after])

    def _unfinished(self, place: int) -> tuple[int, int]:
        """Rank a place by how much is missing: quotes, then the end of this one."""
        at = self._places[place]
        if isinstance(at, Ended):
            return (0, 0)
        in_quote = 0 if isinstance(at, Span) else 1 if isinstance(at, Mark) else 2
        return (-at.quotes, in_quote)

    def _distance(self, place: int) -> float:
        """Return how many tokens finish an answer, by best-first search; infinite if none do.

        Remembers a way: for each place on it the distance, the next token and the next place.
        """
        known = self._known_distance(place)
        if known is not None:
            return known
        came: dict[int, tuple[int, int, int]] = {place: (0, -1, -1)}  # depth, before, token
        ahead = [(self._at_least(place), 0, place)]
        least, goal = math.inf, -1
        while ahead and ahead[0][0] < least:
            _, shallowness, at = heappop(ahead)
            depth = 1 - shallowness
            for after, tokens in self._moves_from(at).items():
                if (after in came and came[after][0] <= depth) or self._is_detour(
                    at, after, tokens
                ):
                    continue
                came[after] = (depth, at, tokens[0])
                onwards = self._known_distance(after)
                if onwards is None:
                    heappush(ahead, (depth + self._at_least(after), -depth, after))
                elif depth + onwards < least:
                    least, goal = depth + onwards, after
        if goal < 0:
            self._plans.update(dict.fromkeys(came, (math.inf, -1, -1)))
            return math.inf
        after = goal
        while after != place:
            _, before, token = came[after]
            self._plans[before] = (self._plans[after][0] + 1, token, after)
            after = before
        return least

    def _at_least(self, place: int) -> int:
        """Return a bound on the distance of a place where the answer may not end.

        Where nothing but single bytes begins in the middle of a character, each of those that are
        missing takes a token.
        """
        missing = self._language.missing_bytes(self._places[place])
        return 1 + (missing if missing and self._halves_alone else 1)

    def _known_distance(self, place: int) -> float | None:
        if place not in self._plans:
            if not self._language.may_end(self._places[place]):
                return None
            self._plans[place] = (1, self._eos[0], self._ended)
        return self._plans[place][0]

    def _is_detour(self, place: int, after: int, tokens: list[int]) -> bool:
        """Say whether no shortest way begins a character here: all it takes are more tokens."""
        return (
            self._halves_alone
            and all(len(self._bytes[token]) == 1 for token in tokens)
            and self._is_foreign(place, after)
        )

    def _shown(self, token: int) -> str:
        if token in self._eos:
            return "an end token"
        return repr(self._bytes[token]) if 0 <= token < self._size else "no token"


class _Node:
    """A byte string that tokens begin with, and the tokens that are this string."""

    __slots__ = ("children", "tokens")

    def __init__(self) -> None:
        self.children: dict[int, _Node] = {}
        self.tokens: list[int] = []
