"""Evaluators scored against annotations, and the record from which that can be done again."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from semqa.attribution.tofueval.data import AnnotatedSentence, SummaryKey, error_types
from semqa.attribution.tofueval.meta import (
    DEV,
    LEVELS,
    Evaluator,
    Prediction,
    Run,
    categories_of,
    compare,
    evaluate,
    self_agreement,
    tune,
)
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from semqa.attribution.records import Record
    from semqa.attribution.tofueval.meta import Level

__all__ = ["KIND", "Benchmark", "Settings", "benchmark_of", "rows_of", "score_evaluators"]

KIND = "tofueval score"
TEST = "test"


@dataclass(frozen=True, slots=True)
class Settings:
    """How evaluators are scored.

    Attributes:
        split: the sentences to score; None for those of the split ``test`` where there are any,
            else all.
        threshold: of scores, in place of tuned ones: up to it a text is inconsistent.
        by_document: whether the paired test draws documents rather than sentences.
        resamples: of the paired test.
        seed: random seed.
    """

    split: str | None = None
    threshold: float | None = None
    by_document: bool = False
    resamples: int = 10_000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Annotations, and the predictions of evaluators.

    Attributes:
        sentences: the annotations.
        categories: dataset to topic to category.
        evaluators: their predictions.
        settings: how they are scored.
    """

    sentences: Sequence[AnnotatedSentence]
    categories: Mapping[str, Mapping[str, str]]
    evaluators: Sequence[Evaluator]
    settings: Settings = field(default_factory=Settings)

    @property
    def scored(self) -> list[AnnotatedSentence]:
        """The sentences of the split that is scored.

        Raises:
            InputError: there are none.
        """
        split = self.settings.split
        if split is None:
            split = TEST if any(s.split == TEST for s in self.sentences) else "all"
        chosen = [s for s in self.sentences if split in ("all", s.split)]
        if not chosen:
            known = sorted({s.split for s in self.sentences} - {""})
            raise InputError(
                f"must be one of {', '.join([*known, 'all'])}, got {split!r}.",
                field="--split",
                value=split,
            )
        return chosen


def score_evaluators(benchmark: Benchmark) -> dict[str, Any]:
    """Score evaluators: cells, recall by type of error, self-agreement, and each against the first.

    Returns:
        A JSON-ready object.

    Raises:
        InputError: a split has no sentences, or a threshold cannot be tuned.
    """
    chosen = benchmark.scored
    settings = benchmark.settings
    thresholds = [_thresholds(benchmark, evaluator) for evaluator in benchmark.evaluators]
    found: dict[str, Any] = {
        "sentences": len(chosen),
        "split": sorted({sentence.split for sentence in chosen}),
        "evaluators": [
            _scored(benchmark, evaluator, chosen, tuned)
            for evaluator, tuned in zip(benchmark.evaluators, thresholds, strict=True)
        ],
    }
    first, *others = zip(benchmark.evaluators, thresholds, strict=True)
    tests: list[dict[str, Any]] = []
    for other, tuned in others:
        for level in LEVELS:
            row: dict[str, Any] = {"a": other.name, "b": first[0].name, "level": level}
            try:
                test = compare(
                    chosen,
                    other,
                    first[0],
                    (_by_run(other, tuned), _by_run(*first)),
                    level,
                    by_document=settings.by_document,
                    resamples=settings.resamples,
                    seed=settings.seed,
                )
            except InputError as error:
                tests.append({**row, "untested": str(error)})
            else:
                tests.append({**row, **test.to_dict()})
    return {**found, "tests": tests}


def _scored(
    benchmark: Benchmark,
    evaluator: Evaluator,
    chosen: Sequence[AnnotatedSentence],
    tuned: Mapping[str, Mapping[Level, dict[str, Any]]],
) -> dict[str, Any]:
    runs = [
        {
            "run": name,
            "thresholds": dict(tuned.get(name, {})),
            **evaluate(chosen, run, benchmark.categories, _values(tuned, name)).to_dict(),
        }
        for name, run in evaluator.runs.items()
    ]
    row: dict[str, Any] = {"name": evaluator.name, "scored": evaluator.scored, "runs": runs}
    if len(runs) > 1:
        row["mean"] = _mean_cells(runs)
        values = _by_run(evaluator, tuned)
        pairs, mean = self_agreement(chosen, evaluator.runs, values)
        by_dataset: dict[str, list[AnnotatedSentence]] = {}
        for sentence in chosen:
            by_dataset.setdefault(sentence.key.dataset, []).append(sentence)
        row["self_agreement"] = {
            "pairs": [{"a": a, "b": b, **kappa.to_dict()} for (a, b), kappa in pairs.items()],
            "mean": mean.to_dict(),
            "datasets": {
                name: self_agreement(some, evaluator.runs, values)[1].to_dict()
                for name, some in by_dataset.items()
            },
        }
    return row


