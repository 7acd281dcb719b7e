"""The database tables of a study, and queries on them: raters, assignments, answers, reviews."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
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
    Row,
    Table,
    Text,
    UniqueConstraint,
    func,
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

    answer: int
    reviewer: str
    accepted: bool
    remark: str


class Assignment(NamedTuple):
    """An item assigned to a rater, with its answers so far. Times are Unix times in microseconds.

    Attributes:
        id: identifies the assignment to the page, without revealing the item.
        qualifies: whether it is part of the qualification.
        opened: when the rater first saw the item, or None.
        stage: number of answered stages.
        done: when the item was finished, or None.
        latest: number of the newest saved answer, or 0.
    """

    id: int
    rater: str
    item: int
    qualifies: bool
    opened: int | None
    stage: int
    done: int | None
    values: dict[str, Any]
    draft: dict[str, Any]
    seconds: float
    reviews: list[Review]
    latest: int

    @property
    def review(self) -> Review | None:
        """The latest review of the newest answer, or None."""
        found = [each for each in self.reviews if each.answer == self.latest]
        return found[-1] if found else None

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


def read_assignments(
    connection: Connection, where: ColumnElement[bool], order: ColumnElement[Any] | None = None
) -> list[Assignment]:
    """Return assignments with their answers and reviews, by position or in the given order."""
    # Always three queries: there may be thousands of assignments.
    rows = connection.execute(
        select(assignments)
        .where(where)
        .order_by(assignments.c.position if order is None else order)
    ).all()
    chosen = answers.c.assignment.in_(select(assignments.c.id).where(where))
    newest = (
        select(func.max(answers.c.number).label("number"))
        .where(chosen)
        .group_by(answers.c.assignment)
        .subquery()
    )
    found = select(answers).join(newest, newest.c.number == answers.c.number)
    latest = {row.assignment: row for row in connection.execute(found)}
    reviewed: dict[int, list[Review]] = defaultdict(list)
    for row in connection.execute(
        select(reviews, answers.c.assignment)
        .join(answers, answers.c.number == reviews.c.answer)
        .where(chosen)
        .order_by(reviews.c.number)
    ):
        reviewed[row.assignment].append(Review(row.answer, row.reviewer, row.accepted, row.remark))
    return [
        Assignment(
            row.id,
            row.rater,
            row.item,
            row.qualifies,
            row.opened,
            row.stage,
            row.done,
            json.loads(latest[row.id].given) if row.id in latest else {},
            json.loads(row.draft or "{}"),
            row.draft_seconds,
            reviewed[row.id],
            latest[row.id].number if row.id in latest else 0,
        )
        for row in rows
    ]


def read_finished(connection: Connection, item: int | None = None) -> Sequence[Row[Any]]:
    """Return the latest answer of each finished assignment, without raters who failed to qualify.

    They are ordered by when they were first finished, so a later correction keeps its place.
    """
    latest = select(func.max(answers.c.number).label("number"))
    newest = latest.group_by(answers.c.assignment).subquery()
    begun = select(answers.c.assignment, func.min(answers.c.number).label("number"))
    first = begun.where(answers.c.complete).group_by(answers.c.assignment).subquery()
    found = (
        select(answers, assignments.c.rater, assignments.c.item)
        .join(newest, newest.c.number == answers.c.number)
        .join(assignments, assignments.c.id == answers.c.assignment)
        .join(raters, raters.c.name == assignments.c.rater)
        .join(first, first.c.assignment == answers.c.assignment)
        .where(answers.c.complete, raters.c.state != "failed")
        .order_by(first.c.number)
    )
    if item is not None:
        found = found.where(assignments.c.item == item)
    return connection.execute(found).all()
