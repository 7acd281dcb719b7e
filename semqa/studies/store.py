"""The database of a study: raters and their links, assignments, drafts and every saved answer.

An answer is on disk before the server confirms it: SQLite syncs its write-ahead log at each commit.
Only drafts are overwritten; a correction is a new row.

A stage can be corrected until the next stage is shown: an answer given without the source must
not change once the rater has seen the source. Stages with `Stage.revisable` can also be corrected
later.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import delete, func, select, true
from sqlalchemy.orm import Session

from semqa.errors import InputError, NotFoundError
from semqa.server.database import Database
from semqa.studies.assigning import adjudicate, adjudicates, needed, reassign
from semqa.studies.folder import DATABASE_FILE, create_study, finish_study
from semqa.studies.kind import MAX_TEXT, Item, Rated, Settings, Stage, Study, next_stage
from semqa.studies.records import (
    CLOSED,
    OWNER,
    REVIEWER,
    Answer,
    Assignment,
    Base,
    Rater,
    Review,
    first_finished,
    read_assignments,
    read_finished,
    read_raters,
)

MAX_NAME = 100


class LockedError(InputError):
    """An answer that can no longer be changed."""


def revisable(stages: Sequence[Stage], stage: int, current: int) -> bool:
    """Whether a stage can still be changed while the `current` stage is shown."""
    return stage < current and all(each.revisable for each in stages[stage:current])


class Progress(NamedTuple):
    """The progress of a rater; numbers of items include gold items."""

    name: str
    state: str
    done: int
    total: int
    gold_right: int
    gold_done: int
    seconds: float
    last: float | None


def new_study(
    folder: Path,
    settings: Settings,
    items: Sequence[Item],
    names: Sequence[str],
    kept: Mapping[str, bytes] | None = None,
    reviewers: Sequence[str] = (),
) -> Study:
    """Create a study with its raters and reviewers."""
    if len(names) < settings.per_item:
        raise InputError(
            f"must be at least {settings.per_item}, the number of ratings per item, got "
            f"{len(names)}.",
            field="raters",
        )
    kind = settings.kind
    if reviewers and not kind.reviewed:
        raise InputError("are for writing studies only.", field="reviewers")
    if len(names) == settings.per_item and settings.design in kind.adjudicated:
        raise InputError(
            f"must be at least one more than the {settings.per_item} ratings per item, to settle "
            f"disagreements, got {len(names)}.",
            field="raters",
            hint="Designs without adjudication: "
            + ", ".join(d for d in kind.designs if d not in kind.adjudicated),
        )
    people = [*names, *reviewers]
    for name in people:
        check_name(name)
        if people.count(name) > 1:
            raise InputError(f"lists {name!r} twice.", field="raters")
    study = create_study(folder, settings, items, kept)
    store = Store(study)
    try:
        store.add_raters(names)
        store.add_reviewers(reviewers)
    finally:
        store.close()
    finish_study(study)
    return study


def check_name(name: str) -> None:
    """Raise if a name is not valid for a rater."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable() or name == OWNER:
        raise InputError(f"Invalid name of a rater: {name!r}.")


def now() -> int:
    """Return the Unix time in microseconds."""
    return time.time_ns() // 1000


