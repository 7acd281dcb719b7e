"""What is asked for, what a worker needs, and where there is room; no Ray in it."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from semqa.bench import Plan
from semqa.distributed.cluster import RaySettings, WorkerResources, worker_count, worker_resources
from semqa.distributed.workers import open_ray
from semqa.errors import InputError, MissingExtraError
from tests.cli.conftest import EXAMPLES, Command, fails, semqa

__all__ = ["fails", "semqa"]

DATA = EXAMPLES / "quotesum.jsonl"
GPUS = {"CPU": 16.0, "GPU": 8.0}


@pytest.mark.parametrize(
    ("engine", "options", "resources"),
    [
        ("extractive", {}, WorkerResources(1, 0)),
        ("openai:m", {}, WorkerResources(1, 0)),
        ("transformers:m", {}, WorkerResources(1, 1, loads_model=True)),
        ("transformers:m", {"device": "cpu"}, WorkerResources(1, 0, loads_model=True)),
        ("vllm:m", {}, WorkerResources(1, 1, loads_model=True)),
        (
            "vllm:m",
            {"tensor_parallel_size": 2, "engine_args": {"pipeline_parallel_size": 2}},
            WorkerResources(1, 4, True),
        ),
    ],
)
def test_what_a_worker_needs(
    engine: str, options: dict[str, object], resources: WorkerResources
) -> None:
    assert worker_resources(Plan(DATA, engine, options), RaySettings(), GPUS) == resources


def test_without_gpus_a_model_needs_none_and_what_is_asked_for_counts() -> None:
    plan = Plan(DATA, "vllm:m", {"tensor_parallel_size": 2})
    assert worker_resources(plan, RaySettings(), {"CPU": 4.0}).num_gpus == 0
    asked = RaySettings(num_gpus=0.5, num_cpus=3)
    assert worker_resources(Plan(DATA, "transformers:m"), asked, GPUS)[:2] == (3, 0.5)


def test_workers_fill_the_nodes() -> None:
    def most(resources: WorkerResources, *nodes: dict[str, float]) -> int:
        return worker_count(resources, RaySettings(), [*nodes])

    assert most(WorkerResources(2, 0), {"CPU": 3.0}, {"CPU": 4.0}) == 3
    model = WorkerResources(1, 0, loads_model=True)
    assert most(model, {"CPU": 4.0}, {"CPU": 2.0}, {}) == 2
    assert most(WorkerResources(1, 4, loads_model=True), GPUS, GPUS, {"CPU": 64.0}) == 4
    assert worker_count(model, RaySettings(workers=7), [GPUS]) == 7
    for resources in (WorkerResources(8, 0), WorkerResources(1, 1)):
        with pytest.raises(InputError, match="No node has room"):
            most(resources, {"CPU": 4.0}, {"CPU": 4.0})


def test_ray_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"--distributed ray needs the extra ray"):
        open_ray(RaySettings()).__enter__()


def test_flags_that_need_another(fails: Any, tmp_path: Path) -> None:
    bench = ["bench", "quotesum", "--data", DATA, "--out", tmp_path / "o"]
    said = fails(*bench, "--workers", "2")
    assert "--workers needs --distributed ray" in said
    assert "'--workers'" in fails(*bench, "--distributed", "ray", "--workers", "0")
    assert not (tmp_path / "o").exists()


def test_a_key_of_a_grid(semqa: Command, tmp_path: Path) -> None:
    config = tmp_path / "runs.yaml"
    config.write_text(f"data: {DATA}\nout: {tmp_path}/o\nengine: lead-1\ndistributed: spark\n")
    done = semqa("bench", "quotesum", "--config", config)
    assert done.code == 2
    assert "runs.yaml:4: distributed cannot be 'spark': " in done.err


def test_an_address_where_nobody_listens_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    for wrong in (address, "127.0.0.1:99999"):
        with (
            pytest.raises(InputError, match=r"ray_address .* is not reachable"),
            open_ray(RaySettings(ray_address=wrong)),
        ):
            pytest.fail("there is no cluster")
