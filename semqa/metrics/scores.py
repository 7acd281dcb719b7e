"""The QuoteSum scores: ROUGE, Sem-F1, Sem-Rec and SEMQA, of a prediction and of a corpus.

From the bottom: an `Example` and its scores; bags of quoted words by source; a `Target`, which is a
question compiled to score any number of predictions; the human row; the `Report` of a corpus; and
Sem-F1 over quoted sources, which is not a score of the paper.

SEMQA of a corpus is √(Sem-F1 · ROUGE-Lsum) of the two means, not the mean of the examples' SEMQA.

Source: "SEMQA: Semi-Extractive Multi-Source Question Answering" (2024), and the released QuoteSum
scorer, whose figures these are wherever it has one. `docs/metrics.md` lists where the default
differs.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.errors import InputError
from semqa.metrics.rouge import RougeText, Vocabulary, closest_rouge, shared_tokens
from semqa.metrics.text import Overlap, split_marks, words_of_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

METRICS = (
    "rouge1",
    "rouge2",
    "rougeL",
    "rougeLsum",
    "sem_f1",
    "sem_f1_harmonic",
    "sem_recall",
    "semqa",
)
"""Names of the scores, in the order in which they are reported."""


class NoReferenceError(InputError, ValueError):
    """A question has no reference to score against; the official scorer raises ValueError."""


@dataclass(frozen=True, slots=True)
class Example:
    """What it takes to score one prediction; all texts have canonical marks (``[ 1 span ]``).

    Attributes:
        qid: names the question in reports and errors.
        references: the answers people wrote.
        short_answers: for each reference the short answers it covers; "" for none.
        present: numbers of the sources that the question comes with, from 1.

    Raises:
        InputError: a field is no text, no tuple (or list) of texts, or holds a number below 1.
    """

    qid: str
    prediction: str
    references: tuple[str, ...]
    short_answers: tuple[str, ...]
    present: tuple[int, ...]

    def __post_init__(self) -> None:
        prediction: object = self.prediction
        if not isinstance(prediction, str):
            raise _wrong(self.qid, "prediction", prediction, "a text")
        for name in ("references", "short_answers"):
            texts: object = getattr(self, name)
            if not isinstance(texts, (tuple, list)) or set(map(type, texts)) - {str}:
                raise _wrong(self.qid, name, texts, "a tuple of texts")
            object.__setattr__(self, name, tuple(texts))
        object.__setattr__(self, "present", tuple(self.present))
        if set(map(type, self.present)) - {int} or min(self.present, default=1) < 1:
            raise _wrong(self.qid, "present", self.present, "source numbers from 1")


@dataclass(frozen=True, slots=True)
class ExampleScores:
    """The scores of one prediction, 0-100; None where `unscored` says why.

    With ``official=True`` a score is NaN where the official scorer's is. `semqa` is √(sem_f1 · rougeLsum)
    of this example: the mean of these is *not* the SEMQA of a corpus, which `Report` computes from the
    corpus means.
    """

    qid: str
    rouge1: float | None
    rouge2: float | None
    rougeL: float | None  # noqa: N815 (the field's name)
    rougeLsum: float | None  # noqa: N815 (the field's name)
    sem_f1: float | None
    sem_f1_harmonic: float | None
    sem_recall: float | None
    semqa: float | None
    unscored: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def without(cls, qid: str, reason: str) -> ExampleScores:
        """Return the row of a prediction that no metric can score."""
        reasons = dict.fromkeys(METRICS, reason)
        return cls(qid, None, None, None, None, None, None, None, None, unscored=reasons)

    def value(self, metric: str) -> float | None:
        """Return one score by its name, one of `METRICS`."""
        if metric not in METRICS:
            raise InputError(
                f"must be one of {', '.join(METRICS)}, got {metric!r}.", field="metric"
            )
        value: float | None = getattr(self, metric)
        return value

    def to_dict(self) -> dict[str, Any]:
        """Return the row of a per-example file: qid, each score, and `unscored` where not empty.

        A NaN becomes None, with the reason "NaN in the official scorer": JSON has no NaN.
        """
        row: dict[str, Any] = {"qid": self.qid}
        unscored = dict(self.unscored)
        for metric in METRICS:
            value = self.value(metric)
            if value is not None and math.isnan(value):
                value, unscored[metric] = None, "NaN in the official scorer"
            row[metric] = value
        if unscored:
            row["unscored"] = unscored
        return row


def _wrong(qid: str, name: str, got: object, rule: str) -> InputError:
    return InputError(f"of question {qid} must be {rule}, got {got!r:.80}.", field=name)


OFFICIAL_SOURCES = range(1, 8)
"""The only sources that the official Sem-F1 and Sem-Rec look at."""


class SourceBags:
    """For each of the sources that are scored, the bags of words that some texts quote from it."""

    __slots__ = ("_bags",)

    def __init__(self, texts: Collection[Mapping[int, str]], sources: Iterable[int]) -> None:
        # Texts that quote the same words need comparing once.
        self._bags = [(source, {text.get(source, "") for text in texts}) for source in sources]

    def best(self, predicted: Mapping[int, str]) -> list[Overlap]:
        """Return for each source, in order, the best F1, recall and precision over the texts.

        Each of the three is a maximum of its own, so they may come from different texts.
        """
        return [_best_overlap(bags, predicted.get(source, "")) for source, bags in self._bags]


def named_sources(texts: Iterable[Mapping[int, str]], *, all_sources: bool) -> list[int]:
    """Return the sources that count for Sem-Rec: those for which some text has a short answer."""
    named = [source for text in texts for source, bag in text.items() if bag]
    return scored_sources(named, all_sources=all_sources)


def scored_sources(sources: Iterable[int], *, all_sources: bool) -> list[int]:
    """Return the sources that Sem-F1 and Sem-Rec look at, ascending."""
    return sorted(set(sources) if all_sources else set(sources).intersection(OFFICIAL_SOURCES))


def mean_f1(overlaps: Sequence[Overlap]) -> float:
    """Return Sem-F1, 0-100, of the overlaps of all sources of a question."""
    return 100 * sum(overlap.f1 for overlap in overlaps) / len(overlaps)


def mean_recall(overlaps: Sequence[Overlap]) -> float:
    """Return Sem-Rec, 0-100, of the overlaps of all sources with a short answer."""
    return 100 * sum(overlap.recall for overlap in overlaps) / len(overlaps)


def harmonic_f1(overlaps: Sequence[Overlap]) -> float:
    """Return the harmonic mean, 0-100, of the recalls and precisions of all sources."""
    values = [value for overlap in overlaps for value in (overlap.recall, overlap.precision)]
    return 100 * len(values) / sum(1 / value for value in values) if all(values) else 0.0


def _best_overlap(bags: Collection[str], predicted: str) -> Overlap:
    """Return the maximum of each measure of `token_overlap` over bags in sorted, encoded form."""
    if not predicted:
        agrees = float("" in bags)
        return Overlap(f1=agrees, recall=agrees, precision=1.0)
    size = len(predicted)
    f1 = recall = 0.0
    most_shared = 0
    for bag in bags:
        wanted = len(bag)
        shared = shared_tokens(bag, predicted)
        if not wanted:
            recall = 1.0
        elif shared:
            # Conditions, as calls of max() would take most of the time here.
            if (bag_f1 := 2 * shared / (wanted + size)) > f1:
                f1 = bag_f1
            if (bag_recall := shared / wanted) > recall:
                recall = bag_recall
            most_shared = max(most_shared, shared)
    return Overlap(f1, recall, most_shared / size)


class MarkedText:
    """A marked text, encoded in the vocabulary of its question.

    The vocabulary learns a reference, and only finds what it knows of a prediction. `rouge` is the text
    without marks, and `bags` has for each source quoted the bag of the words of its spans.
    """

    __slots__ = ("bags", "rouge")

    def __init__(
        self, text: str, vocabulary: Vocabulary, *, learn: bool = False, all_sources: bool = False
    ) -> None:
        pieces = split_marks(text, all_sources=all_sources)
        self.bags = _bags(pieces, vocabulary.learn_bag if learn else vocabulary.encode_bag)
        del pieces[1::3]
        encode = vocabulary.learn if learn else vocabulary.encode
        self.rouge = RougeText.read("".join(pieces), encode)


def bags_of_quotes(
    text: str, vocabulary: Vocabulary, *, learn: bool = False, all_sources: bool = False
) -> dict[int, str]:
    """Return `MarkedText.bags` alone; the arguments are the same."""
    pieces = split_marks(text, all_sources=all_sources)
    return _bags(pieces, vocabulary.learn_bag if learn else vocabulary.encode_bag)


def _bags(pieces: list[str], encode_bag: Callable[[Iterable[str]], str]) -> dict[int, str]:
    if len(pieces) == 1:
        return {}
    words_by_source: dict[int, list[str]] = {}
    for number, words in zip(pieces[1::3], words_of_spans(pieces[2::3]), strict=True):
        words_by_source.setdefault(int(number), []).extend(words)
    return {source: encode_bag(words) for source, words in words_by_source.items()}


NO_SOURCE = "no source is present that is scored"
NO_SHORT_ANSWER = "no reference has a short answer"
NO_MARKED_SHORT_ANSWER = "no short answer is marked with a source"
HARMONIC_RAISES = "no source is present that is scored: the official scorer raises StatisticsError"

CACHED_QUESTIONS = 1024


class Target:
    """What the predictions for one question are compared with.

    Scores do not change it, so threads may share it. `official` gives NaN where the official scorer does;
    `all_sources` scores the sources beyond 7 too, and reads numbers of more than one digit.
    """

    __slots__ = (
        "_all_sources",
        "_no_recall",
        "_official",
        "_quotes",
        "_rouge",
        "_short_answers",
        "_vocabulary",
    )

    def __init__(
        self,
        vocabulary: Vocabulary,
        references: Sequence[MarkedText],
        short_answers: Sequence[Mapping[int, str]],
        present: Iterable[int],
        *,
        any_short_answer: bool,
        official: bool = False,
        all_sources: bool = False,
    ) -> None:
        self._vocabulary = vocabulary
        self._rouge = [text.rouge for text in references]
        self._quotes = SourceBags(
            [text.bags for text in references], scored_sources(present, all_sources=all_sources)
        )
        self._short_answers = SourceBags(
            short_answers, named_sources(short_answers, all_sources=all_sources)
        )
        self._no_recall = NO_MARKED_SHORT_ANSWER if any_short_answer else NO_SHORT_ANSWER
        self._official = official
        self._all_sources = all_sources

    @classmethod
    def read(
        cls,
        references: Sequence[str],
        short_answers: Sequence[str],
        present: Iterable[int],
        *,
        official: bool = False,
        all_sources: bool = False,
    ) -> Target:
        """Make a target of texts.

        Example:
            >>> target = Target.read(["Sung by [ 1 Bing Crosby ]."], ["[ 1 Crosby ]"], [1])
            >>> target.score("It was [ 1 Crosby ]").sem_recall
            100.0
        """
        if not references:
            raise NoReferenceError("There is no reference.")
        vocabulary = Vocabulary()
        return cls(
            vocabulary,
            [
                MarkedText(text, vocabulary, learn=True, all_sources=all_sources)
                for text in references
            ],
            # References often share their short answers; a maximum needs each text once.
            [
                bags_of_quotes(text, vocabulary, learn=True, all_sources=all_sources)
                for text in dict.fromkeys(short_answers)
            ],
            present,
            any_short_answer=any(short_answers),
            official=official,
            all_sources=all_sources,
        )

    def score(self, prediction: str, *, qid: str = "") -> ExampleScores:
        """Score one prediction; the scores carry `qid`."""
        text = MarkedText(prediction, self._vocabulary, all_sources=self._all_sources)
        return self.score_encoded(text, qid=qid)

    def score_encoded(self, prediction: MarkedText, *, qid: str = "") -> ExampleScores:
        """Score a prediction that is encoded already, in the vocabulary of this target."""
        unscored: dict[str, str] = {}
        rouge = closest_rouge(self._rouge, prediction.rouge)
        sem_f1, harmonic = self._sem_f1(prediction.bags, unscored)
        return ExampleScores(
            qid,
            *rouge,
            sem_f1=sem_f1,
            sem_f1_harmonic=harmonic,
            sem_recall=self._sem_recall(prediction.bags, unscored),
            semqa=None if sem_f1 is None else math.sqrt(sem_f1 * rouge.rougeLsum),
            unscored=unscored,
        )

    def _sem_f1(
        self, predicted: dict[int, str], unscored: dict[str, str]
    ) -> tuple[float | None, float | None]:
        """Return Sem-F1 and its harmonic form, 0-100; without a source, note why there is none."""
        overlaps = self._quotes.best(predicted)
        if overlaps:
            return mean_f1(overlaps), harmonic_f1(overlaps)
        if self._official:
            unscored["sem_f1_harmonic"] = HARMONIC_RAISES
            return math.nan, None
        unscored |= dict.fromkeys(("sem_f1", "sem_f1_harmonic", "semqa"), NO_SOURCE)
        return None, None

    def _sem_recall(self, predicted: dict[int, str], unscored: dict[str, str]) -> float | None:
        """Return Sem-Rec, 0-100; where there is nothing to recall, note why."""
        overlaps = self._short_answers.best(predicted)
        if overlaps:
            return mean_recall(overlaps)
        if self._official and self._no_recall == NO_MARKED_SHORT_ANSWER:
            return math.nan
        unscored["sem_recall"] = self._no_recall
        return None


@lru_cache(maxsize=CACHED_QUESTIONS)
def target_for(
    references: tuple[str, ...],
    short_answers: tuple[str, ...],
    present: tuple[int, ...],
    official: bool,
    all_sources: bool,
) -> Target:
    """Return the target of a question, compiled once for the last questions asked for."""
    return Target.read(
        references, short_answers, present, official=official, all_sources=all_sources
    )


def score_example(
    example: Example, *, official: bool = False, all_sources: bool = False
) -> ExampleScores:
    """Score one prediction on all metrics.

    Args:
        example: the prediction and what it is compared with.
        official: give NaN where the official scorer does.
        all_sources: score the sources beyond 7 too, which the official scorer strips or leaves in
            the text but does not look at, and read source numbers of more than one digit.

    Raises:
        NoReferenceError: the example has no reference.

    Example:
        >>> example = Example("q1", "In [ 1 1942 ].", ("In [ 1 May 1942 ].",), ("",), (1,))
        >>> round(score_example(example).semqa, 1)
        73.0
    """
    if not example.references:
        raise NoReferenceError(f"Question {example.qid} has no reference.")
    target = target_for(
        example.references, example.short_answers, example.present, official, all_sources
    )
    return target.score(example.prediction, qid=example.qid)


NO_OTHER_REFERENCE = "no other reference to compare with"


def leave_one_out(
    qid: str,
    references: Sequence[str],
    short_answers: Sequence[str],
    present: Iterable[int],
    *,
    official: bool = False,
    all_sources: bool = False,
) -> list[ExampleScores]:
    """Score each reference of one question against the other references of it; see `score`.

    `summarise` of the rows of all questions is the human row. It averages over answers, not over
    questions: so do the published figures, where each answer is one example of the scorer. A
    question with a single reference gives one unscored row.

    Raises:
        InputError: there is no reference, or not one short answer ("" for none) for each.

    Example:
        >>> rows = leave_one_out("q1", ["[ 1 May ]", "[ 1 May 1942 ]"], ["", ""], [1])
        >>> [round(row.sem_f1, 1) for row in rows]
        [66.7, 66.7]
    """
    if len(short_answers) != len(references):
        raise InputError(
            f"of question {qid} has {len(short_answers)} entries for {len(references)} references.",
            field="short_answers",
            hint='Write "" if there is none.',
        )
    if not references:
        raise NoReferenceError(f"Question {qid} has no reference.")
    if len(references) == 1:
        return [ExampleScores.without(qid, NO_OTHER_REFERENCE)]
    vocabulary = Vocabulary()
    present = tuple(present)
    texts = [
        MarkedText(text, vocabulary, learn=True, all_sources=all_sources) for text in references
    ]
    shorts = [
        bags_of_quotes(text, vocabulary, learn=True, all_sources=all_sources)
        for text in short_answers
    ]
    rows = []
    for k, text in enumerate(texts):
        target = Target(
            vocabulary,
            [*texts[:k], *texts[k + 1 :]],
            [*shorts[:k], *shorts[k + 1 :]],
            present,
            any_short_answer=any((*short_answers[:k], *short_answers[k + 1 :])),
            official=official,
            all_sources=all_sources,
        )
        rows.append(target.score_encoded(text, qid=qid))
    return rows


NO_EXAMPLES = "no examples"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One corpus score, 0-100, with its interval and the reasons for the examples left out.

    It rests on `n` examples; for SEMQA, those with a Sem-F1. The value is None where no example is
    scored, and NaN only with ``official=True``.
    """

    value: float | None
    n: int
    interval: tuple[float, float] | None
    unscored: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Report:
    """What `score` found, with the settings that make it repeatable; see there."""

    examples: tuple[ExampleScores, ...]
    estimates: Mapping[str, Estimate]
    official: bool
    all_sources: bool
    resamples: int
    seed: int
    confidence: float

    @property
    def n(self) -> int:
        """Number of predictions, scored or not."""
        return len(self.examples)

    def value(self, metric: str) -> float | None:
        """Return one corpus score by its name."""
        return self.estimates[metric].value

    def to_dict(self) -> dict[str, Any]:
        """Return the report without its rows, ready for JSON.

        Keys: ``n``, ``questions``, each of `METRICS` (0-100 or None), ``scored`` (metric to number
        of examples), ``intervals`` (metric to [low, high]), ``unscored`` (metric to reason to
        number), ``official``, ``all_sources``, ``resamples``, ``seed``, ``confidence``. With
        ``official=True`` also ``nan`` (the metrics that are NaN in the official scorer, None here)
        and, without ``all_sources``, ``published`` (the figures as the authors' notebook prints
        them).
        """
        values = {metric: self.estimates[metric].value for metric in METRICS}
        row: dict[str, Any] = {
            "n": self.n,
            "questions": len({example.qid for example in self.examples}),
            **{m: None if v is None or math.isnan(v) else v for m, v in values.items()},
            "scored": {m: estimate.n for m, estimate in self.estimates.items()},
            "intervals": {
                m: list(estimate.interval)
                for m, estimate in self.estimates.items()
                if estimate.interval
            },
            "unscored": {
                m: dict(estimate.unscored)
                for m, estimate in self.estimates.items()
                if estimate.unscored
            },
            "official": self.official,
            "all_sources": self.all_sources,
            "resamples": self.resamples,
            "seed": self.seed,
            "confidence": self.confidence,
        }
        if self.official:
            row["nan"] = [m for m, v in values.items() if v is not None and math.isnan(v)]
        if self.official and not self.all_sources:
            from semqa.metrics.official import published_figures

            row["published"] = {
                m: None if math.isnan(v) else v for m, v in published_figures(self.examples).items()
            }
        return row


