"""The settings of Ray, declared once for Python and the command line."""

import re
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from semqa.checks import check_settings
from semqa.errors import InputError

_PANEL = "Distributed work (Ray)"

MAX_WORKERS = 100_000
"""Limit that catches typos."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySettings:
    """Cluster, and number and resources of the workers."""

    ray_address: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            help="Cluster: auto, HOST:PORT, or local to start Ray for this command only.",
            show_default="RAY_ADDRESS, else local",
            rich_help_panel=_PANEL,
        ),
    ] = None
    workers: Annotated[
        str | None,
        Option(
            metavar="N|MIN-MAX",
            help="Number of workers, or a range.",
            show_default="as many as fit; for a model without GPUs, one per node",
            rich_help_panel=_PANEL,
        ),
    ] = None
    num_cpus: Annotated[
        float | None,
        Option(
            min=0.01, max=1000, help="CPUs per worker.", show_default="1", rich_help_panel=_PANEL
        ),
    ] = None
    num_gpus: Annotated[
        float | None,
        Option(
            min=0,
            max=1000,
            help="GPUs per worker; 0.5 lets two workers share one.",
            show_default="as the engine needs",
            rich_help_panel=_PANEL,
        ),
    ] = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.ray_address is not None and not self.ray_address.strip():
            raise InputError("is blank.", field="ray_address", value=self.ray_address)
        _ = self.range

    @property
    def range(self) -> tuple[int, int] | None:
        """Minimum and maximum number of workers; None for as many as fit.

        Example:
            >>> RaySettings(workers="2-8").range, RaySettings(workers="4").range
            ((2, 8), (4, 4))
        """
        if self.workers is None:
            return None
        match = re.fullmatch(r"\s*([0-9]{1,6})\s*(?:-\s*([0-9]{1,6})\s*)?", self.workers)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= low <= high <= MAX_WORKERS:
            raise InputError(
                f"must be a number or a range such as 2-8, from 1 to {MAX_WORKERS:,}, got {self.workers!r}.",
                field="workers",
                value=self.workers,
            )
        return low, high
