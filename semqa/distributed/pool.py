"""Tasks in, replies out, through Ray Data; a task whose worker died comes back without a reply.

Knows nothing of questions: tasks and replies are bytes. Ray places the workers, hands out the
tasks, starts workers that died anew and gives them their tasks again.
"""

from __future__ import annotations

import pickle
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from semqa.distributed.answering import Answerer
from semqa.distributed.scoring import score_block
from semqa.errors import UnavailableError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from semqa.distributed.placement import Place

__all__ = ["answer_tasks", "score_tasks"]

RETRIES = 1
"""How often Ray hands a task out again whose worker died."""

RESTARTS = 3
"""How often Ray starts a worker anew; then it takes another one."""

INIT_DEATHS = 1
"""How many workers in a row may die while they make their engine, before all is given up."""


class _AnswerActor:
    """A worker of Ray: an `Answerer`, and bytes in and out."""

    def __init__(self, job: bytes) -> None:
        self._answerer = Answerer(pickle.loads(job))  # noqa: S301  (our own)

    def __call__(self, batch: Any) -> Any:
        return _replies(batch, self._answerer.answer)

    def __del__(self) -> None:
        with suppress(AttributeError):
            self._answerer.close()


def _score(batch: Any) -> Any:
    return _replies(batch, score_block)


def _replies(batch: Any, work: Callable[[Any], object]) -> Any:
    pa: Any = require("pyarrow", extra="ray", purpose="--distributed ray")
    tasks = [pickle.loads(raw) for raw in batch.column("task").to_pylist()]  # noqa: S301  (our own)
    replies = [pickle.dumps(work(task), pickle.HIGHEST_PROTOCOL) for task in tasks]
    return pa.table({"number": batch.column("number"), "reply": pa.array(replies, pa.binary())})


def answer_tasks(
    ray: Any,
    job: bytes,
    tasks: Sequence[bytes],
    *,
    place: Place,
    workers: tuple[int, int],
    alone: bool,
    remote_args: Callable[[], dict[str, Any]] | None,
) -> Iterator[tuple[int, Any]]:
    """Give the replies of an `Answerer` to tasks, with the number of each, as they come.

    Args:
        ray: the module, joined to a cluster.
        job: what the workers are made from, pickled.
        tasks: likewise pickled.
        place: what a worker needs.
        workers: the fewest and the most.
        alone: no other task waits at a worker for the one that it is at: none dies with it.
        remote_args: makes further arguments of a worker.

    Raises:
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
    more: dict[str, Any] = {} if remote_args is None else {"ray_remote_args_fn": remote_args}
    yield from _run(
        ray,
        _AnswerActor,
        tasks,
        compute=strategy,
        fn_constructor_args=[job],
        num_cpus=place.num_cpus,
        num_gpus=0 if place.spread else place.num_gpus,
        max_restarts=RESTARTS,
        max_task_retries=RETRIES,
        **more,
    )


def score_tasks(
    ray: Any, tasks: Sequence[bytes], *, num_cpus: float, workers: int | None
) -> Iterator[tuple[int, Any]]:
    """Give the replies of `semqa.distributed.scoring.score_block`, as `answer_tasks` does.

    Args:
        ray: the module, joined to a cluster.
        tasks: pickled.
        num_cpus: processors of a worker.
        workers: the most of them; None for as many as there is room for.

    Raises:
        UnavailableError: Ray stopped working.
    """
    strategy = ray.data.TaskPoolStrategy(size=workers)
    yield from _run(ray, _score, tasks, compute=strategy, num_cpus=num_cpus)


def _run(ray: Any, work: Any, tasks: Sequence[bytes], **how: Any) -> Iterator[tuple[int, Any]]:
    rows = [{"number": number, "task": task} for number, task in enumerate(tasks)]
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
                f"Ray stopped working: got {_first_line(error)!r}, expected workers that live; see "
                "that the model fits into their memory, and give the same command again: what is "
                "done is kept"
            ) from error
        if batch is None:
            return
        numbers, raw = batch.column("number").to_pylist(), batch.column("reply").to_pylist()
        for number, reply in zip(numbers, raw, strict=True):
            yield number, pickle.loads(reply)  # noqa: S301  (our own)


@contextmanager
def _unwarned() -> Iterator[None]:
    """Keep Ray's warnings of what its next versions will be like from who cannot act on them."""
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
