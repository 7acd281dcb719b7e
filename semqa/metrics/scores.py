"""The QuoteSum metrics ROUGE, Sem-F1, Sem-Rec and SEMQA for one prediction.

In this order: an `Example` and its scores; bags of quoted words per source; `Target`, a question
compiled for scoring any number of predictions; leave-one-out scores of the references; and Sem-F1
over quoted sources, which is not in the paper.

Source: "SEMQA: Semi-Extractive Multi-Source Question Answering" (2024) and the released QuoteSum
scorer. Scores equal those of that scorer; `docs/metrics.md` lists the exceptions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import fmean
from typing import Any, NamedTuple

from semqa.checks import check_choice
from semqa.errors import InputError
from semqa.metrics.rouge import RougeText, Vocabulary, closest_rouge, shared_tokens
from semqa.metrics.text import Overlap, split_marks, words_of_spans

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
"""Names of the metrics, in report order."""


class NoReferenceError(InputError, ValueError):
    """A question has no reference; a ValueError too, as in the official scorer."""


@dataclass(frozen=True, slots=True)
class Example:
    """A prediction and its references; all texts have canonical marks (``[ 1 span ]``).

    `short_answers` has those covered by each reference, or ""; `present` has the numbers of the
    question's sources, from 1.
    """

    qid: str
    prediction: str
    references: tuple[str, ...]
    short_answers: tuple[str, ...]
    present: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("references", "short_answers", "present"):
            value: object = getattr(self, name)
            if isinstance(value, str):
                rule = f"of question {self.qid} must be a tuple, got {value!r:.80}."
                raise InputError(rule, field=name)
            object.__setattr__(self, name, tuple(value))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ExampleScores:
    """Scores of one prediction, 0-100, or None with the reason in `unscored`.

    With ``official=True`` a score is NaN if the official scorer's is.
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
        """Return the row of a prediction for which every metric is undefined."""
        reasons = dict.fromkeys(METRICS, reason)
        return cls(qid, None, None, None, None, None, None, None, None, unscored=reasons)

    def value(self, metric: str) -> float | None:
        """Return the score of one of `METRICS`."""
        check_choice("metric", metric, METRICS)
        value: float | None = getattr(self, metric)
        return value

    def to_dict(self) -> dict[str, Any]:
        """Return the row for a per-example file; NaN becomes None with a reason."""
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


OFFICIAL_SOURCES = range(1, 8)
"""The only sources that the official Sem-F1 and Sem-Rec consider."""


Bags = list[tuple[int, set[str]]]
"""For each scored source, the bags of words quoted from it in the references."""


def _bags_of_sources(texts: Collection[Mapping[int, str]], sources: Iterable[int]) -> Bags:
    # A set: texts that quote the same words need one comparison.
    return [(source, {text.get(source, "") for text in texts}) for source in sources]


def _best_overlaps(bags: Bags, predicted: Mapping[int, str]) -> list[Overlap]:
    """Return the best F1, recall and precision for each source, maybe from different texts."""
    return [_best_overlap(own, predicted.get(source, "")) for source, own in bags]


def scored_sources(sources: Iterable[int], *, all_sources: bool) -> list[int]:
    """Return the sources that Sem-F1 and Sem-Rec consider, in ascending order."""
    return sorted(set(sources) if all_sources else set(sources).intersection(OFFICIAL_SOURCES))


def harmonic_f1(overlaps: Sequence[Overlap]) -> float:
    """Return the harmonic mean, 0-100, of recall and precision over all sources."""
    values = [value for overlap in overlaps for value in (overlap.recall, overlap.precision)]
    return 100 * len(values) / sum(1 / value for value in values) if all(values) else 0.0


def _best_overlap(bags: Collection[str], predicted: str) -> Overlap:
    """Return the maximum of each measure over encoded, sorted bags."""
    if not predicted:
        both_empty = float("" in bags)
        return Overlap(f1=both_empty, recall=both_empty, precision=1.0)
    size = len(predicted)
    f1 = recall = 0.0
    most_shared = 0
    for bag in bags:
        reference_size = len(bag)
        shared = shared_tokens(bag, predicted)
        if not reference_size:
            recall = 1.0
        elif shared:
            # Not max(): its calls would take most of the time here.
            if (bag_f1 := 2 * shared / (reference_size + size)) > f1:
                f1 = bag_f1
            if (bag_recall := shared / reference_size) > recall:
                recall = bag_recall
            most_shared = max(most_shared, shared)
    return Overlap(f1, recall, most_shared / size)


