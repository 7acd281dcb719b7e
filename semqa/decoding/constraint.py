"""The copy constraint: compiled once for its sources, then masks, step by step.

Knows nothing of models; states are values, so that rollback, beams and threads need nothing special.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from semqa.decoding.core import layout
from semqa.decoding.core.cost import CONTROLS, NO_WAY, QUOTE_COST
from semqa.decoding.core.entries import (
    ACCEPTS,
    ADVANCE,
    AFTER_SPACE,
    BEGUN,
    DISTANCES,
    FINISH,
    MASKS,
    WIDE,
    entries,
)
from semqa.decoding.core.state import (
    AT_START,
    CONTEXT,
    ENDED,
    FREE,
    MODE,
    QUOTES,
    RUN,
    STATE_WIDTH,
    TOKENS,
    WORDS,
)
from semqa.decoding.passages import Passages, lay_out
from semqa.decoding.policy import QuotePolicy
from semqa.decoding.tables import (
    FreeRules,
    free_rules,
    masks_of_free_text,
    question_runs,
)
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.decoding.vocabulary import Vocabulary
    from semqa.quotes import Source

__all__ = ["CopyConstraint", "State"]

State = tuple[int, ...]
"""Where an answer stands: a value to compare, hash, keep and copy; its fields are nobody's business."""

_MOST_SOURCES = 100_000
_DEFAULT = QuotePolicy()
_NO_INTS = np.empty(0, np.int32)
_NO_TOKENS = np.empty(0, np.int64)
_NO_ROWS = np.empty((0, 0), np.int32)


