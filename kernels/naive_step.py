"""One token, one step: the definition, on the host."""

from __future__ import annotations

from typing import NamedTuple

from semqa.kernels.tables import (
    DEAD,
    END_TRAIT,
    ENDED,
    IN_FREE_TEXT,
    MAY_END,
    NEAR,
    UNLIMITED,
    ProgramTables,
    Row,
)

__all__ = ["Standing", "affords", "record", "row_of", "step"]


class Standing(NamedTuple):
    """Where an answer stands: its state, the tokens left, the quotes still to make."""

    state: int
    left: int
    quotes: int


def record(tables: ProgramTables, slot: int, state: int) -> list[int]:
    """Return the record of a state: start, count, base, ``cost << 1 | in a quote``."""
    at = int(tables.places[slot, 0]) + 4 * state
    return [int(number) for number in tables.arena[at : at + 4]]


def affords(tables: ProgramTables, slot: int, after: Standing) -> bool:
    """Tell whether what is left suffices to finish from a state."""
    if after.left == UNLIMITED:
        return True
    cost = record(tables, slot, after.state)[3]
    quotes = max(0, after.quotes - (cost & 1))
    return (cost >> 1) + quotes * int(tables.limits[slot, 1]) + 1 <= after.left


def step(tables: ProgramTables, slot: int, at: Standing, token: int) -> Standing:
    """Go on by one token; DEAD where it is not allowed."""
    dead = Standing(DEAD, at.left, at.quotes)
    if at.state == DEAD or not 0 <= token < tables.traits.numel():
        return dead
    trait = int(tables.traits[token])
    if at.state == ENDED:
        return at if trait == END_TRAIT else dead
    start, count, base, cost = record(tables, slot, at.state)
    if at.left < 1:
        return dead
    if trait == END_TRAIT:
        return at._replace(state=ENDED) if cost == 0 and at.quotes == 0 else dead
    first = int(tables.places[slot, 1]) + start
    found = (tables.arena[first : first + count] == token).nonzero().flatten().tolist()
    if found:
        target = int(tables.arena[int(tables.places[slot, 2]) + start + found[0]])
    else:
        target = int(tables.targets[base, token]) if base >= 0 else DEAD
    if target < 0:
        return dead
    left = at.left if at.left == UNLIMITED else at.left - 1
    after = Standing(target, left, max(0, at.quotes - trait))
    return after if affords(tables, slot, after) else dead


def row_of(tables: ProgramTables, slot: int, at: Standing) -> Row:
    """Say all that `mask` asks of a row."""
    row = Row(slot, *at)
    if at.state in (DEAD, ENDED):
        return row._replace(flags=MAY_END)
    records, tokens, targets = (int(place) for place in tables.places[slot])
    longest, quote_cost = (int(cost) for cost in tables.limits[slot])
    start, count, base, cost = record(tables, slot, at.state)
    may_end = cost == 0 and at.quotes == 0 and at.left >= 1
    near = at.left != UNLIMITED and at.left - 1 < longest + at.quotes * quote_cost + 1
    return row._replace(
        records=records,
        tokens=tokens + start,
        targets=targets + start,
        entries=count,
        base=base,
        flags=MAY_END * may_end + NEAR * near + IN_FREE_TEXT * (cost & 1 == 0),
        quote_cost=quote_cost,
    )
