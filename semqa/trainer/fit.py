"""How much of a batch a model can learn from at once, measured before a training begins.

Loads torch.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil
import torch
from accelerate.utils.memory import should_reduce_batch_size

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["Fit", "fit", "free_memory", "memory_errors"]

_CPU_TOKENS = 2_048
"""Most tokens of a micro-batch on a CPU, where larger ones are no faster."""
_SHARE = 0.8
"""Of the free memory, what a training may take."""
_BACKWARD = 1.25
"""Memory of a backward pass, relative to what the forward pass kept for it."""
_RECOMPUTED = 2.0
"""The same with gradient checkpointing, where one layer's activations come on top."""


class Fit(NamedTuple):
    """How a batch is split, and what a training will take.

    Attributes:
        micro_batch: examples that one process learns from at once.
        needed: bytes beyond what the model takes now.
        free: bytes of memory that nobody uses.
        seconds: of one step, without evaluations.
    """

    micro_batch: int
    needed: int
    free: int
    seconds: float


def fit(
    model: Any,
    collate: Callable[[Any], dict[str, torch.Tensor]],
    examples: Sequence[Mapping[str, Sequence[int]]],
    *,
    share: int,
    state_bytes: int,
    precision: torch.dtype | None = None,
    gradient_checkpointing: bool = False,
) -> Fit:
    """Measure a model on the longest example and choose the largest micro-batch that fits.

    Args:
        model: as it will be trained, on its device.
        collate: makes a batch of examples.
        examples: with their ``input_ids`` and ``labels``.
        share: examples of a step in this process; the micro-batch divides it.
        state_bytes: what the optimizer keeps for each trained byte.
        precision: of the computation, where it is not that of the weights.
        gradient_checkpointing: whether activations are computed again.

    Raises:
        InputError: not even one example fits.
    """
    ordered = sorted(examples, key=_length)
    device = next(model.parameters()).device
    trained = sum(each.nbytes for each in model.parameters() if each.requires_grad)
    copies = 1 + state_bytes + torch.distributed.is_initialized()  # DDP has buckets of gradients
    free = free_memory(device)
    room = int(free * _SHARE) - copies * trained
    factor = _RECOMPUTED if gradient_checkpointing else _BACKWARD

    def step(batch: dict[str, torch.Tensor], most: float) -> int:
        given = {name: _moved(value, device) for name, value in batch.items()}
        autocast = torch.autocast(device.type, precision, enabled=precision is not None)
        with autocast, _kept(model, most) as kept:
            loss = model(**given).loss
        loss.backward()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return sum(kept.values())

    if gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    training = model.training
    model.train()
    with torch.random.fork_rng([device] if device.type == "cuda" else []), memory_errors(free):
        each = max(1, int(factor * step(collate([ordered[-1]]), room / factor)))
        most = min(share, room // each)
        if device.type == "cpu":
            most = min(most, max(1, _CPU_TOKENS // _length(ordered[-1])))
        micro = next((size for size in range(most, 0, -1) if share % size == 0), 0)
        if not micro:
            raise MemoryError
        model.zero_grad(set_to_none=True)
        begun = time.perf_counter()
        middle = range(len(ordered) // (2 * micro), len(ordered), max(1, len(ordered) // micro))
        step(collate([ordered[place] for place in middle][:micro]), float("inf"))
        seconds = (time.perf_counter() - begun) * share / micro
    model.zero_grad(set_to_none=True)
    model.train(training)
    return Fit(micro, copies * trained + micro * each, free, seconds)


@contextmanager
def memory_errors(free: int | None = None) -> Iterator[None]:
    """Say what can be done where the block runs out of memory.

    Args:
        free: bytes that were free before, where that is known.

    Raises:
        InputError: it did.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not should_reduce_batch_size(error):
            raise
        had = "" if free is None else f" ({free / 1e9:.1f} GB are free)"
        raise InputError(
            f"The longest example does not fit into memory{had}: lower --max-length, give "
            "--gradient-checkpointing or --method lora, or choose a smaller model."
        ) from error


def free_memory(device: torch.device) -> int:
    """Return how many bytes a process may still take on a device."""
    if device.type == "cuda":
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + cached)
    limits = [int(psutil.virtual_memory().available), *_group_limit()]
    share = min(limits) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return max(0, min([share, *_own_limit()]))


def _group_limit() -> list[int]:
    """Return what a container's limit leaves, if there is one; its page cache can be reclaimed."""
    group = Path("/sys/fs/cgroup")
    try:
        most = int((group / "memory.max").read_text())
        used = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return [most - int(used["anon"])]
    except (OSError, ValueError, KeyError):  # none, "max", or another kind of system
        return []


def _own_limit() -> list[int]:
    """Return what ``ulimit -v`` leaves, if it is set."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return [] if most == resource.RLIM_INFINITY else [most - psutil.Process().memory_info().vms]


@contextmanager
def _kept(model: Any, most: float) -> Iterator[dict[int, int]]:
    """Count the bytes that forward passes in the block keep for the backward pass, by address.

    Raises:
        MemoryError: there are more than allowed.
    """
    weights = {each.untyped_storage().data_ptr() for each in model.parameters()}
    kept: dict[int, int] = {}
    total = 0

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal total
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if address not in weights and address not in kept:
            kept[address] = storage.nbytes()
            total += kept[address]
            if total > most:
                raise MemoryError
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield kept


def _moved(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _length(example: Mapping[str, Sequence[int]]) -> int:
    return max(len(example["input_ids"]), len(example["labels"]))
