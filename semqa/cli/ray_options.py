"""Options of commands that can run on Ray."""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from semqa.cli.output import say
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from semqa.distributed import RayWorkers

RAY_PANEL = "Distributed work (Ray)"


class Distributed(StrEnum):
    """How work is distributed."""

    RAY = "ray"


DistributedBy = Annotated[
    Distributed | None,
    typer.Option(
        "--distributed",
        envvar="SEMQA_DISTRIBUTED",
        help="Run on Ray: on all CPUs of this machine, or on a cluster.",
        show_default=False,
        rich_help_panel=RAY_PANEL,
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        help="Cluster: auto, HOST:PORT, or local to start Ray for this command only.",
        show_default="RAY_ADDRESS, else local",
        rich_help_panel=RAY_PANEL,
    ),
]
NumWorkers = Annotated[
    str | None,
    typer.Option(
        "--workers",
        metavar="N|MIN-MAX",
        help="Number of workers, or a range.",
        show_default="as many as fit; for a model without GPUs, one per node",
        rich_help_panel=RAY_PANEL,
    ),
]
NumCpus = Annotated[
    float | None,
    typer.Option(
        "--num-cpus",
        help="CPUs per worker.",
        show_default="1",
        rich_help_panel=RAY_PANEL,
    ),
]
NumGpus = Annotated[
    float | None,
    typer.Option(
        "--num-gpus",
        help="GPUs per worker; 0.5 lets two workers share one.",
        show_default="as the engine needs",
        rich_help_panel=RAY_PANEL,
    ),
]


@contextmanager
def opened_ray(given: Mapping[str, object]) -> Iterator[RayWorkers | None]:
    """Start Ray or connect to it while the block runs, if --distributed is given.

    Yields:
        The workers, or None without --distributed.
    """
    from semqa.distributed import RaySettings, open_ray

    names = ("ray_address", "workers", "num_cpus", "num_gpus")
    more = {name: given[name] for name in names if given.get(name) is not None}
    if given.get("distributed") is None:
        for name in more:
            raise InputError("needs --distributed ray.", field=name)
        yield None
        return
    if "ray_address" in more:
        more["address"] = more.pop("ray_address")
    settings = RaySettings.read(**more)  # type: ignore[arg-type]  # `read` validates the values
    with open_ray(settings, say) as workers:
        yield workers
