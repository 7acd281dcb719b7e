"""The database tables of a study, and queries on them: raters, assignments, answers, reviews."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    select,
)

OWNER = "owner"
REVIEWER = "reviewer"
CLOSED = ("removed", "imported")
"""States of raters who have no link."""

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
    Column("stage", Integer, nullable=False),  # number of answered stages
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


class Rater(NamedTuple):
    """A rater, a reviewer or the owner of the study.

    Attributes:
        state: ``active``, ``removed``, ``failed`` (did not qualify), ``imported`` (imported
            ratings), ``reviewer`` or ``owner``.
    """

    name: str
    token: str
    state: str


class Review(NamedTuple):
    """A review of a finished answer; it has a remark if the answer was sent back."""

    reviewer: str
    accepted: bool
    remark: str


class Answer(NamedTuple):
    """A saved answer to an item. The last one counts; earlier ones were corrected or unfinished.

    Attributes:
        complete: whether all stages were answered.
        seconds: working time.
        saved: Unix time in microseconds.
    """

    number: int
    values: dict[str, Any]
    complete: bool
    seconds: float
    saved: int
    reviews: list[Review]


class Assignment(NamedTuple):
    """An item assigned to a rater, with all its answers. Times are Unix times in microseconds.

    Attributes:
        id: identifies the assignment to the page, without revealing the item.
        qualifies: whether it is part of the qualification.
        opened: when the rater first saw the item, or None.
        stage: number of answered stages.
        done: when the item was finished, or None.
        seconds: working time, including that on the draft.
    """

    id: int
    rater: str
    item: int
    qualifies: bool
    opened: int | None
    stage: int
    done: int | None
    draft: dict[str, Any]
    seconds: float
    answers: list[Answer]

    @property
    def values(self) -> dict[str, Any]:
        """The newest answer."""
        return self.answers[-1].values if self.answers else {}

    @property
    def versions(self) -> list[Answer]:
        """The complete answers."""
        return [each for each in self.answers if each.complete]

    @property
    def reviews(self) -> list[Review]:
        """The reviews of all answers."""
        return [review for each in self.answers for review in each.reviews]

    @property
    def review(self) -> Review | None:
        """The latest review of the newest answer, or None."""
        return self.answers[-1].reviews[-1] if self.answers and self.answers[-1].reviews else None

    @property
    def accepted(self) -> bool:
        """Whether a reviewer accepted the newest answer."""
        return self.review is not None and self.review.accepted


def find_rater(connection: Connection, name: str) -> Rater | None:
    """Return a rater, a reviewer or the owner by name, or None."""
    row = connection.execute(select(raters).where(raters.c.name == name)).one_or_none()
    return None if row is None else Rater(row.name, row.token, row.state)


def read_raters(connection: Connection, state: str | None = None) -> list[Rater]:
    """Return the raters with a state, or all except the owner, in the order added."""
    wanted = raters.c.state != OWNER if state is None else raters.c.state == state
    rows = connection.execute(select(raters).where(wanted).order_by(raters.c.added, raters.c.name))
    return [Rater(row.name, row.token, row.state) for row in rows]


def read_assignments(connection: Connection, where: ColumnElement[bool]) -> list[Assignment]:
    """Return assignments with their answers and reviews, by position."""
    # Always three queries: there may be thousands of assignments.
    chosen = answers.c.assignment.in_(select(assignments.c.id).where(where))
    of_answer: dict[int, list[Review]] = defaultdict(list)
    found = select(reviews).join(answers, answers.c.number == reviews.c.answer).where(chosen)
    for row in connection.execute(found.order_by(reviews.c.number)):
        of_answer[row.answer].append(Review(row.reviewer, row.accepted, row.remark))
    of_item: dict[int, list[Answer]] = defaultdict(list)
    for row in connection.execute(select(answers).where(chosen).order_by(answers.c.number)):
        values = json.loads(row.given)
        made = Answer(
            row.number, values, row.complete, row.seconds, row.saved, of_answer[row.number]
        )
        of_item[row.assignment].append(made)
    rows = connection.execute(select(assignments).where(where).order_by(assignments.c.position))
    return [
        Assignment(
            row.id,
            row.rater,
            row.item,
            row.qualifies,
            row.opened,
            row.stage,
            row.done,
            json.loads(row.draft or "{}"),
            row.draft_seconds,
            of_item[row.id],
        )
        for row in rows
    ]


def read_finished(connection: Connection, where: ColumnElement[bool]) -> list[Assignment]:
    """Return the finished assignments, without raters who failed to qualify.

    They are ordered by when they were first finished, so a later correction keeps its place.
    """
    failed = select(raters.c.name).where(raters.c.state == "failed")
    found = read_assignments(connection, where & assignments.c.rater.not_in(failed))
    finished = [each for each in found if each.answers and each.answers[-1].complete]
    return sorted(finished, key=first_finished)


def first_finished(found: Assignment) -> int:
    """Return the number of the first complete answer."""
    return found.versions[0].number