def _mean_cells(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean balanced accuracy over runs, of each cell that every run has."""
    names = ("dataset", "category", "level")
    values: dict[tuple[str, ...], list[float]] = {}
    for run in runs:
        for cell in run["cells"]:
            if cell["balanced_accuracy"] is not None:
                name = tuple(cell[part] for part in names)
                values.setdefault(name, []).append(cell["balanced_accuracy"])
    return [
        {**dict(zip(names, name, strict=True)), "balanced_accuracy": fmean(each), "runs": len(each)}
        for name, each in values.items()
        if len(each) == len(runs)
    ]


def _thresholds(
    benchmark: Benchmark, evaluator: Evaluator
) -> dict[str, dict[Level, dict[str, Any]]]:
    """Return the thresholds of each run, none for an evaluator that gives verdicts."""
    if not evaluator.scored:
        return {}
    given = benchmark.settings.threshold
    if given is not None:
        return {name: {level: {"value": given} for level in LEVELS} for name in evaluator.runs}
    return {
        name: {
            level: found.to_dict() for level, found in tune(benchmark.sentences, run, DEV).items()
        }
        for name, run in evaluator.runs.items()
    }


def _values(tuned: Mapping[str, Mapping[Level, Mapping[str, Any]]], run: str) -> dict[Level, float]:
    """Return the thresholds of one run; below all scores if nothing is inconsistent."""
    return {
        level: float("-inf") if each["value"] is None else each["value"]
        for level, each in tuned.get(run, {}).items()
    }


def _by_run(
    evaluator: Evaluator, tuned: Mapping[str, Mapping[Level, Mapping[str, Any]]]
) -> dict[str, dict[Level, float]]:
    return {run: _values(tuned, run) for run in evaluator.runs}


def rows_of(benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    """Yield the rows of a record: a sentence each, then a summary each that was judged whole."""
    kinds = categories_of(benchmark.sentences, benchmark.categories)
    for sentence, category in zip(benchmark.sentences, kinds, strict=True):
        names = (sentence.key, sentence.index)
        anywhere = (sentence.key._replace(dataset=""), sentence.index)
        said: dict[str, dict[str, Any]] = {}
        for evaluator in benchmark.evaluators:
            for name, run in evaluator.runs.items():
                found = run.sentences.get(names) or run.sentences.get(anywhere)
                if found is not None:
                    said.setdefault(evaluator.name, {})[name] = _told(found)
        yield {
            **_key(sentence.key),
            "sent_idx": sentence.index,
            "summ_sent": sentence.text,
            "sent_label": "no" if sentence.inconsistent else "yes",
            "type": ", ".join(sentence.errors),
            "split": sentence.split,
            "category": category,
            "predictions": said,
        }
    whole: dict[SummaryKey, dict[str, dict[str, Any]]] = {}
    for evaluator in benchmark.evaluators:
        for name, run in evaluator.runs.items():
            for key, found in run.summaries.items():
                whole.setdefault(key, {}).setdefault(evaluator.name, {})[name] = _told(found)
    for key, said in whole.items():
        yield {**_key(key), "predictions": said}


def benchmark_of(record: Record) -> Benchmark:
    """Restore the benchmark of a record.

    Raises:
        InputError: a row or the settings are not as `rows_of` writes them.
    """
    sentences: list[AnnotatedSentence] = []
    categories: dict[str, dict[str, str]] = {}
    runs: dict[str, dict[str, Run]] = {}
    try:
        config = record.fields["config"]
        for evaluator in config["evaluators"]:
            runs[evaluator["name"]] = {name: Run() for name in evaluator["runs"]}
        for row in record.rows:
            key = SummaryKey(
                row.text("dataset"), row.text("doc_id"), row.text("topic"), row.text("model_name")
            )
            fields: dict[str, Any] = row.fields
            index = fields.get("sent_idx")
            if index is not None:
                sentences.append(
                    AnnotatedSentence(
                        key,
                        int(index),
                        row.text("summ_sent"),
                        row.text("sent_label") == "no",
                        error_types(row.text("type", "")),
                        split=row.text("split", ""),
                        where=row.where,
                    )
                )
                if category := row.text("category", ""):
                    categories.setdefault(key.dataset, {})[key.topic] = category
            for name, said in fields["predictions"].items():
                for run, told in said.items():
                    prediction = _heard(told)
                    if index is None:
                        runs[name][run].summaries[key] = prediction
                    else:
                        runs[name][run].sentences[key, int(index)] = prediction
        evaluators = [
            Evaluator(each["name"], runs[each["name"]], bool(each["scored"]))
            for each in config["evaluators"]
        ]
        settings = Settings(**config["settings"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"Not a record of --out: {type(error).__name__} ({error}).", where=record.name
        ) from error
    return Benchmark(sentences, categories, evaluators, settings)


def _key(key: SummaryKey) -> dict[str, str]:
    return {
        "dataset": key.dataset,
        "doc_id": key.doc_id,
        "topic": key.topic,
        "model_name": key.model,
    }


def _told(found: Prediction) -> object:
    """Return a prediction as JSON: a score, ``yes`` or ``no``, or null."""
    if found.score is not None:
        return found.score
    return {None: None, False: "yes", True: "no"}[found.inconsistent]


def _heard(told: object) -> Prediction:
    if isinstance(told, int | float) and not isinstance(told, bool):
        return Prediction(None, float(told))
    if told is None:
        return Prediction(None)
    return Prediction({"yes": False, "no": True}[str(told)])
