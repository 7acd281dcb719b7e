"""How work is spread over Ray; knows nothing of Ray, so that a wrong setting is found without it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Self

from semqa.errors import InputError

__all__ = ["MAX_WORKERS", "RaySettings"]

MAX_WORKERS = 100_000
"""More is a slip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySettings:
    """Where work is done, and by how many.

    Attributes:
        address: of a cluster, such as ``auto`` or ``10.0.0.1:6379``; None, or ``local``, starts one
            on this machine that ends with the work.
        workers: the fewest and the most of them; None for as many as there is room for.
        num_cpus: processors of a worker; 1 where None.
        num_gpus: GPUs of a worker; where None, as many as its engine needs.

    Raises:
        InputError: a setting is out of its range.
    """

    address: str | None = None
    workers: tuple[int, int] | None = None
    num_cpus: float | None = None
    num_gpus: float | None = None

    def __post_init__(self) -> None:
        if self.address is not None and not self.address.strip():
            raise InputError(
                "ray_address: got a blank one, expected such as auto or 10.0.0.1:6379; leave it out "
                "to start Ray on this machine"
            )
        if self.workers is not None:
            fewest, most = self.workers
            if not 1 <= fewest <= most <= MAX_WORKERS:
                raise InputError(
                    f"workers: got {fewest} to {most}, expected from 1 to {MAX_WORKERS:,}, the fewest "
                    "first; change it"
                )
        for name, least in (("num_cpus", 0.01), ("num_gpus", 0.0)):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and least <= value <= 1_000):
                raise InputError(
                    f"{name}: got {value}, expected from {least:g} to 1,000; change or leave it out"
                )

    @classmethod
    def read(
        cls,
        *,
        address: str | None = None,
        workers: str | None = None,
        num_cpus: float | None = None,
        num_gpus: float | None = None,
    ) -> Self:
        """Make the settings from what a command line says.

        Args:
            address: as the attribute.
            workers: a number, or the fewest and the most with a dash between.
            num_cpus: as the attribute.
            num_gpus: as the attribute.

        Raises:
            InputError: one is out of its range, or cannot be read.

        Example:
            >>> RaySettings.read(workers="2-8").workers, RaySettings.read(workers="4").workers
            ((2, 8), (4, 4))
        """
        return cls(
            address=address,
            workers=None if workers is None else _range(workers),
            num_cpus=num_cpus,
            num_gpus=num_gpus,
        )


def _range(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"\s*([0-9]{1,6})\s*(?:-\s*([0-9]{1,6})\s*)?", text)
    if found is None:
        raise InputError(
            f"workers: got {text!r}, expected a number, or the fewest and the most, such as 2-8; "
            "change it"
        )
    fewest = int(found[1])
    return fewest, fewest if found[2] is None else int(found[2])
