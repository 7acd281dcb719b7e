"""The copy constraint: compiled once for its sources, then masks, step by step.

Knows nothing of models; states are values, so that rollback, beams and threads need nothing special.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semqa.decoding.automaton import memory
from semqa.decoding.automaton.entries import (
    ACCEPTS,
    FINISH,
    FOREIGN,
    REOPENS,
    entries,
)
from semqa.decoding.automaton.finish import NUMBER_COST
from semqa.decoding.automaton.step import MOST_RUN_MARKS, MOST_RUN_WORDS
from semqa.decoding.masks import unpacked
from semqa.decoding.policy import QuotePolicy
from semqa.decoding.sources import SourceTables, lay_out
from semqa.decoding.tables import FreeTables, free_tables
from semqa.decoding.warm_up import warm_up
from semqa.errors import InputError
from semqa.quotes.answer import ABSTENTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.decoding.vocabulary import Vocabulary
    from semqa.quotes import Source

Used = tuple[tuple[int, ...], ...]
"""What was quoted, quote by quote: source, interval of suffixes, depth, first words of the run before."""


class State(NamedTuple):
    """Where an answer stands: a value to compare, hash, keep and copy.

    Attributes:
        fields: private; see `semqa.decoding.automaton.memory`.
        used: what was quoted so far.
    """

    fields: tuple[int, ...]
    used: Used = ()


class View(NamedTuple):
    """The tables of a constraint once some text has been quoted, and what they were made from.

    Attributes:
        handle: for compiled code; it points into `arrays` and the tables of the constraint, which
            have to live as long.
    """

    handle: NDArray[np.int64]
    arrays: dict[int, NDArray[Any]]
    numbers: dict[int, int]

    @property
    def address(self) -> int:
        """The address of the handle."""
        return int(self.handle.__array_interface__["data"][0])


_DEFAULT = QuotePolicy()
_MOST_SOURCES = 100_000
_MOST_VIEWS, _LEAST_VIEWS = 256, 16
_VIEW_BYTES = 1 << 25
"""What the views of a constraint may take that are kept for states to come, as estimated: 32 MB."""
_MASK_TYPE = "a C-contiguous, writable int32 array"


class CopyConstraint:
    """Which tokens may come next, so that every quote is a verbatim span of its source.

    Immutable and thread-safe; pickles. The language is defined in ``docs/constraint.md``.

    Attributes:
        sources: what may be quoted; source *k* is ``sources[k - 1]``.

    Example:
        >>> from semqa import Source
        >>> from semqa.decoding import CopyConstraint, Vocabulary
        >>> vocabulary = Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [b""], [256])
        >>> constraint = CopyConstraint(vocabulary, [Source("In 1943.")])
        >>> state = constraint.start()
        >>> for byte in b"[ 1 ":
        ...     state = constraint.advance(state, byte)
        >>> bytes(constraint.allowed(state).tolist())
        b'1I'
        >>> vocabulary.decode(constraint.shortest_completion(state))
        '1943 ]'
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        sources: Sequence[Source],
        policy: QuotePolicy = _DEFAULT,
        *,
        question: str = "",
    ) -> None:
        """Compile a constraint: linear in the length of the sources, about 1 ms for 2,000 characters."""
        self.vocabulary = vocabulary
        self.sources = tuple(sources)
        self.policy = policy
        self.question = question
        if len(self.sources) > _MOST_SOURCES:
            raise InputError(f"At most {_MOST_SOURCES:,} sources, got {len(self.sources):,}.")
        if policy.sources and policy.sources[-1] > len(self.sources):
            raise InputError(
                f"The policy names source {policy.sources[-1]}, but there are {len(self.sources)}."
            )
        warm_up()
        glue = policy.free == "glue"
        self._free: FreeTables = free_tables(vocabulary, glue, question)
        self._laid: SourceTables = lay_out(self._free.handle, self.sources, policy)
        self._width = self._free.vocabulary.width
        self._lock = Lock()
        self._views: OrderedDict[Used, View] = OrderedDict()
        self._mask, self._advance = entries().mask, entries().advance
        count = len(self.sources)
        in_free_text = self._free.longest_word if glue else 4
        through_a_quote = in_free_text + 2 * self._laid.longest + len(str(count)) + 12
        self._scarce = max(through_a_quote, len(ABSTENTION) + 2)
        # A view copies the text and the ends of spans, and may add two distances a byte.
        size = 9 * self._laid.arrays[memory.TEXT].size + self._laid.ends.nbytes + 1
        self._most_views = min(_MOST_VIEWS, max(_LEAST_VIEWS, _VIEW_BYTES // size))
        self._number = _fingerprint(self)
        untouched, no_heads = np.zeros(count, np.uint8), np.empty(0, np.int32)
        text = self._laid.arrays[memory.TEXT]
        self._root = self._view_of(text, self._laid.ends, untouched, no_heads)
        self.quote_openers = self._free.vocabulary.openers
        self._start = self._first_state()
        if self._free.vocabulary.poor and self._finish(self._start) >= memory.FAR:
            raise InputError("The tokens of this vocabulary cannot write an answer.")

    def _view_of(
        self,
        left: NDArray[np.uint8],
        ends: NDArray[np.int32],
        touched: NDArray[np.uint8],
        heads: NDArray[np.int32],
    ) -> View:
        starts = self._laid.arrays[memory.STARTS]
        living = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends > 0)])
        quotable, prefix_ok = _numbers_that_lead_on(np.diff(living[starts]) > 0)
        arrays: dict[int, NDArray[Any]] = {
            memory.LEFT: left,
            memory.ENDS: ends,
            memory.TOUCHED: touched,
            memory.QUOTABLE: quotable,
            memory.PREFIX_OK: prefix_ok,
            memory.HEADS: heads,
        }
        numbers = {
            memory.SELF: self._number,
            memory.ANY_QUOTABLE: int(quotable.any()),
            memory.SCARCE: self._scarce,
        }
        view = View(memory.make_handle(arrays, numbers, self._laid.handle), arrays, numbers)
        return self._with_costs(view) if self._free.vocabulary.poor else view

    def _with_costs(self, view: View) -> View:
        """Add what it costs to finish from everywhere; needed if tokens are scarce."""
        length = self._laid.arrays[memory.TEXT].size
        words = self._free.arrays[memory.WORDS_TRIE].size // 4
        control = np.full(NUMBER_COST + 1 + 2 * len(self.sources), memory.FAR, np.int32)
        arrays = {
            **view.arrays,
            memory.DISTANCE: np.full(2 * (length + 1), memory.FAR, np.int32),
            memory.CONTROL: control,
            memory.WORD_COST: np.full(words, memory.FAR, np.int32),
        }
        numbers = {**view.numbers, memory.HAS_COSTS: 1}
        handle = memory.make_handle(arrays, numbers, self._laid.handle)
        entries().fill_costs(handle, True)
        entries().fill_costs(handle, False)
        return View(handle, arrays, numbers)

    def view(self, used: Used, tokens_left: int) -> View:
        """Return the tables for states in which some text was quoted; callers keep them alive."""
        view = self._root if not used else self._views.get(used)
        if view is None:
            view = self._used_view(used)
        if self.needs_costs(tokens_left) and memory.HAS_COSTS not in view.numbers:
            view = self._with_costs(view)
            with self._lock:
                if not used:
                    self._root = view
                else:
                    self._keep(used, view)
        return view

    @property
    def scarce(self) -> int:
        """With so few tokens left a view needs tables that it does without before."""
        return self._scarce + 1

    def needs_costs(self, tokens_left: int) -> bool:
        """Tell whether states with so few tokens left need these tables."""
        return tokens_left <= self.scarce

    def _keep(self, used: Used, view: View) -> None:
        self._views[used] = view
        if len(self._views) > self._most_views:
            self._views.popitem(last=False)

    def _used_view(self, used: Used) -> View:
        before = self.view(used[:-1], memory.UNLIMITED)
        source, low, high, depth, *head = used[-1]
        left = before.arrays[memory.LEFT].copy()
        ends = before.arrays[memory.ENDS].copy()
        touched = before.arrays[memory.TOUCHED].copy()
        touched[source] = 1
        span = self._laid.places[source : source + 2]
        entries().use_text(before.handle, source, low, high, depth, left, ends, span)
        heads = before.arrays[memory.HEADS]
        if head[-1]:
            heads = np.concatenate([heads, np.array(head, np.int32)])
        view = self._view_of(left, ends, touched, heads)
        with self._lock:
            self._keep(used, view)
        return view

    def _first_state(self) -> State:
        fields = [0] * memory.STATE_WIDTH
        fields[memory.TOKENS] = memory.UNLIMITED
        fields[memory.OWNER] = self._number
        if not self._root.numbers[memory.ANY_QUOTABLE]:
            fields[memory.MODE], fields[memory.PART] = memory.ABSTAINING, 1
            return State(tuple(fields))
        fields[memory.SENTENCE_AT] = 1
        if self.policy.free == "glue":
            fields[memory.GAP] = memory.AFTER_OPEN
            fields[memory.WORDS], fields[memory.MARKS] = MOST_RUN_WORDS, MOST_RUN_MARKS
        return State(tuple(fields))

    def start(self, max_tokens: int | None = None) -> State:
        """Return the state before the first token.

        Args:
            max_tokens: the most tokens of the answer, its end token included; None for no limit.
        """
        if max_tokens is None:
            return self._start
        given: object = max_tokens
        whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
        if not whole or not 0 < max_tokens < memory.UNLIMITED:
            raise InputError(
                f"must be a whole number above 0, got {max_tokens!r}.",
                field="max_tokens",
                value=max_tokens,
            )
        state = _with_tokens(self._start, int(max_tokens))
        if max_tokens <= self._scarce:
            least = self._finish(state)
            if max_tokens < least:
                raise InputError(
                    f"must be at least {least} for these sources, got {max_tokens}.",
                    field="max_tokens",
                    value=max_tokens,
                )
        return state

    def _finish(self, state: State) -> int:
        """Return how many tokens it takes to finish."""
        view = self.view(state.used, 0)
        return self._asked(view, FINISH, state)

    def _asked(self, view: View, task: int, state: State) -> int:
        answer = entries().ask(view.handle, task, np.array([state.fields], np.int32))
        if answer == FOREIGN:
            raise _foreign()
        return int(answer)

    def advance(self, state: State, token_id: int) -> State:
        """Return the state after one more token.

        Raises:
            InputError: the token is not allowed, or the state is of another constraint.
        """
        after = self._go(state, token_id)
        if after is None:
            raise self._refusal(token_id)
        return after

    def _go(self, state: State, token_id: int) -> State | None:
        """Return the state after one more token, None if it is not allowed."""
        try:
            fields, used = state
            begin = 0
            while True:
                view = self.view(used, fields[memory.TOKENS])
                *after, begin = self._advance(view.handle, fields, token_id, begin)
                if after[0] < 0:
                    if after[0] == FOREIGN:
                        raise _foreign()
                    return None
                fields = tuple(after)
                if fields[memory.MODE] != memory.CLOSED:
                    return State(fields, used)
                used = (*used, record_of(fields))
        except (TypeError, IndexError, OverflowError, ValueError, KeyError):
            raise _misused(state, f"token_id must be a token's number, got {token_id!r}.") from None

    def _refusal(self, token_id: int) -> InputError:
        known = 0 <= token_id < self.vocabulary.size
        text = f" ({self.vocabulary.token_bytes(token_id)!r})" if known else ""
        return InputError(f"Token {token_id}{text} is not allowed here.")

    def mask(self, state: State, out: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """Return which tokens may come next: bit ``t % 32`` of word ``t // 32`` says so for token t.

        Args:
            out: int32[W] with ``W = ceil(V / 32)``, C-contiguous, to write into and return.
        """
        if out is None:
            out = np.empty(self._width, np.int32)
        elif out.shape != (self._width,):
            raise InputError(f"The mask must have shape ({self._width},), got {out.shape}.")
        try:
            fields, used = state
            view = self.view(used, fields[memory.TOKENS])
            status = self._mask(view.handle, fields, out)
        except (TypeError, IndexError, ValueError, KeyError):
            raise _misused(state, f"The mask must be {_MASK_TYPE}, got {out.dtype}.") from None
        if status == FOREIGN:
            raise _foreign()
        if status == REOPENS:
            self.allow_reopeners(state, out)
        return out

    def allow_reopeners(self, state: State, out: NDArray[np.int32]) -> None:
        """Set the bits of tokens that close a quote and open another: in the view they lead to."""
        for token in self._free.vocabulary.arrays[memory.REOPENERS].tolist():
            if self._go(state, token) is not None:
                out.view(np.uint32)[token // 32] |= np.uint32(1 << token % 32)

    def allowed(self, state: State) -> NDArray[np.int64]:
        """Return the tokens that may come next: int64, ascending."""
        return np.flatnonzero(unpacked(self.mask(state)))

    def is_accepting(self, state: State) -> bool:
        """Tell whether an end token is allowed, or the answer has ended."""
        return bool(self._asked(self._root, ACCEPTS, state))

    def has_ended(self, state: State) -> bool:
        """Tell whether an end token has been taken."""
        return state.fields[memory.MODE] == memory.ENDED

    def in_quote(self, state: State) -> bool:
        """Tell whether a quote is open: between ``[`` and ``]``."""
        return memory.OPENED <= state.fields[memory.MODE] <= memory.SPAN

    def shortest_completion(self, state: State) -> list[int]:
        """Return few tokens that finish the answer, an end token last."""
        tokens: list[int] = []
        # With no more tokens than needed, only cheapest ways are allowed.
        if not self.has_ended(state):
            state = _with_tokens(state, self._finish(state))
        while not self.has_ended(state):
            tokens.append(int(self.allowed(state)[0]))
            state = self.advance(state, tokens[-1])
        return tokens

    def __reduce__(self) -> tuple[object, ...]:
        make = partial(CopyConstraint, question=self.question)
        return make, (self.vocabulary, self.sources, self.policy)


def _numbers_that_lead_on(quotable: NDArray[np.bool_]) -> tuple[NDArray[np.uint8], ...]:
    """Return, by number, which sources can be quoted, and with which digits their numbers begin."""
    flags = np.zeros(quotable.size + 1, np.uint8)
    flags[1:] = quotable
    prefixes = flags.copy()
    for number in range(quotable.size, 9, -1):  # higher numbers first, so that flags are passed on
        if prefixes[number]:
            prefixes[number // 10] = 1
    return flags, prefixes


def _fingerprint(constraint: CopyConstraint) -> int:
    """Return a number for the states of a constraint to carry: other constraints, other numbers."""
    start = zlib.crc32(constraint.question.encode("utf-8", "surrogatepass"))
    start = zlib.crc32(repr(constraint.policy).encode(), start)
    start = zlib.crc32(constraint.vocabulary.fingerprint.encode(), start)
    arrays = constraint._laid.arrays
    start = zlib.crc32(arrays[memory.STARTS].data, start)
    return zlib.crc32(arrays[memory.TEXT].data, start) & 0x7FFFFFFF


def record_of(fields: Sequence[int]) -> tuple[int, ...]:
    """Return what a quote that has just closed leaves behind, as in `Used`."""
    heads = (fields[memory.HEAD], fields[memory.HEAD_2], fields[memory.HEAD_3])
    return (
        fields[memory.PART],
        fields[memory.CLOSING_LOW],
        fields[memory.CLOSING_HIGH],
        fields[memory.DEPTH] - 1,
        *heads,
    )


def _foreign() -> InputError:
    return InputError("The state belongs to another constraint.")


def _misused(state: object, message: str) -> InputError:
    """Say which of two arguments compiled code did not take."""
    if isinstance(state, State):
        return InputError(message)
    return InputError(f"A state must come from start() or advance(), got {type(state).__name__}.")


def _with_tokens(state: State, tokens: int) -> State:
    fields = state.fields
    return State((*fields[: memory.TOKENS], tokens, *fields[memory.TOKENS + 1 :]), state.used)