class Store:
    """The database of a study; safe to use from several threads and processes."""

    def __init__(self, study: Study, clock: Callable[[], int] = now) -> None:
        self.study = study
        self.clock = clock
        self._database = Database(study.folder / DATABASE_FILE)
        self._database.create(Base.metadata)
        with self._writing() as session:
            if session.get(Rater, OWNER) is None:
                self._add(session, OWNER, OWNER)

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with self._database.reading() as connection, Session(connection) as session:
            yield session

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        """Yield a session whose changes are on disk when the block ends."""
        with self._database.writing() as connection, Session(connection) as session:
            yield session
            session.flush()

    # Raters

    def raters(self) -> list[Rater]:
        """Return the raters and reviewers, in the order added."""
        with self._reading() as session:
            return read_raters(session)

    def keys(self) -> Sequence[object]:
        """Return a non-empty sequence, so that the server always requires a token."""
        return (OWNER,)

    def owner_of(self, secret: str) -> str | None:
        """Return the name that a token belongs to, or None. Compares in constant time."""
        digest = hashlib.sha256(secret.encode("utf-8", "replace")).digest()
        found = None
        with self._reading() as session:
            for each in session.scalars(select(Rater)):
                known = hashlib.sha256(each.token.encode()).digest()
                if hmac.compare_digest(known, digest) and each.state not in CLOSED:
                    found = each.name
        return found

    def rater(self, name: str) -> Rater:
        """Return a rater, a reviewer or the owner by name."""
        with self._reading() as session:
            return self._rater(session, name)

    def add_raters(self, names: Iterable[str]) -> None:
        """Add raters, and reassign unopened items."""
        with self._writing() as session:
            for name in names:
                self._add_new(session, name, "active")
            reassign(session, self.study)

    def add_reviewers(self, names: Sequence[str]) -> None:
        if names and not self.study.kind.reviewed:
            raise InputError("Only writing studies have reviewers.")
        with self._writing() as session:
            for name in names:
                self._add_new(session, name, REVIEWER)

    def remove_rater(self, name: str) -> None:
        """Remove a rater: keep finished ratings, disable the link and reassign open items."""
        with self._writing() as session:
            found = self._rater(session, name)
            if found.state in (OWNER, REVIEWER):
                raise NotFoundError(f"Rater {name!r} not found.")
            if found.state != "active":
                raise InputError(f"Rater {name!r} is not active: {found.state}.")
            found.state = "removed"
            reassign(session, self.study)

    def _add_new(self, session: Session, name: str, state: str) -> None:
        check_name(name)
        if session.get(Rater, name):
            raise InputError(f"Rater {name!r} already exists.")
        self._add(session, name, state)

    def _add(self, session: Session, name: str, state: str) -> None:
        token = secrets.token_urlsafe(24)
        session.add(Rater(name=name, token=token, state=state, added=self.clock()))
        session.flush()

    def _rater(self, session: Session, name: str) -> Rater:
        found = session.get(Rater, name)
        if found is None:
            raise NotFoundError(f"Rater {name!r} not found.")
        return found

    # Rating

    def next(self, rater: str) -> Assignment | None:
        """Open the first unfinished item of a rater. Adding raters does not reassign open items.

        Return None if all items are finished, or if the rater must wait for reviewers (`held`).
        """
        with self._writing() as session:
            unfinished = (Assignment.rater == rater) & Assignment.done.is_(None)
            query = select(Assignment).where(unfinished).order_by(Assignment.position).limit(1)
            found = session.scalars(query).one_or_none()
            if found is None or (found.item not in self.study.pilot and self._held(session, rater)):
                return None
            if found.opened is None:
                found.opened = self.clock()
            return found

    def held(self, rater: str) -> bool:
        """Whether a rater must wait until reviewers have accepted the pilot items."""
        with self._reading() as session:
            return self._held(session, rater)

    def _held(self, session: Session, rater: str) -> bool:
        if not self.study.pilot or not read_raters(session, REVIEWER):
            return False
        pilot = Assignment.item.in_(self.study.pilot)
        found = read_assignments(session, (Assignment.rater == rater) & pilot)
        return not all(each.accepted for each in found)

    def may_follow(self, rater: str) -> bool:
        """Whether a rater who has finished may still get items on which others disagree."""
        if not adjudicates(self.study):
            return False
        with self._reading() as session:
            active = [each.name for each in read_raters(session, "active")]
            unfinished = select(func.count(Assignment.id)).where(
                Assignment.rater.in_(active), Assignment.rater != rater, Assignment.done.is_(None)
            )
            return bool(session.scalar(unfinished))

    def assignment(self, rater: str, number: int) -> Assignment:
        with self._reading() as session:
            return self._own(session, rater, number)

    def order(self, rater: str) -> list[tuple[int, bool]]:
        """Return the id of each of a rater's assignments, in order, and whether it is finished."""
        columns = select(Assignment.id, Assignment.done).where(Assignment.rater == rater)
        with self._reading() as session:
            rows = session.execute(columns.order_by(Assignment.position))
            return [(row.id, row.done is not None) for row in rows]

    def draft(
        self, rater: str, number: int, stage: int, values: dict[str, Any], seconds: float
    ) -> None:
        """Save a draft, unless it is for another stage than the open one or was accepted since.

        A draft of a finished item must be newer than its answer, by the working time: it may
        arrive late.
        """
        with self._writing() as session:
            found = self._own(session, rater, number)
            late = found.done is not None and seconds <= found.seconds
            if stage == found.current and not found.accepted and not late:
                found.draft = values
                found.seconds = self._bounded(found, seconds)

    def save(
        self, rater: str, number: int, stage: int, values: Mapping[str, Any], seconds: float
    ) -> None:
        """Save the answers of a stage; saving the same answers again has no effect.

        The page measures the working time; it is capped at the time since the item was opened. Raise
        `LockedError` if a later stage was shown or a reviewer accepted the answers.
        """
        with self._writing() as session:
            found = self._own(session, rater, number)
            decided = self._decide(found, stage, values)
            if decided is None:
                return
            stage, all_values, complete = decided
            saved, first = self.clock(), complete and found.done is None
            found.seconds = self._bounded(found, seconds)
            if found.opened is None:
                found.opened = saved
            found.answers.append(
                Answer(
                    values=all_values,
                    stage=stage,
                    complete=complete,
                    seconds=found.seconds,
                    opened=found.opened,
                    saved=saved,
                )
            )
            found.stage = stage
            found.done = saved if complete else None
            found.draft = None
            session.flush()
            if found.qualifies and first:  # not if it is corrected
                self._qualify(session, rater)
            elif complete and adjudicates(self.study) and found.item not in self.study.gold:
                adjudicate(session, self.study, found.item)

    def _decide(
        self, found: Assignment, stage: int, values: Mapping[str, Any]
    ) -> tuple[int, dict[str, Any], bool] | None:
        """Return what to save: the number of answered stages, all answers, and whether the item is finished.

        None if nothing changes.
        """
        item, design = self.study.items[found.item - 1], self.study.settings.design
        kind = self.study.kind
        stages = kind.stages(item, design)
        if not 0 <= stage < len(stages):
            raise InputError(f"There is no stage {stage}.")
        own = {question.id for s in stages[:stage] for question in s.questions}
        before = {name: value for name, value in found.values.items() if name in own}
        checked = {**before, **kind.check(item, design, stage, values, before)}
        upto = own | {question.id for question in stages[stage].questions}
        same = {name: value for name, value in found.values.items() if name in upto}
        if stage < found.stage and checked == same:
            return None
        if found.accepted:
            raise LockedError("This answer was accepted and can no longer be changed.")
        if revisable(stages, stage, found.current):
            later = {name: value for name, value in found.values.items() if name not in upto}
            return found.stage, {**checked, **later}, found.done is not None
        if stage != found.current:
            raise LockedError("This answer can no longer be changed.")
        following = next_stage(stages, stage + 1, checked)
        return (stage + 1 if following is None else following), checked, following is None

    def _bounded(self, found: Assignment, seconds: float) -> float:
        passed = 0.0 if found.opened is None else (self.clock() - found.opened) / 1e6
        return max(found.seconds, min(seconds, passed))

    def _own(self, session: Session, rater: str, number: int) -> Assignment:
        found = session.get(Assignment, number)
        if found is None or found.rater != rater:
            raise NotFoundError("No such item.")
        return found

    # Reviews

    def unaccepted(self, rater: str | None = None) -> int:
        """Return the number of finished items not yet accepted; 0 if there are no reviewers."""
        if not any(each.state == REVIEWER for each in self.raters()):
            return 0
        return sum(not found.accepted and rater in (None, found.rater) for found in self.finished())

    def finished(self, number: int | None = None) -> list[Assignment]:
        """Return the assignments that were finished at least once, oldest first."""
        wanted = true() if number is None else Assignment.id == number
        with self._reading() as session:
            found = read_assignments(session, wanted)
        return sorted((each for each in found if each.versions), key=first_finished)

    def review(
        self, reviewer: str, number: int, answer: int, *, accepted: bool, remark: str
    ) -> None:
        """Accept a finished answer, or send it back to its writer with a remark.

        Repeating the same review has no effect. Raise `LockedError` if the writer has revised the
        answer in the meantime.
        """
        remark = remark.strip()
        if len(remark) > MAX_TEXT:
            raise InputError(f"must be at most {MAX_TEXT:,} characters.", field="remark")
        if not accepted and not remark:
            raise InputError("Say what the writer should change.")
        with self._writing() as session:
            found = session.get(Assignment, number)
            if found is None:
                raise NotFoundError("No such answer.")
            newest = found.answers[-1] if found.answers else None
            last = found.review
            if newest is None or newest.number != answer or (found.done is None and last is None):
                raise LockedError(
                    "The writer has revised this answer in the meantime. Please read it again."
                )
            if last is not None and (last.accepted, last.remark) == (accepted, remark):
                return
            saved = self.clock()
            newest.reviews.append(
                Review(reviewer=reviewer, accepted=accepted, remark=remark, saved=saved)
            )
            stage = max(found.stage, 1)
            found.stage = stage if accepted else stage - 1
            found.done = saved if accepted else None

    def take_in(self, ratings: Iterable[Rated]) -> None:
        """Import the ratings of another study of these items, which are found by their keys.

        Names of active raters are theirs; others get no link.
        """
        study, places = self.study, self.study.places
        with self._writing() as session:
            had: dict[str, set[int]] = {}
            for each in ratings:
                if each.rater not in had:
                    had[each.rater] = self._items_before_import(session, each.rater)
                number = places.get(study.kind.key(each.item), 0)
                if not number or study.items[number - 1].data != each.item.data:
                    name = " ".join(study.kind.key(each.item))
                    raise InputError(f"The study has no item {name} with the same content.")
                if number in had[each.rater]:
                    raise InputError(f"{each.rater!r} already has item {number}.")
                had[each.rater].add(number)
                stages = study.kind.stages(each.item, study.settings.design)
                stage = max((n for n, s in enumerate(stages, 1) if s.asked(each.values)), default=1)
                saved = self.clock()
                answer = Answer(
                    values=each.values,
                    stage=stage,
                    complete=True,
                    seconds=each.seconds,
                    opened=saved,
                    saved=saved,
                )
                session.add(
                    Assignment(
                        rater=each.rater,
                        item=number,
                        position=len(had[each.rater]),
                        opened=saved,
                        stage=stage,
                        done=saved,
                        answers=[answer],
                    )
                )
                session.flush()  # in this order
            reassign(session, study)

    def _items_before_import(self, session: Session, name: str) -> set[int]:
        """Return the opened items of a rater, who is added if necessary."""
        known = session.get(Rater, name)
        if known is None:
            check_name(name)
            self._add(session, name, "imported")
        elif known.state not in ("active", "imported"):
            raise InputError(f"Rater {name!r} is not active: {known.state}.")
        own = Assignment.rater == name
        # Unopened items are assigned again afterwards.
        session.execute(delete(Assignment).where(own, Assignment.opened.is_(None)))
        return set(session.scalars(select(Assignment.item).where(own)))

    # Qualification

    def _qualify(self, session: Session, rater: str) -> None:
        """Exclude a rater who has finished the qualification with too few expected answers."""
        found = read_assignments(session, (Assignment.rater == rater) & Assignment.qualifies)
        right = sum(map(self._right, found))
        too_few = right / len(found) < self.study.settings.threshold
        if too_few and all(each.done is not None for each in found):
            self._rater(session, rater).state = "failed"
            reassign(session, self.study)

    def _right(self, found: Assignment) -> bool:
        return self.study.items[found.item - 1].right(found.values)

    # Results

    def rated(self) -> list[Rated]:
        """Return the finished ratings of ordinary items, ordered by when they were first finished.

        Ratings of raters who failed to qualify are left out. If the study has reviewers, so are
        answers that they have not accepted.
        """
        numbers = set(self.study.ordinary)
        with self._reading() as session:
            people = read_raters(session)
            found = read_finished(session, true())
        raters = [each.name for each in people if each.state != REVIEWER]
        reviewed = len(raters) < len(people)
        places = {name: place for place, name in enumerate(raters)}
        return [
            Rated(
                self.study.items[each.item - 1],
                each.rater,
                each.values,
                each.answers[-1].seconds,
                len(each.versions),
                places[each.rater],
            )
            for each in found
            if each.item in numbers and (each.accepted or not reviewed)
        ]

    def wanted(self) -> int:
        """Return the total number of ratings that the study needs."""
        with self._reading() as session:
            active = len(read_raters(session, "active"))
            ratings = needed(session, self.study)
        pilot = self.study.pilot
        return len(pilot) * active + sum(n for item, n in ratings.items() if item not in pilot)

    def missing(self) -> int:
        """Return the number of needed ratings that are neither finished nor assigned."""
        with self._reading() as session:
            ratings = needed(session, self.study)
            states = {each.name: each.state for each in read_raters(session)}
            found = session.execute(select(Assignment.item, Assignment.rater, Assignment.done))
            covered = Counter(
                row.item
                for row in found
                if states[row.rater] == "active"
                or (states[row.rater] in CLOSED and row.done is not None)
            )
        counted = ratings.keys() - set(self.study.pilot)
        return sum(max(0, ratings[item] - covered[item]) for item in counted)

    def progress(self) -> list[Progress]:
        with self._reading() as session:
            people = [each for each in read_raters(session) if each.state != REVIEWER]
            assigned = read_assignments(session, true())
        return [
            self._progress(rater, [each for each in assigned if each.rater == rater.name])
            for rater in people
        ]

    def _progress(self, rater: Rater, own: Sequence[Assignment]) -> Progress:
        done = [each for each in own if each.done is not None]
        golden = [each for each in done if each.item in self.study.gold]
        saved = [answer.saved for each in own for answer in each.answers]
        return Progress(
            rater.name,
            rater.state,
            len(done),
            len(own),
            sum(map(self._right, golden)),
            len(golden),
            sum(each.seconds for each in own),
            max(saved) / 1e6 if saved else None,
        )
