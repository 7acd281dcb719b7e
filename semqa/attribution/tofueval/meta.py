"""Meta-evaluation: how well evaluators find the errors that annotators found.

The positive class is *inconsistent*. A summary is inconsistent where a sentence of it is, in
annotations and predictions alike; the score of a summary is the lowest of its sentences. Evaluators
that give scores get a threshold, one a level, tuned for balanced accuracy on the dev split of all
datasets pooled: consistent is what scores above it.

Source: Tang et al. 2024, TofuEval, section 5: Tables 3, 4, 7 and 8 (whose captions are swapped in the
paper: 7 has the FPR, 8 the FNR).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.attribution.tofueval.annotations import SummaryKey, by_summary
from semqa.attribution.tofueval.predictions import Prediction, Run
from semqa.attribution.tofueval.rates import ALL, categories_of
from semqa.attribution.tofueval.taxonomy import ERROR_TYPES
from semqa.errors import InputError
from semqa.metrics.agreement import cohen_kappa
from semqa.metrics.classification import (
    Confusion,
    compare_balanced_accuracy,
    confusion,
    tune_threshold,
)
from semqa.metrics.statistic import Statistic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from semqa.attribution.tofueval.annotations import AnnotatedSentence
    from semqa.attribution.tofueval.predictions import Evaluator
    from semqa.attribution.tofueval.rates import Level
    from semqa.metrics.classification import AccuracyTest, Threshold

__all__ = [
    "Decided",
    "Evaluation",
    "Recall",
    "compare",
    "decide",
    "evaluate",
    "self_agreement",
    "tune",
    "verdict_of",
]

DEV = "dev"
LEVELS: tuple[Level, Level] = ("sentence", "summary")


@dataclass(frozen=True, slots=True)
class Decided:
    """A sentence or summary with what annotators and an evaluator say of it.

    Attributes:
        key: the summary.
        index: the sentence's number; None for a summary.
        category: of the topic, empty where none is known.
        inconsistent: what annotators say.
        errors: the types of a sentence's errors.
        found: what the evaluator says.
    """

    key: SummaryKey
    index: int | None
    category: str
    inconsistent: bool
    errors: tuple[str, ...]
    found: Prediction


class Recall(NamedTuple):
    """How many errors of a type an evaluator finds.

    Attributes:
        error: the type.
        n: sentences that have it.
        hits: of these, those that the evaluator finds inconsistent.
    """

    error: str
    n: int
    hits: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready object; recall is in percent."""
        return {**self._asdict(), "recall": 100 * self.hits / self.n}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How one run of an evaluator fares.

    Attributes:
        cells: (dataset, category, level) to counts, each of the first two perhaps `ALL`.
        recall: recall by type of error; a sentence counts for each of its types.
        recall_single: likewise, over the sentences of one type alone.
        unread: texts left out, for the evaluator's reply has no verdict, by level.
        missing: texts left out, for there is no prediction, by level.
    """

    cells: Mapping[tuple[str, str, Level], Confusion]
    recall: tuple[Recall, ...]
    recall_single: tuple[Recall, ...]
    unread: Mapping[str, int]
    missing: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready object."""
        return {
            "cells": [
                {"dataset": dataset, "category": category, "level": level, **counts.to_dict()}
                for (dataset, category, level), counts in self.cells.items()
            ],
            "recall_by_error_type": [each.to_dict() for each in self.recall],
            "recall_by_single_error_type": [each.to_dict() for each in self.recall_single],
            "unread": dict(self.unread),
            "missing": dict(self.missing),
        }