class MarkedText:
    """A marked text, encoded with the vocabulary of its question.

    Attributes:
        bags: the bag of words quoted from each source.
        rouge: the text without marks.
    """

    __slots__ = ("bags", "rouge")

    def __init__(
        self, text: str, vocabulary: Vocabulary, *, learn: bool = False, all_sources: bool = False
    ) -> None:
        pieces = split_marks(text, all_sources=all_sources)
        self.bags = _bags(pieces, vocabulary, learn=learn)
        del pieces[1::3]
        encode = vocabulary.learn if learn else vocabulary.encode
        self.rouge = RougeText.read("".join(pieces), encode)


def bags_of_quotes(
    text: str, vocabulary: Vocabulary, *, learn: bool = False, all_sources: bool = False
) -> dict[int, str]:
    """Return only `MarkedText.bags` of a text."""
    return _bags(split_marks(text, all_sources=all_sources), vocabulary, learn=learn)


def _bags(pieces: list[str], vocabulary: Vocabulary, *, learn: bool) -> dict[int, str]:
    if len(pieces) == 1:
        return {}
    encode_bag = vocabulary.learn_bag if learn else vocabulary.encode_bag
    words_by_source: dict[int, list[str]] = {}
    for number, words in zip(pieces[1::3], words_of_spans(pieces[2::3]), strict=True):
        words_by_source.setdefault(int(number), []).extend(words)
    return {source: encode_bag(words) for source, words in words_by_source.items()}


NO_SOURCE = "no scored source is present"
NO_SHORT_ANSWER = "no reference has a short answer"
NO_MARKED_SHORT_ANSWER = "no short answer is marked with a source"
HARMONIC_RAISES = f"{NO_SOURCE}; the official scorer raises StatisticsError"

CACHED_QUESTIONS = 1024


