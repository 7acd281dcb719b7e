"""What a constraint is compiled to: the tables of its sources, policy and question, in one handle."""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semqa.decoding.core import layout
from semqa.decoding.core.cost import CONTROLS, NO_WAY, QUOTE_COST
from semqa.decoding.core.entries import DISTANCES, entries
from semqa.decoding.core.unfinished import MOST_UNFINISHED
from semqa.decoding.free_rules import FreeRules, free_rules, masks_of_free_text, question_runs
from semqa.decoding.passages import Passages, lay_out
from semqa.decoding.warm_up import warm_up
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.decoding.policy import QuotePolicy
    from semqa.decoding.vocabulary import Vocabulary
    from semqa.quotes import Source

__all__ = ["Compiled", "compile_constraint", "limit_of", "look_up_rules", "with_distances"]

_MOST_SOURCES = 100_000
_NO_INTS = np.empty(0, np.int32)


class Compiled(NamedTuple):
    """The tables of one constraint; the handle points into them and into those of its rules.

    Attributes:
        rules: what it shares with other constraints.
        arrays: by slot.
        numbers: by slot.
        handle: of all this.
    """

    rules: FreeRules
    arrays: dict[int, NDArray[Any]]
    numbers: dict[int, int]
    handle: NDArray[np.int64]

    @classmethod
    def of(
        cls, rules: FreeRules, arrays: dict[int, NDArray[Any]], numbers: dict[int, int]
    ) -> Compiled:
        """Make the handle too."""
        return cls(rules, arrays, numbers, layout.make_handle(arrays, numbers, rules.handle))

    @property
    def has_distances(self) -> bool:
        """Whether it knows what it costs to finish from everywhere."""
        return layout.HAS_DISTANCES in self.numbers


def limit_of(words: int | None) -> int:
    """Return a limit on words as states hold it."""
    return layout.UNLIMITED if words is None else words


def look_up_rules(vocabulary: Vocabulary, policy: QuotePolicy, question: str) -> FreeRules:
    """Return the rules for free text, which constraints share."""
    limits = (policy.max_words, policy.max_free_words, policy.max_span_words)
    digits, words = question_runs(policy, question)
    return free_rules(
        vocabulary,
        policy.numbers == "quoted",
        policy.names == "quoted",
        any(limit is not None for limit in limits),
        limit_of(policy.max_free_words),
        digits,
        words,
    )


def compile_constraint(
    vocabulary: Vocabulary, sources: Sequence[Source], policy: QuotePolicy, question: str
) -> Compiled:
    """Make all tables of a constraint.

    Raises:
        InputError: there are too many sources, or the policy names one that is not there.
    """
    warm_up()
    count = len(sources)
    if count > _MOST_SOURCES:
        raise InputError(
            f"too many sources: got {count:,}, expected at most {_MOST_SOURCES:,}; give fewer"
        )
    if policy.sources and policy.sources[-1] > count:
        raise InputError(
            f"policy sources: got {policy.sources[-1]}, expected numbers from 1 to {count}; "
            "name sources that are given"
        )
    rules = look_up_rules(vocabulary, policy, question)
    laid = lay_out(sources, policy)
    quotable, prefix_ok = _numbers_that_lead_on(np.diff(laid.starts) > 0)
    quote = 5 + len(str(count)) + laid.longest
    bound = (policy.min_quotes + 1) * quote + rules.longest_run + 8
    arrays: dict[int, NDArray[Any]] = {
        layout.TEXT: laid.text,
        layout.FLAGS: laid.flags,
        layout.SUFFIXES: laid.suffixes,
        layout.STARTS: laid.starts,
        layout.QUOTABLE: quotable,
        layout.PREFIX_OK: prefix_ok,
        layout.CONTROL_COST: np.full(CONTROLS + 1 + 2 * count, NO_WAY, np.int64),
    }
    numbers: dict[int, int] = {
        layout.SOURCES: count,
        layout.ANY_QUOTABLE: laid.suffixes.size > 0,
        layout.WORDS_LIMITED: policy.max_words is not None,
        layout.COSTS_WORDS: (policy.max_words or policy.max_span_words) is not None,
        layout.MAX_SPAN: limit_of(policy.max_span_words),
        # What it takes to write byte by byte; where that cannot be done, costs are computed at once.
        layout.FREE_BOUND: rules.longest_run + 4,
        layout.COST_BOUND: bound,
        layout.SPAN_BOUND: bound,
        layout.SELF: _number_of(vocabulary, policy, question, laid),
    }
    compiled = Compiled.of(rules, arrays, numbers)
    if not rules.shared.complete:
        compiled = with_distances(compiled, policy)
        free = masks_of_free_text(compiled.handle, rules.shared, rules.contexts)
        compiled = Compiled.of(rules, {**compiled.arrays, **free}, compiled.numbers)
    lists = _lists(compiled, laid.starts)
    return Compiled.of(rules, {**compiled.arrays, **lists}, compiled.numbers)


