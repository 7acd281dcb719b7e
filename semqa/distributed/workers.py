"""Run tasks on Ray workers: scheduling, replies, and retries after a worker dies."""

from __future__ import annotations

import pickle
import warnings
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from semqa.bench.run import failed_record
from semqa.distributed.cluster import ray_session, worker_range, worker_resources
from semqa.distributed.tasks import Answerer, Failure, Job, PackedPrompts, Task, chosen_exemplars
from semqa.errors import UnavailableError, first_line
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from semqa.bench.plan import Item, Plan
    from semqa.bench.record import Record
    from semqa.distributed.cluster import WorkerResources
    from semqa.distributed.settings import RaySettings
    from semqa.prompting import PromptBuilder

_T = TypeVar("_T")
_R = TypeVar("_R")

ROUNDS = 3
"""Maximum submissions of a task; after the first, each of its examples is submitted alone."""

GROUPS = 16
"""Groups per task without a model: scheduling takes longer than answering (about 1 ms)."""

MAX_TASKS = 10_000
"""Maximum number of tasks submitted at once; tasks get larger if there are more groups."""

RETRIES = 1
"""How often Ray itself retries a task after its worker died."""

RESTARTS = 3
"""How often Ray restarts a worker before it replaces it."""

INIT_DEATHS = 1
"""How many workers in a row may die while creating their engine before the run fails."""


@contextmanager
def open_ray(
    settings: RaySettings, say: Callable[[str], None] = lambda _: None
) -> Iterator[RayWorkers]:
    """Start or join Ray for the duration of the block.

    Args:
        settings: address, and number and resources of the workers.
        say: called with messages about problems.
    """
    with ray_session(settings) as ray:
        yield RayWorkers(ray, settings, say)


