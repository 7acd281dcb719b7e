"""Fit the model that chooses units of documents, and report it on documents left out of the fit.

    python scripts/fit_documents.py SET [SET ...] [--held SET] [--out FILE]

A SET is a folder with ``questions.jsonl`` and ``documents/`` in the format of `semqa eval docs`. A
unit's label is whether at least half of it is evidence. Documents are read as that command reads them. Every question is also asked of documents of
another set, which do not answer it; and half of them of documents whose headings became questions, as in
a list of frequently asked ones. Prints the figures of answers by models that never saw their
documents, with an encoder and by words only; then writes the trees.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from semqa.bench.docqa import QuestionSet, whole_documents
from semqa.documents.structure import CONTENT
from semqa.engines.extractive.documents import Reading, read, write
from semqa.engines.extractive.engine import DEFAULT_MAX_WORDS
from semqa.engines.extractive.lexicon import STOPWORDS
from semqa.engines.extractive.matching import (
    Match,
    Model,
    Trees,
    judge,
    likeliest,
    match,
    read_units,
    select,
)
from semqa.metrics.docqa import DocsPrediction, DocsQuestion, DocsQuote, DocsReport, DocsScorer
from semqa.quotes import QuotedAnswer
from semqa.quotes.render.common import LOW
from semqa.retrieval.encoder import packaged_encoder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.matching import Judgement
    from semqa.metrics.docqa import DocsScore
    from semqa.quotes import Source

    Array = NDArray[np.float64]

SHAPE = {
    "max_iter": 150,
    "learning_rate": 0.06,
    "max_leaf_nodes": 15,
    "max_depth": 5,
    "min_samples_leaf": 60,
    "l2_regularization": 10.0,
    "random_state": 0,
}
"""Of the trees; twice as many, deeper or flatter ones are as good."""

LIKELIEST, EVERY = 40, 8
"""Of a question's other units, as many of those nearest to it are fitted on, and every eighth of the
rest, which counts eight times."""

OWN, KEPT = 0.7, 0.6
"""Share of sections that are headed by the very question that is asked, and of its words that stay."""

FOLDS = 4
FALSE = {"meaning": 0.03, "words": 0.05}
"""Share of answerable questions from which the engine may abstain."""


class Sample(NamedTuple):
    """A question, its sources compared with it, and what a person marked.

    Attributes:
        question: the question.
        scorer: scores answers to it.
        sources: its documents.
        found: the units.
        labels: 1 for each unit that is evidence; shape [rows].
        astray: the question compared with documents of another set, which do not answer it.
        fold: number of its part of the documents.
        faq: the question compared with its documents when their headings are questions, and what is
            evidence there; None for the other half of the questions.
    """

    question: DocsQuestion
    scorer: DocsScorer
    sources: tuple[Source, ...]
    found: Match
    labels: Array
    astray: Match
    fold: int
    faq: tuple[Match, Array] | None


def load(folders: Sequence[Path], *, by_meaning: bool) -> list[Sample]:
    """Read sets of questions, and compare them with their documents and with those of other sets."""
    encoder = packaged_encoder() if by_meaning else None
    sets = [QuestionSet.read(folder / "questions.jsonl") for folder in folders]
    samples: list[Sample] = []
    for number, here in enumerate(sets):
        other = [file.source for _, file in sorted(sets[number - 1].documents.items())]
        headings = _Headings(here)
        for count, question in enumerate(here.questions):
            names, sources = zip(*whole_documents(question, here.documents), strict=True)
            found = match(question.question, sources, encoder)
            labels = _labels(found, question.evidence)
            first = len(samples) % len(other) if len(names) == 1 else 0
            astray = match(question.question, other[first:][: len(names)], encoder)
            # Questions over one document go with it; those over many with where their evidence is.
            rows = np.flatnonzero(labels)
            home = names[found.places[rows[0]][0]] if len(rows) else names[0]
            fold = sum(map(ord, home)) % FOLDS
            faq = None
            if question.answerable and count % 2:
                asked = match(question.question, headings.asked(question), encoder)
                faq = (asked, _labels(asked, question.evidence))
            samples.append(Sample(question, here.scorer, sources, found, labels, astray, fold, faq))
    return samples


class _Headings:
    """Documents of a set, with questions of the set in place of the headings of what answers them."""

    def __init__(self, questions: QuestionSet) -> None:
        self._set = questions
        self._answers: dict[str, list[tuple[str, set[int]]]] = {}
        """For each document the questions that it answers, with the offsets of the evidence."""
        for question in questions.questions:
            for name, source in whole_documents(question, questions.documents):
                if marked := _marked(source.text, question.evidence):
                    self._answers.setdefault(name, []).append((question.question, marked))

    def asked(self, question: DocsQuestion) -> list[Source]:
        """Return the documents of a question; it, or another one, heads what answers it."""
        sources = []
        for name, source in whole_documents(question, self._set.documents):
            text = source.text
            for start, end, first, last in reversed(_sections(source)):
                answered = [
                    text
                    for text, marked in self._answers.get(name, ())
                    if any(first <= place < last for place in marked)
                ]
                random = Random(f"{name}{start}")
                if question.question in answered and Random(question.id).random() < OWN:
                    answered, random = [question.question], Random(question.id)
                if answered:
                    marks = text[start:end][: -len(text[start:end].lstrip("# "))]
                    heading = _reworded(random.choice(answered), random)
                    text = f"{text[:start]}{marks}{heading}{text[end:]}"
            sources.append(replace(source, text=text))
        return sources


def _sections(source: Source) -> list[tuple[int, int, int, int]]:
    """Return for each heading where it begins and ends, and what stands right under it."""
    units = read_units(source).structure.units
    found = []
    for number, heading in enumerate(units):
        under = [unit for unit in units if unit.kind in CONTENT and unit.headings[-1:] == (number,)]
        if heading.kind == "heading" and under:
            found.append((heading.start, heading.end, under[0].start, under[-1].end))
    return found


def _reworded(question: str, random: Random) -> str:
    """Return a question without some of its telling words: others ask it in other words."""
    words = question.rstrip("?! .").split()
    kept = [word for word in words if word.lower() in STOPWORDS or random.random() < KEPT]
    return f"{' '.join(kept if len(kept) >= 3 else words).capitalize()}?"


def _labels(found: Match, evidence: Sequence[str]) -> Array:
    """Return 1 for each unit of which at least half is evidence, else 0; shape [rows]."""
    marked = [_marked(units.structure.text, evidence) for units in found.sources]
    labels = np.zeros(len(found.places))
    for row, (s, u) in enumerate(found.places):
        unit = found.sources[s].structure.units[u]
        letters = _letters(found.sources[s].structure.text, unit.start, unit.end)
        labels[row] = sum(i in marked[s] for i in letters) >= 0.5 * max(len(letters), 1)
    return labels


def _letters(text: str, start: int, end: int) -> list[int]:
    """Return where the letters and digits of a stretch are."""
    return [i for i in range(start, end) if text[i].isalnum()]


def _marked(text: str, evidence: Sequence[str]) -> set[int]:
    """Return the offsets of the letters of a text that are evidence."""
    at = _letters(text, 0, len(text))
    bare = "".join(text[i] for i in at)
    marked: set[int] = set()
    for stretch in evidence:
        wanted = "".join(filter(str.isalnum, stretch))
        found = bare.find(wanted)
        while wanted and found >= 0:
            marked.update(at[found : found + len(wanted)])
            found = bare.find(wanted, found + 1)
    return marked


def _trees(names: Sequence[str], fitted: HistGradientBoostingClassifier) -> dict[str, object]:
    """Return fitted trees in the shape that `Trees.of` reads."""
    trees = [
        [
            [round(float(node["value"]), 4)]
            if node["is_leaf"]
            else [
                int(node["feature_idx"]),
                float(f"{node['num_threshold']:.5g}"),
                int(node["left"]),
                int(node["right"]),
            ]
            for node in predictor[0].nodes
        ]
        for predictor in fitted._predictors
    ]
    bias = round(float(fitted._baseline_prediction.item()), 4)
    return {"names": list(names), "bias": bias, "trees": trees}


def _fitted_on(found: Match, labels: Array) -> tuple[Array, Array, Array]:
    """Return the features of the units that are fitted on, their labels, and how often they count."""
    order = likeliest(found)
    order = order[np.argsort(labels[order] == 0, kind="stable")]
    first = order[: int(labels.sum()) + LIKELIEST]
    rest = order[len(first) :: EVERY]
    rows = np.concatenate([first, rest])
    counts = np.repeat(
        [1.0, (len(order) - len(first)) / max(len(rest), 1)], [len(first), len(rest)]
    )
    return found.features[rows], labels[rows], counts


def fit_units(samples: Sequence[Sample], *, astray: bool = False) -> dict[str, object]:
    """Fit the chance that a person would quote a unit; with questions that were put astray or not."""
    parts = [_fitted_on(sample.found, sample.labels) for sample in samples]
    parts += [_fitted_on(*sample.faq) for sample in samples if sample.faq is not None]
    if astray:
        others = (sample.astray for sample in samples)
        parts += (_fitted_on(other, np.zeros(len(other.places))) for other in others)
    features, labels, counts = map(np.concatenate, zip(*parts, strict=True))
    trees = HistGradientBoostingClassifier(**SHAPE).fit(features, labels, counts)
    return _trees(samples[0].found.names, trees)


def fit(samples: Sequence[Sample], name: str) -> dict[str, Any]:
    """Fit the trees, and set the least relevance."""
    fitted = {"unit": fit_units(samples), "relevance": fit_units(samples, astray=True)}
    model = made(fitted | {"least": 0.0})
    best = [
        judge(sample.found, model).relevance.max()
        for sample in samples
        if sample.question.answerable
    ]
    return fitted | {"least": round(float(np.quantile(best, FALSE[name])), 3)}


def made(fitted: Mapping[str, Any]) -> Model:
    """Return the model of what was fitted."""
    return Model(Trees.of(**fitted["unit"]), Trees.of(**fitted["relevance"]), fitted["least"])


def read_as(sample: Sample, name: str, model: Model) -> Reading:
    """Read a question with another model than the one that ships."""
    encoder = packaged_encoder() if name == "meaning" else None
    return read(sample.question.question, sample.sources, encoder, model)


def cross_validate(samples: Sequence[Sample], name: str) -> tuple[list[Reading], list[Judgement]]:
    """Read each question by a model that never saw its documents.

    Returns:
        The readings, and for each question how documents of another set are judged.
    """
    readings: dict[int, Reading] = {}
    astray: dict[int, Judgement] = {}
    for fold in sorted({sample.fold for sample in samples}):
        model = made(fit([sample for sample in samples if sample.fold != fold], name))
        for number, sample in enumerate(samples):
            if sample.fold == fold:
                readings[number] = read_as(sample, name, model)
                astray[number] = judge(sample.astray, model)
    numbers = range(len(samples))
    return [readings[number] for number in numbers], [astray[number] for number in numbers]


def report(
    name: str,
    samples: Sequence[Sample],
    readings: Sequence[Reading],
    astray: Sequence[Judgement] = (),
) -> None:
    """Print the figures of `semqa eval docs`, and what is made of questions that are put astray."""
    scores: dict[bool, list[DocsScore]] = {True: [], False: []}
    for sample, reading in zip(samples, readings, strict=True):
        question = sample.question
        for may_abstain, found in scores.items():
            abstained = may_abstain and not reading.answers
            text = "" if abstained else write(reading, sample.sources, DEFAULT_MAX_WORDS)
            quotes = tuple(
                DocsQuote(quote.text, question.documents[quote.source - 1], quote.field)
                for quote in QuotedAnswer.parse(text, sample.sources).quotes
            )
            found.append(sample.scorer.score(question, DocsPrediction(quotes, abstained)))
    for may_abstain, found in scores.items():
        figures = DocsReport.of(found, resamples=0)
        total = figures.total
        print(
            f"{name:8} {'abstains' if may_abstain else 'answers all':12} docqa {_percent(total.docqa.value)}"
            f"  recall {_percent(total.recall)}  precision {_percent(total.precision)}"
            f"  full {_percent(total.fully_answered)}  rightly {_percent(total.abstained_on_unanswerable)}"
            f"  wrongly {_percent(total.false_abstentions)}  | "
            + "  ".join(
                f"{kind} {_percent(each.docqa.value)}" for kind, each in figures.kinds.items()
            )
        )
    rows = [
        (sample, reading, select(reading.judgement))
        for sample, reading in zip(samples, readings, strict=True)
    ]
    told = [
        (reading.judgement.relevance[row], sample.labels[row])
        for sample, reading, chosen in rows
        for row in chosen
    ]
    for low, high in pairwise((0.0, 0.2, 0.5, 0.8, 1.01)):
        right = [label for figure, label in told if low <= figure < high]
        print(
            f"{name:8} relevance from {low}: {len(right)} units, {_percent(fmean(right or [0]))}% right"
        )
    if astray:
        share = _percent(fmean(each.answers for each in astray))
        poor = _percent(fmean(each.relevance.max(initial=0) < LOW for each in astray))
        print(
            f"{name:8} of questions over documents of another set: answers {share}%, relevance low {poor}%"
        )


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def main() -> None:
    """Fit, report and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--held", type=Path, help="another set to report, not fitted on")
    parser.add_argument("--out", type=Path, help="where to write the trees")
    args = parser.parse_args()
    models = {}
    for name in ("meaning", "words"):
        samples = load(args.sets, by_meaning=name == "meaning")
        report(name, samples, *cross_validate(samples, name))
        models[name] = fit(samples, name)
        if args.held:
            held = load([args.held], by_meaning=name == "meaning")
            model = made(models[name])
            report(f"{name}, held", held, [read_as(sample, name, model) for sample in held])
    if args.out:
        text = json.dumps(models).replace("]], ", "]],\n")  # a tree per line
        args.out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
