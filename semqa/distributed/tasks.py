"""The work of one worker: create the engine once and answer tasks.

This module does not use Ray. Exemplars are selected in the process that started the run and sent
with the tasks.
"""

from __future__ import annotations

import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from semqa.bench.plan import HUMAN
from semqa.bench.run import answer_items
from semqa.engines import close_engine
from semqa.errors import InputError, SemqaError
from semqa.prompting import PromptBuilder, Template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.bench.plan import Item, Plan
    from semqa.bench.record import Record
    from semqa.engines import Engine
    from semqa.prompting import Form
    from semqa.prompting.prompt import Exemplar


class Job(NamedTuple):
    """Data shared by all tasks of a run.

    Attributes:
        plan: the plan of the run.
        prompts: the packed prompt builder; None for engines without a model.
        expected: code and model versions in the process that started the run, from `Plan.versions`.
    """

    plan: Plan
    prompts: PackedPrompts | None
    expected: Mapping[str, object]


class Task(NamedTuple):
    """Groups of items to answer together, and the exemplars of their questions."""

    groups: Sequence[Sequence[Item]]
    exemplars: Mapping[str, Sequence[Exemplar]]


class Failure(NamedTuple):
    """An error in a worker that ends the run: a SemqaError, or the traceback of a bug."""

    error: SemqaError | None
    traceback: str = ""

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Pack an error."""
        if isinstance(error, SemqaError):
            return cls(type(error)(str(error)))
        return cls(None, "".join(traceback.format_exception(error)))

    def reraise(self) -> None:
        """Raise the error in this process."""
        raise self.error or RuntimeError(f"a worker failed:\n{self.traceback}")


class Answerer:
    """Answers the tasks of a job with its own engine.

    If the engine cannot be created, the first task raises the error. Raised earlier, it would make
    Ray restart the worker.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._exemplars = ChosenExemplars()
        self._engine: Engine | None = None
        self._error: Exception | None = None
        try:
            self._engine = self._create_engine()
        except Exception as error:  # noqa: BLE001  (raised at the first task)
            self._error = error

    def answer(self, task: Task) -> list[Record]:
        """Return the records of a task, group by group."""
        if self._error is not None:
            raise self._error
        self._exemplars.chosen = task.exemplars
        return [record for group in task.groups for record in answer_items(group, self._engine)]

    def close(self) -> None:
        """Close the engine."""
        engine, self._engine = self._engine, None
        with suppress(Exception):
            close_engine(engine)

    def _create_engine(self) -> Engine | None:
        plan, packed = self._job.plan, self._job.prompts
        if plan.engine == HUMAN:
            return None
        found = plan.versions(asking=packed is not None)
        for name, expected in self._job.expected.items():
            if found[name] != expected:
                raise InputError(
                    f"A worker has {name} {found[name]!r}, but the run was started with "
                    f"{expected!r}.",
                    hint="Use the same versions and model paths on all nodes.",
                )
        return plan.create_engine(None if packed is None else packed.unpack(self._exemplars))


class PackedPrompts(NamedTuple):
    """A prompt builder without its exemplars, ready to pickle."""

    template: bytes
    where: str
    name: str
    form: Form
    shots: int

    @classmethod
    def of(cls, prompts: PromptBuilder) -> PackedPrompts:
        """Pack a prompt builder."""
        template = prompts.template
        return cls(template.raw, template.where, template.name, prompts.form, prompts.shots)

    def unpack(self, exemplars: ChosenExemplars) -> PromptBuilder:
        """Return an equal prompt builder."""
        template = Template.parse(self.template, self.where, self.name)
        return PromptBuilder(template, exemplars if self.shots else None, self.shots, self.form)


class ChosenExemplars:
    """Exemplars selected in the process that started the run, by question."""

    def __init__(self) -> None:
        self.chosen: Mapping[str, Sequence[Exemplar]] = {}

    def select(self, question: str, count: int) -> Sequence[Exemplar]:
        """Return the exemplars of a question, the most useful first."""
        if question not in self.chosen:
            raise InputError(f"No exemplars were selected for the question {question!r:.80}.")
        return self.chosen[question][:count]

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Do nothing: the exemplars are already selected."""

    def identity(self) -> dict[str, object]:
        """Return nothing: the process that started the run records the selector."""
        return {}


def chosen_exemplars(
    prompts: PromptBuilder | None, items: Sequence[Item]
) -> dict[str, Sequence[Exemplar]]:
    """Select the exemplars for the questions of some items."""
    if prompts is None or not prompts.shots:
        return {}
    questions = dict.fromkeys(item.question.question for item in items)
    return {question: prompts.select(question) for question in questions}
