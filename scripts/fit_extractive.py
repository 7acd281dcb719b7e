"""Fit the weights of the extractive engine on QuoteSum and evaluate them.

    python scripts/fit_extractive.py dev.jsonl [--out FILE | --check FILE] [--seeds 5]

Fits two logistic regressions: whether a word of a quoted source is quoted, and whether its title
is. Labels are the shares of human answers that quote the word or title, among those that quote the
source. Prints cross-validated scores (everything is fitted inside the fold), the coverage curve, and
a paired test against BM25 with weak sources dropped. Then writes the weights, which are reproducible.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.data import read_quotesum
from semqa.engines.extractive.compose import span_text
from semqa.engines.extractive.engine import ExtractiveEngine
from semqa.engines.extractive.question import read_inquiry
from semqa.engines.extractive.reading import Reading, Weights, read_request
from semqa.metrics import Example, ExampleScores, score_example, summarise
from semqa.metrics.bootstrap import paired_bootstrap
from semqa.metrics.text import split_marks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from semqa.data import Question

    Array = NDArray[np.float64]

WORD_SHRINKAGE = 300.0
TITLE_SHRINKAGE = 10.0
"""L2 penalties on standardised features; values three times smaller or larger work as well."""

FOLDS = 5
COVERAGES = (0.0, 0.2, 0.3, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 1.0)


class Sample(NamedTuple):
    """One question with its features and labels.

    Attributes:
        question: the question as read from the file.
        readings: the parsed sources with their features.
        words: labels of each source's words, or None if no answer quotes the source.
        titles: label of each source's title, or None.
    """

    question: Question
    readings: list[Reading]
    words: list[Array | None]
    titles: list[float | None]


def load(path: Path) -> list[Sample]:
    """Read a QuoteSum file and compute features and labels."""
    samples = []
    for question in read_quotesum(path):
        _, readings = read_request(question.question, question.sources)
        labels = [labels_of(question, k, reading) for k, reading in enumerate(readings, start=1)]
        samples.append(
            Sample(question, readings, [words for words, _ in labels], [t for _, t in labels])
        )
    return samples


def labels_of(
    question: Question, number: int, reading: Reading
) -> tuple[Array | None, float | None]:
    """Return the labels of one source's words and title."""
    source = question.sources[number - 1]
    rows, titles = [], []
    for text in question.texts:
        pieces = split_marks(text)
        marks = zip(pieces[1::3], pieces[2::3], strict=True)
        quotes = [span.strip() for k, span in marks if int(k) == number]
        if not any(quotes):
            continue
        row = np.zeros(len(reading.passage.words))
        for start, end in places_of(source.text, quotes):
            for i, (a, b) in enumerate(
                zip(reading.passage.starts, reading.passage.ends, strict=True)
            ):
                if start <= a and b <= end:
                    row[i] = 1.0
        rows.append(row)
        titles.append(
            any(q in source.title and (q not in source.text or q == source.title) for q in quotes)
        )
    if not rows:
        return None, None
    return np.mean(rows, axis=0), fmean(titles)


def places_of(text: str, quotes: Sequence[str]) -> list[tuple[int, int]]:
    """Locate the quotes; an ambiguous one is placed next to the nearest unambiguous quote."""
    found: list[tuple[str, list[int]]] = []
    for quote in quotes:
        starts, at = [], text.find(quote) if quote else -1
        while at >= 0:
            starts.append(at)
            at = text.find(quote, at + 1)
        found.append((quote, starts))
    anchors = [starts[0] for _, starts in found if len(starts) == 1] or [0]
    return [
        (start, start + len(quote))
        for quote, starts in found
        if starts
        for start in [min(starts, key=lambda s: min(abs(s - anchor) for anchor in anchors))]
    ]


