"""What a worker does: create the engine once and answer tasks, or score blocks of predictions.

Knows nothing of Ray: plain objects in, plain objects out. Exemplars are chosen where the run was
started; templates and exemplars travel with the tasks.
"""

from __future__ import annotations

import traceback
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.bench.plan import HUMAN
from semqa.bench.results import score_item
from semqa.bench.run import answer_items
from semqa.errors import InputError, SemqaError
from semqa.metrics import Example, ExampleScores, score_example
from semqa.prompting import PromptBuilder, Template

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from semqa.bench.plan import Item, Plan
    from semqa.bench.record import Record
    from semqa.engines import Engine
    from semqa.prompting import Form
    from semqa.prompting.prompt import Exemplar


class Job(NamedTuple):
    """What is the same for all tasks of a run.

    Attributes:
        plan: what is run.
        prompts: how questions are put to a model; None for engines that ask none.
        expected: code and model of who handed it out, as `Plan.versions` tells them.
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
        except Exception as error:  # noqa: BLE001  (the command raises it)
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
        found = plan.versions(asking=packed is not None)
        for name, expected in self._job.expected.items():
            if found[name] != expected:
                raise InputError(
                    f"A worker has {name} {found[name]!r}, but the run was started with {expected!r}.",
                    hint="Install the same versions there, and give models the same path.",
                )
        return plan.create_engine(None if packed is None else packed.unpack(self._exemplars))


def told(error: Exception) -> Failure:
    """Return what is told of an error."""
    if isinstance(error, SemqaError):
        return Failure(type(error)(str(error)))
    return Failure(None, "".join(traceback.format_exception(error)))


class Guarded:
    """A function that tells what goes wrong instead of raising it, as `Answerer` does.

    Args:
        work: the function.
    """

    def __init__(self, work: Callable[[Any], object]) -> None:
        self._work = work

    def __call__(self, task: Any) -> object:
        """Return what the function makes of a task, or a `Failure`."""
        try:
            return self._work(task)
        except Exception as error:  # noqa: BLE001  (the command raises it)
            return told(error)


class PackedPrompts(NamedTuple):
    """What a worker makes prompts from.

    Attributes:
        template: the bytes of its file.
        where: that file, for messages.
        name: the template's.
        form: as messages or as one text.
        shots: how many exemplars a prompt shows at most.
    """

    template: bytes
    where: str
    name: str
    form: Form
    shots: int

    @classmethod
    def of(cls, prompts: PromptBuilder) -> PackedPrompts:
        """Pack what makes prompts, without its exemplars."""
        template = prompts.template
        return cls(template.raw, template.where, template.name, prompts.form, prompts.shots)

    def unpack(self, exemplars: ChosenExemplars) -> PromptBuilder:
        """Return what makes the same prompts."""
        template = Template.parse(self.template, self.where, self.name)
        return PromptBuilder(template, exemplars if self.shots else None, self.shots, self.form)


class ChosenExemplars:
    """Exemplars that were chosen elsewhere, by the question that they were chosen for."""

    def __init__(self) -> None:
        self._chosen: dict[str, Sequence[Exemplar]] = {}

    def learn(self, chosen: Mapping[str, Sequence[Exemplar]]) -> None:
        """Take the exemplars of questions that are asked next, in place of those before."""
        self._chosen = dict(chosen)

    def select(self, question: str, count: int) -> Sequence[Exemplar]:
        """Return what was chosen for a question, the most useful first.

        Raises:
            InputError: nothing was.
        """
        if question not in self._chosen:
            raise InputError(f"No exemplars were chosen for the question {question!r:.80}.")
        return self._chosen[question][:count]

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Do nothing: all is chosen."""

    def identity(self) -> dict[str, object]:
        """Return nothing that a record should hold: what chose them is known elsewhere."""
        return {}


def chosen_exemplars(
    prompts: PromptBuilder | None, items: Sequence[Item]
) -> dict[str, Sequence[Exemplar]]:
    """Choose the exemplars of some items' questions."""
    if prompts is None or not prompts.shots:
        return {}
    questions = dict.fromkeys(item.question.question for item in items)
    return {question: prompts.select(question) for question in questions}


BLOCK = 2_000
"""Predictions of a block: tenths of a second of work, many times what handing it out costs."""

ScoreTask = tuple["Sequence[tuple[object, ...]]", bool, bool]
"""What is scored, and whether with the official scorer's defects, and beyond source 7."""

_EXAMPLE = attrgetter(*Example.__slots__)
_SCORES = attrgetter(*ExampleScores.__slots__)
"""As plain tuples, rows go through pickle in a third of the time; the command does that alone."""


def pack_row(row: Example | tuple[Item, str]) -> tuple[object, ...]:
    """Return what is scored as a block holds it."""
    return _EXAMPLE(row) if isinstance(row, Example) else row


def unpack_scores(block: Sequence[Sequence[object]]) -> list[ExampleScores]:
    """Return what `score_block` found."""
    return [ExampleScores(*row) for row in block]  # type: ignore[arg-type]  # their own fields


def score_block(task: ScoreTask) -> list[tuple[object, ...]]:
    """Return the scores of a block, in its order, for `unpack_scores`."""
    rows, official, all_sources = task
    return [_SCORES(_score(row, official, all_sources)) for row in rows]


def _score(row: Sequence[Any], official: bool, all_sources: bool) -> ExampleScores:
    if len(row) == len(Example.__slots__):
        return score_example(Example(*row), official=official, all_sources=all_sources)
    return score_item(*row)