def decide(
    sentences: Sequence[AnnotatedSentence],
    run: Run,
    level: Level,
    categories: Mapping[str, Mapping[str, str]],
) -> tuple[list[Decided], int]:
    """Put annotations and predictions of one level side by side.

    A prediction of a summary is taken where there is one; otherwise it is made of those of its
    sentences. It is missing where one of them is, and unread where one is and no other is found
    inconsistent.

    Returns:
        What has a prediction, and how many have none.
    """
    kinds = dict(zip(map(id, sentences), categories_of(sentences, categories), strict=True))
    decided, missing = [], 0
    if level == "sentence":
        for each in sentences:
            found = _find(run.sentences, each.key, each.index)
            if found is None:
                missing += 1
                continue
            decided.append(
                Decided(
                    each.key, each.index, kinds[id(each)], each.inconsistent, each.errors, found
                )
            )
        return decided, missing
    for (_, key), parts in by_summary(sentences).items():
        whole = run.summaries.get(key) or run.summaries.get(key._replace(dataset=""))
        if whole is None:
            whole = _together(_find(run.sentences, key, part.index) for part in parts)
        if whole is None:
            missing += 1
            continue
        wrong = any(part.inconsistent for part in parts)
        decided.append(Decided(key, None, kinds[id(parts[0])], wrong, (), whole))
    return decided, missing


def tune(
    sentences: Sequence[AnnotatedSentence], run: Run, split: str = DEV
) -> dict[Level, Threshold]:
    """Tune the thresholds of an evaluator that gives scores.

    Args:
        sentences: annotations, of which those of the split count, all datasets pooled.
        run: its predictions for them.
        split: where to tune.

    Raises:
        InputError: the split has no predictions, or lacks one of the classes.
    """
    chosen = [sentence for sentence in sentences if sentence.split == split]
    thresholds: dict[Level, Threshold] = {}
    for level in LEVELS:
        decided, _ = decide(chosen, run, level, {})
        scored = [(each.inconsistent, each.found.score) for each in decided]
        pairs = [(wrong, score) for wrong, score in scored if score is not None]
        if pairs:
            thresholds[level] = tune_threshold([w for w, _ in pairs], [s for _, s in pairs])
    if not thresholds:
        raise InputError(
            f"threshold: got no scores for sentences of the split {split!r}, expected some to tune "
            "it on; add that split's annotations and predictions, or give --threshold or --labels"
        )
    return thresholds


def evaluate(
    sentences: Sequence[AnnotatedSentence],
    run: Run,
    categories: Mapping[str, Mapping[str, str]],
    thresholds: Mapping[Level, float] | None = None,
) -> Evaluation:
    """Hold one run of an evaluator to annotations.

    Args:
        sentences: the annotations.
        run: the predictions.
        categories: dataset to topic to category.
        thresholds: by level, for scores: up to which score a text is inconsistent.
    """
    cells: dict[tuple[str, str, Level], list[tuple[bool, bool]]] = {}
    unread: dict[str, int] = {}
    missing: dict[str, int] = {}
    found: list[tuple[Decided, bool]] = []
    for level in LEVELS:
        decided, missing[level] = decide(sentences, run, level, categories)
        unread[level] = 0
        for each in decided:
            verdict = verdict_of(each.found, level, thresholds or {})
            if verdict is None:
                unread[level] += 1
                continue
            if level == "sentence":
                found.append((each, verdict))
            for dataset in (each.key.dataset, ALL):
                for category in {each.category or ALL, ALL}:
                    pair = (each.inconsistent, verdict)
                    cells.setdefault((dataset, category, level), []).append(pair)
    counted = {
        cell: confusion([truth for truth, _ in pairs], [verdict for _, verdict in pairs])
        for cell, pairs in sorted(cells.items(), key=lambda item: [(p == ALL, p) for p in item[0]])
    }
    return Evaluation(
        counted, _recalls(found, single=False), _recalls(found, single=True), unread, missing
    )


def verdict_of(found: Prediction, level: Level, thresholds: Mapping[Level, float]) -> bool | None:
    """Return whether a prediction says *inconsistent*; None where it says nothing."""
    if found.score is None:
        return found.inconsistent
    if level not in thresholds:
        return None
    return found.score <= thresholds[level]


