"""What a run is called where it has no name: its engine, and what tells it from the others."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.bench.plan import Plan

__all__ = ["labels_of", "settings_of", "settings_of_identity"]


_ORDER = ("shots", "prompt", "exemplars", "constraint")
"""What tells runs apart best comes first: a prompt often follows from the shots, rules of quoting
from the constraint."""


def settings_of(plan: Plan) -> dict[str, object]:
    """Return what a plan's run is told apart by, before it is run."""
    found: dict[str, object] = {"engine": plan.engine}
    if plan.prompts is not None:
        asked = plan.prompts
        found["prompt"] = asked.template
        found["shots"] = asked.count
        if asked.count:
            found["exemplars"] = asked.strategy
    return found | plan.given | {"data": plan.data.name, "limit": plan.limit}


def settings_of_identity(identity: Mapping[str, object]) -> dict[str, object]:
    """Return the same of a run that there is, from its ``run.json``."""
    found: dict[str, object] = {"engine": str(identity.get("engine"))}
    prompts = identity.get("prompts")
    if isinstance(prompts, dict):
        found["prompt"] = prompts.get("template")
        found["shots"] = prompts.get("shots")
        if isinstance(prompts.get("exemplars"), dict):
            found["exemplars"] = prompts["exemplars"].get("strategy")
    options = identity.get("options")
    found |= options if isinstance(options, dict) else {}
    return found | {"data": identity.get("data"), "limit": identity.get("limit")}


def labels_of(runs: Sequence[Mapping[str, object]]) -> list[str]:
    """Return a label for each run, all different.

    Example:
        >>> labels_of([{"engine": "lead-1"}, {"engine": "t:m", "shots": 0}, {"engine": "t:m", "shots": 5}])
        ['lead-1', 't:m, 0 shots', 't:m, 5 shots']
    """
    by_engine: dict[object, list[Mapping[str, object]]] = {}
    for run in runs:
        by_engine.setdefault(run["engine"], []).append(run)
    own = {engine: _telling(peers, _ORDER) for engine, peers in by_engine.items()}
    shared = _telling(runs, ("data", "limit"))
    labels = []
    for run in runs:
        keys = [key for key in own[run["engine"]] if key in run] + shared
        labels.append(", ".join([str(run["engine"]), *(_said(k, run.get(k)) for k in keys)]))
    alike = Counter(labels)
    seen: Counter[str] = Counter()
    for at, label in enumerate(labels):
        if alike[label] > 1:
            seen[label] += 1
            labels[at] = f"{label} ({seen[label]})"
    return labels


def _telling(runs: Sequence[Mapping[str, object]], first: Sequence[str]) -> list[str]:
    """Return the keys that tell runs apart, without those that say nothing new.

    Args:
        runs: some of them.
        first: the keys that are tried, in this order; of runs of one engine, then all others.
    """
    others = [key for run in runs for key in run if key not in ("engine", "data", "limit")]
    tried = dict.fromkeys([*first, *(others if first is _ORDER else ())])
    chosen: list[str] = []
    apart = 1
    for key in tried:
        found = len({tuple(_text(run.get(each)) for each in (*chosen, key)) for run in runs})
        if found > apart:
            chosen.append(key)
            apart = found
    return chosen


def _said(key: str, value: object) -> str:
    match key:
        case "shots":
            return f"{value} shot" if value == 1 else f"{value} shots"
        case "prompt" | "exemplars" | "data":
            return _text(value)
        case "constraint":
            said = {"on": "constrained", "off": "unconstrained"}
            return said.get(_text(value), f"constraint {_text(value)}")
        case "limit":
            return "all questions" if value is None else f"{value} questions"
        case _:
            return f"{key.replace('_', ' ')} {_text(value)}"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)
