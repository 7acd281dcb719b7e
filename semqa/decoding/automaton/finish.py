"""The cost of finishing an answer, in tokens.

Costs are checked near the end of a budget, and always if the vocabulary cannot write every text.

Each cost is that of a real sequence of tokens. If it fits the budget, the first of these tokens leads
to a state whose cost fits too, so no mask is ever empty. Costs within spans are minimal. Costs in free
text only consider sequences without further words and marks.
"""

from __future__ import annotations

from typing import Any

from semqa.decoding.automaton.memory import *
from semqa.decoding.automaton.words import FREE_WORD

# Indexes in CONTROL. All but the first are costs to reach free text after a quote.
GAP_COST = 0  # 0 to 2, by gap kind: through one whole quote; 3: the maximum of these
OPENED_COST = 4
SPACED_COST = 5
CLOSING_COST = 6  # after the closing space
SENTENCE_COST = 7  # 7 to 262, by SENTENCE_AT: to the end of the abstention
NUMBER_COST = 263  # after the digits, by number, 0 to N; then after "[ k ", by source


@jit
def exact(h: Any, s: Any) -> bool:
    """Return whether costs must be checked: few tokens are left, or the vocabulary is incomplete."""
    return h[POOR] != 0 or s[TOKENS] <= h[SCARCE]


@jit
def row_cost(h: Any, row: int, depth: int) -> int:
    """Return the cost from one place of a span to free text; FAR if it cannot end."""
    suffix = ints_at(h, SUFFIXES)[row]
    place = suffix + depth
    if place > ints_at(h, ENDS)[row]:
        return FAR
    half = size_of(h, TEXT) + 1 if place >= ints_at(h, NEEDS)[suffix] else 0
    return ints_at(h, DISTANCE)[half + place]


@jit
def _to_free(h: Any, s: Any) -> int:
    """Return the cost from inside a quote to free text."""
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
    """Return the cost in free text to the end of the current word or character."""
    return ints_at(h, FREE_COST)[s[NODE] if h[GLUE] else s[PART]]


@jit
def cost_of(h: Any, s: Any) -> int:
    """Return the cost to the end of the answer, including the end token; FAR if impossible."""
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
    """Return whether an answer in this state can be finished within its budget."""
    if not exact(h, s):
        return True
    cost = cost_of(h, s)
    return cost < FAR and cost <= s[TOKENS]
