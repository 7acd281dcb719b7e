"""The database records of a study, and queries on them: raters, assignments, answers, reviews.

Times are Unix times in microseconds.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import JSON, ColumnElement, ForeignKey, Text, UniqueConstraint, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

OWNER = "owner"
REVIEWER = "reviewer"
CLOSED = ("removed", "imported")
"""States of raters who have no link."""


class Base(DeclarativeBase):
    """The base of all records."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text,
        dict[str, Any]: JSON(none_as_null=True),
    }


class Rater(Base):
    """A rater, a reviewer or the owner of the study.

    Attributes:
        state: ``active``, ``removed``, ``failed`` (did not qualify), ``imported`` (imported
            ratings), ``reviewer`` or ``owner``.
    """

    __tablename__ = "raters"

    name: Mapped[str] = mapped_column(primary_key=True)
    token: Mapped[str] = mapped_column(unique=True)
    state: Mapped[str]
    added: Mapped[int]


class Review(Base):
    """A review of a finished answer; it has a remark if the answer was sent back."""

    __tablename__ = "reviews"

    number: Mapped[int] = mapped_column(primary_key=True)
    answer: Mapped[int] = mapped_column(ForeignKey("answers.number"), index=True)
    reviewer: Mapped[str] = mapped_column(ForeignKey("raters.name"))
    accepted: Mapped[bool]
    remark: Mapped[str]
    saved: Mapped[int]


class Answer(Base):
    """A saved answer to an item. The last one counts; earlier ones were corrected or unfinished.

    `stage` is the number of answered stages, `opened` when the rater first saw the item.
    """

    __tablename__ = "answers"

    number: Mapped[int] = mapped_column(primary_key=True)
    assignment: Mapped[int] = mapped_column(ForeignKey("assignments.id"), index=True)
    values: Mapped[dict[str, Any]] = mapped_column("given")
    stage: Mapped[int]
    complete: Mapped[bool]
    seconds: Mapped[float]
    opened: Mapped[int]
    saved: Mapped[int]
    reviews: Mapped[list[Review]] = relationship(order_by=Review.number, lazy="selectin")


class Assignment(Base):
    """An item assigned to a rater, with all its answers.

    Attributes:
        id: identifies the assignment to the page, without revealing the item.
        qualifies: whether it is part of the qualification.
        stage: number of answered stages.
        seconds: working time, including that on the draft.
    """

    __tablename__ = "assignments"
    __table_args__ = (UniqueConstraint("rater", "item"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    rater: Mapped[str] = mapped_column(ForeignKey("raters.name"))
    item: Mapped[int]
    position: Mapped[int]
    qualifies: Mapped[bool] = mapped_column(default=False)
    opened: Mapped[int | None]
    stage: Mapped[int] = mapped_column(default=0)
    done: Mapped[int | None]
    draft: Mapped[dict[str, Any] | None]
    seconds: Mapped[float] = mapped_column("draft_seconds", default=0.0)
    answers: Mapped[list[Answer]] = relationship(order_by=Answer.number, lazy="selectin")

    @property
    def values(self) -> dict[str, Any]:
        return self.answers[-1].values if self.answers else {}

    @property
    def current(self) -> int:
        """The stage that can be answered: the open one, or the last one if finished."""
        return self.stage if self.done is None else self.stage - 1

    @property
    def versions(self) -> list[Answer]:
        return [each for each in self.answers if each.complete]

    @property
    def reviews(self) -> list[Review]:
        return [review for each in self.answers for review in each.reviews]

    @property
    def review(self) -> Review | None:
        """The latest review of the newest answer, or None."""
        return self.answers[-1].reviews[-1] if self.answers and self.answers[-1].reviews else None

    @property
    def accepted(self) -> bool:
        """Whether a reviewer accepted the newest answer."""
        return self.review is not None and self.review.accepted


def read_raters(session: Session, state: str | None = None) -> list[Rater]:
    """Return the raters with a state, or all except the owner, in the order added."""
    wanted = Rater.state != OWNER if state is None else Rater.state == state
    return list(session.scalars(select(Rater).where(wanted).order_by(Rater.added, Rater.name)))


def read_assignments(session: Session, where: ColumnElement[bool]) -> list[Assignment]:
    """Return assignments by position."""
    return list(session.scalars(select(Assignment).where(where).order_by(Assignment.position)))


def read_finished(session: Session, where: ColumnElement[bool]) -> list[Assignment]:
    """Return the finished assignments, without raters who failed to qualify.

    They are ordered by when they were first finished, so a later correction keeps its place.
    """
    failed = select(Rater.name).where(Rater.state == "failed")
    found = read_assignments(session, where & Assignment.rater.not_in(failed))
    finished = [each for each in found if each.answers and each.answers[-1].complete]
    return sorted(finished, key=first_finished)


def first_finished(found: Assignment) -> int:
    """Return the number of the first complete answer."""
    return found.versions[0].number
