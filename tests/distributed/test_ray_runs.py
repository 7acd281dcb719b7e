"""Runs on a Ray cluster end as runs in one process do, whatever dies on the way."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semqa.bench import Plan, run
from semqa.bench.run import Progress
from semqa.distributed.cluster import RaySettings
from semqa.distributed.workers import RayWorkers
from semqa.errors import InputError, UnavailableError
from semqa.retrieval.settings import PromptSettings
from tests.bench.test_run import Seen
from tests.cli.conftest import Command, semqa
from tests.distributed.conftest import QUESTIONS, Nodes
from tests.distributed.plans import SlowPlan
from tests.engines.openai.server import Answer, Asked, serving
from tests.questions.released import write_paq

__all__ = ["semqa"]

pytestmark = pytest.mark.slow


def record_of(folder: Path) -> tuple[Any, list[str], str]:
    """A run's record without times and machine: results, rows in their order, what was run."""
    results = json.loads((folder / "results.json").read_text("utf-8"))
    for key in ("seconds", "throughput", "machine"):
        del results[key]
    rows = (folder / "examples.jsonl").read_text("utf-8").splitlines()
    timeless = [re.sub(r'"seconds": ?[0-9.e-]+', "", row) for row in rows]
    assert timeless != rows
    return results, timeless, (folder / "run.json").read_text("utf-8")


@pytest.fixture
def alone(nodes: Nodes) -> RayWorkers:
    """One worker: each one takes seconds to start."""
    return RayWorkers(nodes.workers._ray, RaySettings(ray_address=nodes.address, workers=1))


def answers_by(plan: SlowPlan) -> dict[int, list[str]]:
    """What each process was asked."""
    return {int(log.name): log.read_text("utf-8").splitlines() for log in plan.log.iterdir()}


def test_a_run_ends_as_in_one_process(
    nodes: Nodes, plan: Callable[..., SlowPlan], expected: Path, tmp_path: Path
) -> None:
    made = plan(seconds=0.01)
    watch = Seen()
    run(made, tmp_path / "ray", watch, workers=nodes.workers)
    assert record_of(tmp_path / "ray") == record_of(expected)
    assert [each.done for each in watch.seen] == list(range(QUESTIONS + 1))
    asked = answers_by(made)
    assert 1 <= len(asked) <= 2  # a slow second worker may get nothing
    assert os.getpid() not in asked
    assert sum(map(len, asked.values())) == QUESTIONS
    machine = json.loads((tmp_path / "ray/results.json").read_text("utf-8"))["machine"]
    assert machine["distributed"]["nodes"] == 2
    assert machine["distributed"]["workers"] == 2


