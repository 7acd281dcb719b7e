"""What reviewers see and do: finished answers, one after the other, accepted or sent back with a remark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.errors import InputError, NotFoundError
from semqa.studies.kind import MAX_TEXT
from semqa.studies.session import LockedError

if TYPE_CHECKING:
    from semqa.studies.kind import Item
    from semqa.studies.records import Assignment
    from semqa.studies.store import Store

WAITING, ACCEPTED, RETURNED = "waiting", "accepted", "returned"


def state_of(found: Assignment) -> str:
    """Return whether a finished item waits for a reviewer, was accepted, or is with its writer."""
    if found.review is None:
        return WAITING
    return ACCEPTED if found.review.accepted else RETURNED


def queue(store: Store) -> list[dict[str, Any]]:
    """Return the finished items, by rounds."""
    study = store.study
    place = {n: at for at, numbers in enumerate(study.rounds) for n in numbers}
    rows = [
        {
            "id": found.id,
            "item": _name(study.items[found.item - 1]),
            "writer": found.rater,
            "round": place[found.item],
            "pilot": found.item in study.pilot,
            "state": state_of(found),
            "again": any(not each.accepted for each in found.reviews),
        }
        for found in store.finished()
    ]
    return sorted(rows, key=lambda row: row["round"])


def _name(item: Item) -> str:
    return str(item.data.get("question", item.item))


def shown(store: Store, number: int) -> dict[str, Any]:
    """Return a finished item for the page, with all its revisions and what was said of them."""
    ones = store.finished(number)
    if not ones:
        raise NotFoundError("There is no such answer.")
    (found,) = ones
    study = store.study
    item, design = study.items[found.item - 1], study.settings.design
    revisions = store.revisions(number)
    return {
        "id": found.id,
        "answer": found.latest,
        "item": _name(item),
        "writer": found.rater,
        "state": state_of(found),
        "seconds": found.seconds,
        "parts": list(study.kind.review(item, design, found.values)),
        "history": [
            {
                "saved": each.saved / 1e6,
                "parts": list(study.kind.review(item, design, each.values))[1:2],
                "said": [
                    {"accepted": said.accepted, "remark": said.remark, "reviewer": said.reviewer}
                    for said in found.reviews
                    if said.answer == each.answer
                ],
            }
            for each in revisions
        ],
    }


def judge(
    store: Store, reviewer: str, number: int, answer: int, *, accepted: bool, remark: str
) -> None:
    """Accept a finished item, or send it back.

    Raises:
        LockedError: the writer has revised it since.
    """
    said = remark.strip()
    if len(said) > MAX_TEXT:
        raise InputError(f"must be at most {MAX_TEXT:,} characters.", field="remark")
    if not accepted and not said:
        raise InputError("Say what the writer should change.")
    if not store.review(reviewer, number, answer, accepted=accepted, remark=said):
        raise LockedError("The writer has revised this answer. Read it again.")
