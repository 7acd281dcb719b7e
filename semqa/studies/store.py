"""The database of a study: raters and their links, assignments, drafts and every saved answer.

An answer is on disk before the server confirms it: SQLite syncs its write-ahead log at each commit.
Only drafts are overwritten; a correction is a new row.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, insert, select, true, update

from semqa.errors import InputError, NotFoundError
from semqa.server.database import Database
from semqa.studies.assigning import adjudicate, adjudicates, needed, new_assignment, reassign
from semqa.studies.folder import DATABASE_FILE, create_study, finish_study
from semqa.studies.kind import Item, Rated, Settings, Study
from semqa.studies.records import (
    CLOSED,
    OWNER,
    REVIEWER,
    Assignment,
    Rater,
    answers,
    assignments,
    find_rater,
    first_finished,
    metadata,
    raters,
    read_assignments,
    read_finished,
    read_raters,
    reviews,
)

MAX_NAME = 100


class Progress(NamedTuple):
    """The progress of a rater.

    Attributes:
        done, total: number of items, including gold items.
        last: Unix time of the last saved answer, in seconds, or None.
    """

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
        self._database.create(metadata)
        with self._database.writing() as connection:
            if not find_rater(connection, OWNER):
                self._add(connection, OWNER, OWNER)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    # Raters

    def raters(self) -> list[Rater]:
        """Return the raters and reviewers, in the order added."""
        with self._database.reading() as connection:
            return read_raters(connection)

    def owner(self) -> Rater:
        """Return the owner, with the token of the owner's link."""
        return self.rater(OWNER)

    def keys(self) -> Sequence[object]:
        """Return a non-empty sequence, so that the server always requires a token."""
        return (OWNER,)

    def owner_of(self, secret: str) -> str | None:
        """Return the name that a token belongs to, or None. Compares in constant time."""
        digest = hashlib.sha256(secret.encode("utf-8", "replace")).digest()
        found = None
        with self._database.reading() as connection:
            for row in connection.execute(select(raters)):
                known = hashlib.sha256(row.token.encode()).digest()
                if hmac.compare_digest(known, digest) and row.state not in CLOSED:
                    found = row.name
        return found

    def rater(self, name: str) -> Rater:
        """Return a rater, a reviewer or the owner by name."""
        with self._database.reading() as connection:
            return self._rater(connection, name)

    def add_raters(self, names: Iterable[str]) -> None:
        """Add raters, and reassign unopened items."""
        with self._database.writing() as connection:
            for name in names:
                self._check_free(connection, name)
                self._add(connection, name, "active")
            reassign(connection, self.study)

    def add_reviewers(self, names: Iterable[str]) -> None:
        """Add reviewers."""
        if not self.study.kind.reviewed and any(True for _ in names):
            raise InputError("Only writing studies have reviewers.")
        with self._database.writing() as connection:
            for name in names:
                self._check_free(connection, name)
                self._add(connection, name, REVIEWER)

    def remove_rater(self, name: str) -> None:
        """Remove a rater: keep finished ratings, disable the link and reassign open items."""
        with self._database.writing() as connection:
            state = self._rater(connection, name).state
            if state in (OWNER, REVIEWER):
                raise NotFoundError(f"Rater {name!r} not found.")
            if state != "active":
                raise InputError(f"Rater {name!r} is not active: {state}.")
            self._end(connection, name, "removed")

    def _check_free(self, connection: Connection, name: str) -> None:
        check_name(name)
        if find_rater(connection, name):
            raise InputError(f"Rater {name!r} already exists.")

    def _add(self, connection: Connection, name: str, state: str) -> None:
        token = secrets.token_urlsafe(24)
        row = {"name": name, "token": token, "state": state, "added": self.clock()}
        connection.execute(insert(raters).values(row))

    def _end(self, connection: Connection, name: str, state: str) -> None:
        connection.execute(update(raters).where(raters.c.name == name).values(state=state))
        reassign(connection, self.study)

    def _rater(self, connection: Connection, name: str) -> Rater:
        found = find_rater(connection, name)
        if found is None:
            raise NotFoundError(f"Rater {name!r} not found.")
        return found

    # Rating

    def next(self, rater: str) -> Assignment | None:
        """Open the first unfinished item of a rater. Adding raters does not reassign open items.

        Returns:
            None if all items are finished, or if the rater must wait for reviewers (`held`).
        """
        with self._database.writing() as connection:
            held = self._held(connection, rater)
            row = connection.execute(
                select(assignments)
                .where(assignments.c.rater == rater, assignments.c.done.is_(None))
                .order_by(assignments.c.position)
                .limit(1)
            ).one_or_none()
            if row is None or (held and row.item not in self.study.pilot):
                return None
            if row.opened is None:
                connection.execute(
                    update(assignments)
                    .where(assignments.c.id == row.id)
                    .values(opened=self.clock())
                )
            return self._own(connection, rater, row.id)

    def held(self, rater: str) -> bool:
        """Whether a rater must wait until reviewers have accepted the pilot items."""
        with self._database.reading() as connection:
            return self._held(connection, rater)

    def _held(self, connection: Connection, rater: str) -> bool:
        if not self.study.pilot or not read_raters(connection, REVIEWER):
            return False
        pilot = assignments.c.item.in_(self.study.pilot)
        found = read_assignments(connection, (assignments.c.rater == rater) & pilot)
        return not all(each.accepted for each in found)

    def may_follow(self, rater: str) -> bool:
        """Whether a rater who has finished may still get items on which others disagree."""
        if not adjudicates(self.study):
            return False
        with self._database.reading() as connection:
            active = [each.name for each in read_raters(connection, "active")]
            unfinished = select(func.count()).where(
                assignments.c.rater.in_(active),
                assignments.c.rater != rater,
                assignments.c.done.is_(None),
            )
            return bool(connection.execute(unfinished).scalar())

    def assignment(self, rater: str, number: int) -> Assignment:
        """Return an assignment of a rater."""
        with self._database.reading() as connection:
            return self._own(connection, rater, number)

    def order(self, rater: str) -> list[tuple[int, bool]]:
        """Return the id of each of a rater's assignments, in order, and whether it is finished."""
        with self._database.reading() as connection:
            rows = connection.execute(
                select(assignments.c.id, assignments.c.done)
                .where(assignments.c.rater == rater)
                .order_by(assignments.c.position)
            )
            return [(row.id, row.done is not None) for row in rows]

    def draft(
        self,
        rater: str,
        number: int,
        accepts: Callable[[Assignment], bool],
        values: dict[str, Any],
        seconds: float,
    ) -> None:
        """Save a draft if `accepts` returns true."""
        with self._database.writing() as connection:
            found = self._own(connection, rater, number)
            if accepts(found):
                connection.execute(
                    update(assignments)
                    .where(assignments.c.id == number)
                    .values(draft=json.dumps(values), draft_seconds=self._bounded(found, seconds))
                )

    def save(
        self,
        rater: str,
        number: int,
        decide: Callable[[Assignment], tuple[int, dict[str, Any], bool] | None],
        seconds: float,
    ) -> None:
        """Save a stage of an item, and decide what to save within the same transaction.

        Args:
            decide: returns the number of answered stages, all answers, and whether the item is
                finished; None to save nothing.
            seconds: working time measured by the page, capped at the time since the item was
                opened.
        """
        with self._database.writing() as connection:
            found = self._own(connection, rater, number)
            decided = decide(found)
            if decided is None:
                return
            stage, values, complete = decided
            saved, worked = self.clock(), self._bounded(found, seconds)
            opened = saved if found.opened is None else found.opened
            connection.execute(
                insert(answers).values(
                    assignment=number,
                    given=json.dumps(values),
                    stage=stage,
                    complete=complete,
                    seconds=worked,
                    opened=opened,
                    saved=saved,
                )
            )
            connection.execute(
                update(assignments)
                .where(assignments.c.id == number)
                .values(
                    opened=opened,
                    stage=stage,
                    done=saved if complete else None,
                    draft=None,
                    draft_seconds=worked,
                )
            )
            if (
                found.qualifies and complete and found.done is None
            ):  # the first time, not a correction
                self._qualify(connection, rater)
            elif complete and adjudicates(self.study) and found.item not in self.study.gold:
                adjudicate(connection, self.study, found.item)

    def _bounded(self, found: Assignment, seconds: float) -> float:
        passed = 0.0 if found.opened is None else (self.clock() - found.opened) / 1e6
        return max(found.seconds, min(seconds, passed))

    def _own(self, connection: Connection, rater: str, number: int) -> Assignment:
        own = (assignments.c.id == number) & (assignments.c.rater == rater)
        found = read_assignments(connection, own)
        if not found:
            raise NotFoundError("No such item.")
        return found[0]

    # Reviews

    def reviewed(self) -> bool:
        """Whether the study has reviewers, so that only accepted answers count."""
        with self._database.reading() as connection:
            return bool(read_raters(connection, REVIEWER))

    def unaccepted(self, rater: str | None = None) -> int:
        """Return the number of finished items not yet accepted; 0 if there are no reviewers."""
        if not self.reviewed():
            return 0
        return sum(not found.accepted and rater in (None, found.rater) for found in self.finished())

    def finished(self, number: int | None = None) -> list[Assignment]:
        """Return the assignments that were finished at least once, oldest first."""
        wanted = true() if number is None else assignments.c.id == number
        with self._database.reading() as connection:
            found = read_assignments(connection, wanted)
        return sorted((each for each in found if each.versions), key=first_finished)

    def review(
        self, reviewer: str, number: int, answer: int, *, accepted: bool, remark: str
    ) -> bool:
        """Accept a finished answer, or send it back to its writer with a remark.

        Repeating the same review has no effect.

        Returns:
            False if the answer was revised in the meantime, so the review was not saved.
        """
        with self._database.writing() as connection:
            matches = read_assignments(connection, assignments.c.id == number)
            if not matches:
                raise NotFoundError("No such answer.")
            (found,) = matches
            newest = found.answers[-1].number if found.answers else None
            if newest != answer or (found.done is None and found.review is None):
                return False
            last = found.review
            if last is not None and (last.accepted, last.remark) == (accepted, remark):
                return True
            connection.execute(
                insert(reviews).values(
                    answer=answer,
                    reviewer=reviewer,
                    accepted=accepted,
                    remark=remark,
                    saved=self.clock(),
                )
            )
            stage = max(found.stage, 1)
            finished = {"stage": stage, "done": self.clock()}
            reopened = {"stage": stage - 1, "done": None}
            connection.execute(
                update(assignments)
                .where(assignments.c.id == number)
                .values(finished if accepted else reopened)
            )
            return True

    def take_in(self, ratings: Iterable[Rated]) -> None:
        """Import the ratings of another study of these items, which are found by their keys.

        Names of active raters are theirs; others get no link.
        """
        study, places = self.study, self.study.places
        with self._database.writing() as connection:
            had: dict[str, set[int]] = {}
            for each in ratings:
                if each.rater not in had:
                    had[each.rater] = self._items_before_import(connection, each.rater)
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
                done = {"opened": saved, "done": saved, "stage": stage}
                row = new_assignment(each.rater, number, len(had[each.rater]))
                query = insert(assignments).values(**row | done).returning(assignments.c.id)
                connection.execute(
                    insert(answers).values(
                        assignment=connection.execute(query).scalar_one(),
                        given=json.dumps(each.values),
                        stage=stage,
                        complete=True,
                        seconds=each.seconds,
                        opened=saved,
                        saved=saved,
                    )
                )
            reassign(connection, study)

    def _items_before_import(self, connection: Connection, name: str) -> set[int]:
        """Return the opened items of a rater, who is added if necessary."""
        known = find_rater(connection, name)
        if known is None:
            check_name(name)
            self._add(connection, name, "imported")
        elif known.state not in ("active", "imported"):
            raise InputError(f"Rater {name!r} is not active: {known.state}.")
        own = assignments.c.rater == name
        # Unopened items are assigned again afterwards.
        connection.execute(assignments.delete().where(own, assignments.c.opened.is_(None)))
        return set(connection.execute(select(assignments.c.item).where(own)).scalars())

    # Qualification

    def _qualify(self, connection: Connection, rater: str) -> None:
        """Exclude a rater who has finished the qualification with too few expected answers."""
        own = (assignments.c.rater == rater) & assignments.c.qualifies
        found = read_assignments(connection, own)
        right = sum(map(self._right, found))
        too_few = right / len(found) < self.study.settings.threshold
        if too_few and all(each.done is not None for each in found):
            self._end(connection, rater, "failed")

    def _right(self, found: Assignment) -> bool:
        return self.study.items[found.item - 1].right(found.values)

    # Results

    def rated(self) -> list[Rated]:
        """Return the finished ratings of ordinary items, ordered by when they were first finished.

        Ratings of raters who failed to qualify are left out. If the study has reviewers, so are
        answers that they have not accepted.
        """
        people = [each for each in self.raters() if each.state != REVIEWER]
        places = {each.name: place for place, each in enumerate(people)}
        reviewed = self.reviewed()
        with self._database.reading() as connection:
            found = read_finished(connection, true())
        numbers = set(self.study.ordinary)
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
        with self._database.reading() as connection:
            active = len(read_raters(connection, "active"))
            ratings = needed(connection, self.study)
        pilot = self.study.pilot
        return len(pilot) * active + sum(n for item, n in ratings.items() if item not in pilot)

    def missing(self) -> int:
        """Return the number of needed ratings that are neither finished nor assigned."""
        with self._database.reading() as connection:
            ratings = needed(connection, self.study)
            states = {each.name: each.state for each in read_raters(connection)}
            rows = connection.execute(select(assignments)).all()
        covered = Counter(
            row.item
            for row in rows
            if states[row.rater] == "active"
            or (states[row.rater] in CLOSED and row.done is not None)
        )
        counted = ratings.keys() - set(self.study.pilot)
        return sum(max(0, ratings[item] - covered[item]) for item in counted)

    def progress(self) -> list[Progress]:
        """Return the progress of each rater."""
        found = []
        with self._database.reading() as connection:
            people = [each for each in read_raters(connection) if each.state != REVIEWER]
            for rater in people:
                own = read_assignments(connection, assignments.c.rater == rater.name)
                done = [each for each in own if each.done is not None]
                golden = [each for each in done if each.item in self.study.gold]
                saved = [answer.saved for each in own for answer in each.answers]
                found.append(
                    Progress(
                        rater.name,
                        rater.state,
                        len(done),
                        len(own),
                        sum(map(self._right, golden)),
                        len(golden),
                        sum(each.seconds for each in own),
                        max(saved) / 1e6 if saved else None,
                    )
                )
        return found
