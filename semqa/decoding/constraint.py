"""The copy constraint: compiled once for its sources, then masks, step by step.

Knows nothing of models; states are values, so that rollback, beams and threads need nothing special.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from semqa.decoding.compiled import (
    Compiled,
    compile_constraint,
    limit_of,
    look_up_rules,
    with_distances,
)
from semqa.decoding.core import layout
from semqa.decoding.core.cost import NO_WAY, QUOTE_COST
from semqa.decoding.core.entries import ACCEPTS, DONE, FINISH, FOREIGN, entries
from semqa.decoding.core.state import (
    AT_START,
    CONTEXT,
    ENDED,
    FREE,
    MODE,
    OWNER,
    QUOTES,
    RUN,
    STATE_WIDTH,
    TOKENS,
    WORDS,
)
from semqa.decoding.policy import QuotePolicy
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.decoding.vocabulary import Vocabulary
    from semqa.quotes import Source

__all__ = ["CopyConstraint", "State"]

State = tuple[int, ...]
"""Where an answer stands: a value to compare, hash, keep and copy; its fields are nobody's business."""

_DEFAULT = QuotePolicy()
_NO_TOKENS = np.empty(0, np.int64)


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
        """Compile a constraint: linear in the length of the sources, about 1 ms for 2,000 characters.

        The first of a vocabulary takes a fifth of a second more; where the vocabulary lacks bytes
        (T5's, WordPiece) or names are to be quoted, each takes several milliseconds.

        Raises:
            InputError: the policy names a source that is not there, or asks for quotes where
                nothing can be quoted; or there are more than 100,000 sources.
        """
        self.vocabulary = vocabulary
        self.sources = tuple(sources)
        self.policy = policy
        self.question = question
        self._lock = Lock()
        self._use(compile_constraint(vocabulary, self.sources, policy, question))
        self.quote_openers = self._compiled.rules.shared.openers
        self._width = self._compiled.rules.shared.width
        self._start = self._first_state()

    def _first_state(self) -> State:
        policy, compiled = self.policy, self._compiled
        state = [0] * STATE_WIDTH
        state[MODE] = FREE
        state[CONTEXT] = AT_START if policy.names == "quoted" else 0
        state[WORDS] = limit_of(policy.max_words)
        state[RUN] = limit_of(policy.max_free_words)
        state[QUOTES] = policy.min_quotes
        state[TOKENS] = layout.UNLIMITED
        state[OWNER] = compiled.numbers[layout.SELF]
        way = compiled.arrays[layout.CONTROL_COST][QUOTE_COST]
        words = int(way >> 32) * policy.min_quotes
        dumb = compiled.has_distances and (way >= NO_WAY or words > state[WORDS])
        if policy.min_quotes and (dumb or not compiled.numbers[layout.ANY_QUOTABLE]):
            raise InputError(
                f"min_quotes: got {policy.min_quotes} with no source that can be quoted, expected "
                "0; give sources with text, or lower it"
            )
        return tuple(state)

    def _ready(self, fewest_tokens: int) -> Compiled:
        """Return the tables, with costs in them if so few tokens are left that they matter.

        Whoever calls compiled code keeps the result for so long: the handle is no owner.
        """
        if fewest_tokens <= self._scarce:
            with self._lock:
                if fewest_tokens <= self._scarce:
                    self._use(with_distances(self._compiled, self.policy))
        return self._compiled

    def _use(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._mask, self._advance = entries().mask, entries().advance
        bound = compiled.numbers[layout.COST_BOUND]
        self._scarce = -1 if compiled.has_distances else bound + 2

    def start(self, max_tokens: int | None = None) -> State:
        """Return the state before the first token.

        Args:
            max_tokens: the most tokens of the answer, its end token included; None for no limit.

        Raises:
            InputError: no answer is so short.
        """
        if max_tokens is None:
            return self._start
        given: object = max_tokens  # whoever does not check types meets an error in words too
        whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
        if not whole or not 0 < max_tokens < layout.UNLIMITED:
            raise InputError(
                f"max_tokens: got {max_tokens!r}, expected a whole number above 0; raise it"
            )
        state = _with_tokens(self._start, int(max_tokens))
        if max_tokens <= self._compiled.numbers[layout.COST_BOUND]:
            least = self._cost(state)
            if least >= layout.FAR:
                raise InputError(
                    f"max_tokens: got {max_tokens}, too few for min_quotes={self.policy.min_quotes} "
                    "of these sources, expected more; ask for fewer quotes"
                )
            if max_tokens < least:
                raise InputError(
                    f"max_tokens: got {max_tokens}, expected at least {least} for "
                    f"min_quotes={self.policy.min_quotes}; raise it or ask for fewer quotes"
                )
        return state

    def _cost(self, state: State) -> int:
        """Return how many tokens it takes to finish."""
        compiled, rows = self._ready(0), _as_rows([state])
        cost = entries().ask(compiled.handle, FINISH, rows)
        if cost == FOREIGN:
            raise _foreign()
        return int(cost & 0xFFFFFFFF)

    def advance(self, state: State, token_id: int) -> State:
        """Return the state after one more token.

        Raises:
            InputError: the token is not allowed, or the state is of another constraint.
        """
        try:
            compiled = self._ready(state[TOKENS])
            after = cast("State", self._advance(compiled.handle, state, token_id))
        except (TypeError, IndexError, OverflowError):
            raise _misused(state, "token_id", repr(token_id), "a token's number") from None
        if after[0] < 0:
            raise _foreign() if after[0] == FOREIGN else self._refusal(token_id)
        return after

    def _refusal(self, token_id: int, row: str = "") -> InputError:
        known = 0 <= token_id < self.vocabulary.size
        text = f" ({self.vocabulary.token_bytes(token_id)!r})" if known else ""
        return InputError(
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
        try:
            compiled = self._ready(state[TOKENS])
            status = self._mask(compiled.handle, state, out)
        except (TypeError, IndexError):
            raise _misused(state, "mask", f"an array of {out.dtype}", _WRITABLE) from None
        if status == FOREIGN:
            raise _foreign()
        return out

    def allowed(self, state: State) -> NDArray[np.int64]:
        """Return the tokens that may come next: int64, ascending."""
        bits = np.unpackbits(self.mask(state).view(np.uint8), bitorder="little")
        return np.flatnonzero(bits)

    def is_accepting(self, state: State) -> bool:
        """Tell whether an end token is allowed, or the answer has ended."""
        compiled, rows = self._compiled, _as_rows([state])
        accepts = entries().ask(compiled.handle, ACCEPTS, rows)
        if accepts == FOREIGN:
            raise _foreign()
        return bool(accepts)

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
        """Return the masks of many states (``np.array([state, ...], np.int32)``): int32[B, W].

        Raises:
            InputError: `states` or `out` has another shape, or a state is of another constraint.
        """
        states = _as_rows(states)
        if out is None:
            out = np.empty((len(states), self._width), np.int32)
        elif out.shape != (len(states), self._width):
            raise InputError(
                f"masks: got shape {out.shape}, expected ({len(states)}, {self._width}); resize it"
            )
        if len(states):
            try:
                status = self._step(states, _NO_TOKENS, out)
            except TypeError:
                raise InputError(
                    f"masks: got an array of {out.dtype}, expected {_WRITABLE}; use np.empty"
                ) from None
            if (status == FOREIGN).any():
                raise _foreign()
        return out

    def advance_batch(
        self, states: NDArray[np.int32], token_ids: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Return the states after one more token each: int32[B, S].

        Raises:
            InputError: a token is not allowed, a state is of another constraint, or there are not
                as many tokens as states.
        """
        states = _as_rows(states)
        given = np.asarray(token_ids)
        if given.shape != (len(states),) or (given.size and given.dtype.kind not in "iu"):
            raise InputError(
                f"token_ids: got shape {given.shape} of {given.dtype}, expected ({len(states)},) of "
                "int64; give a token a row"
            )
        tokens = np.ascontiguousarray(given, np.int64)
        after = states.copy()
        if len(states):
            status = self._step(after, tokens, np.empty((len(states), 0), np.int32))
            if (status == FOREIGN).any():
                raise _foreign()
            if (status != DONE).any():
                bad = int(np.flatnonzero(status != DONE)[0])
                raise self._refusal(int(tokens[bad]), f" (row {bad})")
        return after

    def _step(
        self, states: NDArray[np.int32], tokens: NDArray[np.int64], masks: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Advance states, in place, by a token each or none at all, and fill masks."""
        compiled = self._ready(int(states[:, TOKENS].min()))
        rows = len(states)
        addresses = np.full(rows, compiled.handle.__array_interface__["data"][0], np.int64)
        starts = np.arange(rows + 1) if tokens.size else np.zeros(rows + 1, np.int64)
        status = np.empty(rows, np.int64)
        entries().step(addresses, states, tokens, starts, masks, status)
        return status

    def tables(self, fewest_tokens: int) -> tuple[Compiled, int]:
        """Return what compiled code takes for states with at least so many tokens left.

        Args:
            fewest_tokens: the fewest tokens left of any state that it is going to be given.

        Returns:
            The tables, to be kept while the address of their handle is in use, and the most tokens
            of a state for which they have to be asked for anew.
        """
        scarce = self._scarce  # read first: then it is never that of newer tables
        return self._ready(fewest_tokens), scarce

    def __getstate__(self) -> dict[str, Any]:
        kept = self.__dict__.copy()
        for name in ("_lock", "_mask", "_advance", "_compiled"):
            del kept[name]  # addresses mean nothing elsewhere
        return {**kept, "tables": self._compiled[1:3]}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        arrays, numbers = kept.pop("tables")
        self.__dict__.update(kept)
        self._lock = Lock()
        rules = look_up_rules(self.vocabulary, self.policy, self.question)
        self._use(Compiled.of(rules, arrays, numbers))


def _as_rows(states: object) -> NDArray[np.int32]:
    given = np.asarray(states)
    if given.ndim != 2 or given.shape[1] != STATE_WIDTH or given.dtype.kind not in "iu":
        raise InputError(
            f"states: got shape {given.shape} of {given.dtype}, expected (rows, {STATE_WIDTH}) of "
            "int32; stack states with np.array"
        )
    return np.ascontiguousarray(given, np.int32)


def _foreign() -> InputError:
    return InputError(
        "state: got one of another constraint, expected one that came from start() of this; "
        "keep each state with its constraint"
    )


_WRITABLE = "int32, C-contiguous and writable"


def _misused(state: object, name: str, got: str, expected: str) -> InputError:
    """Say which of two arguments compiled code did not take."""
    if isinstance(state, tuple) and len(state) == STATE_WIDTH:
        return InputError(f"{name}: got {got}, expected {expected}; correct it")
    return InputError(
        f"state: got {type(state).__name__}, expected a state as start() and advance() return it; "
        "keep it as it is"
    )


def _with_tokens(state: State, tokens: int) -> State:
    return (*state[:TOKENS], tokens, *state[TOKENS + 1 :])
