"""What reviewers see and do: they accept finished answers, or send them back with a remark."""

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
    item, design = study.items[found.item - 1], study.settings.design
    revisions = store.revisions(number)
    return {
        "id": found.id,
        "answer": found.latest,
        "item": _label(item),
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


def submit_review(
    store: Store, reviewer: str, number: int, answer: int, *, accepted: bool, remark: str
) -> None:
    """Accept a finished item, or send it back to its writer.

    Raises:
        LockedError: the writer has revised the answer in the meantime.
    """
    remark = remark.strip()
    if len(remark) > MAX_TEXT:
        raise InputError(f"must be at most {MAX_TEXT:,} characters.", field="remark")
    if not accepted and not remark:
        raise InputError("Say what the writer should change.")
    if not store.review(reviewer, number, answer, accepted=accepted, remark=remark):
        raise LockedError(
            "The writer has revised this answer in the meantime. Please read it again."
        )
