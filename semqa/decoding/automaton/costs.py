"""Fill the cost tables of `finish.py`, from the end of an answer backwards."""

from __future__ import annotations

from typing import Any

from semqa.decoding.automaton.explore import COST, child_of, explore, has_tokens, leads_out
from semqa.decoding.automaton.finish import (
    CLOSING_COST,
    GAP_COST,
    NUMBER_COST,
    OPENED_COST,
    SENTENCE_COST,
    SPACED_COST,
    cost_of,
)
from semqa.decoding.automaton.memory import *
from semqa.decoding.automaton.passages import MAY_END
from semqa.decoding.automaton.step import UNFINISHED_KINDS, step_byte
from semqa.decoding.automaton.words import FREE_WORD, LEADS_ON


@jit
def _set(s: Any, mode: int) -> None:
    clear_state(s)
    s[MODE] = mode
    s[TOKENS] = UNLIMITED


@jit
def _best(h: Any, s: Any, node: int, inside: bool) -> int:
    """Return the number of tokens (at least one) from a state to free text."""
    return min(FAR, explore(h, s, node, new_state(), COST, inside) - 1)


@jit
def fill_free_costs(h: Any) -> None:
    """Fill FREE_COST, which must contain 0, then FAR.

    Args:
        h: a handle with the tables of free text, and ANY_QUOTABLE not set.
    """
    s = new_state()
    trie, costs = ints_at(h, WORDS_TRIE), ints_at(h, FREE_COST)
    if h[GLUE]:
        for node in range(size_of(h, FREE_COST) - 1, 0, -1):  # children come after their parents
            if trie[4 * node] & FREE_WORD:
                costs[node] = 0
            elif trie[4 * node] & LEADS_ON:
                _set(s, FREE)
                s[NODE], s[QUOTED] = node, 1
                costs[node] = _best(h, s, 0, True)
        return
    for _ in range(3):  # a token may end inside the character
        for kind in range(1, UNFINISHED_KINDS):
            _set(s, FREE)
            s[PART], s[QUOTED] = kind, 1
            costs[kind] = _best(h, s, 0, False)


@jit
def _fill_sentence(h: Any) -> None:
    control, sentence = ints_at(h, CONTROL), bytes_at(h, SENTENCE)
    length = size_of(h, SENTENCE)
    control[SENTENCE_COST + length + 2] = 0
    for at in range(length + 1, 0, -1):
        for spaced in range(2):
            if spaced and at != 1:
                continue
            node, place = 0, max(at, 2) - 2
            if spaced:
                node = child_of(h, 0, 0x20)
                if node >= 0 and has_tokens(h, node):
                    control[SENTENCE_COST + 1] = min(
                        control[SENTENCE_COST + 1], 1 + control[SENTENCE_COST + 2]
                    )
            while node >= 0 and place < length:
                node = child_of(h, node, sentence[place])
                place += 1
                if node >= 0 and has_tokens(h, node):
                    control[SENTENCE_COST + at] = min(
                        control[SENTENCE_COST + at], 1 + control[SENTENCE_COST + place + 2]
                    )


@jit
def _way(h: Any, node: int, place: int, need: int) -> int:
    """Return the number of tokens to free text from a trie node and a position of a span.

    Args:
        node: the root, or a node whose bytes precede `place`.
        place: a position in LEFT.
        need: the first position at which the span may end.
    """
    text, flags = bytes_at(h, LEFT), bytes_at(h, FLAGS)
    distance, half = ints_at(h, DISTANCE), size_of(h, TEXT) + 1
    best = FAR
    while node >= 0:
        if place >= need and flags[place] & MAY_END and leads_out(h, node):
            space = child_of(h, node, 0x20)
            if has_tokens(h, space):
                best = min(best, 1 + ints_at(h, CONTROL)[CLOSING_COST])
            bracket = child_of(h, space, 0x5D)
            if bracket >= 0:
                s = new_state()
                _set(s, CLOSED)
                best = min(best, _best(h, s, bracket, False))
        byte = text[place]
        if byte >= BARRIER:
            break
        node = child_of(h, node, byte)
        place += 1
        if node >= 0 and has_tokens(h, node):
            best = min(best, 1 + distance[(half if place >= need else 0) + place])
    return best


@jit
def _begins_nothing(h: Any, place: int) -> bool:
    """Return whether a position is a barrier at which no span may end."""
    return bytes_at(h, LEFT)[place] >= BARRIER and bytes_at(h, FLAGS)[place] & MAY_END == 0


