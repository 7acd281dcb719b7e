"""The processes of one training, as ``torchrun`` and ``accelerate launch`` start them.

Each trains on its share of every batch. The first of them alone writes to the folder of the
training, and tells the others what it found there.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Ranks"]

T = TypeVar("T")

_PATIENCE = timedelta(hours=2)
"""How long a process waits for the others: one may write a large model meanwhile."""
_SHARDED = {"ACCELERATE_USE_FSDP": "FSDP", "ACCELERATE_USE_DEEPSPEED": "DeepSpeed"}


class Ranks(NamedTuple):
    """This process among those of a training.

    Attributes:
        rank: its number, from 0.
        size: how many there are.
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls, device: str | None) -> Ranks:
        """Join the processes that the environment tells of; alone where it tells of none.

        Args:
            device: ``cpu`` keeps off the GPUs.

        Raises:
            InputError: weights would be split between the processes.
        """
        if os.environ.get("LOCAL_RANK", "-1") == "-1" or os.environ.get("WORLD_SIZE", "1") == "1":
            return cls()
        for name, what in _SHARDED.items():
            if os.environ.get(name, "").lower() in ("1", "true"):
                raise InputError(
                    f"{name}: got {what}, expected processes that each hold the whole model; choose "
                    "MULTI_GPU or MULTI_CPU for accelerate, or use torchrun"
                )
        from accelerate import PartialState

        state = PartialState(cpu=device == "cpu", timeout=_PATIENCE)
        return cls(state.process_index, state.num_processes)

    @staticmethod
    def first_here() -> bool:
        """Whether this process is the one that talks to the user."""
        return os.environ.get("RANK", "0") == "0"

    def share(self, batch_size: int) -> int:
        """Return how much of a batch is this process's.

        Raises:
            InputError: it cannot be shared out evenly.
        """
        if batch_size % self.size:
            raise InputError(
                f"batch_size: got {batch_size}, expected a multiple of the {self.size} processes; "
                "change it, or start fewer"
            )
        return batch_size // self.size

    def first(self, do: Callable[[], T]) -> T:
        """Have the first process do something; all get what it returns.

        Raises:
            Exception: what it raises, in all of them.
        """
        if self.size == 1:
            return do()
        from torch.distributed import broadcast_object_list

        told: list[Any] = [None, None]
        if self.rank == 0:
            try:
                told[0] = do()
            except Exception as error:  # noqa: BLE001  (raised below, by all)
                told[1] = error
        broadcast_object_list(told)
        if told[1] is not None:
            raise told[1]
        result: T = told[0]
        return result

    def spread(self, items: Sequence[T]) -> Sequence[T]:
        """Return this process's share of some items."""
        return items[self.rank :: self.size]

    def join_spread(self, results: Sequence[T]) -> list[T]:
        """Return what all processes made of their shares, in the items' order."""
        if self.size == 1:
            return list(results)
        from torch.distributed import all_gather_object

        shares: list[list[T]] = [[] for _ in range(self.size)]
        all_gather_object(shares, list(results))
        total = sum(map(len, shares))
        return [shares[place % self.size][place // self.size] for place in range(total)]

    def wait(self) -> None:
        """Wait until all processes are here."""
        self.join_spread([None])

    def any(self, value: bool) -> bool:
        """Whether it is so in any process."""
        return any(self.join_spread([value]))

    def leave(self) -> None:
        """Part with the others, when all is done."""
        if self.size > 1:
            from torch.distributed import destroy_process_group

            destroy_process_group()
