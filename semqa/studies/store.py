"""The database of a study: raters and their links, who gets which item, drafts, and every saved answer.

An answer is on the disk before the rater is told so: SQLite keeps a write-ahead log that is synced at
each commit. Nothing is overwritten but drafts: a correction is one more row.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    func,
    insert,
    select,
    update,
)

from semqa.errors import InputError, NotFoundError
from semqa.server.store.database import Database
from semqa.studies.folder import Study
from semqa.studies.kind import Rated
from semqa.studies.kinds import kind_of
from semqa.studies.plan import deal, with_gold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Row

    from semqa.studies.folder import Settings
    from semqa.studies.kind import Given, Item

OWNER = "owner"
REVIEWER = "reviewer"
CLOSED = ("removed", "imported")
"""States of raters without a link."""
MAX_NAME = 100

metadata = MetaData()

raters = Table(
    "raters",
    metadata,
    Column("name", Text, primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    Column("state", Text, nullable=False),  # owner, reviewer, active, removed, failed, imported
    Column("added", BigInteger, nullable=False),
)

assignments = Table(
    "assignments",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("rater", Text, ForeignKey("raters.name"), nullable=False),
    Column("item", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("qualifies", Boolean, nullable=False),
    Column("opened", BigInteger),
    Column("stage", Integer, nullable=False),  # stages that are answered
    Column("done", BigInteger),
    Column("draft", Text),
    Column("draft_seconds", Float, nullable=False),
    UniqueConstraint("rater", "item"),
)

answers = Table(
    "answers",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("assignment", Integer, ForeignKey("assignments.id"), nullable=False, index=True),
    Column("given", Text, nullable=False),
    Column("stage", Integer, nullable=False),
    Column("complete", Boolean, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("opened", BigInteger, nullable=False),
    Column("saved", BigInteger, nullable=False),
)

reviews = Table(
    "reviews",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("answer", Integer, ForeignKey("answers.number"), nullable=False, index=True),
    Column("reviewer", Text, ForeignKey("raters.name"), nullable=False),
    Column("accepted", Boolean, nullable=False),
    Column("remark", Text, nullable=False),
    Column("saved", BigInteger, nullable=False),
)


class Review(NamedTuple):
    """What a reviewer said of a finished answer.

    Attributes:
        accepted: False if it was sent back.
        remark: for the writer; empty only if it was accepted.
        saved: when, in microseconds since 1970, UTC.
    """

    answer: int
    reviewer: str
    accepted: bool
    remark: str
    saved: int


class Revision(NamedTuple):
    """A finished answer, as it was saved once.

    Attributes:
        saved: when, in microseconds since 1970, UTC.
    """

    answer: int
    values: dict[str, Any]
    seconds: float
    saved: int


class Rater(NamedTuple):
    """A rater, or the owner of the study.

    Attributes:
        name: shown to the owner, and in exports.
        state: ``active``, ``removed``, ``failed`` (the qualification), ``imported`` (ratings from
            elsewhere; has no link), ``reviewer``, or ``owner``.
    """

    name: str
    token: str
    state: str


class Assignment(NamedTuple):
    """An item that a rater has.

    Attributes:
        id: what the page knows it by; says nothing about the item.
        opened: when the rater first saw it, in microseconds; None if never.
        done: when it was finished; None if it is not.
        latest: number of the newest saved answer; 0 if nothing is saved.
    """

    id: int
    rater: str
    item: int
    position: int
    qualifies: bool
    opened: int | None
    stage: int
    done: int | None
    values: dict[str, Any]
    draft: dict[str, Any]
    seconds: float
    reviews: tuple[Review, ...] = ()
    latest: int = 0

    @property
    def review(self) -> Review | None:
        """What was said of the newest answer; None if nothing was."""
        said = [each for each in self.reviews if each.answer == self.latest]
        return said[-1] if said else None

    @property
    def accepted(self) -> bool:
        """Whether the newest answer was accepted."""
        return self.review is not None and self.review.accepted


class Progress(NamedTuple):
    """How far a rater is.

    Attributes:
        done, total: items, gold ones included.
        last: when something was last saved, in microseconds; None if nothing was.
    """

    rater: Rater
    done: int
    total: int
    gold_right: int
    gold_done: int
    seconds: float
    last: int | None


def _new(rater: str, item: int, position: int, *, qualifies: bool = False) -> dict[str, Any]:
    """Return the row of an item that a rater gets."""
    return {
        "rater": rater,
        "item": item,
        "position": position,
        "qualifies": qualifies,
        "stage": 0,
        "draft_seconds": 0.0,
    }


def new_study(
    folder: Path,
    settings: Settings,
    items: Sequence[Item],
    names: Sequence[str],
    kept: Mapping[str, bytes] | None = None,
    reviewers: Sequence[str] = (),
) -> Study:
    """Make a study with its raters.

    Args:
        folder: where; made if it is missing.

    Raises:
        InputError: the folder has something in it, an item cannot be shown, there are too few raters,
            or a name cannot be one.
    """
    if len(names) < settings.per_item:
        raise InputError(
            f"must be at least {settings.per_item}, one for each rating of an item, got {len(names)}.",
            field="raters",
        )
    kind = kind_of(settings.kind)
    if reviewers and not kind.reviewed:
        raise InputError("are for what is written: ratings have none.", field="reviewers")
    if len(names) == settings.per_item and settings.design in kind.adjudicated:
        raise InputError(
            f"must be one more than the {settings.per_item} ratings of an item, to settle what "
            f"these disagree about, got {len(names)}.",
            field="raters",
            hint="Other designs: "
            + ", ".join(d for d in kind.designs if d not in kind.adjudicated),
        )
    people = [*names, *reviewers]
    for name in people:
        check_name(name)
        if people.count(name) > 1:
            raise InputError(f"has {name!r} twice.", field="raters")
    study = Study.create(folder, settings, items, kept)
    store = Store(study)
    try:
        store.add_raters(names)
        store.add_reviewers(reviewers)
    finally:
        store.close()
    study.finish()
    return study


def check_name(name: str) -> None:
    """Raise if a rater cannot be called so."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable() or name == OWNER:
        raise InputError(f"{name!r} cannot be the name of a rater.")


