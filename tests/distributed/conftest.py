"""A Ray cluster of several nodes on this machine, each with processes of its own."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from semqa.bench import run
from semqa.distributed.cluster import RaySettings, require_ray
from semqa.distributed.workers import RayWorkers, open_ray
from tests.bench.test_run import many_questions
from tests.distributed import plans
from tests.distributed.plans import SlowPlan

QUESTIONS = 40


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run these tests first: idle processes take over the last ones, and each would start a cluster."""
    items.sort(key=lambda item: Path(__file__).parent not in item.path.parents)


class Nodes(NamedTuple):
    """A cluster.

    Attributes:
        address: where it is.
        cluster: Ray's own handle of it.
        workers: what works on it, joined once for all tests.
    """

    address: str
    cluster: Any
    workers: RayWorkers


@pytest.fixture(scope="session")
def nodes() -> Iterator[Nodes]:
    """Two nodes of one processor each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        ray = require_ray()
        from ray.cluster_utils import Cluster

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray's own
            cluster: Any = Cluster(
                initialize_head=True,
                head_node_args={
                    "num_cpus": 1,
                    "include_dashboard": False,
                    "include_log_monitor": False,  # these two are processes that no test needs
                    "no_monitor": True,
                    "_system_config": {
                        "health_check_period_ms": 300,
                        "health_check_timeout_ms": 5_000,
                        "health_check_failure_threshold": 3,
                    },
                },
            )
            cluster.add_node(num_cpus=1)
            settings = RaySettings(ray_address=cluster.address, workers=2)
            with open_ray(settings) as workers:
                ray.cloudpickle.register_pickle_by_value(plans)
                yield Nodes(cluster.address, cluster, workers)
            cluster.shutdown()


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return many_questions(tmp_path_factory.mktemp("data") / "many.jsonl", QUESTIONS)


@pytest.fixture
def plan(data: Path, tmp_path: Path) -> Callable[..., SlowPlan]:
    """Make a plan; its log is a folder below the test's."""
    log = tmp_path / "log"
    log.mkdir()
    return lambda **more: SlowPlan(data, "lead-1", log=log, **more)


@pytest.fixture
def expected(plan: Callable[..., SlowPlan], tmp_path: Path) -> Path:
    """The folder of the same run in this process alone."""
    made = plan(seconds=0)
    run(made, tmp_path / "expected")
    (made.log / str(os.getpid())).unlink()
    return tmp_path / "expected"
