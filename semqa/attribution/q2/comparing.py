"""Entailment asked where it has a say: between answers, and of responses without a valid question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from semqa.attribution.judges.length import TooLongError, unless_too_long
from semqa.attribution.q2.answers import entailment_pair
from semqa.attribution.q2.baselines import end_to_end_pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.judges.base import EntailmentJudge, Pair
    from semqa.attribution.q2.question import Question
    from semqa.attribution.q2.scores import ResponseScore

__all__ = ["compare_answers"]


def compare_answers(scores: Sequence[ResponseScore], judge: EntailmentJudge) -> list[ResponseScore]:
    """Return responses with all the entailment that their scores need, asked at once.

    What is too long for the judge gets none, and leaves its response unscored.
    """
    pairs: list[Pair] = []
    for score in scores:
        pairs += [_pair(question) for question in score.questions if _open(question, score)]
        if not score.valid:
            pairs.append(end_to_end_pair(score.response, official=score.official))
    judged = unless_too_long(judge.entailment, pairs)
    found = iter([None if isinstance(each, TooLongError) else each for each in judged])
    compared = []
    for score in scores:
        questions = tuple(
            replace(question, entailment=next(found)) if _open(question, score) else question
            for question in score.questions
        )
        fallback = None if score.valid else next(found)
        compared.append(replace(score, questions=questions, fallback=fallback))
    return compared


def _open(question: Question, score: ResponseScore) -> bool:
    return question.needs_entailment(official=score.official)


def _pair(question: Question) -> Pair:
    answer = "" if question.answer is None else question.answer.text
    return entailment_pair(question.text, question.span, answer)
