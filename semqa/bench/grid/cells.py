"""One cell of a grid: a plan, and the folder that it always gets."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semqa.bench.plan import Plan

__all__ = ["Cell", "folder_of"]

LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a grid.

    Attributes:
        plan: what is run.
        label: what people call it.
        folder: the name of its folder.
        where: the line that it comes from, for messages.
    """

    plan: Plan
    label: str
    folder: str
    where: str


def folder_of(plan: Plan) -> str:
    """Return the name of a run's folder.

    It depends on the settings of this run alone: a grid that grows finds the runs that are done.

    Example:
        >>> from pathlib import Path
        >>> from semqa.bench.plan import Plan
        >>> folder_of(Plan(Path("dev.jsonl"), "lead-1"))
        'lead-1-941681b2'
    """
    settings: dict[str, object] = {
        "data": plan.data.name,
        "engine": plan.engine,
        "options": {name: plan.options[name] for name in sorted(plan.options)},
        "limit": plan.limit,
    }
    if plan.prompts is not None:
        asked = plan.prompts
        settings["prompts"] = {
            "template": asked.template,
            "shots": asked.shots,
            "exemplars": asked.strategy if asked.count else None,
            "train": asked.train.name if asked.train is not None and asked.count else None,
            "encoder": asked.encoder,
            "form": asked.form,
            "seed": asked.seed,
        }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()
    name = plan.name or plan.engine.rstrip("/").rpartition("/")[2]
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:LONGEST_NAME]
    return f"{readable or 'run'}-{digest[:8]}"
