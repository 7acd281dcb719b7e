"""What the commands of Q² share: options, and baselines."""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.progress import progress_bar
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.q2 import BertScore, Response, Run

__all__ = [
    "BaselineOption",
    "BertScoreLayer",
    "BertScoreModel",
    "DropRepeated",
    "KnowledgeColumn",
    "LabelColumn",
    "ResponseColumn",
    "add_baselines",
    "check_baselines",
    "computed",
    "describe_baseline",
    "versions_of",
]

PACKAGES = {"overlap": ("spacy",), "bleu": ("sacrebleu",), "bertscore": ("bert-score", "torch")}
"""What the baselines are computed with."""

BaselineOption = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        help="Score this too: overlap, bleu, bertscore or nli; repeat it for more.",
        show_default=False,
    ),
]
BertScoreModel = Annotated[
    str | None,
    typer.Option(
        "--bertscore-model",
        metavar="MODEL",
        help="A folder or a name on the Hub.",
        show_default="roberta-large, rescaled",
    ),
]
BertScoreLayer = Annotated[
    int | None,
    typer.Option(
        "--bertscore-layer",
        min=1,
        help="Layer to compare at, for a model that bert-score does not know.",
        show_default=False,
    ),
]
ResponseColumn = Annotated[str, typer.Option(help="Column of the responses.")]
LabelColumn = Annotated[
    str,
    typer.Option(
        help="Column that is 1 (or inconsistent) or 0 (or consistent), where people looked."
    ),
]
KnowledgeColumn = Annotated[str, typer.Option(help="Column of the knowledge.")]
DropRepeated = Annotated[
    bool,
    typer.Option(
        "--drop-repeated",
        help="Leave out a response that occurs a second time with the same knowledge.",
    ),
]


def check_baselines(names: Sequence[str] | None) -> None:
    """See that the baselines exist, before anything is computed.

    Raises:
        InputError: one does not.
    """
    from semqa.attribution.q2 import BASELINES

    for name in names or ():
        if name not in BASELINES:
            raise InputError(
                f"--baseline: got {name!r}, expected one of {', '.join(BASELINES)}; choose one"
            )


def add_baselines(
    run: Run,
    names: Sequence[str] | None,
    judge: Any,
    model: str | None = None,
    layer: int | None = None,
) -> Run:
    """Return a run with baselines beside its scores."""
    if not names:
        return run
    responses = [score.response for score in run.scores]
    scores = list(run.scores)
    for name in dict.fromkeys(names):
        values = computed(name, responses, judge, model, layer, official=run.settings.official)
        scores = [
            replace(score, baselines={**score.baselines, name: value})
            for score, value in zip(scores, values, strict=True)
        ]
    described = {name: describe_baseline(name, judge, model, layer) for name in names}
    packages = [package for name in names for package in PACKAGES.get(name, ())]
    return replace(
        run,
        scores=tuple(scores),
        baselines={**run.baselines, **described},
        versions={**run.versions, **versions_of(*packages)},
    )


def computed(
    name: str,
    responses: Sequence[Response],
    judge: Any,
    model: str | None,
    layer: int | None,
    *,
    official: bool = False,
) -> list[float]:
    """Return one baseline of each response, with a bar where that takes its time."""
    from semqa.attribution.q2 import baseline_scores

    with progress_bar(name, "examples") as update:
        return baseline_scores(
            name,
            responses,
            judge=judge,
            bertscore=_bertscore(model, layer) if name == "bertscore" else None,
            official=official,
            on_progress=update,
        )


def describe_baseline(
    name: str, judge: Any, model: str | None, layer: int | None
) -> dict[str, Any]:
    """Return what a record says of a baseline."""
    if name == "bertscore":
        scorer = _bertscore(model, layer)
        return {"model": scorer.model, "layer": scorer.layers, "rescaled": scorer.rescale}
    if name == "nli":
        return {"judge": judge.name, "identity": judge.identity}
    return {}


def versions_of(*packages: str) -> dict[str, str]:
    """Return the versions of installed packages."""
    return {name: importlib.metadata.version(name) for name in dict.fromkeys(packages)}


def _bertscore(model: str | None, layer: int | None) -> BertScore:
    from semqa.attribution.q2 import BertScore

    return BertScore(layers=layer) if model is None else BertScore(model, layers=layer)
