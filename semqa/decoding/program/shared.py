"""What the programs of all constraints over a vocabulary share: free text, and how quotes close."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.decoding.compiled import look_up_rules
from semqa.decoding.core import layout
from semqa.decoding.policy import QuotePolicy
from semqa.decoding.program.unfinished import UnfinishedDigits, unfinished_digits
from semqa.decoding.tables import vocabulary_tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semqa.decoding.vocabulary import Vocabulary

__all__ = [
    "ENDS_ROW",
    "END_TRAIT",
    "MOST_SHARED_STATES",
    "Bases",
    "SharedProgram",
    "shared_program",
]

END_TRAIT = 255
ENDS_ROW = 11
"""Of the tables of bases; those where numbers are free come before, the others behind."""
MOST_SHARED_STATES = 63
"""For which there are bits."""
_MOST_CLOSINGS = END_TRAIT - 1


class Bases(NamedTuple):
    """What all constraints over a vocabulary share that have the same rule for numbers.

    Attributes:
        first: the row of `SharedProgram.targets` where its bases begin.
        first_state: the first state that means something else in every program.
        unfinished: the characters that have bases of their own; none where numbers are free.
        deep: int32[*, 2], bases and tokens that go past a bracket that opens a quote: what is behind
            these depends on the sources.
        numbers: int32[*, 2], these, and those that hold numbers, which a question may allow.
        openers: int32[*, 2], bases and tokens that end with such a bracket.
        near: int32[*, 2], bases and tokens that end in what may become a digit.
        reaches: int64[*], bit s: the base leads to state s.
    """

    first: int
    first_state: int
    unfinished: UnfinishedDigits
    deep: NDArray[np.int32]
    numbers: NDArray[np.int32]
    openers: NDArray[np.int32]
    near: NDArray[np.int32]
    reaches: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SharedProgram:
    """The part of a program that depends on the vocabulary alone.

    Attributes:
        fingerprint: of the vocabulary.
        size: V, tokens.
        bits: int32[R, W], W = ceil(V / 32); bit ``t % 32`` of word ``t // 32`` is 1 if the base of
            the row allows token t; row ENDS_ROW is of the end tokens instead.
        targets: int16[R, V], the state behind each token, -1 where it is not allowed.
        traits: uint8[V], how many quotes a token closes (the ``]`` it holds); END_TRAIT for end tokens.
        quote_openers: int32[*], all tokens that hold a bracket that opens a quote, ascending.
        free: the bases where free text may hold numbers.
        quoted: those where numbers must be quoted.
        most_closings: of one token.
    """

    fingerprint: str
    size: int
    bits: NDArray[np.int32]
    targets: NDArray[np.int16]
    traits: NDArray[np.uint8]
    quote_openers: NDArray[np.int32]
    free: Bases
    quoted: Bases
    most_closings: int

    def bases_of(self, policy: QuotePolicy) -> Bases:
        """Return the bases of a policy's rule for numbers."""
        return self.quoted if policy.numbers == "quoted" else self.free


@lru_cache(maxsize=8)
def shared_program(vocabulary: Vocabulary) -> SharedProgram:
    """Make the shared part; once for a vocabulary, a quarter of a second for 131,072 tokens."""
    rules = look_up_rules(vocabulary, QuotePolicy(), "")
    kinds = rules.shared.tables.arrays[layout.KIND]
    nothing = UnfinishedDigits(np.empty((0, 2), np.int32), np.empty(0, np.int32))
    free_targets, free = _make_bases(vocabulary, QuotePolicy(), nothing, 0)
    ends = np.full((1, vocabulary.size), -1, np.int16)
    quoted_targets, quoted = _make_bases(
        vocabulary, QuotePolicy(numbers="quoted"), unfinished_digits(), ENDS_ROW + 1
    )
    targets = np.concatenate([free_targets, ends, quoted_targets])
    allowed = np.zeros((len(targets), 32 * rules.shared.width), np.bool_)
    allowed[:, : vocabulary.size] = targets >= 0
    allowed[ENDS_ROW, list(vocabulary.eos_ids)] = True
    bits = np.packbits(allowed, axis=1, bitorder="little").view("<i4").astype(np.int32)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(vocabulary.blob == 0x5D)])
    closings = np.diff(before[vocabulary.offsets])
    traits = np.minimum(closings, _MOST_CLOSINGS).astype(np.uint8)
    traits[kinds == layout.KIND_END] = END_TRAIT
    return SharedProgram(
        fingerprint=vocabulary.fingerprint,
        size=vocabulary.size,
        bits=bits,
        targets=targets,
        traits=traits,
        quote_openers=rules.shared.openers.astype(np.int32),
        free=free,
        quoted=quoted,
        most_closings=int(closings.max(initial=0)),
    )


def _make_bases(
    vocabulary: Vocabulary, policy: QuotePolicy, unfinished: UnfinishedDigits, first: int
) -> tuple[NDArray[np.int16], Bases]:
    from semqa.decoding.program.entries import program_entries
    from semqa.decoding.program.explore import BASES
    from semqa.decoding.program.states import FIRST_OWN, OPENED_STATE

    handles = []
    for one in (policy, QuotePolicy()):
        handle = look_up_rules(vocabulary, one, "").handle.copy()
        handle[layout.ANY_QUOTABLE] = 1  # where nothing can be quoted, programs forbid the openers
        handles.append(handle)
    kinds = vocabulary_tables(vocabulary).tables.arrays[layout.KIND]
    targets = np.empty((BASES + len(unfinished.samples), vocabulary.size), np.int16)
    found = program_entries().bases(*handles, kinds, *unfinished, targets)
    first_state = FIRST_OWN + len(unfinished.samples)
    reaches = [
        sum(1 << state for state in np.unique(row[row >= 0]).tolist() if state < MOST_SHARED_STATES)
        for row in targets
    ]
    return targets, Bases(
        first=first,
        first_state=first_state,
        unfinished=unfinished,
        deep=np.ascontiguousarray(found[found[:, 2] == 0, :2]),
        numbers=np.ascontiguousarray(found[:, :2]),
        openers=np.ascontiguousarray(np.argwhere(targets == OPENED_STATE), np.int32),
        near=np.ascontiguousarray(np.argwhere(targets >= FIRST_OWN), np.int32),
        reaches=np.array(reaches, np.int64),
    )