def _number_of(vocabulary: Vocabulary, policy: QuotePolicy, question: str, laid: Passages) -> int:
    """Return a number for the states of a constraint to carry: other constraints, other numbers."""
    start = zlib.crc32(question.encode("utf-8", "surrogatepass"), _number_of_policy(policy))
    start = zlib.crc32(vocabulary.fingerprint.encode(), start)
    return zlib.crc32(laid.text.data, zlib.crc32(laid.starts.data, start)) & 0x7FFFFFFF


@lru_cache(maxsize=64)
def _number_of_policy(policy: QuotePolicy) -> int:
    return zlib.crc32(repr(policy).encode())


def _numbers_that_lead_on(quotable: NDArray[np.bool_]) -> tuple[NDArray[np.uint8], ...]:
    """Return, by number, which sources can be quoted, and with which digits their numbers begin."""
    flags = np.zeros(quotable.size + 1, np.uint8)
    flags[1:] = quotable
    prefixes = flags.copy()
    for number in range(quotable.size, 9, -1):  # higher numbers first, so that flags are passed on
        if prefixes[number]:
            prefixes[number // 10] = 1
    return flags, prefixes


def _lists(compiled: Compiled, starts: NDArray[np.int32]) -> dict[int, NDArray[Any]]:
    """Make the lists of tokens that spans begin with, and of places where many go on."""
    begun, spaced = np.zeros(starts.size, np.int32), np.zeros(starts.size, np.int32)
    most = min(16_384, max(64, int(starts[-1]) // 8))
    made = entries().lists(compiled.handle, starts, most, begun, spaced)
    slots = (
        layout.BEGUN_LISTS,
        layout.SPACED_LISTS,
        layout.HEAVY_KEYS,
        layout.HEAVY_VALUES,
        layout.HEAVY_LISTS,
    )
    return {
        **dict(zip(slots, made, strict=True)),
        layout.BEGUN_STARTS: begun,
        layout.SPACED_STARTS: spaced,
    }


def with_distances(compiled: Compiled, policy: QuotePolicy) -> Compiled:
    """Add what it costs to finish from everywhere; only needed where tokens are scarce."""
    rules, numbers = compiled.rules, {**compiled.numbers, layout.HAS_DISTANCES: 1}
    arrays = {
        **compiled.arrays,
        layout.DIGIT_COST: np.full_like(rules.tables.arrays[layout.DIGIT_COST], layout.FAR),
        layout.WORD_COST: np.full_like(rules.tables.arrays[layout.WORD_COST], layout.FAR),
        layout.DISTANCE: np.full(compiled.arrays[layout.TEXT].size + 1, NO_WAY, np.int64),
        layout.CONTROL_COST: np.full_like(compiled.arrays[layout.CONTROL_COST], NO_WAY),
    }
    handle = layout.make_handle(arrays, numbers, rules.handle)
    entries().build(handle, DISTANCES, 0, rules.word_digits, _NO_INTS)
    # The bounds so far were for writing byte by byte; now it is known what tokens can do.
    run = max(_most(arrays[slot], layout.FAR) for slot in (layout.DIGIT_COST, layout.WORD_COST))
    ways = [_most(arrays[slot], NO_WAY) for slot in (layout.DISTANCE, layout.CONTROL_COST)]
    quote = _most(arrays[layout.CONTROL_COST][QUOTE_COST : QUOTE_COST + 1], NO_WAY)
    quotes = policy.min_quotes * quote + 1
    free = run + (4 if rules.shared.complete else MOST_UNFINISHED + 2)
    numbers[layout.FREE_BOUND] = free
    numbers[layout.SPAN_BOUND] = min(max(ways) + quotes, layout.FAR)
    numbers[layout.COST_BOUND] = min(max(*ways, free) + quotes, layout.FAR)
    return Compiled.of(rules, arrays, numbers)


def _most(costs: NDArray[Any], no_way: int) -> int:
    """Return the most tokens that a way takes, where there is one."""
    found = costs[costs < no_way].astype(np.int64)
    return int((found & 0xFFFFFFFF).max(initial=0))
