"""What a worker of a run needs: processors, GPUs, and how many of them there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from semqa.bench.plan import Plan
    from semqa.distributed.settings import RaySettings

__all__ = ["Place", "place_of", "remote_args", "room"]

_FAMILIES = ("transformers", "vllm")
"""Engines that load a model in their own process, or in processes of their own."""


class Place(NamedTuple):
    """What one worker needs.

    Attributes:
        num_cpus: processors.
        num_gpus: GPUs, all on one node unless they are spread.
        loads: whether it loads a model: then there is one of them a node without GPUs.
        spread: whether its GPUs may lie on several nodes, each in a bundle of a placement group.
    """

    num_cpus: float
    num_gpus: float
    loads: bool = False
    spread: bool = False

    def bundles(self) -> list[dict[str, float]]:
        """Return the bundles of its placement group, one a GPU; the worker itself is in the first."""
        first = {"CPU": self.num_cpus, "GPU": 1.0}
        return [first, *({"CPU": self.num_cpus, "GPU": 1.0} for _ in range(int(self.num_gpus) - 1))]


def place_of(plan: Plan, settings: RaySettings, resources: Mapping[str, float]) -> Place:
    """Return what a worker of a plan needs.

    Args:
        plan: what is run.
        settings: what was asked for; it counts before what the engine needs.
        resources: those of the whole cluster, by Ray's names.
    """
    family = plan.engine.partition(":")[0]
    options = plan.given
    loads = family in _FAMILIES
    needed = 0.0
    if loads and resources.get("GPU", 0) > 0 and not str(options.get("device")).startswith("cpu"):
        needed = float(_world(options)) if family == "vllm" else 1.0
    gpus = needed if settings.num_gpus is None else settings.num_gpus
    spread = family == "vllm" and options.get("distributed_executor_backend") == "ray" and gpus > 1
    return Place(settings.num_cpus or 1.0, gpus, loads, spread)


def room(place: Place, settings: RaySettings, nodes: list[Mapping[str, float]]) -> tuple[int, int]:
    """Return the fewest and the most workers.

    Args:
        place: what one of them needs.
        settings: what was asked for.
        nodes: the resources of each node that is there, by Ray's names.

    Raises:
        InputError: there is no room for a single one.
    """
    whole = [_sum(nodes)] if place.spread else nodes
    fit = 0
    for node in whole:
        here = int(node.get("CPU", 0) // place.num_cpus)
        if place.num_gpus:
            here = min(here, int(node.get("GPU", 0) // place.num_gpus))
        elif place.loads:
            here = min(here, 1)  # a model takes memory, and works on all processors anyway
        fit += here
    if not fit and not any(_fits(place, node) for node in whole):
        raise InputError(
            f"no node has room for a worker: got {_shown(nodes)}, expected {place.num_cpus:g} CPU and "
            f"{place.num_gpus:g} GPU on one; change --num-cpus or --num-gpus, or the model's options"
        )
    return settings.workers or (1, max(fit, 1))


def remote_args(ray: Any, place: Place) -> Callable[[], dict[str, Any]] | None:
    """Return what makes the arguments of each worker whose GPUs may be spread; None for others."""
    if not place.spread:
        return None

    def made() -> dict[str, Any]:
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        group = ray.util.placement_group(place.bundles(), strategy="PACK")
        # vLLM takes the group of the actor that it is started in for its own workers.
        strategy = PlacementGroupSchedulingStrategy(group, placement_group_capture_child_tasks=True)
        return {"scheduling_strategy": strategy}

    return made


def _world(options: Mapping[str, object]) -> int:
    """Return over how many GPUs vLLM spreads a model."""
    world = 1
    for name in ("tensor", "pipeline", "data"):
        size = options.get(f"{name}_parallel_size")
        world *= size if isinstance(size, int) else 1
    return world


def _fits(place: Place, node: Mapping[str, float]) -> bool:
    return node.get("CPU", 0) >= place.num_cpus and node.get("GPU", 0) >= place.num_gpus


def _sum(nodes: list[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(node.get(name, 0) for node in nodes) for name in ("CPU", "GPU")}


def _shown(nodes: list[Mapping[str, float]]) -> str:
    shown = [f"{node.get('CPU', 0):g} CPU and {node.get('GPU', 0):g} GPU" for node in nodes]
    return "; ".join(shown[:5]) or "no node"
