"""What a rater may see of an item, and which answers may be saved.

A stage can be corrected until the next stage is shown: an answer given without the source must
not change once the rater has seen the source. Stages with `Stage.revisable` can also be corrected
later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.errors import InputError
from semqa.studies.kind import next_stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.studies.kind import Stage
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
                "questions": [q.with_lines(found.values).to_dict() for q in stages[n].questions],
                "locked": n != current,
                "revisable": _revisable(stages, n, current),
                "more": len(stages) > 1,
            }
            for n in shown
        ],
        "values": found.values,
        "draft": found.draft,
        "seconds": found.seconds,
        "previous": order[place - 1][0] if place else None,
        "reviews": [
            {
                "accepted": each.accepted,
                "remark": each.remark,
                "newest": each.answer == found.latest,
            }
            for each in found.reviews
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
