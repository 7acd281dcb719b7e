"""Fit the model that selects units of documents, and evaluate it on held-out documents.

    python scripts/fit_documents.py SET [SET ...] --encoders FOLDER [--out FILE]
    python scripts/fit_documents.py SET [SET ...] --names tuned --encoders FOLDER --average FILE …

A SET is a folder with ``questions.jsonl`` and ``documents/``, in the format of `semqa eval docs`. A
unit is positive if at least half of it is evidence. Each question is also paired with documents of
another set, which do not answer it. Half of them are also paired with documents whose headings are
replaced by questions, as in an FAQ. Prints cross-validated scores by document, then writes the
trees: for the fine-tuned encoder, for others and for words only. FOLDER is the output of
`scripts/fit_encoder.py`: each document is read with the encoder that was fitted without it.

With --average, the log odds of the new trees and of those in FILE are averaged, and so are the
thresholds; models that are not in --names are copied. In this way, trees for new questions need no features of
the old ones, which would be biased by an encoder fitted on them. The `tuned` trees that ship
are such an average, of those of `wider` and earlier ones; `least` and `most` were set on `formats`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from semqa.bench.docqa import QuestionSet, whole_documents
from semqa.documents.structure import CONTENT
from semqa.engines.extractive.answerable import answerable_features
from semqa.engines.extractive.documents import Reading, read, write
from semqa.engines.extractive.engine import DEFAULT_MAX_WORDS
from semqa.engines.extractive.judging import Model, Trees, judge, likeliest, select
from semqa.engines.extractive.lexicon import STOPWORDS
from semqa.engines.extractive.matching import match, read_units
from semqa.metrics.docqa import DocsFigures, DocsPrediction, DocsQuestion, DocsQuote, DocsScorer
from semqa.quotes import QuotedAnswer
from semqa.retrieval.encoder import (
    PACKAGED_ENCODER,
    TUNED_ENCODER,
    NumpyBert,
    SentenceEncoder,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.judging import Judgement
    from semqa.engines.extractive.matching import Match
    from semqa.metrics.docqa import DocsScore
    from semqa.quotes import Source

    Array = NDArray[np.float64]

TREE_SETTINGS = {
    "max_iter": 150,
    "learning_rate": 0.06,
    "max_leaf_nodes": 15,
    "max_depth": 5,
    "min_samples_leaf": 60,
    "l2_regularization": 10.0,
    "random_state": 0,
}
"""Twice as many, deeper or flatter trees work as well."""

HARD_NEGATIVES, SAMPLE_EVERY = 40, 8
"""Negatives per question: the 40 nearest units, and every eighth of the rest with weight eight."""

OWN_HEADING, KEPT_WORDS = 0.7, 0.6
"""Share of answering sections headed by the asked question, and share of its content words kept."""

FOLDS = 4
FALSE_ABSTENTIONS = {"tuned": 0.02, "meaning": 0.03, "words": 0.05}
"""Target share of answerable questions on which the engine abstains because nothing is near."""

UNANSWERABLE_SETTINGS = {
    "max_iter": 100,
    "learning_rate": 0.05,
    "max_leaf_nodes": 6,
    "min_samples_leaf": 30,
    "l2_regularization": 10.0,
    "random_state": 0,
}
WITHOUT_EVERY, WITHOUT_WEIGHT = 3, 0.3
"""Every third answerable question counts 0.3 as an unanswerable one, without its evidence."""

MISSED = 0.03
"""Target share of answerable questions that count as unanswerable ones on the subject."""


class Sample(NamedTuple):
    """A question with matched units and their labels.

    Attributes:
        scorer: scorer for answers to it.
        sources: its documents.
        found: units of its documents, matched with the question.
        labels: 1 for each unit that is evidence, shape [rows].
        unrelated: units of documents from another set, which do not answer the question.
        fold: fold of its documents.
        without: units of its documents after the evidence is deleted, for some questions.
        faq: units and labels if headings are replaced by questions; None for every second question.
        encoder: compares its documents by meaning; None to compare words only.
    """

    question: DocsQuestion
    scorer: DocsScorer
    sources: tuple[Source, ...]
    found: Match
    labels: Array
    unrelated: Match
    fold: int
    without: Match | None
    faq: tuple[Match, Array] | None
    encoder: SentenceEncoder | None


class AdaptedEncoder(SentenceEncoder):
    """The fine-tuned encoder with another adapter; vectors are cached on disk."""

    def __init__(self, adapter: Path) -> None:
        super().__init__(TUNED_ENCODER)
        self._adapter = adapter

    @cached_property
    def _identity(self) -> str:
        digest = hashlib.sha256(self._adapter.read_bytes()).hexdigest()
        return f"{self.name}:{digest}"

    @cached_property
    def _numpy_model(self) -> NumpyBert:
        return NumpyBert(self._adapter.read_bytes())


def encoders_for(name: str, folder: Path | None = None) -> list[SentenceEncoder | None]:
    """Return the encoder for the documents of each fold; the folder has those for `tuned`."""
    if folder is not None and name == "tuned":
        return [AdaptedEncoder(folder / f"fold-{fold}.safetensors") for fold in range(FOLDS)]
    return [SentenceEncoder(PACKAGED_ENCODER) if name == "meaning" else None] * FOLDS


def load(folders: Sequence[Path], encoders: Sequence[SentenceEncoder | None]) -> list[Sample]:
    """Read the sets and match their questions with their own and with other documents.

    Args:
        encoders: one per fold.
    """
    sets = [QuestionSet.read(folder / "questions.jsonl") for folder in folders]
    samples: list[Sample] = []
    for number, here in enumerate(sets):
        other = [file.source for _, file in sorted(sets[number - 1].documents.items())]
        headings = _Headings(here)
        for count, question in enumerate(here.questions):
            names, sources = zip(*whole_documents(question, here.documents), strict=True)
            fold = _fold(names, sources, question.evidence)
            encoder = encoders[fold]
            found = match(question.question, sources, encoder)
            labels = _labels(found, question.evidence)
            first = len(samples) % len(other) if len(names) == 1 else 0
            unrelated = match(question.question, other[first:][: len(names)], encoder)
            without = None
            if encoder is not None and labels.any() and count % WITHOUT_EVERY == 0:
                without = match(question.question, _without(found, labels, sources), encoder)
            faq = None
            if question.answerable and count % 2:
                matched = match(question.question, headings.replace_headings(question), encoder)
                faq = (matched, _labels(matched, question.evidence))
            samples.append(
                Sample(
                    question,
                    here.scorer,
                    sources,
                    found,
                    labels,
                    unrelated,
                    fold,
                    without,
                    faq,
                    encoder,
                )
            )
    return samples


def _fold(names: Sequence[str], sources: Sequence[Source], evidence: Sequence[str]) -> int:
    """Return the fold of the first document with evidence, or of the first document."""
    holding = (n for n, s in zip(names, sources, strict=True) if _marked(s.text, evidence))
    return sum(map(ord, next(holding, names[0]))) % FOLDS


def _without(found: Match, labels: Array, sources: Sequence[Source]) -> list[Source]:
    """Delete the units that are evidence from the documents."""
    texts = [source.text for source in sources]
    for row in np.flatnonzero(labels)[::-1]:
        s, u = found.places[row]
        unit = found.sources[s].structure.units[u]
        texts[s] = texts[s][: unit.start] + texts[s][unit.end :]
    return [replace(source, text=text) for source, text in zip(sources, texts, strict=True)]


class _Headings:
    """Replaces headings in the documents of a set with questions that their sections answer."""

    def __init__(self, questions: QuestionSet) -> None:
        self._set = questions
        self._answers: dict[str, list[tuple[str, set[int]]]] = {}
        """The questions answered by each document, with the offsets of the evidence."""
        for question in questions.questions:
            for name, source in whole_documents(question, questions.documents):
                if marked := _marked(source.text, question.evidence):
                    self._answers.setdefault(name, []).append((question.question, marked))

    def replace_headings(self, question: DocsQuestion) -> list[Source]:
        """Return the documents of a question, with this or another question as headings."""
        sources = []
        for name, source in whole_documents(question, self._set.documents):
            text = source.text
            for start, end, first, last in reversed(_sections(source)):
                answered = [
                    text
                    for text, marked in self._answers.get(name, ())
                    if any(first <= offset < last for offset in marked)
                ]
                random = Random(f"{name}{start}")
                if question.question in answered and Random(question.id).random() < OWN_HEADING:
                    answered, random = [question.question], Random(question.id)
                if answered:
                    marks = text[start:end][: -len(text[start:end].lstrip("# "))]
                    heading = _reworded(random.choice(answered), random)
                    text = f"{text[:start]}{marks}{heading}{text[end:]}"
            sources.append(replace(source, text=text))
        return sources


def _sections(source: Source) -> list[tuple[int, int, int, int]]:
    """Return start and end of each heading, and of the content directly below it."""
    units = read_units(source).structure.units
    found = []
    for number, heading in enumerate(units):
        content = [
            unit for unit in units if unit.kind in CONTENT and unit.headings[-1:] == (number,)
        ]
        if heading.kind == "heading" and content:
            found.append((heading.start, heading.end, content[0].start, content[-1].end))
    return found


def _reworded(question: str, random: Random) -> str:
    """Drop some content words from a question, because people word it differently."""
    words = question.rstrip("?! .").split()
    kept = [word for word in words if word.lower() in STOPWORDS or random.random() < KEPT_WORDS]
    return f"{' '.join(kept if len(kept) >= 3 else words).capitalize()}?"


def _labels(found: Match, evidence: Sequence[str]) -> Array:
    """Return 1 for each unit that is at least half evidence, otherwise 0; shape [rows]."""
    marked = [_marked(units.structure.text, evidence) for units in found.sources]
    labels = np.zeros(len(found.places))
    for row, (s, u) in enumerate(found.places):
        unit = found.sources[s].structure.units[u]
        letters = _letters(found.sources[s].structure.text, unit.start, unit.end)
        labels[row] = sum(i in marked[s] for i in letters) >= 0.5 * max(len(letters), 1)
    return labels


def _letters(text: str, start: int, end: int) -> list[int]:
    """Return the offsets of the letters and digits in a range."""
    return [i for i in range(start, end) if text[i].isalnum()]


def _marked(text: str, evidence: Sequence[str]) -> set[int]:
    """Return the offsets of the letters and digits that are evidence."""
    offsets = _letters(text, 0, len(text))
    bare = "".join(text[i] for i in offsets)
    marked: set[int] = set()
    for passage in evidence:
        letters = "".join(filter(str.isalnum, passage))
        found = bare.find(letters)
        while letters and found >= 0:
            marked.update(offsets[found : found + len(letters)])
            found = bare.find(letters, found + 1)
    return marked


def _trees(names: Sequence[str], fitted: HistGradientBoostingClassifier) -> dict[str, Any]:
    """Convert fitted trees to the arguments of `Trees.of`."""
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


def _training_rows(found: Match, labels: Array) -> tuple[Array, Array, Array]:
    """Return the features, labels and sample weights of the units used for fitting."""
    order = likeliest(found)
    order = order[np.argsort(labels[order] == 0, kind="stable")]
    first = order[: int(labels.sum()) + HARD_NEGATIVES]
    rest = order[len(first) :: SAMPLE_EVERY]
    rows = np.concatenate([first, rest])
    counts = np.repeat(
        [1.0, (len(order) - len(first)) / max(len(rest), 1)], [len(first), len(rest)]
    )
    return found.features[rows], labels[rows], counts


def fit_units(samples: Sequence[Sample], *, unrelated: bool = False) -> dict[str, Any]:
    """Fit the probability that a person quotes a unit, optionally with unrelated documents."""
    parts = [_training_rows(sample.found, sample.labels) for sample in samples]
    parts += [_training_rows(*sample.faq) for sample in samples if sample.faq is not None]
    if unrelated:
        others = (sample.unrelated for sample in samples)
        parts += (_training_rows(other, np.zeros(len(other.places))) for other in others)
    features, labels, counts = map(np.concatenate, zip(*parts, strict=True))
    trees = HistGradientBoostingClassifier(**TREE_SETTINGS).fit(features, labels, counts)
    return _trees(samples[0].found.names, trees)


class _Asked(NamedTuple):
    """A question, judged by trees that were fitted without its documents.

    Attributes:
        relevance: relevance of the best unit.
        features: `answerable_features` by name; empty if only words were compared.
        unanswerable: the label.
        weight: weight in the fit.
        fold: fold of its documents.
    """

    relevance: float
    features: dict[str, float]
    unanswerable: bool
    weight: float
    fold: int


def _asked(samples: Sequence[Sample]) -> list[_Asked]:
    asked = []
    for fold in sorted({sample.fold for sample in samples}):
        others = [sample for sample in samples if sample.fold != fold]
        unit, relevance = (
            Trees.of(**fit_units(others, unrelated=unrelated)) for unrelated in (False, True)
        )
        model = Model(unit, relevance, 0.0)
        for sample in samples:
            if sample.fold != fold:
                continue
            own = (sample.found, not sample.question.answerable, 1.0)
            for found, label, weight in (own, (sample.without, True, WITHOUT_WEIGHT)):
                if found is not None and found.places:
                    judged = judge(found, model)
                    rows = select(judged.chances)
                    features = (
                        answerable_features(found, judged.chances, rows) if found.by_meaning else {}
                    )
                    best = float(judged.relevance.max())
                    asked.append(_Asked(best, features, label, weight, fold))
    return asked


def fit_unanswerable(asked: Sequence[_Asked]) -> dict[str, Any]:
    """Fit the probability that documents do not answer, and set its threshold."""
    names = list(asked[0].features)
    features = np.array([[each.features[name] for name in names] for each in asked])
    labels = np.array([each.unanswerable for each in asked])
    weights = np.array([each.weight for each in asked])
    folds = np.array([each.fold for each in asked])

    def fitted(rows: NDArray[np.bool_]) -> HistGradientBoostingClassifier:
        trees = HistGradientBoostingClassifier(**UNANSWERABLE_SETTINGS)
        return trees.fit(features[rows], labels[rows], weights[rows])

    predicted = np.zeros(len(asked))
    for fold in sorted(set(folds.tolist())):
        predicted[folds == fold] = fitted(folds != fold).predict_proba(features[folds == fold])[
            :, 1
        ]
    most = float(np.quantile(predicted[~labels], 1 - MISSED))
    every = np.ones(len(asked), dtype=bool)
    return {"unanswerable": _trees(names, fitted(every)), "most": round(most, 3)}


def fit(samples: Sequence[Sample], name: str) -> dict[str, Any]:
    """Fit the trees and set the thresholds."""
    fitted: dict[str, Any] = {
        "unit": fit_units(samples),
        "relevance": fit_units(samples, unrelated=True),
    }
    asked = _asked(samples)
    if name != "words":
        fitted |= fit_unanswerable(asked)
    best = [each.relevance for each in asked if not each.unanswerable]
    return fitted | {"least": round(float(np.quantile(best, FALSE_ABSTENTIONS[name])), 3)}


def average(fitted: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Average the log odds of the trees of two models, and their thresholds."""
    out: dict[str, Any] = {}
    for key, value in fitted.items():
        if isinstance(value, float):
            out[key] = round((value + other[key]) / 2, 3)
            continue
        names = value["names"]
        trees = [
            [
                [round(node[0] / 2, 4)]
                if len(node) == 1
                else [names.index(part["names"][node[0]]), *node[1:]]
                for node in tree
            ]
            for part in (value, other[key])
            for tree in part["trees"]
        ]
        bias = round((value["bias"] + other[key]["bias"]) / 2, 4)
        out[key] = {"names": names, "bias": bias, "trees": trees}
    return out


