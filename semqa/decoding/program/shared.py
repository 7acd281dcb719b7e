"""What the programs of all constraints over a vocabulary share: free text, and how quotes close."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from semqa.decoding.core import layout
from semqa.decoding.policy import QuotePolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semqa.decoding.vocabulary import Vocabulary

__all__ = ["END_TRAIT", "SharedProgram", "shared_program"]

END_TRAIT = 255
_MOST_CLOSINGS = END_TRAIT - 1


@dataclass(frozen=True, slots=True, eq=False)
class SharedProgram:
    """The part of a program that depends on the vocabulary alone.

    Attributes:
        fingerprint: of the vocabulary.
        size: V, tokens.
        bits: int32[BASES + 1, W], W = ceil(V / 32); bit ``t % 32`` of word ``t // 32`` is 1 if the
            base allows token t; the last row is of the end tokens.
        targets: int16[BASES, V], the state behind each token, -1 where it is not allowed.
        traits: uint8[V], how many quotes a token closes (the ``]`` it holds); END_TRAIT for end tokens.
        deep: int32[*, 2], bases and tokens that go past a bracket that opens a quote: what is behind
            these depends on the sources.
        openers: int32[*, 2], bases and tokens that end with such a bracket.
        quote_openers: int32[*], all tokens that hold such a bracket, ascending.
        reaches: int64[BASES], bit s: the base leads to state s.
        most_closings: of one token.
    """

    fingerprint: str
    size: int
    bits: NDArray[np.int32]
    targets: NDArray[np.int16]
    traits: NDArray[np.uint8]
    deep: NDArray[np.int32]
    openers: NDArray[np.int32]
    quote_openers: NDArray[np.int32]
    reaches: NDArray[np.int64]
    most_closings: int


@lru_cache(maxsize=8)
def shared_program(vocabulary: Vocabulary) -> SharedProgram:
    """Make the shared part; once for a vocabulary, a tenth of a second for 131,072 tokens."""
    from semqa.decoding.compiled import look_up_rules
    from semqa.decoding.program.entries import program_entries
    from semqa.decoding.program.explore import BASES
    from semqa.decoding.program.states import FIRST_OWN, OPENED_STATE

    rules = look_up_rules(vocabulary, QuotePolicy(), "")
    kinds = rules.shared.tables.arrays[layout.KIND]
    handle = rules.handle.copy()
    handle[layout.ANY_QUOTABLE] = 1  # where nothing can be quoted, programs forbid the openers
    targets = np.empty((BASES, vocabulary.size), np.int16)
    deep = program_entries().bases(handle, kinds, targets)
    allowed = np.zeros((BASES + 1, 32 * rules.shared.width), np.bool_)
    allowed[:BASES, : vocabulary.size] = targets >= 0
    allowed[BASES, list(vocabulary.eos_ids)] = True
    bits = np.packbits(allowed, axis=1, bitorder="little").view("<i4").astype(np.int32)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(vocabulary.blob == 0x5D)])
    closings = np.diff(before[vocabulary.offsets])
    traits = np.minimum(closings, _MOST_CLOSINGS).astype(np.uint8)
    traits[kinds == layout.KIND_END] = END_TRAIT
    reaches = [
        sum(1 << state for state in range(FIRST_OWN) if (row == state).any()) for row in targets
    ]
    return SharedProgram(
        fingerprint=vocabulary.fingerprint,
        size=vocabulary.size,
        bits=bits,
        targets=targets,
        traits=traits,
        deep=deep,
        openers=np.ascontiguousarray(np.argwhere(targets == OPENED_STATE), np.int32),
        quote_openers=rules.shared.openers.astype(np.int32),
        reaches=np.array(reaches, np.int64),
        most_closings=int(closings.max(initial=0)),
    )
