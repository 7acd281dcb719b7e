"""The workers of a run on Ray: what is handed out, what comes back, and what never does."""

from __future__ import annotations

import pickle
import warnings
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from semqa.bench.run import failed_record
from semqa.distributed.cluster import joined, place_of, room
from semqa.distributed.tasks import (
    Answerer,
    Failure,
    Job,
    PackedPrompts,
    Task,
    chosen_exemplars,
)
from semqa.errors import UnavailableError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from semqa.bench.plan import Item, Plan
    from semqa.bench.record import Record
    from semqa.distributed.cluster import Place, RaySettings
    from semqa.prompting import PromptBuilder

_T = TypeVar("_T")
_R = TypeVar("_R")

ROUNDS = 3
"""How often Ray is given a task: after the first time, each of its examples alone."""

GROUPS = 16
"""Groups of a task, where no model is asked: an answer takes a millisecond, handing it out more."""

MOST_TASKS = 10_000
"""Most tasks that Ray is handed at once; more groups make longer tasks."""

RETRIES = 1
"""How often Ray hands a task out again whose worker died."""

RESTARTS = 3
"""How often Ray starts a worker anew; then it takes another one."""

INIT_DEATHS = 1
"""How many workers in a row may die while they make their engine, before all is given up."""


@contextmanager
def open_ray(
    settings: RaySettings, say: Callable[[str], None] = lambda _: None
) -> Iterator[RayWorkers]:
    """Start or join Ray for as long as the block runs.

    Args:
        settings: where, and how many workers.
        say: told in words what went wrong.

    Yields:
        Workers that answer there.
    """
    with joined(settings) as ray:
        yield RayWorkers(ray, settings, say)


