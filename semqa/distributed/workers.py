"""Answer questions and map functions on Ray workers; work of a worker that dies is repeated.

Exemplars are selected in the process that started the run and sent with the tasks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from semqa.bench.plan import HUMAN, Item, Plan
from semqa.bench.record import Record
from semqa.bench.run import answer_items, failed_record
from semqa.distributed.cluster import RaySettings, ray_session, worker_count, worker_resources
from semqa.engines import Engine, close_engine
from semqa.errors import InputError, SemqaError, UnavailableError, first_line
from semqa.prompting import Form, PromptBuilder, Template
from semqa.prompting.prompt import Exemplar

_T = TypeVar("_T")
_R = TypeVar("_R")

TRIES = 3
"""How often an example may kill its worker; after the first time it is answered alone."""

GROUPS = 16
"""Groups per task without a model: scheduling takes longer than answering (about 1 ms)."""

FAILED_STARTS = 2
"""How many workers in a row may die while creating their engine before the run fails."""


@contextmanager
def open_ray(
    settings: RaySettings, say: Callable[[str], None] = lambda _: None
) -> Iterator[RayWorkers]:
    """Start or join Ray for the duration of the block; `say` is called with warnings."""
    with ray_session(settings) as ray:
        yield RayWorkers(ray, settings, say)


class Task(NamedTuple):
    """Groups of items to answer together, and the exemplars of their questions."""

    groups: Sequence[Sequence[Item]]
    exemplars: Mapping[str, Sequence[Exemplar]]
    tries: int = 0


class RayWorkers:
    """Answers questions on Ray; a `semqa.bench.run.Workers`. `ray` is the initialised module."""

    def __init__(
        self, ray: Any, settings: RaySettings, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._ray = ray
        self._settings = settings
        self._say = say
        self._count = settings.workers

    def answer(
        self, plan: Plan, prompts: PromptBuilder | None, groups: Sequence[Sequence[Item]]
    ) -> Iterator[Record]:
        """Answer items group by group and yield their records in order of completion.

        If a worker dies, another one answers its unfinished items. An item whose worker dies every
        time gets a failed record.

        Raises:
            SemqaError: a worker raised it.
            UnavailableError: workers die while they start.
        """
        ray = self._ray
        resources = worker_resources(plan, self._settings, ray.cluster_resources())
        self._count = worker_count(resources, self._settings, self._nodes())
        job = ray.put(Job.of(plan, prompts))
        actor = ray.remote(num_cpus=resources.num_cpus, num_gpus=resources.num_gpus)(Answerer)
        waiting = deque(_tasks(groups, prompts))
        starting: dict[Any, Any] = {}
        busy: dict[Any, tuple[Any, Task]] = {}
        deaths = 0

        def start() -> None:
            worker = actor.remote(job)
            starting[worker.start.remote()] = worker

        for _ in range(min(self._count, len(waiting))):
            start()
        # Only workers that have started get tasks: others may wait for resources for ever.
        while waiting or busy:
            (reply,), _ = ray.wait([*starting, *busy], num_returns=1)
            worker, task = busy.pop(reply, None) or (starting.pop(reply), None)
            try:
                records = self._get(reply)
            except ray.exceptions.RayActorError as error:
                start()
                if task is None:
                    deaths += 1
                    if deaths == FAILED_STARTS:
                        raise UnavailableError(
                            f"Workers died while they started: {first_line(error)} Check that the "
                            "model fits into memory, then run the same command again; finished "
                            "examples are kept."
                        ) from error
                else:
                    self._say("a worker died; its examples are tried again")
                    again = _split(task)
                    waiting.extend(each for each in again if each.tries < TRIES)
                    yield from _given_up(each for each in again if each.tries == TRIES)
                continue
            if task is not None:
                yield from records
            deaths = 0
            if waiting:
                task = waiting.popleft()
                busy[worker.answer.remote(task)] = worker, task
        for worker in starting.values():
            ray.kill(worker)

    def map(self, work: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        """Apply a function, which workers can import, to each task; return the results in order."""
        if len(tasks) < 2:  # faster than a Ray task
            return [work(task) for task in tasks]
        remote = self._ray.remote(
            num_cpus=self._settings.num_cpus or 1.0,
            num_gpus=self._settings.num_gpus or 0.0,
            max_retries=TRIES,
        )(_apply)
        most = self._settings.workers or len(tasks)
        replies: list[Any] = []
        running: list[Any] = []
        for task in tasks:
            if len(running) == most:
                _, running = self._ray.wait(running)
            replies.append(remote.remote(work, task))
            running.append(replies[-1])
        try:
            return [self._get(reply) for reply in replies]
        except self._ray.exceptions.RayError as error:
            raise UnavailableError(
                f"Ray stopped working: {first_line(error)}. Check the memory of the nodes and try "
                "again."
            ) from error

    def describe(self) -> dict[str, object]:
        """Return the Ray version and the number of nodes and workers, for the record of a run."""
        return {
            "distributed": {
                "ray": self._ray.__version__,
                "nodes": len(self._nodes()),
                "workers": self._count,
            }
        }

    def _nodes(self) -> list[Mapping[str, float]]:
        return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]

    def _get(self, reply: Any) -> Any:
        """Return a reply, or raise the worker's error without Ray's traceback."""
        try:
            return self._ray.get(reply)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, SemqaError):
                raise error.cause from None
            raise RuntimeError(f"a worker failed:\n{error}") from error


def _apply(work: Callable[[_T], _R], task: _T) -> _R:
    return work(task)


def _tasks(groups: Sequence[Sequence[Item]], prompts: PromptBuilder | None) -> list[Task]:
    """Split groups into tasks: one group per task with a model, several without."""
    size = 1 if prompts is not None else GROUPS
    return [
        Task(some, _exemplars(prompts, [*chain(*some)]))
        for some in (groups[start : start + size] for start in range(0, len(groups), size))
    ]


def _exemplars(
    prompts: PromptBuilder | None, items: Sequence[Item]
) -> dict[str, Sequence[Exemplar]]:
    if prompts is None or not prompts.shots:
        return {}
    questions = dict.fromkeys(item.question.question for item in items)
    return {question: prompts.select(question) for question in questions}


def _split(task: Task) -> list[Task]:
    """Return tasks of one item, with one more try."""
    return [Task([[item]], task.exemplars, task.tries + 1) for item in chain(*task.groups)]


def _given_up(tasks: Iterator[Task]) -> Iterator[Record]:
    for task in tasks:
        for item in chain(*task.groups):
            yield failed_record(
                item,
                f"The worker died in each of {TRIES} tries. Check the node's memory and logs.",
            )


class Job(NamedTuple):
    """Data shared by all tasks of a run.

    Attributes:
        prompts: the parts of the prompt builder without its selector; None without a model.
        versions: of code and model in the process that started the run, from `Plan.versions`.
    """

    plan: Plan
    prompts: tuple[tuple[bytes, str, str], int, Form] | None
    versions: Mapping[str, object]

    @classmethod
    def of(cls, plan: Plan, prompts: PromptBuilder | None) -> Job:
        """Return the job of a plan."""
        versions = plan.versions(asking=prompts is not None)
        if prompts is None:
            return cls(plan, None, versions)
        template = prompts.template
        parts = (template.raw, template.where, template.name)
        return cls(plan, (parts, prompts.shots, prompts.form), versions)


class Answerer:
    """A worker: creates the engine once and answers tasks."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._exemplars = ChosenExemplars()
        self._engine: Engine | None = None

    def start(self) -> None:
        """Create the engine."""
        plan, packed, versions = self._job
        if plan.engine == HUMAN:
            return
        found = plan.versions(asking=packed is not None)
        for name, expected in versions.items():
            if found[name] != expected:
                raise InputError(
                    f"A worker has {name} {found[name]!r}, but the run was started with "
                    f"{expected!r}.",
                    hint="Use the same versions and model paths on all nodes.",
                )
        prompts = None
        if packed is not None:
            template, shots, form = packed
            chosen = self._exemplars if shots else None
            prompts = PromptBuilder(Template.parse(*template), chosen, shots, form)
        self._engine = plan.create_engine(prompts)

    def answer(self, task: Task) -> list[Record]:
        """Return the records of a task, group by group."""
        self._exemplars.chosen = task.exemplars
        return [record for group in task.groups for record in answer_items(group, self._engine)]

    def __del__(self) -> None:
        with suppress(Exception):
            close_engine(self._engine)


class ChosenExemplars:
    """Exemplars selected in the process that started the run, by question."""

    def __init__(self) -> None:
        self.chosen: Mapping[str, Sequence[Exemplar]] = {}

    def select(self, question: str, count: int) -> Sequence[Exemplar]:
        """Return the exemplars of a question, the most useful first."""
        return self.chosen[question][:count]

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Do nothing: the exemplars are already selected."""

    def identity(self) -> dict[str, object]:
        """Return nothing: the process that started the run records the selector."""
        return {}