class RayWorkers:
    """Answers questions on Ray; a `semqa.bench.run.Workers`. `ray` is the initialized module."""

    def __init__(
        self, ray: Any, settings: RaySettings, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._ray = ray
        self._settings = settings
        self._say = say
        self._workers = settings.range

    def answer(
        self, plan: Plan, prompts: PromptBuilder | None, groups: Sequence[Sequence[Item]]
    ) -> Iterator[Record]:
        """Answer items group by group and yield their records in order of completion.

        If a worker dies, another one answers its unfinished items. An item whose worker dies every
        time gets a failed record.
        """
        resources = worker_resources(plan, self._settings, self._ray.cluster_resources())
        self._workers = worker_range(resources, self._settings, self._nodes())
        packed = None if prompts is None else PackedPrompts.of(prompts)
        expected = plan.versions(asking=prompts is not None)
        # cloudpickle, because the plan's class may be in a script that workers do not have.
        job = self._ray.cloudpickle.dumps(Job(plan, packed, expected))
        tasks = _tasks(groups, prompts)
        for round_number in range(ROUNDS):
            replied: set[int] = set()
            replies = answer_tasks(
                self._ray, job, tasks, resources, self._workers, one_at_a_time=round_number > 0
            )
            for number, records in replies:
                if number not in replied:
                    replied.add(number)
                    yield from records
            unanswered = [task for number, task in enumerate(tasks) if number not in replied]
            tasks = [single for task in unanswered for single in _split(task)]
            if not tasks:
                return
            if round_number + 1 < ROUNDS:
                self._say(f"workers died: retrying {len(tasks)} examples")
        times = ROUNDS * (RETRIES + 1)
        for task in tasks:
            for item in chain(*task.groups):
                yield failed_record(
                    item,
                    f"The worker died in each of {times} tries. Check the node's memory and logs.",
                )

    def map(self, work: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        """Apply a function to each task and return the results in order.

        Args:
            work: a function from a module that the workers can import.
            tasks: arguments that can be pickled.
        """
        if len(tasks) < 2:  # faster than a Ray task
            return [work(task) for task in tasks]
        results: dict[int, _R] = {}
        for _ in range(ROUNDS):
            pending = [number for number in range(len(tasks)) if number not in results]
            if not pending:
                break
            batch = [tasks[number] for number in pending]
            for index, reply in map_tasks(self._ray, work, batch, self._settings):
                results[pending[index]] = reply
        if len(results) < len(tasks):
            raise UnavailableError(
                f"Workers died: {len(results)} of {len(tasks)} blocks are done after {ROUNDS} "
                "tries. Check the memory of the nodes and try again."
            )
        return [results[number] for number in range(len(tasks))]

    def describe(self) -> dict[str, object]:
        """Return the Ray version and the number of nodes and workers, for the record of a run."""
        return {
            "distributed": {
                "ray": self._ray.__version__,
                "nodes": len(self._nodes()),
                "workers": list(self._workers) if self._workers is not None else None,
            }
        }

    def _nodes(self) -> list[Mapping[str, float]]:
        return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]


def _tasks(groups: Sequence[Sequence[Item]], prompts: PromptBuilder | None) -> list[Task]:
    """Split groups into tasks: one group per task with a model, several without."""
    size = max(1 if prompts is not None else GROUPS, -(-len(groups) // MAX_TASKS))
    return [
        Task(some, chosen_exemplars(prompts, [*chain(*some)]))
        for some in (groups[start : start + size] for start in range(0, len(groups), size))
    ]


def _split(task: Task) -> Iterator[Task]:
    """Split a task into tasks of one item."""
    for item in chain(*task.groups):
        question = item.question.question
        chosen = {question: task.exemplars[question]} if task.exemplars else {}
        yield Task([[item]], chosen)


class _AnswerActor:
    """A Ray actor that runs an `Answerer` on pickled tasks."""

    def __init__(self, job: bytes) -> None:
        self._answerer = Answerer(pickle.loads(job))  # noqa: S301  (our own)

    def __call__(self, batch: Any) -> Any:
        return _replies(batch, self._answerer.answer)

    def __del__(self) -> None:
        with suppress(AttributeError):
            self._answerer.close()


def _replies(batch: Any, work: Callable[[Any], object]) -> Any:
    pa: Any = require("pyarrow", extra="ray", purpose="--distributed ray")
    replies = []
    for raw in batch.column("task").to_pylist():
        reply: object
        try:
            reply = work(pickle.loads(raw))  # noqa: S301  (our own)
        except Exception as error:  # noqa: BLE001  (raised in the main process)
            reply = Failure.of(error)
        replies.append(pickle.dumps(reply, pickle.HIGHEST_PROTOCOL))
    return pa.table({"number": batch.column("number"), "reply": pa.array(replies, pa.binary())})


def answer_tasks(
    ray: Any,
    job: bytes,
    tasks: Sequence[Task],
    resources: WorkerResources,
    workers: tuple[int, int],
    *,
    one_at_a_time: bool,
) -> Iterator[tuple[int, Any]]:
    """Yield the number and the records of each task in order of completion.

    Args:
        ray: the initialized module.
        job: the pickled job.
        tasks: the tasks to answer.
        resources: resources per worker.
        workers: minimum and maximum number of workers.
        one_at_a_time: queue no task at a busy worker, so that a dying worker loses only one.

    Raises:
        SemqaError: a worker raised it.
        UnavailableError: no worker could be started, or Ray stopped working.
    """
    low, high = workers
    # A fixed size must be able to shrink: after a node died, its workers wait for resources.
    strategy = ray.data.ActorPoolStrategy(
        min_size=low if low < high else 1,
        max_size=high,
        initial_size=min(low if low < high else high, len(tasks)),
        max_tasks_in_flight_per_actor=1 if one_at_a_time else None,
    )
    yield from _run(
        ray,
        _AnswerActor,
        tasks,
        compute=strategy,
        fn_constructor_args=[job],
        num_cpus=resources.num_cpus,
        num_gpus=resources.num_gpus,
        max_restarts=RESTARTS,
        max_task_retries=RETRIES,
    )


def map_tasks(
    ray: Any, work: Callable[[Any], object], tasks: Sequence[object], settings: RaySettings
) -> Iterator[tuple[int, Any]]:
    """Yield the number and the result of a function for each task, in order of completion."""
    high = None if settings.range is None else settings.range[1]
    yield from _run(
        ray,
        partial(_replies, work=work),
        tasks,
        compute=ray.data.TaskPoolStrategy(size=high),
        num_cpus=settings.num_cpus or 1.0,
        num_gpus=settings.num_gpus or 0.0,
    )


def _run(ray: Any, work: Any, tasks: Sequence[object], **options: Any) -> Iterator[tuple[int, Any]]:
    rows = [
        {"number": number, "task": pickle.dumps(task, pickle.HIGHEST_PROTOCOL)}
        for number, task in enumerate(tasks)
    ]
    with _no_warnings(), _data_settings(ray):
        dataset = ray.data.from_items(rows, override_num_blocks=len(rows))
        done = dataset.map_batches(work, batch_size=1, batch_format="pyarrow", **options)
        replies = iter(
            done.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
        )
    while True:
        try:
            with _no_warnings():
                batch = next(replies, None)
        except ray.exceptions.RayError as error:
            raise UnavailableError(
                f"Ray stopped working: {first_line(error)}. Check that the model fits into "
                "memory, then run the same command again; finished examples are kept."
            ) from error
        if batch is None:
            return
        numbers, raw = batch.column("number").to_pylist(), batch.column("reply").to_pylist()
        for number, packed in zip(numbers, raw, strict=True):
            reply = pickle.loads(packed)  # noqa: S301  (our own)
            if isinstance(reply, Failure):
                reply.reraise()
            yield number, reply


@contextmanager
def _no_warnings() -> Iterator[None]:
    """Hide Ray's deprecation warnings, which the user cannot act on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _data_settings(ray: Any) -> Iterator[None]:
    """Make Ray Data continue after lost tasks, without output; restore its settings at the end."""
    context = ray.data.DataContext.get_current()
    settings = {
        "max_errored_blocks": -1,
        "max_consecutive_actor_init_deaths": INIT_DEATHS,
        "enable_progress_bars": False,
        "print_on_execution_start": False,
    }
    before = {name: getattr(context, name) for name in settings if hasattr(context, name)}
    for name in before:
        setattr(context, name, settings[name])
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
