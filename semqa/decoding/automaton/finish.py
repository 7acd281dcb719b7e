"""What it takes to finish an answer, in tokens.

Needed near the end of a budget, and always if the vocabulary cannot write every text.

A cost is that of one real way, the tail of which is a way again: so if a state's cost fits its
budget, some token leads to a state of which the same is true, and no mask is ever empty. The costs of
spans are least ones. In free text only ways without further words and marks are looked at.
"""

from __future__ import annotations

from typing import Any

from semqa.decoding.automaton.memory import *
from semqa.decoding.automaton.words import FREE_WORD

# Places in CONTROL. All but the first lead to free text, where a quote has been made.
GAP_COST = (
    0  # and 1, 2, by what stands before the gap: through one whole quote; 3, the most of them
)
OPENED_COST = 4
SPACED_COST = 5
CLOSING_COST = 6  # behind the closing space
UNFINISHED_COST = 8  # 8 to 15: to the end of a character, by its class
SENTENCE_COST = 16  # 16 to 271: to the end of the abstention, by SENTENCE_AT
NUMBER_COST = 272  # by number, 0 to N; then "[ k " of each source


@jit
def exact(h: Any, s: Any) -> bool:
    """Tell whether costs must be looked up: few tokens are left, or the vocabulary is poor."""
    return h[POOR] != 0 or s[TOKENS] <= h[SCARCE]


@jit
def row_cost(h: Any, row: int, depth: int) -> int:
    """Return the tokens from one place of a span to free text; FAR if no end is ahead."""
    suffix = ints_at(h, SUFFIXES)[row]
    place = suffix + depth
    if place > ints_at(h, ENDS)[row]:
        return FAR
    half = size_of(h, TEXT) + 1 if place >= ints_at(h, NEEDS)[suffix] else 0
    return ints_at(h, DISTANCE)[half + place]


@jit
def _to_free(h: Any, s: Any) -> int:
    """Return the tokens from inside a quote to free text."""
    control = ints_at(h, CONTROL)
    mode = s[MODE]
    if mode == OPENED:
        return control[OPENED_COST]
    if mode == SPACED:
        return control[SPACED_COST]
    if mode == NUMBER:
        return control[NUMBER_COST + s[PART]]
    if s[DEPTH] == 0:
        return control[NUMBER_COST + 1 + h[SOURCES] + s[PART]]
    best = control[CLOSING_COST] if s[CLOSING_LOW] < s[CLOSING_HIGH] else FAR
    for row in range(s[LOW], s[HIGH]):
        best = min(best, row_cost(h, row, s[DEPTH]))
    return best


@jit
def free_cost(h: Any, s: Any) -> int:
    """Return the tokens from free text to the end of its word or character."""
    if h[GLUE]:
        return ints_at(h, WORD_COST)[s[NODE]] if s[NODE] else 0
    return ints_at(h, CONTROL)[UNFINISHED_COST + s[PART]] if s[PART] else 0


@jit
def cost_of(h: Any, s: Any) -> int:
    """Return the tokens to the end of the answer, the end token included; FAR if there is no way."""
    mode, control = s[MODE], ints_at(h, CONTROL)
    if mode == ENDED:
        return 0
    if mode == ABSTAINING:
        return control[SENTENCE_COST + s[PART]] + 1
    if mode == CLOSED:
        return 1
    if mode != FREE:
        return min(FAR, _to_free(h, s) + 1)
    best = free_cost(h, s)
    if not s[QUOTED]:
        gap = s[GAP]
        if s[NODE]:
            gap = AFTER_SHUT if ints_at(h, WORDS_TRIE)[4 * s[NODE]] & FREE_WORD else GAP_KINDS
        elif s[PART]:
            gap = GAP_KINDS
        best += control[GAP_COST + gap]
    if s[SENTENCE_AT]:
        best = min(best, control[SENTENCE_COST + s[SENTENCE_AT]])
    return min(FAR, best + 1)


@jit
def alive(h: Any, s: Any) -> bool:
    """Tell whether an answer that has come to this state can be finished within its budget."""
    if not exact(h, s):
        return True
    cost = cost_of(h, s)
    return cost < FAR and cost <= s[TOKENS]
