"""The settings of Ray, declared once for Python and the command line."""

from dataclasses import dataclass
from typing import Annotated

from typer import Option

from semqa.checks import check_settings
from semqa.errors import InputError

_PANEL = "Distributed work (Ray)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySettings:
    """Cluster, and number and resources of the workers; the limit of workers catches typos."""

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
        int | None,
        Option(
            min=1,
            max=100_000,
            metavar="N",
            help="Number of workers.",
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
