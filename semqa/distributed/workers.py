"""The workers of a run on Ray: what is handed out, what comes back, and what never does."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

from semqa.bench.run import failed_record
from semqa.distributed.answering import Failure, Job, Task
from semqa.distributed.cluster import joined
from semqa.distributed.placement import place_of, remote_args, room
from semqa.distributed.pool import RETRIES, answer_tasks, score_tasks
from semqa.distributed.prompts import PackedPrompts, chosen_exemplars
from semqa.distributed.scoring import BLOCK, pack_row, score_block, unpack_scores
from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from semqa.bench.plan import Item, Plan
    from semqa.bench.record import Record
    from semqa.distributed.scoring import ScoreTask
    from semqa.distributed.settings import RaySettings
    from semqa.metrics import Example, ExampleScores
    from semqa.prompting import PromptBuilder

__all__ = ["RayWorkers", "open_ray"]

ROUNDS = 3
"""How often Ray is given a task: after the first time, each of its examples alone."""

GROUPS = 16
"""Groups of a task, where no model is asked: an answer takes a millisecond, handing it out more."""

MOST_TASKS = 10_000
"""Most tasks that Ray is handed at once; more groups make longer tasks."""


@contextmanager
def open_ray(
    settings: RaySettings, say: Callable[[str], None] | None = None
) -> Iterator[RayWorkers]:
    """Start or join Ray for as long as the block runs.

    Args:
        settings: where, and how many workers.
        say: told in words what takes long, and what went wrong.

    Yields:
        What answers and scores there.

    Raises:
        InputError: there is no cluster at the address.
        UnavailableError: Ray did not start.
        MissingExtraError: Ray is not installed.
    """
    with joined(settings) as ray:
        yield RayWorkers(ray, settings, say)


class RayWorkers:
    """Answers and scores on Ray; a `semqa.bench.run.Workers`.

    Args:
        ray: the module, joined to a cluster.
        settings: how many workers, and what each gets.
        say: told in words what went wrong.
    """

    def __init__(
        self, ray: Any, settings: RaySettings, say: Callable[[str], None] | None = None
    ) -> None:
        self._ray = ray
        self._settings = settings
        self._say = say or (lambda _: None)
        self._workers = settings.workers

    def answer(
        self,
        plan: Plan,
        prompts: PromptBuilder | None,
        groups: Sequence[Sequence[Item]],
        *,
        predict_only: bool,
    ) -> Iterator[Record]:
        """Answer items, group by group, and give their records as they come.

        What a worker that died had not delivered is answered by another. An example whose worker
        dies every time comes as a failed record.

        Raises:
            InputError: the engine cannot be made, or no node has room for it.
            UnavailableError: what fails from outside, such as an endpoint; or no worker lives.
        """
        place = place_of(plan, self._settings, self._ray.cluster_resources())
        self._workers = room(place, self._settings, self._nodes())
        packed = None if prompts is None else PackedPrompts.of(prompts)
        expected = plan.versions(asking=prompts is not None)
        # By value where it must be: a plan may be of a script that workers do not have.
        job = self._ray.cloudpickle.dumps(Job(plan, packed, expected, predict_only))
        tasks = _tasks(groups, prompts)
        for round_number in range(ROUNDS):
            replied: set[int] = set()
            for number, reply in answer_tasks(
                self._ray,
                job,
                [pickle.dumps(task, pickle.HIGHEST_PROTOCOL) for task in tasks],
                place=place,
                workers=self._workers,
                alone=round_number > 0,
                remote_args=remote_args(self._ray, place),
            ):
                if isinstance(reply, Failure):
                    reply.throw()
                if number not in replied:
                    replied.add(number)
                    yield from reply
            tasks = [
                each
                for place_, task in enumerate(tasks)
                if place_ not in replied
                for each in _apart(task)
            ]
            if not tasks:
                return
            if round_number + 1 < ROUNDS:
                self._say(f"workers died: {len(tasks)} examples are answered again")
        times = ROUNDS * (RETRIES + 1)
        for task in tasks:
            for item in chain(*task.groups):
                yield failed_record(
                    item,
                    f"the worker died: got no answer in {times} tries, expected one that its process "
                    "outlives; see the memory and the logs of the node",
                    predict_only=predict_only,
                )

    def score(self, items: Sequence[Item], predictions: Sequence[str]) -> list[ExampleScores]:
        """Return the scores of items' predictions, in their order.

        Raises:
            UnavailableError: Ray stopped working.
        """
        return self._score([*zip(items, predictions, strict=True)])

    def score_examples(
        self, examples: Sequence[Example], *, official: bool = False, all_sources: bool = False
    ) -> list[ExampleScores]:
        """Return what `semqa.metrics.score_example` returns for each example, in their order.

        Args:
            examples: what is scored.
            official: reproduce the defects of the official scorer.
            all_sources: score the sources beyond 7 too.

        Raises:
            NoReferenceError: an example has no reference.
            UnavailableError: Ray stopped working.
        """
        return self._score(examples, official=official, all_sources=all_sources)

    def describe(self) -> dict[str, object]:
        """Return what worked, for the record of a run."""
        return {
            "distributed": {
                "ray": self._ray.__version__,
                "nodes": len(self._nodes()),
                "workers": list(self._workers) if self._workers is not None else None,
            }
        }

    def _score(
        self,
        rows: Sequence[Example | tuple[Item, str]],
        *,
        official: bool = False,
        all_sources: bool = False,
    ) -> list[ExampleScores]:
        tasks: list[ScoreTask] = [
            ([*map(pack_row, rows[start : start + BLOCK])], official, all_sources)
            for start in range(0, len(rows), BLOCK)
        ]
        found: dict[int, list[ExampleScores]] = {}

        def keep(number: int, reply: list[tuple[object, ...]] | Failure) -> None:
            if isinstance(reply, Failure):
                reply.throw()
            else:
                found[number] = unpack_scores(reply)

        if len(tasks) < 2:  # done before Ray has begun
            for number, task in enumerate(tasks):
                keep(number, score_block(task))
        for _ in range(ROUNDS):
            waiting = [number for number in range(len(tasks)) if number not in found]
            if not waiting:
                break
            raw = [pickle.dumps(tasks[number], pickle.HIGHEST_PROTOCOL) for number in waiting]
            most = None if self._settings.workers is None else self._settings.workers[1]
            cpus = self._settings.num_cpus or 1.0
            for place, reply in score_tasks(self._ray, raw, num_cpus=cpus, workers=most):
                keep(waiting[place], reply)
        if len(found) < len(tasks):
            raise UnavailableError(
                f"workers died while they scored: got {len(found)} of {len(tasks)} blocks after "
                f"{ROUNDS} tries, expected all; see the memory of the nodes, and give the same command "
                "again"
            )
        return [one for number in range(len(tasks)) for one in found[number]]

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