class RayWorkers:
    """Answers on Ray, the module joined to a cluster; a `semqa.bench.run.Workers`."""

    def __init__(
        self, ray: Any, settings: RaySettings, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._ray = ray
        self._settings = settings
        self._say = say
        self._workers = settings.workers

    def answer(
        self,
        plan: Plan,
        prompts: PromptBuilder | None,
        groups: Sequence[Sequence[Item]],
    ) -> Iterator[Record]:
        """Answer items, group by group, and give their records as they come.

        What a worker that died had not delivered is answered by another. An example whose worker
        dies every time comes as a failed record.
        """
        place = place_of(plan, self._settings, self._ray.cluster_resources())
        self._workers = room(place, self._settings, self._nodes())
        packed = None if prompts is None else PackedPrompts.of(prompts)
        expected = plan.versions(asking=prompts is not None)
        # By value where it must be: a plan may be of a script that workers do not have.
        job = self._ray.cloudpickle.dumps(Job(plan, packed, expected))
        tasks = _tasks(groups, prompts)
        for round_number in range(ROUNDS):
            replied: set[int] = set()
            replies = answer_tasks(
                self._ray, job, tasks, place, self._workers, alone=round_number > 0
            )
            for number, records in replies:
                if number not in replied:
                    replied.add(number)
                    yield from records
            left = [task for number, task in enumerate(tasks) if number not in replied]
            tasks = [each for task in left for each in _apart(task)]
            if not tasks:
                return
            if round_number + 1 < ROUNDS:
                self._say(f"workers died: {len(tasks)} examples are answered again")
        times = ROUNDS * (RETRIES + 1)
        for task in tasks:
            for item in chain(*task.groups):
                yield failed_record(
                    item,
                    f"The worker died in each of {times} tries; check memory and logs of the node.",
                )

    def map(self, work: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        """Return what a function makes of each task, in order.

        Args:
            work: a function of a module that the workers have.
            tasks: what can be pickled.
        """
        if len(tasks) < 2:  # done before Ray has begun
            return [work(task) for task in tasks]
        found: dict[int, _R] = {}
        for _ in range(ROUNDS):
            waiting = [number for number in range(len(tasks)) if number not in found]
            if not waiting:
                break
            some = [tasks[number] for number in waiting]
            for place, reply in map_tasks(self._ray, work, some, self._settings):
                found[waiting[place]] = reply
        if len(found) < len(tasks):
            raise UnavailableError(
                f"Workers died: {len(found)} of {len(tasks)} blocks are done after {ROUNDS} tries. "
                "Check the memory of the nodes, and try again."
            )
        return [found[number] for number in range(len(tasks))]

    def describe(self) -> dict[str, object]:
        """Return what worked, for the record of a run."""
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
    """Put groups into tasks: a group a task where a model is asked, which takes seconds."""
    size = max(1 if prompts is not None else GROUPS, -(-len(groups) // MOST_TASKS))
    return [
        Task(some, chosen_exemplars(prompts, [*chain(*some)]))
        for some in (groups[start : start + size] for start in range(0, len(groups), size))
    ]


def _apart(task: Task) -> Iterator[Task]:
    """Take a task apart into tasks of one item."""
    for item in chain(*task.groups):
        question = item.question.question
        chosen = {question: task.exemplars[question]} if task.exemplars else {}
        yield Task([[item]], chosen)


class _AnswerActor:
    """A worker of Ray: an `Answerer`, and bytes in and out."""

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
        except Exception as error:  # noqa: BLE001  (the command raises it)
            reply = Failure.of(error)
        replies.append(pickle.dumps(reply, pickle.HIGHEST_PROTOCOL))
    return pa.table({"number": batch.column("number"), "reply": pa.array(replies, pa.binary())})


def answer_tasks(
    ray: Any,
    job: bytes,
    tasks: Sequence[Task],
    place: Place,
    workers: tuple[int, int],
    *,
    alone: bool,
) -> Iterator[tuple[int, Any]]:
    """Give the records of tasks, with the number of each task, as they come.

    Args:
        ray: the module, joined to a cluster.
        job: what the workers are made from, pickled.
        tasks: what they answer.
        place: what a worker needs.
        workers: the fewest and the most.
        alone: no other task waits at a worker for the one that it is at: none dies with it.

    Raises:
        SemqaError: what a worker raised.
        UnavailableError: no worker could be started, or Ray stopped working.
    """
    fewest, most = workers
    # A fixed number may shrink: a worker whose node died waits for another one's place.
    strategy = ray.data.ActorPoolStrategy(
        min_size=fewest if fewest < most else 1,
        max_size=most,
        initial_size=min(fewest if fewest < most else most, len(tasks)),
        max_tasks_in_flight_per_actor=1 if alone else None,
    )
    yield from _run(
        ray,
        _AnswerActor,
        tasks,
        compute=strategy,
        fn_constructor_args=[job],
        num_cpus=place.num_cpus,
        num_gpus=place.num_gpus,
        max_restarts=RESTARTS,
        max_task_retries=RETRIES,
    )


def map_tasks(
    ray: Any, work: Callable[[Any], object], tasks: Sequence[object], settings: RaySettings
) -> Iterator[tuple[int, Any]]:
    """Give what a function makes of tasks, as `answer_tasks` does."""
    most = None if settings.workers is None else settings.workers[1]
    yield from _run(
        ray,
        partial(_replies, work=work),
        tasks,
        compute=ray.data.TaskPoolStrategy(size=most),
        num_cpus=settings.num_cpus or 1.0,
        num_gpus=settings.num_gpus or 0.0,
    )


def _run(ray: Any, work: Any, tasks: Sequence[object], **how: Any) -> Iterator[tuple[int, Any]]:
    rows = [
        {"number": number, "task": pickle.dumps(task, pickle.HIGHEST_PROTOCOL)}
        for number, task in enumerate(tasks)
    ]
    with _unwarned(), _settings(ray):
        asked = ray.data.from_items(rows, override_num_blocks=len(rows))
        done = asked.map_batches(work, batch_size=1, batch_format="pyarrow", **how)
        replies = iter(
            done.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
        )
    while True:
        try:
            with _unwarned():
                batch = next(replies, None)
        except ray.exceptions.RayError as error:
            raise UnavailableError(
                f"Ray stopped working: {_first_line(error)}. Check that the model fits into memory, "
                "and give the same command again; finished examples are kept."
            ) from error
        if batch is None:
            return
        numbers, raw = batch.column("number").to_pylist(), batch.column("reply").to_pylist()
        for number, packed in zip(numbers, raw, strict=True):
            reply = pickle.loads(packed)  # noqa: S301  (our own)
            if isinstance(reply, Failure):
                reply.throw()
            yield number, reply


@contextmanager
def _unwarned() -> Iterator[None]:
    """Hide Ray's warnings about its next versions, which the user cannot act on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _settings(ray: Any) -> Iterator[None]:
    """Have Ray Data go on when a task is lost, and say nothing; as before, afterwards."""
    context = ray.data.DataContext.get_current()
    wanted = {
        "max_errored_blocks": -1,
        "max_consecutive_actor_init_deaths": INIT_DEATHS,
        "enable_progress_bars": False,
        "print_on_execution_start": False,
    }
    before = {name: getattr(context, name) for name in wanted if hasattr(context, name)}
    for name in before:
        setattr(context, name, wanted[name])
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__
