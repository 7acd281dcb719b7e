"""Options of commands that can run on Ray."""

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from semqa.cli.output import say
from semqa.distributed.settings import RaySettings
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.distributed.workers import RayWorkers


@dataclass(frozen=True, slots=True, kw_only=True)
class RayOptions(RaySettings):
    """The settings of Ray, and whether to use it."""

    distributed: Annotated[
        Literal["ray"] | None,
        Option(
            help="Run on Ray: on all CPUs of this machine, or on a cluster.",
            rich_help_panel="Distributed work (Ray)",
            envvar="SEMQA_DISTRIBUTED",
        ),
    ] = None

    @contextmanager
    def opened(self) -> "Iterator[RayWorkers | None]":
        """Start Ray or connect to it while the block runs, if --distributed is given."""
        if self.distributed is None:  # not checked before, because a grid may add it
            for name in RaySettings.__slots__:
                if getattr(self, name) is not None:
                    raise InputError("needs --distributed ray.", field=name)
            yield None
            return
        from semqa.distributed.workers import open_ray

        with open_ray(self, say) as workers:
            yield workers
