"""One annotator at one output: interpretability first, with the source hidden, then attribution.

The order is the point of the procedure. Who has read the source reads its sense into an output that
cannot be understood by itself; so the source is shown only once that question is answered, and the
answer cannot be taken back then.

Source: Rashkin et al. 2023, the two-stage procedure.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from semqa.attribution.ais.rating import Rating
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["QUESTIONS", "Sitting", "Subject", "View"]

Stage = Literal["interpretability", "attribution", "done"]

QUESTIONS = {
    "interpretability": "Can you tell what all of this says about the world, from the context and "
    "the text alone?",
    "attribution": 'Would it be right to say all of this in the form: "According to the source, …"?',
}
"""What is asked at each stage."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is rated.

    Attributes:
        item: what the output answers.
        system: what wrote it.
        output: the text, or the sentence of it.
        source: what it must be attributable to.
        context: what stands before it, such as the question.
        task: such as ``qrecc``.
        sentence: which sentence of the output, from 1; None for the whole.
    """

    item: str
    system: str
    output: str
    source: str
    context: str = ""
    task: str = ""
    sentence: int | None = None


class View(NamedTuple):
    """What the annotator may see now; `source` is None while it is hidden."""

    question: str
    context: str
    output: str
    source: str | None


class Sitting:
    """Asks one annotator about one subject, in order, and times it.

    Args:
        subject: what is rated.
        annotator: who rates it.
        design: how it is asked.
        clock: seconds that only go up.

    Example:
        >>> subject = Subject("q1", "m", "She sang it.", "Ella sang it.", "Who sang it?")
        >>> sitting = Sitting(subject, "ann")
        >>> sitting.view().source is None
        True
        >>> sitting.answer(True)
        >>> sitting.view().source
        'Ella sang it.'
        >>> sitting.answer(False, "The source does not say she.")
        >>> sitting.rating().attributable
        False
    """

    def __init__(
        self,
        subject: Subject,
        annotator: str,
        *,
        design: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stage: Stage = "interpretability"
        self._subject = subject
        self._annotator = annotator
        self._design = design
        self._clock = clock
        self._begun = clock()
        self._seconds = 0.0
        self._flagged = False
        self._interpretable: bool | None = None
        self._attributable: bool | None = None
        self._justifications: list[str] = []

    def view(self) -> View:
        """Return what the annotator may see now.

        Raises:
            InputError: there is nothing left to ask.
        """
        self._check_open()
        subject = self._subject
        shown = subject.source if self.stage == "attribution" else None
        return View(QUESTIONS[self.stage], subject.context, subject.output, shown)

    def answer(self, yes: bool, justification: str = "") -> None:
        """Answer the question that is shown, for good.

        Raises:
            InputError: there is nothing left to answer.
        """
        self._check_open()
        self._note(justification)
        if self.stage == "interpretability":
            self._interpretable = yes
            self._go("attribution" if yes else "done")
        else:
            self._attributable = yes
            self._go("done")

    def flag(self, justification: str = "") -> None:
        """Say that the task is malformed; earlier answers no longer count.

        Raises:
            InputError: all has been answered.
        """
        self._check_open()
        self._note(justification)
        self._flagged, self._interpretable = True, None
        self._go("done")

    def rating(self) -> Rating:
        """Return what was said.

        Raises:
            InputError: a question is still open.
        """
        if self.stage != "done":
            raise InputError(
                f"rating: got a sitting at {self.stage}, expected one that is done; answer or flag "
                "it first"
            )
        subject = self._subject
        return Rating(
            subject.item,
            subject.system,
            self._annotator,
            flagged=self._flagged,
            interpretable=self._interpretable,
            attributable=self._attributable,
            justification="\n".join(self._justifications),
            seconds=self._seconds,
            task=subject.task,
            design=self._design,
            sentence=subject.sentence,
            output=subject.output,
        )

    def _note(self, justification: str) -> None:
        if justification:
            self._justifications.append(justification)

    def _go(self, stage: Stage) -> None:
        self.stage = stage
        if stage == "done":
            self._seconds = self._clock() - self._begun

    def _check_open(self) -> None:
        if self.stage == "done":
            raise InputError(
                "sitting: got one more step, expected none after the last answer; take its rating"
            )
