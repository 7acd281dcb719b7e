"""What runs are called in a report: short enough to print, and without a folder of the machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.bench.report.runs import FinishedRun

__all__ = ["plot_names", "printed_engines", "printed_judge", "with_printed_engine"]

LONGEST = 34
"""Characters that a plot has for a name."""

_FOLDER = re.compile(r"(?:[/~\\]|\.{1,2}[/\\]|[A-Za-z]:[/\\])")


def printed_engines(engines: Sequence[str]) -> dict[str, str]:
    """Return what each engine is called: a model in a folder goes by the folder's own name.

    Where two engines would be called the same, all keep their paths.

    Example:
        >>> printed_engines(["transformers:/data/models/m", "transformers:org/m"])
        {'transformers:/data/models/m': 'transformers:m', 'transformers:org/m': 'transformers:org/m'}
    """
    found = {}
    for engine in engines:
        kind, colon, model = engine.partition(":")
        own = re.split(r"[/\\]", model.rstrip("/\\"))[-1]
        found[engine] = f"{kind}:{own}" if colon and own and _FOLDER.match(model) else engine
    return found if len(set(found.values())) == len(found) else {each: each for each in found}


def printed_judge(name: str) -> str:
    """Return what a judge is called: models in folders go by the folders' own names.

    Example:
        >>> printed_judge("transformers:nli=org/m,qa=/data/models/reader/")
        'transformers:nli=org/m,qa=reader'
    """
    kind, colon, models = name.partition(":")
    if kind == "engine":
        return kind + colon + printed_engines([models])[models]
    parts = []
    for part in models.split(","):
        task, equals, model = part.partition("=")
        own = re.split(r"[/\\]", model.rstrip("/\\"))[-1]
        parts.append(task + equals + (own if own and _FOLDER.match(model) else model))
    return kind + colon + ",".join(parts)


def plot_names(runs: Sequence[FinishedRun]) -> tuple[list[str], str]:
    """Return what runs are called in plots, and what a reader must know of it.

    Where all runs of models are of one model, its name is left out and told once; of several models,
    long names are cut, as far as all stay apart.
    """
    models: list[tuple[str, str] | None] = []
    for run in runs:
        engine = str(run.settings.get("engine"))
        same = run.label.startswith(f"{engine}, ")
        model = engine.rstrip("/").rpartition("/")[2].rpartition(":")[2]
        models.append((model, run.label[len(engine) + 2 :]) if same else None)
    known = {each[0] for each in models if each is not None}
    labels = [run.label for run in runs]
    if len(known) == 1 and sum(each is not None for each in models) > 1:
        alone = [label if m is None else m[1] for label, m in zip(labels, models, strict=True)]
        if len(set(alone)) == len(alone):
            return alone, f"Runs without a name of their own are of {known.pop()}."
    cut = [
        label if m is None else f"{_cut(m[0], LONGEST - len(m[1]) - 2)}, {m[1]}"
        for label, m in zip(labels, models, strict=True)
    ]
    return (cut if len(set(cut)) == len(cut) else labels), ""


def _cut(text: str, most: int) -> str:
    most = max(most, 8)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def with_printed_engine(
    settings: Mapping[str, object], names: Mapping[str, str]
) -> dict[str, object]:
    """Return the settings of a run with its engine as it is printed."""
    engine = str(settings.get("engine"))
    return {**settings, "engine": names.get(engine, engine)}