def now() -> int:
    """Return the time in microseconds since 1970, UTC."""
    return time.time_ns() // 1000


class Store:
    """The database of a study. Thread-safe; several processes may use it at once.

    Args:
        clock: microseconds since 1970.
    """

    def __init__(self, study: Study, clock: Callable[[], int] = now) -> None:
        self.study = study
        self.clock = clock
        self._database = Database(study.database)
        self._database.create(metadata)
        with self._database.writing() as connection:
            if not self._named(connection, OWNER):
                self._add(connection, OWNER, OWNER)

    def close(self) -> None:
        """Close it."""
        self._database.close()

    # Raters

    def raters(self) -> list[Rater]:
        """Return the raters, in the order in which they were added; not the owner."""
        with self._database.reading() as connection:
            return self._raters(connection)

    def owner(self) -> Rater:
        """Return the owner's link."""
        return self.rater(OWNER)

    def keys(self) -> Sequence[object]:
        """Return what may open the study; never empty, so that the server always asks for a token."""
        return (OWNER,)

    def owner_of(self, secret: str) -> str | None:
        """Return the name that a token belongs to, or None, in constant time."""
        given = hashlib.sha256(secret.encode("utf-8", "replace")).digest()
        found = None
        with self._database.reading() as connection:
            for row in connection.execute(select(raters)):
                held = hashlib.sha256(row.token.encode()).digest()
                if hmac.compare_digest(held, given) and row.state not in CLOSED:
                    found = row.name
        return found

    def rater(self, name: str) -> Rater:
        """Return a rater, or the owner."""
        with self._database.reading() as connection:
            return self._rater(connection, name)

    def add_raters(self, names: Iterable[str]) -> None:
        """Add raters, and deal the items that are not begun anew."""
        with self._database.writing() as connection:
            for name in names:
                self._check_free(connection, name)
                self._add(connection, name, "active")
            self._deal(connection)

    def add_reviewers(self, names: Iterable[str]) -> None:
        """Add people who read what is finished, and accept it or send it back."""
        if not self.study.kind.reviewed and any(True for _ in names):
            raise InputError("Only what is written has reviewers, ratings have none.")
        with self._database.writing() as connection:
            for name in names:
                self._check_free(connection, name)
                self._add(connection, name, REVIEWER)

    def remove_rater(self, name: str) -> None:
        """Take a rater out: the link ends, finished ratings stay, and others get the open items."""
        with self._database.writing() as connection:
            state = self._rater(connection, name).state
            if state in (OWNER, REVIEWER):
                raise NotFoundError(f"There is no rater {name!r}.")
            if state != "active":
                raise InputError(f"{name!r} rates nothing any more: {state}.")
            self._end(connection, name, "removed")

    def _check_free(self, connection: Connection, name: str) -> None:
        check_name(name)
        if self._named(connection, name):
            raise InputError(f"Rater {name!r} already exists.")

    def _add(self, connection: Connection, name: str, state: str) -> None:
        token = secrets.token_urlsafe(24)
        row = {"name": name, "token": token, "state": state, "added": self.clock()}
        connection.execute(insert(raters).values(row))

    def _end(self, connection: Connection, name: str, state: str) -> None:
        connection.execute(update(raters).where(raters.c.name == name).values(state=state))
        self._deal(connection)

    def _named(self, connection: Connection, name: str) -> Rater | None:
        row = connection.execute(select(raters).where(raters.c.name == name)).one_or_none()
        return None if row is None else Rater(row.name, row.token, row.state)

    def _rater(self, connection: Connection, name: str) -> Rater:
        found = self._named(connection, name)
        if found is None:
            raise NotFoundError(f"There is no rater {name!r}.")
        return found

    def _raters(self, connection: Connection) -> list[Rater]:
        rows = connection.execute(
            select(raters).where(raters.c.state != OWNER).order_by(raters.c.added, raters.c.name)
        )
        return [Rater(row.name, row.token, row.state) for row in rows]

    # Who gets what

    def _deal(self, connection: Connection) -> None:
        """Deal the items that are not begun, and those that a rater who left had begun."""
        study, settings = self.study, self.study.settings
        named = {each.name: each.state for each in self._raters(connection)}
        pilot = set(study.pilot)
        active = [name for name, state in named.items() if state == "active"]
        gone = [name for name, state in named.items() if state != "active"]
        unbegun = assignments.c.opened.is_(None)
        left = assignments.c.rater.in_(gone) & assignments.c.done.is_(None)
        begun = left & assignments.c.opened.is_not(None)
        # An item that was begun keeps its row, because answers refer to it, but counts for no rater.
        connection.execute(assignments.delete().where(unbegun))
        abandoned = {row.id for row in connection.execute(select(assignments.c.id).where(begun))}
        needed = self._needed(connection)
        had: dict[str, set[int]] = {name: set() for name in active}
        last: dict[str, int] = {}
        for row in connection.execute(select(assignments)):
            if row.rater in had:
                had[row.rater].add(row.item)
                last[row.rater] = max(last.get(row.rater, 0), row.position)
            counts = row.id not in abandoned and named.get(row.rater) != "failed"
            if row.item in needed and counts:
                needed[row.item] = max(0, needed[row.item] - 1)
        held = {name: had[name] & set(needed) for name in active}
        new: dict[str, list[int]] = {name: [] for name in active}
        for numbers in study.rounds:
            wanted = {n: len(active) if n in pilot else needed[n] for n in numbers}
            for name, dealt in deal(wanted, active, settings.seed, had=held).items():
                new[name] += dealt
                held[name] |= set(dealt)
        for name in active:
            gold = [number for number in study.gold if number not in had[name]]
            qualify = [number for number in study.gold[: settings.qualify] if number in gold]
            rows = [
                _new(
                    name,
                    item,
                    last.get(name, 0) + place,
                    qualifies=item in study.gold[: settings.qualify],
                )
                for place, item in enumerate(
                    with_gold(new[name], gold, len(qualify), settings.seed, name), 1
                )
            ]
            if rows:
                connection.execute(insert(assignments), rows)

    def _needed(self, connection: Connection) -> dict[int, int]:
        """Return how many ratings each item is to get: one more as long as it is undecided."""
        needed = dict.fromkeys(self.study.ordinary, self.study.settings.per_item)
        if self._adjudicates():
            given: dict[int, list[dict[str, Any]]] = {}
            for row in self._finished(connection):
                given.setdefault(row.item, []).append(json.loads(row.given))
            for number in needed:
                if self._undecided(number, given.get(number, [])):
                    needed[number] = len(given[number]) + 1
        return needed

    def _adjudicates(self) -> bool:
        return self.study.settings.design in self.study.kind.adjudicated

    def _undecided(self, item: int, given: Sequence[dict[str, Any]]) -> bool:
        study = self.study
        enough = len(given) >= study.settings.per_item
        return enough and study.kind.undecided(study.items[item - 1], given)

    def _settle(self, connection: Connection, item: int) -> None:
        """Give an item that its raters leave undecided to one more, after all others."""
        given = [json.loads(row.given) for row in self._finished(connection, item)]
        if not self._undecided(item, given):
            return
        rows = connection.execute(select(assignments)).all()
        active = [each.name for each in self._raters(connection) if each.state == "active"]
        on_it = {row.rater: row.done for row in rows if row.item == item}
        if any(done is None for name, done in on_it.items() if name in active):
            return
        load = Counter(row.rater for row in rows if row.done is None)
        free = [name for name in active if name not in on_it]
        if free:
            chosen = min(free, key=lambda name: (load[name], active.index(name)))
            last = max((row.position for row in rows if row.rater == chosen), default=0)
            connection.execute(insert(assignments).values(_new(chosen, item, last + 1)))

    def next(self, rater: str) -> Assignment | None:
        """Return the first item that a rater has not finished, and note that the rater sees it.

        From now on it is this rater's, whoever comes or goes.

        Returns:
            None if all items are finished, or if reviewers have not accepted all of the rater's
            pilot round (`held`).
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
        """Whether a rater must wait for reviewers before going on behind the pilot round."""
        with self._database.reading() as connection:
            return self._held(connection, rater)

    def _held(self, connection: Connection, rater: str) -> bool:
        if not self.study.pilot or not self._reviewers(connection):
            return False
        rows = connection.execute(
            select(assignments).where(
                assignments.c.rater == rater, assignments.c.item.in_(self.study.pilot)
            )
        ).all()
        return not all(self._assignment(connection, row).accepted for row in rows)

    def may_follow(self, rater: str) -> bool:
        """Whether a rater who has finished may get more items, because others may disagree."""
        if not self._adjudicates():
            return False
        with self._database.reading() as connection:
            active = [each.name for each in self._raters(connection) if each.state == "active"]
            open_ones = select(func.count()).where(
                assignments.c.rater.in_(active),
                assignments.c.rater != rater,
                assignments.c.done.is_(None),
            )
            return bool(connection.execute(open_ones).scalar())

    def assignment(self, rater: str, number: int) -> Assignment:
        """Return an item of a rater."""
        with self._database.reading() as connection:
            return self._own(connection, rater, number)

    def order(self, rater: str) -> list[tuple[int, bool]]:
        """Return the rater's items in order: id, and whether it is finished."""
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
        wanted: Callable[[Assignment], bool],
        values: dict[str, Any],
        seconds: float,
    ) -> None:
        """Keep unsaved answers, so that the rater finds them again."""
        with self._database.writing() as connection:
            found = self._own(connection, rater, number)
            if wanted(found):
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
        """Save a stage of an item, in one transaction with the decision about it.

        Args:
            decide: returns how many stages are answered then, all answers, and whether the item is
                finished; None if nothing changes.
            seconds: that the rater worked on the item, as the page measured them; more than passed
                on the server's clock are not believed.
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
            if found.qualifies and complete and found.done is None:  # not a correction
                self._qualify(connection, rater)
            elif complete and self._adjudicates() and found.item not in self.study.gold:
                self._settle(connection, found.item)

    def _bounded(self, found: Assignment, seconds: float) -> float:
        passed = 0.0 if found.opened is None else (self.clock() - found.opened) / 1e6
        return max(found.seconds, min(seconds, passed))

    def _own(self, connection: Connection, rater: str, number: int) -> Assignment:
        row = connection.execute(
            select(assignments).where(assignments.c.id == number, assignments.c.rater == rater)
        ).one_or_none()
        if row is None:
            raise NotFoundError("You have no such item.")
        return self._assignment(connection, row)

    def _assignment(self, connection: Connection, row: Row[Any]) -> Assignment:
        latest = connection.execute(
            select(answers.c.number, answers.c.given)
            .where(answers.c.assignment == row.id)
            .order_by(answers.c.number.desc())
            .limit(1)
        ).one_or_none()
        said = connection.execute(
            select(reviews)
            .join(answers, answers.c.number == reviews.c.answer)
            .where(answers.c.assignment == row.id)
            .order_by(reviews.c.number)
        ).all()
        return _assigned(row, latest, said)

    # Reviews

    def _reviewers(self, connection: Connection) -> list[str]:
        return [each.name for each in self._raters(connection) if each.state == REVIEWER]

    def reviewed(self) -> bool:
        """Whether the study has reviewers: what they have not accepted does not count then."""
        with self._database.reading() as connection:
            return bool(self._reviewers(connection))

    def unaccepted(self, rater: str | None = None) -> int:
        """Return how many finished items reviewers have not accepted; 0 if there are no reviewers.

        Args:
            rater: whose; None for everybody's.
        """
        if not self.reviewed():
            return 0
        return sum(not found.accepted and rater in (None, found.rater) for found in self.finished())

    def finished(self, number: int | None = None) -> list[Assignment]:
        """Return the items that were finished at least once, the oldest first.

        Args:
            number: the one with this id; None for all.
        """
        done = answers.c.complete if number is None else answers.c.assignment == number
        first = (
            select(answers.c.assignment, func.min(answers.c.number).label("number"))
            .where(answers.c.complete, done)
            .group_by(answers.c.assignment)
            .subquery()
        )
        newest = (
            select(answers.c.assignment, func.max(answers.c.number).label("number"))
            .group_by(answers.c.assignment)
            .subquery()
        )
        # A study may have thousands: three queries for all of them.
        with self._database.reading() as connection:
            rows = connection.execute(
                select(assignments)
                .join(first, first.c.assignment == assignments.c.id)
                .order_by(first.c.number)
            ).all()
            latest = {
                row.assignment: row
                for row in connection.execute(
                    select(answers.c.assignment, answers.c.number, answers.c.given)
                    .join(newest, newest.c.number == answers.c.number)
                    .join(first, first.c.assignment == answers.c.assignment)
                )
            }
            said: dict[int, list[Any]] = {}
            for one in connection.execute(
                select(reviews, answers.c.assignment)
                .join(answers, answers.c.number == reviews.c.answer)
                .join(first, first.c.assignment == answers.c.assignment)
                .order_by(reviews.c.number)
            ):
                said.setdefault(one.assignment, []).append(one)
        return [_assigned(row, latest[row.id], said.get(row.id, ())) for row in rows]

    def revisions(self, number: int) -> list[Revision]:
        """Return all that was ever saved as finished of an item, the oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                select(answers)
                .where(answers.c.assignment == number, answers.c.complete)
                .order_by(answers.c.number)
            ).all()
        return [Revision(r.number, json.loads(r.given), r.seconds, r.saved) for r in rows]

    def review(
        self, reviewer: str, number: int, answer: int, *, accepted: bool, remark: str
    ) -> bool:
        """Accept a finished answer, or send it back; False if it was revised since.

        Saying the same again changes nothing.

        Args:
            accepted: False sends it back: the rater gets it again, with the remark.
        """
        with self._database.writing() as connection:
            row = connection.execute(
                select(assignments).where(assignments.c.id == number)
            ).one_or_none()
            if row is None:
                raise NotFoundError("There is no such answer.")
            found = self._assignment(connection, row)
            if found.latest != answer or (found.done is None and found.review is None):
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
            connection.execute(
                update(assignments)
                .where(assignments.c.id == number)
                .values(stage=stage, done=self.clock())
                if accepted
                else update(assignments)
                .where(assignments.c.id == number)
                .values(stage=stage - 1, done=None)
            )
            return True

    def take_in(self, rater: str, ratings: Sequence[Given]) -> None:
        """Save finished ratings that come from elsewhere, as those of a rater without a link."""
        with self._database.writing() as connection:
            known = self._named(connection, rater)
            if known is None:
                check_name(rater)
                self._add(connection, rater, "imported")
            elif known.state != "imported":
                raise InputError(f"Rater {rater!r} already exists. Give another name.")
            saved = self.clock()
            own = select(assignments.c.item).where(assignments.c.rater == rater)
            had = set(connection.execute(own).scalars())
            for place, each in enumerate(ratings, len(had) + 1):
                if each.item in had:
                    raise InputError(f"{rater!r} has already rated item {each.item}.")
                had.add(each.item)
                done = {"opened": saved, "done": saved}
                row = {**_new(rater, each.item, place), **done}
                made = connection.execute(insert(assignments).values(row))
                connection.execute(
                    insert(answers).values(
                        assignment=made.inserted_primary_key[0],  # type: ignore[index]
                        given=json.dumps(each.values),
                        stage=0,
                        complete=True,
                        seconds=0.0,
                        opened=saved,
                        saved=saved,
                    )
                )
            self._deal(connection)

    # Qualification

    def _qualify(self, connection: Connection, rater: str) -> None:
        """End a rater's work if the qualification is finished and too little of it is right."""
        rows = connection.execute(
            select(assignments).where(assignments.c.rater == rater, assignments.c.qualifies)
        ).all()
        if any(row.done is None for row in rows):
            return
        right = sum(self._right(self._assignment(connection, row)) for row in rows)
        if right < self.study.settings.threshold * len(rows):
            self._end(connection, rater, "failed")

    def _right(self, found: Assignment) -> bool:
        return self.study.kind.right(self.study.items[found.item - 1], found.values)

    # What came of it

    def rated(self, *, gold: bool = False) -> list[Rated]:
        """Return the finished ratings, in the order in which they were saved.

        Ratings of raters who failed the qualification are left out, and, if there are reviewers, what
        they have not accepted.
        """
        numbers = set(self.study.gold if gold else self.study.ordinary)
        people = [each for each in self.raters() if each.state != REVIEWER]
        places = {each.name: place for place, each in enumerate(people)}
        reviewed = self.reviewed()
        with self._database.reading() as connection:
            rows = self._finished(connection)
            times = select(answers.c.assignment, func.count().label("times"))
            counted = times.where(answers.c.complete).group_by(answers.c.assignment)
            finished = {row.assignment: row.times for row in connection.execute(counted)}
            accepted = {
                row.answer: row.accepted
                for row in connection.execute(select(reviews).order_by(reviews.c.number))
            }
        return [
            Rated(
                self.study.items[row.item - 1],
                row.rater,
                json.loads(row.given),
                row.seconds,
                row.saved,
                finished[row.assignment],
                places[row.rater],
            )
            for row in rows
            if row.item in numbers and (not reviewed or accepted.get(row.number, False))
        ]

    def _finished(self, connection: Connection, item: int | None = None) -> Sequence[Row[Any]]:
        """Return the latest answers to each item that is finished, but of raters who failed."""
        latest = select(func.max(answers.c.number).label("number"))
        newest = latest.group_by(answers.c.assignment).subquery()
        found = (
            select(answers, assignments.c.rater, assignments.c.item)
            .join(newest, newest.c.number == answers.c.number)
            .join(assignments, assignments.c.id == answers.c.assignment)
            .join(raters, raters.c.name == assignments.c.rater)
            .where(answers.c.complete, raters.c.state != "failed")
            .order_by(answers.c.number)
        )
        if item is not None:
            found = found.where(assignments.c.item == item)
        return connection.execute(found).all()

    def wanted(self) -> int:
        """Return how many ratings the study is to have."""
        with self._database.reading() as connection:
            active = sum(each.state == "active" for each in self._raters(connection))
            needed = self._needed(connection)
        pilot = len(self.study.pilot)
        return pilot * active + sum(n for item, n in needed.items() if item not in self.study.pilot)

    def missing(self) -> int:
        """Return how many ratings no active rater has, nor has given."""
        left_out = {*self.study.gold, *self.study.pilot}
        with self._database.reading() as connection:
            needed = self._needed(connection)
            wanted = sum(n for item, n in needed.items() if item not in left_out)
            states = {each.name: each.state for each in self._raters(connection)}
            rows = connection.execute(select(assignments)).all()
        held = sum(
            states[row.rater] == "active" or (states[row.rater] in CLOSED and row.done is not None)
            for row in rows
            if row.item not in left_out
        )
        return max(0, wanted - held)

    def progress(self) -> list[Progress]:
        """Return how far each rater is."""
        gold = set(self.study.gold)
        found = []
        with self._database.reading() as connection:
            for rater in self._raters(connection):
                if rater.state == REVIEWER:
                    continue
                rows = connection.execute(
                    select(assignments).where(assignments.c.rater == rater.name)
                ).all()
                done = [row for row in rows if row.done is not None]
                golden = [self._assignment(connection, row) for row in done if row.item in gold]
                last = connection.execute(
                    select(func.max(answers.c.saved))
                    .join(assignments, assignments.c.id == answers.c.assignment)
                    .where(assignments.c.rater == rater.name)
                ).scalar()
                found.append(
                    Progress(
                        rater,
                        len(done),
                        len(rows),
                        sum(map(self._right, golden)),
                        len(golden),
                        sum(row.draft_seconds for row in rows),
                        last,
                    )
                )
        return found


def _assigned(row: Any, latest: Any, said: Iterable[Any]) -> Assignment:
    """Return an assignment with its newest answer and what reviewers said of it."""
    return Assignment(
        row.id,
        row.rater,
        row.item,
        row.position,
        row.qualifies,
        row.opened,
        row.stage,
        row.done,
        json.loads(latest.given) if latest else {},
        json.loads(row.draft or "{}"),
        row.draft_seconds,
        tuple(Review(r.answer, r.reviewer, r.accepted, r.remark, r.saved) for r in said),
        latest.number if latest else 0,
    )
