"""Assigns items to raters.

Items are assigned when raters are added or removed. In adjudicated designs, an item on which raters
disagree goes to one more rater.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import Any

from sqlalchemy import delete, select, true
from sqlalchemy.orm import Session

from semqa.studies.kind import Study
from semqa.studies.records import Assignment, read_finished, read_raters

_ROWS = Assignment.__table__
"""Assignments without their answers."""


def deal(
    needed: Mapping[int, int],
    raters: Sequence[str],
    seed: int,
    *,
    had: Mapping[str, Set[int]] | None = None,
) -> dict[str, list[int]]:
    """Assign items to raters, each rater getting about as many; return them in the order to show.

    An item goes to the raters with the fewest items, and ties are broken at random. The numbers of
    items differ by at most one, unless some raters had items before. An item never goes to the same
    rater twice, so it gets fewer ratings than needed if there are not enough raters.

    Example:
        >>> sorted(len(items) for items in deal({n: 2 for n in range(6)}, "abc", 0).values())
        [4, 4, 4]
    """
    held = {name: set((had or {}).get(name, ())) for name in raters}
    load = Counter({name: len(items) for name, items in held.items()})
    drawn = random.Random(f"items {seed}")  # noqa: S311 - not a secret
    items = sorted(needed)
    drawn.shuffle(items)
    dealt: dict[str, list[int]] = {name: [] for name in raters}
    for item in items:
        free = [name for name in raters if item not in held[name]]
        drawn.shuffle(free)
        for name in sorted(free, key=load.__getitem__)[: needed[item]]:
            dealt[name].append(item)
            held[name].add(item)
            load[name] += 1
    for name, own in dealt.items():
        random.Random(f"order {seed} {name}").shuffle(own)  # noqa: S311
    return dealt


def with_gold(
    items: Sequence[int], gold: Sequence[int], qualify: int, seed: int, rater: str
) -> list[int]:
    """Return a rater's items with all gold items: the first `qualify` ahead, the others spread."""
    first, rest = gold[:qualify], list(gold[qualify:])
    random.Random(f"gold {seed} {rater}").shuffle(rest)  # noqa: S311
    mixed = list(items)
    for count, one in enumerate(rest, 1):
        mixed.insert(round(count * (len(items) + 1) / (len(rest) + 1)) + count - 1, one)
    return [*first, *mixed]


def reassign(session: Session, study: Study) -> None:
    """Reassign unopened items, and items left unfinished by raters who have left."""
    settings = study.settings
    named = {each.name: each.state for each in read_raters(session)}
    active = [name for name, state in named.items() if state == "active"]
    session.execute(delete(Assignment).where(Assignment.opened.is_(None)))
    missing = needed(session, study)
    had: dict[str, set[int]] = {name: set() for name in active}
    last: dict[str, int] = {}
    for row in session.execute(select(_ROWS)):
        if row.rater in had:
            had[row.rater].add(row.item)
            last[row.rater] = max(last.get(row.rater, 0), row.position)
        # Items that raters left unfinished stay because answers refer to them, but do not count.
        counts = row.rater in had or (row.done is not None and named.get(row.rater) != "failed")
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
        session.add_all(
            Assignment(rater=name, item=item, position=place, qualifies=item in qualifying)
            for place, item in enumerate(mixed, last.get(name, 0) + 1)
        )


def needed(session: Session, study: Study) -> dict[int, int]:
    """Return how many ratings each item needs: one more than it has while it is undecided."""
    found = dict.fromkeys(study.ordinary, study.settings.per_item)
    if adjudicates(study):
        given: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for each in read_finished(session, true()):
            given[each.item].append(each.values)
        for number in found:
            more = _undecided(study, number, given[number])
            found[number] = max(found[number], len(given[number]) + more)
    return found


def adjudicates(study: Study) -> bool:
    """Whether undecided items of this study go to one more rater."""
    return study.settings.design in study.kind.adjudicated


def _undecided(study: Study, item: int, given: Sequence[dict[str, Any]]) -> bool:
    enough = len(given) >= study.settings.per_item
    return enough and study.kind.undecided(study.items[item - 1], given)


def adjudicate(session: Session, study: Study, item: int) -> None:
    """Assign an item to one more rater if it is undecided and all its raters are done."""
    given = [each.values for each in read_finished(session, Assignment.item == item)]
    if not _undecided(study, item, given):
        return
    rows = session.execute(select(_ROWS)).all()
    active = [each.name for each in read_raters(session, "active")]
    status = {row.rater: row.done for row in rows if row.item == item}
    if any(done is None for name, done in status.items() if name in active):
        return
    load = Counter(row.rater for row in rows if row.done is None)
    free = [name for name in active if name not in status]
    if free:
        chosen = min(free, key=lambda name: (load[name], active.index(name)))
        last = max((row.position for row in rows if row.rater == chosen), default=0)
        session.add(Assignment(rater=chosen, item=item, position=last + 1))