def self_agreement(
    sentences: Sequence[AnnotatedSentence],
    runs: Mapping[str, Run],
    thresholds: Mapping[str, Mapping[Level, float]] | None = None,
) -> tuple[dict[tuple[str, str], Statistic], Statistic]:
    """Return Cohen's kappa of each pair of runs of an evaluator on the same sentences, and the mean.

    Sentences that a run of the two has no verdict on are left out of their kappa.

    Args:
        sentences: the sentences.
        runs: by name.
        thresholds: those of each run, for scores.
    """
    verdicts = {
        name: [
            None
            if found is None
            else verdict_of(found, "sentence", (thresholds or {}).get(name, {}))
            for found in (_find(run.sentences, s.key, s.index) for s in sentences)
        ]
        for name, run in runs.items()
    }
    pairs = {}
    for a, b in combinations(verdicts, 2):
        both = [
            (x, y)
            for x, y in zip(verdicts[a], verdicts[b], strict=True)
            if x is not None and y is not None
        ]
        pairs[a, b] = cohen_kappa([x for x, _ in both], [y for _, y in both])
    values = [kappa.value for kappa in pairs.values() if kappa.value is not None]
    if not values:
        reasons = [kappa.unscored for kappa in pairs.values() if kappa.unscored]
        return pairs, Statistic.none(reasons[0] if reasons else "fewer than two runs")
    return pairs, Statistic(fmean(values), len(values))


def compare(
    sentences: Sequence[AnnotatedSentence],
    first: Evaluator,
    second: Evaluator,
    thresholds: tuple[Mapping[str, Mapping[Level, float]], Mapping[str, Mapping[Level, float]]],
    level: Level = "sentence",
    *,
    by_document: bool = False,
    resamples: int = 10_000,
    seed: int = 0,
) -> AccuracyTest:
    """Test whether two evaluators differ in balanced accuracy, by a paired bootstrap.

    All runs count: each run of one evaluator is paired with each run of the other, on the texts that
    both have a verdict on, and all verdicts on a text are drawn together.

    Args:
        sentences: the annotations.
        first: one evaluator.
        second: the other.
        thresholds: those of each evaluator, by run and level.
        level: what is compared.
        by_document: draw documents rather than sentences, as what is said of one is alike.
        resamples: how many draws.
        seed: of the draws.
    """
    sides = [
        [
            {
                (each.key, each.index): (each.inconsistent, verdict)
                for each in decide(sentences, run, level, {})[0]
                if (verdict := verdict_of(each.found, level, found.get(name, {}))) is not None
            }
            for name, run in evaluator.runs.items()
        ]
        for evaluator, found in zip((first, second), thresholds, strict=True)
    ]
    pairs = [
        (name, a[name], b[name]) for a in sides[0] for b in sides[1] for name in a if name in b
    ]
    test = compare_balanced_accuracy(
        [truth for _, (truth, _), _ in pairs],
        [verdict for _, (_, verdict), _ in pairs],
        [verdict for _, _, (_, verdict) in pairs],
        groups=[(name[0].dataset, name[0].doc_id) if by_document else name for name, _, _ in pairs],
        resamples=resamples,
        seed=seed,
    )
    return replace(test, n=len({name for name, _, _ in pairs}))


def _find(
    found: Mapping[tuple[SummaryKey, int], Prediction], key: SummaryKey, index: int
) -> Prediction | None:
    return found.get((key, index)) or found.get((key._replace(dataset=""), index))


def _together(parts: Iterable[Prediction | None]) -> Prediction | None:
    """Return what the predictions of its sentences say of a summary."""
    known = list(parts)
    read = [part for part in known if part is not None]
    if len(read) < len(known):
        return None
    scores = [part.score for part in read if part.score is not None]
    if scores:
        return Prediction(None, min(scores)) if len(scores) == len(read) else Prediction(None)
    if any(part.inconsistent for part in read):
        return Prediction(inconsistent=True)
    return Prediction(None if any(part.unread for part in read) else False)


def _recalls(found: Sequence[tuple[Decided, bool]], *, single: bool) -> tuple[Recall, ...]:
    names = [error.name for error in ERROR_TYPES]
    counts: dict[str, list[int]] = {}
    for each, verdict in found:
        if not each.inconsistent or (single and len(each.errors) != 1):
            continue
        for error in each.errors:
            if error not in names:
                names.append(error)
            count = counts.setdefault(error, [0, 0])
            count[0] += 1
            count[1] += verdict
    return tuple(Recall(name, *counts[name]) for name in names if name in counts)