class CopyConstraint:
    """Which tokens may come next, so that every quote is a verbatim span of its source.

    Immutable and thread-safe; pickles. The language is defined in ``docs/constraint.md``.

    Attributes:
        vocabulary: the tokens.
        sources: what may be quoted; source *k* is ``sources[k - 1]``.
        policy: the rules for quotes and free text.
        question: the question, whose numbers and names free text may repeat.

    Example:
        >>> from semqa import Source
        >>> from semqa.decoding import CopyConstraint, Vocabulary
        >>> vocabulary = Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [b""], [256])
        >>> constraint = CopyConstraint(vocabulary, [Source("In 1943.")])
        >>> state = constraint.start()
        >>> for byte in b"[ 1 ":
        ...     state = constraint.advance(state, byte)
        >>> bytes(constraint.allowed(state).tolist())
        b'.1I'
        >>> vocabulary.decode(constraint.shortest_completion(state))
        '. ]'
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        sources: Sequence[Source],
        policy: QuotePolicy = _DEFAULT,
        *,
        question: str = "",
    ) -> None:
        """Compile a constraint: linear in the length of the sources, 1 to 2 ms for 2,000 characters.

        Raises:
            InputError: the policy names a source that is not there, or asks for quotes where
                nothing can be quoted; or there are more than 100,000 sources.
        """
        self.vocabulary = vocabulary
        self.sources = tuple(sources)
        self.policy = policy
        self.question = question
        self._lock = Lock()
        self._build()

    def _build(self) -> None:
        policy, count = self.policy, len(self.sources)
        if count > _MOST_SOURCES:
            raise InputError(
                f"too many sources: got {count:,}, expected at most {_MOST_SOURCES:,}; give fewer"
            )
        if policy.sources and policy.sources[-1] > count:
            raise InputError(
                f"policy sources: got {policy.sources[-1]}, expected numbers from 1 to {count}; "
                "name sources that are given"
            )
        rules = self._look_up()
        shared = rules.shared
        laid = lay_out(self.sources, policy)
        self._width = shared.width
        self._rules = rules
        self.quote_openers = shared.openers
        self._arrays: dict[int, NDArray[Any]] = {
            layout.TEXT: laid.text,
            layout.FLAGS: laid.flags,
            layout.SUFFIXES: laid.suffixes,
            layout.STARTS: laid.starts,
            layout.HEAVY_KEYS: np.empty(0, np.int64),
            layout.CONTROL_COST: np.full(CONTROLS + 1 + 2 * count, NO_WAY, np.int64),
        }
        quote = 5 + len(str(count)) + laid.longest
        self._numbers: dict[int, int] = {
            layout.SOURCES: count,
            layout.WORDS_LIMITED: policy.max_words is not None,
            layout.COSTS_WORDS: (policy.max_words or policy.max_span_words) is not None,
            layout.MAX_SPAN: _limit(policy.max_span_words),
            layout.FREE_BOUND: rules.longest_run + 4,
            layout.COST_BOUND: (policy.min_quotes + 1) * quote + rules.longest_run + 8,
        }
        if not shared.complete:
            # What cannot be written byte by byte may take any number of tokens.
            self._numbers[layout.FREE_BOUND] = layout.FAR
            self._numbers[layout.COST_BOUND] = layout.UNLIMITED - 2
        self._set_quotable(np.diff(laid.starts) > 0)
        self._refresh()
        if shared.complete:
            self._make_lists(laid)
        else:
            self._fill_distances()
            self._arrays.update(masks_of_free_text(self._handle, shared, rules.contexts))
        self._refresh()
        self._start = self._first_state()

    def _look_up(self) -> FreeRules:
        """Return what this constraint shares with others."""
        policy = self.policy
        limits = (policy.max_words, policy.max_free_words, policy.max_span_words)
        digits, words = question_runs(policy, self.question)
        return free_rules(
            self.vocabulary,
            policy.numbers == "quoted",
            policy.names == "quoted",
            any(limit is not None for limit in limits),
            _limit(policy.max_free_words),
            digits,
            words,
        )

    def _set_quotable(self, quotable: NDArray[np.bool_]) -> None:
        """Note which sources can be quoted, by number, and what their numbers begin with."""
        flags = np.zeros(quotable.size + 1, np.uint8)
        flags[1:] = quotable
        prefixes = flags.copy()
        for number in np.flatnonzero(flags).tolist():
            while number := number // 10:
                prefixes[number] = 1
        self._arrays[layout.QUOTABLE] = flags
        self._arrays[layout.PREFIX_OK] = prefixes
        self._numbers[layout.ANY_QUOTABLE] = int(flags.any())

    def _refresh(self) -> None:
        self._handle = layout.make_handle(self._arrays, self._numbers, self._rules.handle)

    def _make_lists(self, laid: Passages) -> None:
        arrays, starts = self._arrays, laid.starts
        for task, tokens, ends in (
            (BEGUN, layout.BEGUN_LISTS, layout.BEGUN_STARTS),
            (AFTER_SPACE, layout.SPACED_LISTS, layout.SPACED_STARTS),
        ):
            arrays[ends] = np.zeros(starts.size, np.int32)
            *_, arrays[tokens] = entries().lists(self._handle, task, starts, 0, arrays[ends])
        most = min(16_384, max(64, laid.suffixes.size // 8))
        keys, values, lists = entries().lists(
            self._handle, WIDE, starts, most, np.zeros(1, np.int32)
        )
        arrays[layout.HEAVY_KEYS] = keys
        arrays[layout.HEAVY_VALUES] = values
        arrays[layout.HEAVY_LISTS] = lists

    def _fill_distances(self) -> None:
        """Compute what it costs to finish from everywhere; only needed where tokens are scarce."""
        size = self._arrays[layout.TEXT].size
        costs = {
            slot: np.full_like(self._rules.tables.arrays[slot], layout.FAR)
            for slot in (layout.DIGIT_COST, layout.WORD_COST)
        }
        arrays = {
            **self._arrays,
            **costs,
            layout.DISTANCE: np.full(size + 1, NO_WAY, np.int64),
            layout.CONTROL_COST: np.full_like(self._arrays[layout.CONTROL_COST], NO_WAY),
        }
        numbers = {**self._numbers, layout.HAS_DISTANCES: 1}
        handle = layout.make_handle(arrays, numbers, self._rules.handle)
        entries().build(handle, DISTANCES, 0, self._rules.word_digits, _NO_INTS)
        self._arrays, self._numbers, self._handle = arrays, numbers, handle

    def _ready(self, fewest_tokens: int) -> NDArray[np.int64]:
        """Return the handle, with costs in it if so few tokens are left that they matter."""
        if fewest_tokens - 2 <= self._numbers[layout.COST_BOUND] and not self._has_distances():
            with self._lock:
                if not self._has_distances():
                    self._fill_distances()
        return self._handle

    def _has_distances(self) -> bool:
        return layout.HAS_DISTANCES in self._numbers

    def _first_state(self) -> State:
        policy = self.policy
        state = [0] * STATE_WIDTH
        state[MODE] = FREE
        state[CONTEXT] = AT_START if policy.names == "quoted" else 0
        state[WORDS] = _limit(policy.max_words)
        state[RUN] = _limit(policy.max_free_words)
        state[QUOTES] = policy.min_quotes
        state[TOKENS] = layout.UNLIMITED
        way = self._arrays[layout.CONTROL_COST][QUOTE_COST]
        dumb = self._has_distances() and way >= NO_WAY
        if policy.min_quotes and (dumb or not self._numbers[layout.ANY_QUOTABLE]):
            raise InputError(
                f"min_quotes: got {policy.min_quotes} with no source that can be quoted, expected "
                "0; give sources with text, or lower it"
            )
        return tuple(state)

    def start(self, max_tokens: int | None = None) -> State:
        """Return the state before the first token.

        Args:
            max_tokens: the most tokens of the answer, its end token included; None for no limit.

        Raises:
            InputError: no answer is so short.
        """
        if max_tokens is None:
            return self._start
        if not 0 < max_tokens < layout.UNLIMITED:
            raise InputError(
                f"max_tokens: got {max_tokens}, expected a whole number above 0; raise it"
            )
        state = _with_tokens(self._start, max_tokens)
        if max_tokens <= self._numbers[layout.COST_BOUND]:
            least = self._cost(state)
            if max_tokens < least:
                raise InputError(
                    f"max_tokens: got {max_tokens}, expected at least {least} for "
                    f"{self.policy.min_quotes} quotes; raise it or ask for fewer quotes"
                )
        return state

    def _cost(self, state: State) -> int:
        """Return how many tokens it takes to finish."""
        rows = np.array([state], np.int32)
        cost = entries().rows(self._ready(0), FINISH, rows, _NO_TOKENS, _NO_ROWS)
        return int(cost & 0xFFFFFFFF)

    def advance(self, state: State, token_id: int) -> State:
        """Return the state after one more token.

        Raises:
            InputError: the token is not allowed.
        """
        after = cast("State", entries().advance(self._ready(state[TOKENS]), state, token_id))
        if after[0] < 0:
            self._refuse(token_id)
        return after

    def _refuse(self, token_id: int, row: str = "") -> None:
        known = 0 <= token_id < self.vocabulary.size
        text = f" ({self.vocabulary.token_bytes(token_id)!r})" if known else ""
        raise InputError(
            f"token not allowed here{row}: got {token_id}{text}, expected one of allowed(state); "
            "mask the logits before a token is chosen"
        )

    def mask(self, state: State, out: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """Return which tokens may come next: bit ``t % 32`` of word ``t // 32`` says so for token t.

        Args:
            state: where the answer stands.
            out: int32[W] with ``W = ceil(V / 32)``, C-contiguous, to write into and return.
        """
        if out is None:
            out = np.empty(self._width, np.int32)
        elif out.shape != (self._width,):
            raise InputError(f"mask: got shape {out.shape}, expected ({self._width},); resize it")
        entries().mask(self._ready(state[TOKENS]), state, out)
        return out

    def allowed(self, state: State) -> NDArray[np.int64]:
        """Return the tokens that may come next: int64, ascending."""
        bits = np.unpackbits(self.mask(state).view(np.uint8), bitorder="little")
        return np.flatnonzero(bits)

    def is_accepting(self, state: State) -> bool:
        """Tell whether an end token is allowed, or the answer has ended."""
        rows = np.array([state], np.int32)
        return bool(entries().rows(self._handle, ACCEPTS, rows, _NO_TOKENS, _NO_ROWS))

    def has_ended(self, state: State) -> bool:
        """Tell whether an end token has been taken."""
        return state[MODE] == ENDED

    def in_quote(self, state: State) -> bool:
        """Tell whether a quote is open: between ``[`` and ``]``."""
        return state[MODE] not in (FREE, ENDED)

    def shortest_completion(self, state: State) -> list[int]:
        """Return the fewest tokens that finish the answer; with limits on words, the fewest words."""
        tokens: list[int] = []
        # With no more tokens than needed, only cheapest ways are allowed.
        state = state if self.has_ended(state) else _with_tokens(state, self._cost(state))
        while not self.has_ended(state):
            tokens.append(int(self.allowed(state)[0]))
            state = self.advance(state, tokens[-1])
        return tokens

    def mask_batch(
        self, states: NDArray[np.int32], out: NDArray[np.int32] | None = None
    ) -> NDArray[np.int32]:
        """Return the masks (int32[B, W]) of many states (``np.array([state, ...], np.int32)``)."""
        if out is None:
            out = np.empty((len(states), self._width), np.int32)
        elif out.shape != (len(states), self._width):
            raise InputError(
                f"masks: got shape {out.shape}, expected ({len(states)}, {self._width}); resize it"
            )
        if len(states):
            handle = self._ready(int(states[:, TOKENS].min()))
            entries().rows(handle, MASKS, states, _NO_TOKENS, out)
        return out

    def advance_batch(
        self, states: NDArray[np.int32], token_ids: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Return the states after one more token each: int32[B, S].

        Raises:
            InputError: a token is not allowed.
        """
        after = np.empty_like(states)
        if len(states):
            tokens = np.ascontiguousarray(token_ids, np.int64)
            handle = self._ready(int(states[:, TOKENS].min()))
            bad = entries().rows(handle, ADVANCE, states, tokens, after)
            if bad >= 0:
                self._refuse(int(tokens[bad]), f" (row {bad})")
        return after

    def __getstate__(self) -> dict[str, Any]:
        kept = self.__dict__.copy()
        for name in ("_lock", "_handle", "_rules"):
            del kept[name]
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._lock = Lock()
        self._rules = self._look_up()
        self._refresh()


def _limit(words: int | None) -> int:
    return layout.UNLIMITED if words is None else words


def _with_tokens(state: State, tokens: int) -> State:
    return (*state[:TOKENS], tokens, *state[TOKENS + 1 :])
