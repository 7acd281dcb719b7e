"""From a constraint to its program: tables in which a device finds masks and next states.

The states and what leads from one to the other are those of the compiled constraint, byte for byte.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semqa.decoding.core import layout
from semqa.decoding.program.shared import (
    END_TRAIT,
    MOST_SHARED_STATES,
    SharedProgram,
    shared_program,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semqa.decoding.constraint import CopyConstraint

__all__ = ["DeviceProgram", "HostOnly", "build_program", "why_not"]

MOST_BYTES = 300_000
"""Of sources: half a second to a second, and up to 26 MB."""
MOST_EDGES = 8_000_000
"""64 MB."""
MOST_STATES_PER_BYTE = 3
MOST_DIGITS = 300
"""Of a question, each after all that come before it."""
STATES_OF_A_DIGIT = 100
"""Behind it, and within what may become the next one: fewer than a hundred unfinished characters."""
MOST_QUOTES = 10_000
"""Quotes that a policy may ask for, so that their costs fit 32 bits."""


@dataclass(frozen=True, slots=True)
class HostOnly:
    """Why a constraint has no program; its masks are made on the host.

    Attributes:
        reason: in words.
    """

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class DeviceProgram:
    """A constraint as a table. State 0 is the start; what a state is, is nobody's business.

    A token t is looked up in the row of the state first; where it is not there, in the row's base.

    Attributes:
        shared: the bases.
        rows: int32[n, 4], by state: where its entries start, how many there are, its base or -1,
            and ``cost << 1 | in a quote``, the cost being the tokens to free text.
        tokens: int32[E], the entries of each row, ascending.
        targets: int32[E], the state behind each, -1 where the token is not allowed.
        quote_cost: tokens that one quote takes, from free text to free text.
        longest: the highest cost of a state.
        min_quotes: of the policy.
        quote_bias: of the policy.
        fingerprint: of the tables.
    """

    shared: SharedProgram
    rows: NDArray[np.int32]
    tokens: NDArray[np.int32]
    targets: NDArray[np.int32]
    quote_cost: int
    longest: int
    min_quotes: int
    quote_bias: float
    fingerprint: str

    @property
    def nbytes(self) -> int:
        """Bytes of its own tables."""
        return self.rows.nbytes + self.tokens.nbytes + self.targets.nbytes


def why_not(constraint: CopyConstraint) -> str | None:
    """Tell why a constraint stays on the host, as far as that shows at once; None if it need not."""
    policy, compiled = constraint.policy, constraint._compiled
    limits = ("max_words", "max_free_words", "max_span_words")
    if named := [name for name in limits if getattr(policy, name) is not None]:
        return f"{', '.join(named)}: words are counted on the host only"
    if policy.names == "quoted":
        return "names: the question's words are looked up on the host only"
    if policy.min_quotes > MOST_QUOTES:
        return f"min_quotes={policy.min_quotes}: more than {MOST_QUOTES:,}"
    if not compiled.rules.shared.complete:
        return "the vocabulary lacks single bytes"
    size = compiled.arrays[layout.TEXT].size
    if size > MOST_BYTES:
        return f"{size:,} bytes of sources: more than {MOST_BYTES:,}"
    shared = shared_program(constraint.vocabulary)
    if shared.most_closings >= END_TRAIT:
        return f"a token holds {END_TRAIT} closing brackets"
    if shared.bases_of(policy).first_state > MOST_SHARED_STATES:
        return "numbers: there are too many kinds of unfinished digits"
    if (digits := _digits_of(constraint)) > MOST_DIGITS:
        return f"numbers: {digits:,} digits in the question, more than {MOST_DIGITS}"
    return None


def _digits_of(constraint: CopyConstraint) -> int:
    """Count the digits that free text may hold, numbers with a common beginning as one."""
    trie = constraint._compiled.rules.tables.arrays[layout.DIGIT_TRIE]
    return trie.size // 4 - 1


def build_program(constraint: CopyConstraint) -> DeviceProgram | HostOnly:
    """Make the program of a constraint, or tell why it has none.

    Example:
        >>> from semqa import Source
        >>> from semqa.decoding import CopyConstraint, Vocabulary
        >>> vocabulary = Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [b""], [256])
        >>> program = build_program(CopyConstraint(vocabulary, [Source("In 1943.")]))
        >>> program.rows.shape, program.quote_cost
        ((22, 4), 7)
    """
    if reason := why_not(constraint):
        return HostOnly(reason)
    from semqa.decoding.program.entries import program_entries
    from semqa.decoding.program.workspace import PLACES, make_workspace

    shared = shared_program(constraint.vocabulary)
    bases = shared.bases_of(constraint.policy)
    compiled = constraint._compiled
    digits = _digits_of(constraint)
    size, count = compiled.arrays[layout.TEXT].size, compiled.numbers[layout.SOURCES]
    work = make_workspace(
        compiled.arrays[layout.SUFFIXES],
        size + 1,
        MOST_STATES_PER_BYTE * size + 3 * count + MOST_SHARED_STATES + STATES_OF_A_DIGIT * digits,
        compiled.rules.shared.tables.numbers[layout.LONGEST],
        shared.size,
        bases,
    )
    rows, tokens, targets = program_entries().explore(
        *(compiled.handle, work.handle, work.below, work.path),
        *(bases.numbers if digits else bases.deep, bases.openers, bases.near, MOST_EDGES),
    )
    places = work.arrays[PLACES][: len(rows)]
    if not len(rows):
        return HostOnly(f"the sources need more than {MOST_EDGES:,} entries")
    order = np.argsort(-places, kind="stable")
    quote_cost = program_entries().settle(
        rows, tokens, targets, shared.traits, order, bases.reaches, bases.first_state
    )
    rows[rows[:, 2] >= 0, 2] += bases.first
    longest = int(rows[:, 3].max() >> 1)
    if longest + constraint.policy.min_quotes * quote_cost >= layout.FAR:
        return HostOnly(f"min_quotes={constraint.policy.min_quotes}: with such tokens too many")
    digest = hashlib.blake2b(shared.fingerprint.encode(), digest_size=16)
    for array in (rows, tokens, targets):
        digest.update(array.data)
    return DeviceProgram(
        shared=shared,
        rows=rows,
        tokens=tokens,
        targets=targets,
        quote_cost=int(quote_cost),
        longest=longest,
        min_quotes=constraint.policy.min_quotes,
        quote_bias=constraint.policy.quote_bias,
        fingerprint=digest.hexdigest(),
    )
