"""The target of one question: its references compiled, ready to score any number of predictions.

Source: "SEMQA: Semi-Extractive Multi-Source Question Answering" (2024), and the released QuoteSum
scorer, whose figures these are wherever it has one. `docs/metrics.md` lists where the default
differs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from semqa.metrics.example import Example, ExampleScores, NoReferenceError
from semqa.metrics.lcs import Vocabulary
from semqa.metrics.marked_text import MarkedText, bags_of_quotes
from semqa.metrics.quote_bags import (
    SourceBags,
    harmonic_f1,
    mean_f1,
    mean_recall,
    named_sources,
    scored_sources,
)
from semqa.metrics.rouge import closest_rouge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Target", "score_example", "target_for"]

NO_SOURCE = "no source is present that is scored"
NO_SHORT_ANSWER = "no reference has a short answer"
NO_MARKED_SHORT_ANSWER = "no short answer is marked with a source"
HARMONIC_RAISES = "no source is present that is scored: the official scorer raises StatisticsError"

CACHED_QUESTIONS = 1024


class Target:
    """What the predictions for one question are compared with.

    Scores do not change it, so threads may share it.

    Args:
        vocabulary: of the question.
        references: at least one human answer, encoded.
        short_answers: for each short-answer text its bags by source.
        present: numbers of the sources that the question comes with.
        any_short_answer: whether there is any short-answer text, marked or not.
        official: give NaN where the official scorer does.
        all_sources: score the sources beyond 7 too, and read numbers of more than one digit.
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

        Raises:
            NoReferenceError: there is no reference.

        Example:
            >>> target = Target.read(["Sung by [ 1 Bing Crosby ]."], ["[ 1 Crosby ]"], [1])
            >>> target.score("It was [ 1 Crosby ]").sem_recall
            100.0
        """
        if not references:
            raise NoReferenceError(
                "references: got none, expected at least one; leave the question out"
            )
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
        raise NoReferenceError(
            f"question {example.qid}: references: got none, expected at least one; "
            "leave the question out"
        )
    target = target_for(
        example.references, example.short_answers, example.present, official, all_sources
    )
    return target.score(example.prediction, qid=example.qid)