def fit(samples: Sequence[Sample]) -> Weights:
    """Fit both regressions."""
    used = [
        (reading, words, title)
        for sample in samples
        for reading, words, title in zip(sample.readings, sample.words, sample.titles, strict=True)
        if words is not None and title is not None and len(words)
    ]
    names = sorted(used[0][0].words)
    features = np.concatenate(
        [np.stack([reading.words[name] for name in names], axis=1) for reading, _, _ in used]
    )
    # All sources have the same total weight.
    counts = np.concatenate([np.full(len(words), 1.0 / len(words)) for _, words, _ in used])
    labels = np.concatenate([words for _, words, _ in used])
    word = logistic(features, labels, counts * len(counts) / counts.sum(), WORD_SHRINKAGE)
    title_names = sorted(used[0][0].title)
    title_features = np.array([[reading.title[n] for n in title_names] for reading, _, _ in used])
    title_labels = np.array([title for _, _, title in used])
    title = logistic(title_features, title_labels, np.ones(len(used)), TITLE_SHRINKAGE)
    return Weights(_named(names, word), _named(title_names, title))


def _named(names: Sequence[str], fitted: Array) -> dict[str, float]:
    values = dict(zip([*names, "bias"], fitted.tolist(), strict=True))
    return {name: round(values[name], 4) for name in sorted(values)}


def logistic(features: Array, labels: Array, counts: Array, shrinkage: float) -> Array:
    """Fit a logistic regression by Newton's method.

    Args:
        features: shape [rows, features].
        labels: in [0, 1], shape [rows].
        counts: sample weights, shape [rows].
        shrinkage: L2 penalty on the weights of the standardised features, not on the bias.

    Returns:
        Weights of the original features, and the bias: shape [features + 1].
    """
    total = counts.sum()
    mean = counts @ features / total
    spread = np.sqrt(np.maximum(counts @ features**2 / total - mean**2, 0.0))
    spread[spread < 1e-6] = np.inf
    rows = np.hstack([(features - mean) / spread, np.ones((len(features), 1))])
    penalty = np.full(rows.shape[1], shrinkage)
    penalty[-1] = 0.0
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        predicted = 1.0 / (1.0 + np.exp(-np.clip(rows @ weights, -30.0, 30.0)))
        gradient = rows.T @ (counts * (labels - predicted)) - penalty * weights
        hessian = (rows * (counts * predicted * (1 - predicted))[:, None]).T @ rows + np.diag(
            penalty
        )
        step = np.linalg.solve(hessian, gradient)
        weights += step
        if np.abs(step).max() < 1e-10:
            break
    plain = weights[:-1] / spread
    return np.append(plain, weights[-1] - mean @ plain)


def evaluate(question: Question, text: str) -> ExampleScores:
    """Score one answer."""
    return score_example(
        Example(question.qid, text, question.texts, question.short_answers, question.numbers)
    )


def answer(sample: Sample, weights: Weights, engine: ExtractiveEngine) -> str:
    """Answer one question with the given weights."""
    question = sample.question
    inquiry = read_inquiry(question.question)
    return engine.compose(inquiry, sample.readings, question.sources, weights)


def bm25_answer(sample: Sample, keep: float = 0.5) -> str:
    """Return the BM25 baseline: the best sentence of each source, as marked text.

    Args:
        sample: the question.
        keep: drop sources whose sentence scores less than this share of the best score.
    """
    best = [float(r.relevance.bm25.max(initial=-1.0)) for r in sample.readings]
    marks = []
    for number, (reading, score) in enumerate(zip(sample.readings, best, strict=True), start=1):
        if score >= 0 and score >= keep * max(best):
            sentence = reading.passage.sentences[int(np.argmax(reading.relevance.bm25))]
            span = span_text(reading.passage, sentence.first, sentence.last)
            marks.append(f"[ {number} {span} ]")
    return " ".join(marks)


