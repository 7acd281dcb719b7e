"""Disambig-F1 and DR: can the answers to all readings of a question be read off an answer?

A judge answers each sub-question from the answer; its F1 with the best short answer is taken, 0 where it
finds none. Disambig-F1 is the mean over sub-questions, then over questions; DR is the geometric mean of
the corpus' Disambig-F1 and ROUGE-L.

Source: Stelmakh et al. 2022, ASQA, section 4, and google-research/language, asqa/scoring.py; the
paper's judge is RoBERTa-large trained on SQuAD 2.0. Differs in that a question without sub-questions
is unscored, where scoring.py fails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from semqa.attribution.citations.answers import NO_SHORT_ANSWERS
from semqa.attribution.judges.base import Reading
from semqa.metrics.text import exact_match, token_f1

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.citations.examples import AnswerExample, ShortAnswers
    from semqa.attribution.judges.base import AnsweringJudge

__all__ = ["DisambigScores", "PairScore", "disambig_scores", "dr_score", "score_pair"]


@dataclass(frozen=True, slots=True)
class PairScore:
    """How one sub-question fares.

    Attributes:
        question: in full.
        short_answers: of which one is enough.
        found: what the judge read off the answer; empty for nothing.
        f1: with the best short answer, in [0, 1].
        exact: whether it equals one, once normalised.
    """

    question: str
    short_answers: tuple[str, ...]
    found: str
    f1: float
    exact: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready object."""
        row = {name: getattr(self, name) for name in self.__slots__}
        return row | {"short_answers": list(self.short_answers)}


@dataclass(frozen=True, slots=True)
class DisambigScores:
    """How one answer fares.

    Attributes:
        pairs: its sub-questions.
        unscored: why there are no scores; None where there are.
    """

    pairs: tuple[PairScore, ...]
    unscored: str | None = None

    @property
    def f1(self) -> float | None:
        """Disambig-F1 of the answer, 0-100."""
        return 100 * fmean(pair.f1 for pair in self.pairs) if self.pairs else None

    @property
    def exact(self) -> float | None:
        """Sub-questions answered exactly, 0-100."""
        return 100 * fmean(pair.exact for pair in self.pairs) if self.pairs else None

    @property
    def hit(self) -> float | None:
        """100 if all sub-questions are answered exactly, else 0."""
        return 100.0 * all(pair.exact for pair in self.pairs) if self.pairs else None


def disambig_scores(
    examples: Sequence[AnswerExample], judge: AnsweringJudge, *, official: bool = False
) -> list[DisambigScores]:
    """Score answers together: the judge gets one batch.

    Args:
        examples: answers with sub-questions; one without is unscored.
        judge: reads answers off a text.
        official: strip citations as ALCE's eval.py does.
    """
    # eval.py gives an empty answer as a blank, for its model takes no empty passage.
    texts = [example.plain(official=official) or " " for example in examples]
    found = iter(
        judge.answer(
            [
                Reading(pair.question, text)
                for example, text in zip(examples, texts, strict=True)
                for pair in example.short_answers
            ]
        )
    )
    scores = []
    for example in examples:
        pairs = []
        for wanted in example.short_answers:
            span = next(found)
            pairs.append(score_pair(wanted, "" if span is None else span.text))
        reason = None if pairs else NO_SHORT_ANSWERS
        scores.append(DisambigScores(tuple(pairs), reason))
    return scores


def score_pair(wanted: ShortAnswers, found: str) -> PairScore:
    """Score what was read off an answer against the short answers to its question."""
    return PairScore(
        wanted.question,
        wanted.answers,
        found,
        max((token_f1(answer, found) for answer in wanted.answers), default=0.0),
        any(exact_match(answer, found) for answer in wanted.answers),
    )


def dr_score(disambig_f1: float | None, rouge: float | None) -> float | None:
    """Return DR, 0-100: the geometric mean; None where one of the two is.

    Example:
        >>> round(dr_score(26.373514957680307, 39.151834028242725), 4)
        32.1337
    """
    return None if disambig_f1 is None or rouge is None else math.sqrt(disambig_f1 * rouge)