class Target:
    """The references of one question, compiled for scoring any number of predictions.

    Threads may share it. For `official` and `all_sources` see `score_example`.
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
        sources = scored_sources(present, all_sources=all_sources)
        self._quotes = _bags_of_sources([text.bags for text in references], sources)
        answered = [source for bags in short_answers for source, bag in bags.items() if bag]
        sources = scored_sources(answered, all_sources=all_sources)
        self._short_answers = _bags_of_sources(short_answers, sources)
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
        """Compile a target from marked texts.

        Example:
            >>> target = Target.read(["Sung by [ 1 Bing Crosby ]."], ["[ 1 Crosby ]"], [1])
            >>> target.score("It was [ 1 Crosby ]").sem_recall
            100.0
        """
        if not references:
            raise NoReferenceError("A question has no reference.")
        vocabulary = Vocabulary()
        return cls(
            vocabulary,
            [
                MarkedText(text, vocabulary, learn=True, all_sources=all_sources)
                for text in references
            ],
            # References often share their short answers; each needs comparing once.
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
        """Score one prediction."""
        text = MarkedText(prediction, self._vocabulary, all_sources=self._all_sources)
        return self.score_encoded(text, qid=qid)

    def score_encoded(self, prediction: MarkedText, *, qid: str = "") -> ExampleScores:
        """Score a prediction that is already encoded with the vocabulary of this target."""
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
        """Return Sem-F1 and its harmonic form, 0-100; if undefined, add the reason."""
        overlaps = _best_overlaps(self._quotes, predicted)
        if overlaps:
            mean = 100 * sum(overlap.f1 for overlap in overlaps) / len(overlaps)
            return mean, harmonic_f1(overlaps)
        if self._official:
            unscored["sem_f1_harmonic"] = HARMONIC_RAISES
            return math.nan, None
        unscored |= dict.fromkeys(("sem_f1", "sem_f1_harmonic", "semqa"), NO_SOURCE)
        return None, None

    def _sem_recall(self, predicted: dict[int, str], unscored: dict[str, str]) -> float | None:
        """Return Sem-Rec, 0-100; if there is nothing to recall, add the reason."""
        overlaps = _best_overlaps(self._short_answers, predicted)
        if overlaps:
            return 100 * sum(overlap.recall for overlap in overlaps) / len(overlaps)
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
    """Return the compiled target of a question; the most recent ones are cached."""
    return Target.read(
        references, short_answers, present, official=official, all_sources=all_sources
    )


def score_example(
    example: Example, *, official: bool = False, all_sources: bool = False
) -> ExampleScores:
    """Score one prediction on all metrics.

    Args:
        official: return NaN if the official scorer does.
        all_sources: also score sources beyond 7, which the official scorer ignores, and parse
            source numbers of more than one digit.

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
    qid: str, references: Sequence[str], short_answers: Sequence[str], present: Iterable[int]
) -> list[ExampleScores]:
    """Score each reference of a question against its other references.

    `summarise` of the rows of all questions gives the human row of the paper. A question with a
    single reference gives one unscored row.

    Example:
        >>> rows = leave_one_out("q1", ["[ 1 May ]", "[ 1 May 1942 ]"], ["", ""], [1])
        >>> [round(row.sem_f1, 1) for row in rows]
        [66.7, 66.7]
    """
    if len(short_answers) != len(references):
        message = f"Question {qid} has {len(short_answers)} short_answers for {len(references)} references."
        raise InputError(message)
    if not references:
        raise NoReferenceError(f"Question {qid} has no reference.")
    if len(references) == 1:
        return [ExampleScores.without(qid, NO_OTHER_REFERENCE)]
    vocabulary = Vocabulary()
    present = tuple(present)
    texts = [MarkedText(text, vocabulary, learn=True) for text in references]
    shorts = [bags_of_quotes(text, vocabulary, learn=True) for text in short_answers]
    rows = []
    for k, text in enumerate(texts):
        target = Target(
            vocabulary,
            [*texts[:k], *texts[k + 1 :]],
            [*shorts[:k], *shorts[k + 1 :]],
            present,
            any_short_answer=any((*short_answers[:k], *short_answers[k + 1 :])),
        )
        rows.append(target.score_encoded(text, qid=qid))
    return rows


class QuotedScores(NamedTuple):
    """Means over the quoted sources, 0-100, of the best over references; None without sources.

    F1 is over the sources quoted in the prediction or a reference, precision over those in the
    prediction, and recall over those in a reference.
    """

    f1: float | None
    precision: float | None
    recall: float | None


def quoted_f1(example: Example) -> QuotedScores:
    """Score one prediction over the sources quoted in it or in a reference.

    Of the references, only quotes of present sources count. If the prediction quotes a source that
    the question does not have, that source scores 0. Marks and words are compared as in Sem-F1,
    also limited to sources 1 to 7.

    Example:
        >>> from semqa.metrics import Example
        >>> example = Example("q1", "", ("By [ 1 Crosby ].",), ("",), (1, 2))
        >>> quoted_f1(example).f1
        0.0
        >>> from dataclasses import replace
        >>> quoted_f1(replace(example, prediction="By [ 1 Crosby ] [ 2 x ].")).f1
        50.0
    """
    vocabulary = Vocabulary()
    references = [bags_of_quotes(text, vocabulary, learn=True) for text in example.references]
    predicted = bags_of_quotes(example.prediction, vocabulary, learn=True)
    in_references = {source for bags in references for source, bag in bags.items() if bag}
    in_references &= set(example.present)
    in_prediction = {source for source, bag in predicted.items() if bag}
    sources = scored_sources(in_references | in_prediction, all_sources=False)
    f1, precision, recall = [], [], []
    for source in sources:
        predicted_bag = predicted.get(source, "")
        best = Overlap(0.0, 0.0, 0.0)
        if source in in_references:
            bags_of_source = {bags[source] for bags in references if bags.get(source)}
            best = _best_overlap(bags_of_source, predicted_bag)
            recall.append(best.recall)
        if predicted_bag:
            precision.append(best.precision)
        f1.append(best.f1)
    return QuotedScores(*(100 * fmean(part) if part else None for part in (f1, precision, recall)))
