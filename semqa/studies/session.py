"""What raters and reviewers see, and which answers and reviews may be saved.

A stage can be corrected until the next stage is shown: an answer given without the source must
not change once the rater has seen the source. Stages with `Stage.revisable` can also be corrected
later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from semqa.errors import InputError, NotFoundError
from semqa.studies.kind import MAX_TEXT, Item, Stage, next_stage
from semqa.studies.records import Assignment
from semqa.studies.store import Store


class LockedError(InputError):
    """An answer that can no longer be changed."""


def task(store: Store, found: Assignment) -> dict[str, Any]:
    """Return an item as JSON for the page, with the stages that the rater may see."""
    study = store.study
    stages = study.kind.stages(study.items[found.item - 1], study.settings.design)
    current = _current(found)
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
                "revisable": _revisable(stages, n, current),
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


def _current(found: Assignment) -> int:
    """Return the stage that can be answered: the open one, or the last one if finished."""
    return found.stage - 1 if found.done is not None else found.stage


def _revisable(stages: Sequence[Stage], stage: int, current: int) -> bool:
    """Whether a stage can still be changed while the `current` stage is shown."""
    return stage < current and all(each.revisable for each in stages[stage:current])


def answer(
    store: Store, rater: str, number: int, stage: int, values: Mapping[str, Any], seconds: float
) -> None:
    """Save the answers of a stage; saving the same answers again has no effect.

    Raises:
        LockedError: the answers can no longer be changed, because a later stage was shown or a
            reviewer accepted them.
    """
    study = store.study

    def decide(found: Assignment) -> tuple[int, dict[str, Any], bool] | None:
        item, design = study.items[found.item - 1], study.settings.design
        stages = study.kind.stages(item, design)
        if not 0 <= stage < len(stages):
            raise InputError(f"There is no stage {stage}.")
        own = {question.id for s in stages[:stage] for question in s.questions}
        before = {name: value for name, value in found.values.items() if name in own}
        checked = {**before, **study.kind.check(item, design, stage, values, before)}
        upto = own | {question.id for question in stages[stage].questions}
        if stage < found.stage and checked == {
            name: value for name, value in found.values.items() if name in upto
        }:
            return None
        current = _current(found)
        if found.accepted:
            raise LockedError("This answer was accepted and can no longer be changed.")
        if _revisable(stages, stage, current):
            later = {name: value for name, value in found.values.items() if name not in upto}
            return found.stage, {**checked, **later}, found.done is not None
        if stage != current:
            raise LockedError("This answer can no longer be changed.")
        following = next_stage(stages, stage + 1, checked)
        return (stage + 1 if following is None else following), checked, following is None

    store.save(rater, number, decide, seconds)


def keep_draft(
    store: Store, rater: str, number: int, stage: int, values: dict[str, Any], seconds: float
) -> None:
    """Save a draft, unless it is for another stage than the open one or was accepted since.

    A draft of a finished item must be newer than its answer, by the working time: it may arrive
    late.
    """

    def current(found: Assignment) -> bool:
        late = found.done is not None and seconds <= found.seconds
        return stage == _current(found) and not found.accepted and not late

    store.draft(rater, number, current, values, seconds)


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
