"""What a worker does for a run: make the engine once, and answer what it is handed.

Knows Ray not at all: it is plain objects in and plain objects out.
"""

from __future__ import annotations

import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from semqa.bench.answering import answer_items
from semqa.bench.plan import HUMAN
from semqa.distributed.prompts import ChosenExemplars, PackedPrompts
from semqa.errors import InputError, SemqaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.bench.plan import Item, Plan
    from semqa.bench.record import Record
    from semqa.engines import Engine
    from semqa.prompting.prompt import Exemplar

__all__ = ["Answerer", "Failure", "Job", "Task", "told"]


class Job(NamedTuple):
    """What is the same for all tasks of a run.

    Attributes:
        plan: what is run.
        prompts: how questions are put to a model; None for engines that ask none.
        expected: code and model of who handed it out, as `Plan.what_runs` tells them.
        predict_only: leave the scores out.
    """

    plan: Plan
    prompts: PackedPrompts | None
    expected: Mapping[str, object]
    predict_only: bool


class Task(NamedTuple):
    """What is answered in one go.

    Attributes:
        groups: items that are answered together, each.
        exemplars: those of their questions.
    """

    groups: Sequence[Sequence[Item]]
    exemplars: Mapping[str, Sequence[Exemplar]]


class Failure(NamedTuple):
    """Why a worker could not do its work; it ends the run.

    Attributes:
        error: what semqa raised; None for what was not foreseen.
        told: the whole story, then.
    """

    error: SemqaError | None
    told: str = ""

    def throw(self) -> None:
        """Raise it again.

        Raises:
            SemqaError: what was raised there.
            RuntimeError: something else was.
        """
        if self.error is not None:
            raise self.error
        raise RuntimeError(f"a worker failed:\n{self.told}")


class Answerer:
    """Answers tasks of a job, with an engine of its own.

    What goes wrong is told, not raised: whoever is told need not guess which of the errors that
    Ray wraps is whose.

    Args:
        job: what is run.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._exemplars = ChosenExemplars()
        self._engine: Engine | None = None
        self._failure: Failure | None = None
        try:
            self._engine = self._create_engine()
        except Exception as error:  # noqa: BLE001  (told at the first task)
            self._failure = told(error)

    def answer(self, task: Task) -> list[Record] | Failure:
        """Return the records of a task, group by group."""
        if self._failure is not None:
            return self._failure
        self._exemplars.learn(task.exemplars)
        try:
            return [
                record
                for group in task.groups
                for record in answer_items(group, self._engine, predict_only=self._job.predict_only)
            ]
        except Exception as error:  # noqa: BLE001  (raised by who is told)
            return told(error)

    def close(self) -> None:
        """Let go of the engine."""
        engine, self._engine = self._engine, None
        with suppress(Exception):
            getattr(engine, "close", lambda: None)()

    def _create_engine(self) -> Engine | None:
        plan, packed = self._job.plan, self._job.prompts
        if plan.engine == HUMAN:
            return None
        found = plan.what_runs(asking=packed is not None)
        for name, expected in self._job.expected.items():
            if found[name] != expected:
                raise InputError(
                    f"worker: another {name}: got {found[name]!r}, expected {expected!r} as where "
                    "the run was started; install the same there, and give models the same path"
                )
        return plan.create_engine(None if packed is None else packed.unpack(self._exemplars))


def told(error: Exception) -> Failure:
    """Return what is told of an error."""
    if isinstance(error, SemqaError):
        return Failure(type(error)(str(error)))
    return Failure(None, "".join(traceback.format_exception(error)))
