"""What raters and reviewers see, as JSON for the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from semqa.errors import NotFoundError
from semqa.studies.kind import Item
from semqa.studies.records import Assignment
from semqa.studies.store import Store, revisable


def task(store: Store, found: Assignment) -> dict[str, Any]:
    """Return an item as JSON for the page, with the stages that the rater may see."""
    study = store.study
    stages = study.kind.stages(study.items[found.item - 1], study.settings.design)
    current = found.current
    shown = [n for n in range(current + 1) if stages[n].asked(found.values)]
    order = store.order(found.rater)
    place = [number for number, _ in order].index(found.id)
    return {
        "id": found.id,
        "number": place + 1,
        "total": len(order),
        "done": sum(done for _, done in order),
        "finished": found.done is not None,
        "stage": current,
        "stages": [
            {
                "title": stages[n].title,
                "parts": list(stages[n].parts),
                "number": n,
                "questions": [asdict(q.with_lines(found.values)) for q in stages[n].questions],
                "locked": n != current,
                "revisable": revisable(stages, n, current),
                "more": len(stages) > 1,
            }
            for n in shown
        ],
        "values": found.values,
        "draft": found.draft or {},
        "seconds": found.seconds,
        "previous": order[place - 1][0] if place else None,
        "reviews": [
            {
                "accepted": review.accepted,
                "remark": review.remark,
                "newest": each is found.answers[-1],
            }
            for each in found.answers
            for review in each.reviews
        ],
        "accepted": found.accepted,
    }


# Reviewers

WAITING, ACCEPTED, RETURNED = "waiting", "accepted", "returned"


def state_of(found: Assignment) -> str:
    """Return whether a finished item is waiting for review, accepted or returned to its writer."""
    if found.review is None:
        return WAITING
    return ACCEPTED if found.review.accepted else RETURNED


def queue(store: Store) -> list[dict[str, Any]]:
    """Return the finished items for the page, by round."""
    study = store.study
    place = {n: at for at, numbers in enumerate(study.rounds) for n in numbers}
    rows = [
        {
            "id": found.id,
            "item": _label(study.items[found.item - 1]),
            "writer": found.rater,
            "round": place[found.item],
            "pilot": found.item in study.pilot,
            "state": state_of(found),
            "again": any(not each.accepted for each in found.reviews),
        }
        for found in store.finished()
    ]
    return sorted(rows, key=lambda row: row["round"])


def _label(item: Item) -> str:
    return str(item.data.get("question", item.item))


def shown(store: Store, number: int) -> dict[str, Any]:
    """Return a finished item for the page, with all its revisions and their reviews."""
    matches = store.finished(number)
    if not matches:
        raise NotFoundError("No such answer.")
    (found,) = matches
    study = store.study
    item = study.items[found.item - 1]
    return {
        "id": found.id,
        "answer": found.answers[-1].number,
        "item": _label(item),
        "writer": found.rater,
        "state": state_of(found),
        "seconds": found.seconds,
        "parts": list(study.kind.review(item, found.values)),
        "history": [
            {
                "saved": each.saved / 1e6,
                "parts": list(study.kind.review(item, each.values))[1:2],
                "said": [
                    {"accepted": said.accepted, "remark": said.remark, "reviewer": said.reviewer}
                    for said in each.reviews
                ],
            }
            for each in found.versions
        ],
    }
