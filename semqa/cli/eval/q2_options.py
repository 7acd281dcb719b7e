"""What the commands of Q² share: options, and baselines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.progress import progress_bar
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.q2 import BertScore, Response, Run

__all__ = [
    "BaselineOption",
    "Baselines",
    "BertScoreLayer",
    "BertScoreModel",
    "DropRepeated",
    "KnowledgeColumn",
    "LabelColumn",
    "ResponseColumn",
    "check_baselines",
    "compute_baselines",
]

PACKAGES = {"overlap": ("spacy",), "bleu": ("sacrebleu",), "bertscore": ("bert-score", "torch")}
"""What the baselines are computed with."""

BaselineOption = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        help="Score this too: overlap, words, bleu, bertscore or nli; repeat it for more.",
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


@dataclass(frozen=True, slots=True)
class Baselines:
    """Baselines of some responses, and how they were computed.

    Attributes:
        values: a score for each response, by name.
        described: what a record says of each.
        versions: of the packages that took part.
    """

    values: Mapping[str, list[float | None]]
    described: Mapping[str, Mapping[str, Any]]
    versions: Mapping[str, str]

    def of(self, place: int) -> dict[str, float]:
        """Return the scores of one response: those that it has."""
        found = {name: values[place] for name, values in self.values.items()}
        return {name: value for name, value in found.items() if value is not None}

    def added_to(self, run: Run) -> Run:
        """Return a run of the same responses with these beside its scores."""
        scores = [
            replace(
                score,
                baselines={
                    **score.baselines,
                    **self.of(place),
                },
            )
            for place, score in enumerate(run.scores)
        ]
        return replace(
            run,
            scores=tuple(scores),
            baselines={**run.baselines, **self.described},
            versions={**run.versions, **self.versions},
        )


def compute_baselines(
    names: Sequence[str] | None,
    responses: Sequence[Response],
    judge: Any,
    *,
    model: str | None = None,
    layer: int | None = None,
    official: bool = False,
) -> Baselines:
    """Compute baselines, each with a bar where it takes its time.

    Args:
        names: of `semqa.attribution.q2.BASELINES`.
        responses: what to score.
        judge: of entailment, where ``nli`` is among them.
        model: of BERTScore; None for the paper's.
        layer: of BERTScore.
        official: see `semqa.attribution.q2.baselines`.
    """
    from semqa.attribution.q2 import BertScore, baseline_scores
    from semqa.attribution.records import versions

    wanted = list(dict.fromkeys(names or ()))
    bertscore = None
    if "bertscore" in wanted:
        bertscore = BertScore(layers=layer) if model is None else BertScore(model, layers=layer)
        bertscore.load()  # what cannot be loaded is said before anything else is computed
    values, described = {}, {}
    for name in wanted:
        with progress_bar(name, "examples") as update:
            values[name] = baseline_scores(
                name,
                responses,
                judge=judge,
                bertscore=bertscore,
                official=official,
                on_progress=update,
            )
        described[name] = _described(name, judge, bertscore)
    packages = [package for name in wanted for package in PACKAGES.get(name, ())]
    return Baselines(values, described, versions(*packages))


def _described(name: str, judge: Any, bertscore: BertScore | None) -> dict[str, Any]:
    if name == "bertscore" and bertscore is not None:
        return {
            "model": bertscore.model,
            "layer": bertscore.layers,
            "rescaled": bertscore.rescale,
        }
    if name == "nli":
        return {"judge": judge.name, "identity": judge.identity}
    return {}