def cross_validate(
    samples: Sequence[Sample], seed: int, engines: Mapping[float, ExtractiveEngine]
) -> dict[float, list[ExampleScores]]:
    """Return scores by coverage, each question answered with weights fitted without it."""
    fold = np.random.default_rng(seed).permutation(np.arange(len(samples)) % FOLDS)
    rows: dict[float, list[ExampleScores]] = {coverage: [] for coverage in engines}
    for held_out in range(FOLDS):
        weights = fit([s for s, f in zip(samples, fold, strict=True) if f != held_out])
        for sample, f in zip(samples, fold, strict=True):
            if f == held_out:
                for coverage, engine in engines.items():
                    rows[coverage].append(
                        evaluate(sample.question, answer(sample, weights, engine))
                    )
    return rows


def figures(rows: Sequence[ExampleScores]) -> dict[str, float]:
    """Return the four main corpus scores."""
    report = summarise(rows, resamples=0)
    return {m: report.value(m) or 0.0 for m in ("semqa", "sem_f1", "rougeLsum", "sem_recall")}


def _line(name: str, scores: Mapping[str, float], note: str = "") -> None:
    print(
        f"{name:<34} SEMQA {scores['semqa']:5.2f}   Sem-F1 {scores['sem_f1']:5.2f}   "
        f"ROUGE-Lsum {scores['rougeLsum']:5.2f}   Sem-Rec {scores['sem_recall']:5.2f}   {note}"
    )


def report(samples: Sequence[Sample], seeds: int) -> None:
    """Cross-validate and print all scores."""
    default = ExtractiveEngine()
    engines = {c: ExtractiveEngine(coverage=c) for c in {*COVERAGES, default.coverage}}
    runs = [cross_validate(samples, seed, engines) for seed in range(seeds)]

    def mean_of(coverage: float) -> dict[str, float]:
        each = [figures(run[coverage]) for run in runs]
        return {metric: fmean(scores[metric] for scores in each) for metric in each[0]}

    values = [figures(run[default.coverage])["semqa"] for run in runs]
    spread = f"(sd {stdev(values):.2f}, " if seeds > 1 else "("
    _line(
        f"{FOLDS}-fold, mean of {seeds} seeds",
        mean_of(default.coverage),
        spread + f"{min(values):.2f} to {max(values):.2f})",
    )
    for coverage in COVERAGES:
        _line(f"  coverage {coverage}", mean_of(coverage))
    bm25 = [evaluate(s.question, bm25_answer(s)) for s in samples]
    _line("best BM25 sentence, weak dropped", figures(bm25))
    test = paired_bootstrap(runs[0][default.coverage], bm25)
    print(
        f"  cross-validated minus BM25: {test.difference:+.2f} "
        f"({test.low:+.2f} to {test.high:+.2f}), p = {test.p:.4f}"
    )


def same(stored: Mapping[str, Mapping[str, float]], weights: Weights) -> bool:
    """Return whether stored and fitted weights are equal up to rounding."""
    return all(
        stored[part].keys() == fitted.keys()
        and all(abs(stored[part][name] - value) < 1e-3 for name, value in fitted.items())
        for part, fitted in (("word", weights.word), ("title", weights.title))
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, report and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="QuoteSum file (JSON lines)")
    parser.add_argument("--out", type=Path, help="output file for the weights")
    parser.add_argument(
        "--check", type=Path, help="exit with 1 unless this file has the same weights"
    )
    parser.add_argument(
        "--seeds", type=int, default=5, help="number of fold seeds; 0 for no report"
    )
    options = parser.parse_args(arguments)
    samples = load(options.data)
    weights = fit(samples)
    if options.seeds:
        report(samples, options.seeds)
        rows = [evaluate(s.question, answer(s, weights, ExtractiveEngine())) for s in samples]
        _line("fitted and tested on all questions", figures(rows))
    if options.out:
        fitted = {"word": weights.word, "title": weights.title}
        options.out.write_text(json.dumps(fitted, indent=1) + "\n", "utf-8")
        print(f"wrote {options.out}")
    if options.check and not same(json.loads(options.check.read_text("utf-8")), weights):
        sys.exit(f"{options.check} has different weights. Fit them again with --out.")


if __name__ == "__main__":
    main()
