"""The copy constraint: compile once for some sources, then get a token mask for each step.

Independent of models. States are values, so rollback, beam search and threads need no extra support.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from semqa.decoding.tables import FreeTables, free_costs, free_tables
from semqa.decoding.vocabulary import Vocabulary
from semqa.decoding.warming import warm_up
from semqa.errors import InputError
from semqa.quotes import Source
from semqa.quotes.answer import ABSTENTION

Used = tuple[tuple[int, ...], ...]
"""A record per quote so far: source, interval of suffixes, depth, first words of the run before."""


class State(NamedTuple):
    """The state of an answer: a value that can be compared, hashed, stored and copied.

    Attributes:
        fields: private; see `semqa.decoding.automaton.memory`.
    """

    fields: tuple[int, ...]
    used: Used = ()


class View(NamedTuple):
    """The tables of a constraint after some text has been quoted.

    Attributes:
        handle: for compiled code. It points into `arrays` and the tables of the constraint, which
            must outlive it.
    """

    handle: NDArray[np.int64]
    arrays: dict[int, NDArray[Any]]
    numbers: dict[int, int]

    @property
    def address(self) -> int:
        """The address of the handle."""
        return int(self.handle.__array_interface__["data"][0])


_DEFAULT = QuotePolicy()
_MAX_SOURCES = 100_000
_MAX_VIEWS, _MIN_VIEWS = 256, 16
_VIEW_BYTES = 1 << 25
"""Estimated size limit for the cached views of a constraint: 32 MB."""
_MASK_TYPE = "a C-contiguous, writable int32 array"


class CopyConstraint:
    """Determines which tokens may come next, so that every quote is a verbatim span of its source.

    Immutable, thread-safe and picklable. The language is defined in ``docs/constraint.md``.

    Attributes:
        sources: the quotable sources; source *k* is ``sources[k - 1]``.

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
        """Compile a constraint in time linear in the sources: about 1 ms for 2,000 characters."""
        self.vocabulary = vocabulary
        self.sources = tuple(sources)
        self.policy = policy
        self.question = question
        if len(self.sources) > _MAX_SOURCES:
            raise InputError(f"At most {_MAX_SOURCES:,} sources, got {len(self.sources):,}.")
        policy.check_sources(len(self.sources))
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
        whole_quote = in_free_text + 2 * self._laid.longest + len(str(count)) + 12
        self._scarce = max(whole_quote, len(ABSTENTION) + 2)
        # A view copies the text and the ends of spans, and may add two distances per byte.
        size = 9 * self._laid.arrays[memory.TEXT].size + self._laid.ends.nbytes + 1
        self._max_views = min(_MAX_VIEWS, max(_MIN_VIEWS, _VIEW_BYTES // size))
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
        quotable_rows = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends > 0)])
        quotable, prefix_ok = _number_tables(np.diff(quotable_rows[starts]) > 0)
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
        return View(memory.make_handle(arrays, numbers, self._laid.handle), arrays, numbers)

    def _with_costs(self, view: View, base: View) -> View:
        """Add the cost of finishing from every state, which is needed if few tokens are left."""
        length = self._laid.arrays[memory.TEXT].size
        control = np.full(NUMBER_COST + 1 + 2 * len(self.sources), memory.FAR, np.int32)
        glue = self.policy.free == "glue"
        arrays = {
            **view.arrays,
            memory.DISTANCE: np.full(2 * (length + 1), memory.FAR, np.int32),
            memory.CONTROL: control,
            memory.FREE_COST: free_costs(self.vocabulary, glue, self.question),
        }
        numbers = {**view.numbers, memory.HAS_COSTS: 1}
        handle = memory.make_handle(arrays, numbers, self._laid.handle)
        entries().fill_costs(handle, base.handle)
        return View(handle, arrays, numbers)

    def view(self, used: Used, tokens_left: int) -> View:
        """Return the tables for some quotes so far. Callers must keep the view alive."""
        view = self._root if not used else self._views.get(used)
        if view is None:
            view = self._used_view(used)
        if self.needs_costs(tokens_left) and memory.HAS_COSTS not in view.numbers:
            view = self._with_costs(view, self.view((), tokens_left) if used else view)
            with self._lock:
                if not used:
                    self._root = view
                else:
                    self._keep(used, view)
        return view

    @property
    def scarce(self) -> int:
        """With this many tokens left or fewer, a view needs cost tables."""
        return self._scarce + 1

    def needs_costs(self, tokens_left: int) -> bool:
        """Return whether states with this many tokens left need cost tables."""
        return self._free.vocabulary.poor or tokens_left <= self.scarce

    def _keep(self, used: Used, view: View) -> None:
        self._views[used] = view
        if len(self._views) > self._max_views:
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
            max_tokens: at most this many tokens, including the end token; None for no limit.
        """
        if max_tokens is None:
            return self._start
        given: object = max_tokens
        whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
        if not whole or not 0 < max_tokens < memory.UNLIMITED:
            rule = f"must be a whole number above 0, got {max_tokens!r}."
            raise InputError(rule, field="max_tokens", value=max_tokens)
        state = _with_tokens(self._start, int(max_tokens))
        if max_tokens <= self._scarce and max_tokens < (least := self._finish(state)):
            rule = f"must be at least {least} for these sources, got {max_tokens}."
            raise InputError(rule, field="max_tokens", value=max_tokens)
        return state

    def _finish(self, state: State) -> int:
        """Return the number of tokens needed to finish."""
        return self._ask(self.view(state.used, 0), FINISH, state)

    def _ask(self, view: View, task: int, state: State) -> int:
        answer = entries().ask(view.handle, task, np.array([state.fields], np.int32))
        if answer == FOREIGN:
            raise _foreign()
        return int(answer)

    def advance(self, state: State, token_id: int) -> State:
        """Return the state after one more token."""
        after = self._next_state(state, token_id)
        if after is None:
            raise self._refusal(token_id)
        return after

    def _next_state(self, state: State, token_id: int) -> State | None:
        """Return the state after one more token; None if the token is not allowed."""
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
            raise _misused(state, f"token_id must be a token ID, got {token_id!r}.") from None

    def _refusal(self, token_id: int) -> InputError:
        known = 0 <= token_id < self.vocabulary.size
        text = f" ({self.vocabulary.token_bytes(token_id)!r})" if known else ""
        return InputError(f"Token {token_id}{text} is not allowed here.")

    def mask(self, state: State, out: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """Return the tokens that may come next: bit ``t % 32`` of word ``t // 32`` is for token t.

        Args:
            out: int32[W] with ``W = ceil(V / 32)``, C-contiguous: filled and returned.
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
        """Set the bits of tokens that close a quote and may open another, using the next view."""
        for token in self._free.vocabulary.arrays[memory.REOPENERS].tolist():
            if self._next_state(state, token) is not None:
                out.view(np.uint32)[token // 32] |= np.uint32(1 << token % 32)

    def allowed(self, state: State) -> NDArray[np.int64]:
        """Return the IDs of the tokens that may come next: int64, ascending."""
        return np.flatnonzero(unpacked(self.mask(state)))

    def is_accepting(self, state: State) -> bool:
        """Return whether an end token is allowed, or the answer has ended."""
        return bool(self._ask(self._root, ACCEPTS, state))

    def has_ended(self, state: State) -> bool:
        """Return whether the answer has taken an end token."""
        return state.fields[memory.MODE] == memory.ENDED

    def in_quote(self, state: State) -> bool:
        """Return whether a quote is open, that is, between ``[`` and ``]``."""
        return memory.OPENED <= state.fields[memory.MODE] <= memory.SPAN

    def shortest_completion(self, state: State) -> list[int]:
        """Return a short sequence of tokens that finishes the answer, with an end token last."""
        tokens: list[int] = []
        # With the smallest sufficient budget, only the cheapest tokens are allowed.
        if not self.has_ended(state):
            state = _with_tokens(state, self._finish(state))
        while not self.has_ended(state):
            tokens.append(int(self.allowed(state)[0]))
            state = self.advance(state, tokens[-1])
        return tokens

    def __reduce__(self) -> tuple[object, ...]:
        make = partial(CopyConstraint, question=self.question)
        return make, (self.vocabulary, self.sources, self.policy)


def _number_tables(quotable: NDArray[np.bool_]) -> tuple[NDArray[np.uint8], ...]:
    """Return two flags by number: the source is quotable; a quotable number begins with it."""
    flags = np.zeros(quotable.size + 1, np.uint8)
    flags[1:] = quotable
    prefixes = flags.copy()
    for number in range(quotable.size, 9, -1):  # descending, so that flags propagate
        if prefixes[number]:
            prefixes[number // 10] = 1
    return flags, prefixes


def _fingerprint(constraint: CopyConstraint) -> int:
    """Return a number that states carry, so that another constraint can reject them."""
    start = zlib.crc32(constraint.question.encode("utf-8", "surrogatepass"))
    start = zlib.crc32(repr(constraint.policy).encode(), start)
    start = zlib.crc32(constraint.vocabulary.fingerprint.encode(), start)
    arrays = constraint._laid.arrays
    start = zlib.crc32(arrays[memory.STARTS].data, start)
    return zlib.crc32(arrays[memory.TEXT].data, start) & 0x7FFFFFFF


def record_of(fields: Sequence[int]) -> tuple[int, ...]:
    """Return the record of a quote that has just closed, as in `Used`."""
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
    """Return an error for an argument of the wrong type: the state, or else the other one."""
    if isinstance(state, State):
        return InputError(message)
    return InputError(f"A state must come from start() or advance(), got {type(state).__name__}.")


def _with_tokens(state: State, tokens: int) -> State:
    fields = state.fields
    return State((*fields[: memory.TOKENS], tokens, *fields[memory.TOKENS + 1 :]), state.used)