def test_dead_workers_change_nothing_but_a_deadly_example(
    nodes: Nodes,
    plan: Callable[..., SlowPlan],
    expected: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One worker is killed while it answers, others die each time that they are asked one question."""
    monkeypatch.setattr("semqa.distributed.workers.GROUPS", 2)
    made = plan(
        seconds=0.0,
        stuck="who sang in town 3?",
        deadly="who sang in town 7?",
        hopeless="who sang in town 30?",
    )
    killed: list[int] = []

    def kill(_: Progress) -> None:
        stuck = tmp_path / "stuck"
        if not killed and stuck.is_file() and (number := stuck.read_text("utf-8")):
            killed.append(int(number))
            os.kill(killed[0], signal.SIGKILL)

    results: Any = run(made, tmp_path / "ray", Seen(kill), workers=nodes.workers)
    asked = answers_by(made)
    assert "who sang in town 3?" in asked[killed[0]]
    again = [who for who, questions in asked.items() if "who sang in town 3?" in questions]
    assert len(again) == 2
    assert (results["answered"], results["failed"]) == (QUESTIONS - 2, 2)
    errors = {each["id"]: each["error"] for each in results["failures"]}
    assert errors["q7"].startswith("The worker died in each of 3 tries")
    assert errors["q30"] == "the question: got no hope, expected some; ask another"
    rows, others = record_of(tmp_path / "ray")[1], record_of(expected)[1]
    assert [n for n in range(QUESTIONS) if rows[n] != others[n]] == [7, 30]
    assert [json.loads(row)["id"] for row in record_rows(tmp_path / "ray")] == [
        f"q{n}" for n in range(QUESTIONS)
    ]


def test_what_fails_from_outside_ends_the_run_and_is_tried_again(
    alone: RayWorkers, plan: Callable[..., SlowPlan], expected: Path, tmp_path: Path
) -> None:
    out = tmp_path / "ray"
    with pytest.raises(UnavailableError, match="got silence"):
        run(plan(away="who sang in town 39?", seconds=0.0), out, workers=alone)
    assert (out / "examples.jsonl").stat().st_size
    run(plan(seconds=0.0), out, workers=alone)
    assert record_of(out) == record_of(expected)


def test_an_engine_that_cannot_be_made_leaves_no_run(
    alone: RayWorkers, plan: Callable[..., SlowPlan], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="expected weights"):
        run(plan(unmade=True), tmp_path / "ray", workers=alone)
    assert not (tmp_path / "ray/run.json").exists()


def test_workers_that_die_at_birth_end_the_run(
    nodes: Nodes, plan: Callable[..., SlowPlan], tmp_path: Path
) -> None:
    with pytest.raises(UnavailableError, match="Workers died while they started"):
        run(plan(stillborn=True), tmp_path / "ray", workers=nodes.workers)
    assert not (tmp_path / "ray/run.json").exists()


def test_a_worker_asks_a_model_as_one_process_does(
    alone: RayWorkers, data: Path, tmp_path: Path
) -> None:
    """With the exemplars that the first process selects, and the options of the run."""

    def reply(asked: Asked) -> Answer:
        seen = json.dumps(asked.body, sort_keys=True).encode()
        return Answer(f"By {hashlib.sha256(seen).hexdigest()} [ 1 x ].")

    prompts = PromptSettings(train=data, shots=2, exemplars="random", seed=3)
    options = {"temperature": 1.0, "seed": 3, "max_new_tokens": 12, "constraint": "off"}
    with serving(reply) as server:
        made = Plan(data, "openai:m", {**options, "base_url": server.url}, 7, prompts)
        run(made, tmp_path / "here")
        run(made, tmp_path / "ray", workers=alone)
    assert record_of(tmp_path / "ray") == record_of(tmp_path / "here")
    assert len({json.loads(row)["written"] for row in record_rows(tmp_path / "ray")}) == 7


def test_questions_are_collected_as_in_one_process(
    nodes: Nodes, semqa: Command, tmp_path: Path
) -> None:
    questions, passages = write_paq(tmp_path, 500)
    ray = ("--distributed", "ray", "--ray-address", nodes.address, "--workers", "2")
    for name, more in (("here", ()), ("ray", ray)):
        given = ("--passages", passages, "--out", tmp_path / name, *more)
        assert semqa("questions", "paq", questions, *given).code == 0
    for name in ("questions.jsonl", "counts.json"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def record_rows(folder: Path) -> list[str]:
    return (folder / "examples.jsonl").read_text("utf-8").splitlines()


def test_a_function_is_mapped_over_tasks_in_order(nodes: Nodes) -> None:
    assert nodes.workers.map(math.factorial, [3, 1, 5]) == [6, 1, 120]
    with pytest.raises(RuntimeError, match="a worker failed"):
        nodes.workers.map(math.factorial, [3, -1])


def test_a_killed_node_changes_nothing(
    nodes: Nodes,
    plan: Callable[..., SlowPlan],
    expected: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("semqa.distributed.workers.GROUPS", 2)
    made = plan(seconds=0.05)
    doomed = nodes.cluster.worker_nodes.copy().pop()

    def kill(progress: Progress) -> None:
        if progress.done > 4 and doomed in nodes.cluster.worker_nodes:
            nodes.cluster.remove_node(doomed, allow_graceful=False)

    run(made, tmp_path / "ray", Seen(kill), workers=nodes.workers)
    assert doomed not in nodes.cluster.worker_nodes
    assert record_of(tmp_path / "ray") == record_of(expected)