@jit
def _fill_distances(h: Any, base: Any, reuse: bool) -> None:
    """Fill DISTANCE from the end; with `reuse`, copy values that are the same as in `base`.

    A token is at most LONGEST bytes long. So a distance is unchanged if the text and the distances
    of the next LONGEST bytes are.
    """
    size, needs = size_of(h, TEXT), ints_at(h, NEEDS)
    half = size + 1
    left, distance = bytes_at(h, LEFT), ints_at(h, DISTANCE)
    old_left, old = bytes_at(base, LEFT), ints_at(base, DISTANCE)
    changed = size + h[LONGEST] + 1  # the nearest place ahead that is not the same
    for place in range(size - 1, -1, -1):
        same = reuse and left[place] == old_left[place]
        if same and changed - place > h[LONGEST]:
            distance[place], distance[half + place] = old[place], old[half + place]
            continue
        if not _begins_nothing(h, place):
            distance[half + place] = _way(h, 0, place, 0)
            if needs[place] > place:
                distance[place] = _way(h, 0, place, needs[place])
        if not (
            same and distance[place] == old[place] and distance[half + place] == old[half + place]
        ):
            changed = place


@jit
def fill_costs(h: Any, base: Any) -> None:
    """Fill DISTANCE and CONTROL; both must contain FAR.

    Few tokens continue after a closing bracket, so the cost of the rest of such a token is explored
    again at each position.

    Args:
        base: the handle of the view without quotes. If it has costs, they are reused: costs only
            change near quoted text, and never become lower.
    """
    control, distance = ints_at(h, CONTROL), ints_at(h, DISTANCE)
    s, t = new_state(), new_state()
    _fill_sentence(h)
    _set(s, SPAN)
    s[DEPTH], s[CLOSING_HIGH] = 1, 1
    control[CLOSING_COST] = _best(h, s, 0, False)
    reuse = base[HAS_COSTS] != 0
    _fill_distances(h, base, reuse)
    needs = ints_at(h, NEEDS)
    suffixes, starts, ends = ints_at(h, SUFFIXES), ints_at(h, STARTS), ints_at(h, ENDS)
    count, space = h[SOURCES], child_of(h, 0, 0x20)
    for number in range(count, 0, -1):
        begun = spaced = FAR
        least = ints_at(base, CONTROL)[NUMBER_COST + number] if reuse else 0
        for row in range(starts[number - 1], starts[number]):
            if ends[row]:
                place = suffixes[row]
                begun = min(begun, distance[place])
                if space >= 0 and spaced > least:
                    spaced = min(spaced, _way(h, space, place, needs[place]))
        control[NUMBER_COST + 1 + count + number - 1] = begun
        if space >= 0 and has_tokens(h, space):
            spaced = min(spaced, 1 + begun)
        if not bytes_at(h, QUOTABLE)[number]:
            spaced = FAR
        control[NUMBER_COST + number] = spaced
    for number in range(count, -1, -1):
        if number and not bytes_at(h, PREFIX_OK)[number]:
            continue
        best = control[NUMBER_COST + number] if number else FAR
        for digit in range(0x30, 0x3A):
            child = child_of(h, 0, digit)
            _set(s, NUMBER if number else SPACED)
            s[PART] = number
            if child >= 0 and step_byte(h, s, digit):
                best = min(best, _best(h, s, child, False))
        control[NUMBER_COST + number if number else SPACED_COST] = best
    _set(s, OPENED)
    if space >= 0:
        s[MODE] = SPACED
        if has_tokens(h, space):
            control[OPENED_COST] = 1 + control[SPACED_COST]
        for digit in range(0x30, 0x3A):
            child = child_of(h, space, digit)
            copy_state(s, t)
            if child >= 0 and step_byte(h, t, digit):
                control[OPENED_COST] = min(control[OPENED_COST], _best(h, t, child, False))
    for gap in range(GAP_KINDS if h[GLUE] else 1):
        control[GAP_COST + gap] = _opening(h, gap)
        if gap != AFTER_SPACE and _has_byte(h, 0x20, 0x0A):
            through = 1 + control[GAP_COST + AFTER_SPACE]
            control[GAP_COST + gap] = min(control[GAP_COST + gap], through)
    most = control[GAP_COST]
    if h[GLUE]:
        most = max(most, max(control[GAP_COST + AFTER_OPEN], control[GAP_COST + AFTER_SHUT]))
    control[GAP_COST + GAP_KINDS] = most


@jit
def _has_byte(h: Any, one: int, other: int) -> bool:
    """Return whether at least one of two bytes is a token."""
    first, second = child_of(h, 0, one), child_of(h, 0, other)
    return (first >= 0 and has_tokens(h, first)) or (second >= 0 and has_tokens(h, second))


@jit
def _opening(h: Any, gap: int) -> int:
    """Return the number of tokens from a gap through a quote that the first of these tokens opens."""
    blob, offsets, tokens = bytes_at(h, BLOB), ints_at(h, OFFSETS), ints_at(h, OPENERS)
    s = new_state()
    best = FAR
    for place in range(size_of(h, OPENERS)):
        token = tokens[place]
        _set(s, FREE)
        s[GAP] = gap
        fits = True
        at = offsets[token]
        while fits and at < offsets[token + 1]:
            fits = step_byte(h, s, blob[at]) and s[MODE] != CLOSED
            at += 1
        if fits and s[MODE] != FREE:
            best = min(best, cost_of(h, s))  # counts this token instead of the end token
    return best
