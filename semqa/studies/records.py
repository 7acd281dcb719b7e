"""The tables of a study's database, and how they are read: raters, who has which item, answers, reviews."""

from __future__ import annotations

import json
from collections import defaultdict
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
    select,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row

OWNER = "owner"
REVIEWER = "reviewer"
CLOSED = ("removed", "imported")
"""States of raters without a link."""

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


class Rater(NamedTuple):
    """A rater, or the owner of the study.

    Attributes:
        state: ``active``, ``removed``, ``failed`` (the qualification), ``imported`` (ratings from
            elsewhere; has no link), ``reviewer``, or ``owner``.
    """

    name: str
    token: str
    state: str


class Review(NamedTuple):
    """What a reviewer said of a finished answer; if it was sent back, there is a remark."""

    answer: int
    reviewer: str
    accepted: bool
    remark: str


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
        """What was said of the newest answer; None if nothing was."""
        said = [each for each in self.reviews if each.answer == self.latest]
        return said[-1] if said else None

    @property
    def accepted(self) -> bool:
        """Whether the newest answer was accepted."""
        return self.review is not None and self.review.accepted


def find_rater(connection: Connection, name: str) -> Rater | None:
    """Return a rater, the owner included."""
    row = connection.execute(select(raters).where(raters.c.name == name)).one_or_none()
    return None if row is None else Rater(row.name, row.token, row.state)


def read_raters(connection: Connection, state: str | None = None) -> list[Rater]:
    """Return the raters of a state, or all but the owner, in the order in which they were added."""
    wanted = raters.c.state != OWNER if state is None else raters.c.state == state
    rows = connection.execute(select(raters).where(wanted).order_by(raters.c.added, raters.c.name))
    return [Rater(row.name, row.token, row.state) for row in rows]


def read_assignments(
    connection: Connection, where: ColumnElement[bool], order: ColumnElement[Any] | None = None
) -> list[Assignment]:
    """Return items of raters with what was answered and said of it; by position, unless in another order."""
    # A study may have thousands: three queries for all of them.
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
    said: dict[int, list[Review]] = defaultdict(list)
    for row in connection.execute(
        select(reviews, answers.c.assignment)
        .join(answers, answers.c.number == reviews.c.answer)
        .where(chosen)
        .order_by(reviews.c.number)
    ):
        said[row.assignment].append(Review(row.answer, row.reviewer, row.accepted, row.remark))
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
            said[row.id],
            latest[row.id].number if row.id in latest else 0,
        )
        for row in rows
    ]


def read_finished(connection: Connection, item: int | None = None) -> Sequence[Row[Any]]:
    """Return the latest answers to each item that is finished, but of raters who failed.

    They are in the order in which they were first finished: a correction makes nobody come later.
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