def cross_validate(samples: Sequence[Sample], name: str) -> tuple[list[Reading], list[Judgement]]:
    """Read each question with a model fitted without its documents.

    Returns:
        The readings, and for each question the judgement of unrelated documents.
    """
    readings: dict[int, Reading] = {}
    unrelated: dict[int, Judgement] = {}
    for fold in sorted({sample.fold for sample in samples}):
        model = Model.of(fit([sample for sample in samples if sample.fold != fold], name))
        for number, sample in enumerate(samples):
            if sample.fold == fold:
                question = sample.question.question
                readings[number] = read(question, sample.sources, sample.encoder, model)
                unrelated[number] = judge(sample.unrelated, model)
    numbers = range(len(samples))
    return [readings[number] for number in numbers], [unrelated[number] for number in numbers]


def report(
    name: str,
    samples: Sequence[Sample],
    readings: Sequence[Reading],
    unrelated: Sequence[Judgement],
) -> None:
    """Print the scores of `semqa eval docs`, and the results on unrelated documents."""
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
        total = DocsFigures.of(found, resamples=0)
        print(
            f"{name:8} {'may abstain' if may_abstain else 'answers all':12} "
            f"docqa {_percent(total.docqa.value)}"
            f"  recall {_percent(total.recall)}  precision {_percent(total.precision)}"
            f"  full {_percent(total.fully_answered)}"
            f"  correct abstentions {_percent(total.abstained_on_unanswerable)}"
            f"  false abstentions {_percent(total.false_abstentions)}"
        )
    share = _percent(fmean(each.answers for each in unrelated))
    print(f"{name:8} unrelated documents: {share}% answered")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def main() -> None:
    """Fit, report and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="+", type=Path)
    names = ("tuned", "meaning", "words")
    parser.add_argument("--names", nargs="+", choices=names, default=names, help="models to fit")
    parser.add_argument("--encoders", type=Path, help="folder with adapters, for `tuned`")
    parser.add_argument("--average", type=Path, help="trees to average with")
    parser.add_argument("--out", type=Path, help="output file for the trees")
    args = parser.parse_args()
    if "tuned" in args.names and args.encoders is None:
        parser.error("--encoders is needed")
    others = json.loads(args.average.read_text("utf-8")) if args.average else {}
    models = dict(others)
    for name in args.names:
        samples = load(args.sets, encoders_for(name, args.encoders))
        report(name, samples, *cross_validate(samples, name))
        models[name] = fit(samples, name)
        if name in others:
            models[name] = average(models[name], others[name])
    if args.out:
        text = json.dumps(models).replace("]], ", "]],\n")  # a tree per line
        args.out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
