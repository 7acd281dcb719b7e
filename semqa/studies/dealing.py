"""Who gets which item: dealt when raters come or go, and one rater more where raters disagree."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from semqa.studies.plan import deal, with_gold
from semqa.studies.records import assignments, read_finished, read_raters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from semqa.studies.folder import Study


def new_assignment(
    rater: str, item: int, position: int, *, qualifies: bool = False
) -> dict[str, Any]:
    """Return the row of an item that a rater gets."""
    return {
        "rater": rater,
        "item": item,
        "position": position,
        "qualifies": qualifies,
        "stage": 0,
        "draft_seconds": 0.0,
    }


def deal_anew(connection: Connection, study: Study) -> None:
    """Deal the items that are not begun, and those that a rater who left had begun."""
    settings = study.settings
    named = {each.name: each.state for each in read_raters(connection)}
    active = [name for name, state in named.items() if state == "active"]
    gone = [name for name, state in named.items() if state != "active"]
    unbegun = assignments.c.opened.is_(None)
    left = assignments.c.rater.in_(gone) & assignments.c.done.is_(None)
    begun = left & assignments.c.opened.is_not(None)
    # An item that was begun keeps its row, because answers refer to it, but counts for no rater.
    connection.execute(assignments.delete().where(unbegun))
    abandoned = {row.id for row in connection.execute(select(assignments.c.id).where(begun))}
    missing = needed(connection, study)
    had: dict[str, set[int]] = {name: set() for name in active}
    last: dict[str, int] = {}
    for row in connection.execute(select(assignments)):
        if row.rater in had:
            had[row.rater].add(row.item)
            last[row.rater] = max(last.get(row.rater, 0), row.position)
        counts = row.id not in abandoned and named.get(row.rater) != "failed"
        if row.item in missing and counts:
            missing[row.item] = max(0, missing[row.item] - 1)
    held = {name: had[name] & set(missing) for name in active}
    new: dict[str, list[int]] = {name: [] for name in active}
    for numbers in study.rounds:
        wanted = {n: len(active) if n in study.pilot else missing[n] for n in numbers}
        for name, dealt in deal(wanted, active, settings.seed, had=held).items():
            new[name] += dealt
            held[name] |= set(dealt)
    qualifying = study.gold[: settings.qualify]
    for name in active:
        gold = [number for number in study.gold if number not in had[name]]
        first = sum(number in gold for number in qualifying)
        mixed = with_gold(new[name], gold, first, settings.seed, name)
        rows = [
            new_assignment(name, item, place, qualifies=item in qualifying)
            for place, item in enumerate(mixed, last.get(name, 0) + 1)
        ]
        if rows:
            connection.execute(insert(assignments), rows)


def needed(connection: Connection, study: Study) -> dict[int, int]:
    """Return how many ratings each item is to get: one more as long as it is undecided."""
    found = dict.fromkeys(study.ordinary, study.settings.per_item)
    if adjudicates(study):
        given: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for row in read_finished(connection):
            given[row.item].append(json.loads(row.given))
        for number in found:
            if _undecided(study, number, given[number]):
                found[number] = len(given[number]) + 1
    return found


def adjudicates(study: Study) -> bool:
    """Whether items that raters leave undecided go to one more."""
    return study.settings.design in study.kind.adjudicated


def _undecided(study: Study, item: int, given: Sequence[dict[str, Any]]) -> bool:
    enough = len(given) >= study.settings.per_item
    return enough and study.kind.undecided(study.items[item - 1], given)


def settle(connection: Connection, study: Study, item: int) -> None:
    """Give an item that its raters leave undecided to one more, after all others."""
    given = [json.loads(row.given) for row in read_finished(connection, item)]
    if not _undecided(study, item, given):
        return
    rows = connection.execute(select(assignments)).all()
    active = [each.name for each in read_raters(connection, "active")]
    on_it = {row.rater: row.done for row in rows if row.item == item}
    if any(done is None for name, done in on_it.items() if name in active):
        return
    load = Counter(row.rater for row in rows if row.done is None)
    free = [name for name in active if name not in on_it]
    if free:
        chosen = min(free, key=lambda name: (load[name], active.index(name)))
        last = max((row.position for row in rows if row.rater == chosen), default=0)
        connection.execute(insert(assignments).values(new_assignment(chosen, item, last + 1)))