def score(
    examples: Iterable[Example],
    *,
    official: bool = False,
    all_sources: bool = False,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Report:
    """Score one system.

    Args:
        examples: one prediction each.
        official: reproduce the defects of the official scorer; see `docs/metrics.md`.
        all_sources: score the sources beyond 7 too; see `score_example`.
        resamples: corpora to draw for the intervals; 0 for none.
        seed: of the draws.
        confidence: mass of the intervals, in (0, 1).

    Raises:
        InputError: an example has no reference, or a setting is out of range.

    Example:
        >>> examples = [Example("q1", "By [ 1 Bing Crosby ].", ("[ 1 Bing Crosby ]",), ("",), (1,))]
        >>> report = score(examples)
        >>> round(report.value("semqa"), 1), report.estimates["sem_recall"].unscored
        (89.4, {'no reference has a short answer': 1})
    """
    rows = [
        score_example(example, official=official, all_sources=all_sources) for example in examples
    ]
    return summarise(
        rows,
        official=official,
        all_sources=all_sources,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
    )


def summarise(
    scores: Iterable[ExampleScores],
    *,
    official: bool = False,
    all_sources: bool = False,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Report:
    """Make the report of rows scored before; the other arguments are those of `score`.

    Rows with the same qid (several answers to one question) count one by one in the means, and are
    drawn together for the intervals.
    """
    rows = tuple(scores)
    intervals: Mapping[str, tuple[float, float]] = {}
    if resamples:
        from semqa.metrics.bootstrap import bootstrap_intervals

        intervals = bootstrap_intervals(rows, resamples=resamples, seed=seed, confidence=confidence)
    values = {metric: _mean(rows, metric, official=official) for metric in METRICS[:-1]}
    f1, lsum = values["sem_f1"], values["rougeLsum"]
    values["semqa"] = None if f1 is None or lsum is None else math.sqrt(f1 * lsum)
    return Report(
        examples=rows,
        estimates={
            metric: Estimate(
                value=values[metric],
                n=sum(row.value(metric) is not None for row in rows),
                interval=None if values[metric] is None else intervals.get(metric),
                unscored=_reasons(rows, metric),
            )
            for metric in METRICS
        },
        official=official,
        all_sources=all_sources,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
    )


def _mean(rows: Sequence[ExampleScores], metric: str, *, official: bool) -> float | None:
    if official and HARMONIC_RAISES in (row.unscored.get(metric) for row in rows):
        return None
    values = [value for row in rows if (value := row.value(metric)) is not None]
    if values:
        return fmean(values)
    return math.nan if official else None


def _reasons(rows: Sequence[ExampleScores], metric: str) -> dict[str, int]:
    if not rows:
        return {NO_EXAMPLES: 0}
    return dict(Counter(row.unscored[metric] for row in rows if metric in row.unscored))


class QuotedScores(NamedTuple):
    """Scores over the sources that prediction or references quote, 0-100; None without any.

    Attributes:
        f1: mean over these sources of the best F1 over the references that quote it.
        precision: mean of the best precisions over the sources that the prediction quotes.
        recall: mean of the best recalls over the sources that some reference quotes.
    """

    f1: float | None
    precision: float | None
    recall: float | None


def quoted_f1(example: Example, *, all_sources: bool = False) -> QuotedScores:
    """Score one prediction over the sources that somebody quotes.

    Somebody is the prediction, or a reference that quotes a present source. A source that the
    question does not come with, and the prediction quotes, scores 0: no reference agrees. Marks,
    words and their comparison are those of Sem-F1, and so is the limit to sources 1 to 7.

    Example:
        >>> from semqa.metrics import Example
        >>> asked = Example("q1", "", ("By [ 1 Crosby ].",), ("",), (1, 2))
        >>> quoted_f1(asked).f1
        0.0
        >>> from dataclasses import replace
        >>> quoted_f1(replace(asked, prediction="By [ 1 Crosby ] [ 2 x ].")).f1
        50.0
    """
    vocabulary = Vocabulary()
    references = [
        bags_of_quotes(text, vocabulary, learn=True, all_sources=all_sources)
        for text in example.references
    ]
    predicted = bags_of_quotes(example.prediction, vocabulary, learn=True, all_sources=all_sources)
    return _scores(predicted, references, example.present, all_sources)


def quoted_leave_one_out(
    references: Sequence[str], present: Iterable[int], *, all_sources: bool = False
) -> list[QuotedScores]:
    """Score each reference of a question against the others, as the human row does.

    A question with a single reference gives one row without scores.
    """
    if len(references) < 2:
        return [QuotedScores(None, None, None) for _ in references]
    vocabulary = Vocabulary()
    present = tuple(present)
    bags = [
        bags_of_quotes(text, vocabulary, learn=True, all_sources=all_sources) for text in references
    ]
    return [
        _scores(own, [*bags[:k], *bags[k + 1 :]], present, all_sources)
        for k, own in enumerate(bags)
    ]


def _scores(
    predicted: Mapping[int, str],
    references: Sequence[Mapping[int, str]],
    present: Collection[int],
    all_sources: bool,
) -> QuotedScores:
    wanted = {source for bags in references for source, bag in bags.items() if bag}
    wanted &= set(present)
    given = {source for source, bag in predicted.items() if bag}
    sources = scored_sources(wanted | given, all_sources=all_sources)
    f1, precision, recall = [], [], []
    for source in sources:
        said = predicted.get(source, "")
        best = Overlap(0.0, 0.0, 0.0)
        if source in wanted:
            best = _best_overlap({bags[source] for bags in references if bags.get(source)}, said)
            recall.append(best.recall)
        if said:
            precision.append(best.precision)
        f1.append(best.f1)
    return QuotedScores(*(100 * fmean(part) if part else None for part in (f1, precision, recall)))
