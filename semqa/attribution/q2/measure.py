"""Compute Q² for batches of responses: spans, questions, answers and their comparison.

For each informative span, the judge generates one question per beam. Personal questions are
dropped. The best question that the response itself answers with the span is kept. The judge then
answers it from the knowledge, and the two answers are compared.

Source: Honovich et al. 2021.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from semqa.attribution.judges.base import Judge, Pair, Reading, Span, TooLongError, unless_too_long
from semqa.attribution.q2.baselines import end_to_end_pair
from semqa.attribution.q2.responses import (
    ANOTHER_ANSWER,
    PERSONAL,
    TOO_LONG,
    UNANSWERED,
    Found,
    Question,
    Response,
    ResponseScore,
    answers_agree,
    summarise,
)
from semqa.attribution.q2.spans import SpanFinder
from semqa.metrics.statistics import CONFIDENCE


def compare_answers(scores: Sequence[ResponseScore], judge: Judge) -> list[ResponseScore]:
    """Add the entailment that scores need, in one batch.

    If a pair is too long for the judge, its response stays unscored.
    """
    pairs: list[Pair] = []
    for score in scores:
        pairs += [question.pair for question in score.questions if question.needs_entailment]
        if not score.valid:
            pairs.append(end_to_end_pair(score.response, official=score.official))
    judged = unless_too_long(judge.entailment, pairs)
    found = iter([None if isinstance(each, TooLongError) else each for each in judged])
    compared = []
    for score in scores:
        questions = tuple(
            replace(each, entailment=next(found)) if each.needs_entailment else each
            for each in score.questions
        )
        fallback = None if score.valid else next(found)
        compared.append(replace(score, questions=questions, fallback=fallback))
    return compared


KIND = "semqa-q2"

BATCH_SIZE = 16
"""Responses per batch; each has dozens of questions."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings for choosing questions and comparing answers.

    Attributes:
        beams: number of questions to generate per span, at least 1.
        official: whether to follow the released code; see `semqa.attribution.q2.responses`.
        personal: whether personal questions are valid, too.
    """

    beams: int = 5
    official: bool = False
    personal: bool = False


@dataclass(slots=True)
class _SpanQuestions:
    """A span of a response, with its tried questions and the remaining ones, best first."""

    owner: int
    span: str
    remaining: list[str]
    tried: list[Question]


class Q2:
    """The Q² measure.

    The judge generates and answers questions, and judges entailment.
    """

    def __init__(self, judge: Judge, finder: SpanFinder, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        judge.require("ask", "answer", "entailment")
        self._judge = judge
        self.finder = finder

    def score(
        self, responses: Sequence[Response], on_progress: Callable[[int, int], None] | None = None
    ) -> list[ResponseScore]:
        """Score responses; `on_progress` gets the number of finished responses and the total."""
        found: list[ResponseScore] = []
        for start in range(0, len(responses), BATCH_SIZE):
            found += self._score_batch(responses[start : start + BATCH_SIZE])
            if on_progress is not None:
                on_progress(len(found), len(responses))
        return found

    def _score_batch(self, responses: Sequence[Response]) -> list[ResponseScore]:
        spans = [self._spans(response) for response in responses]
        items = self._ask(responses, spans)
        self._try_questions(responses, items)
        self._answer_from_knowledge(responses, items)
        questions: list[list[Question]] = [[] for _ in responses]
        for item in items:
            questions[item.owner] += item.tried
        scores = [
            ResponseScore(response, tuple(tried), official=self.settings.official, spans=len(found))
            for response, tried, found in zip(responses, questions, spans, strict=True)
        ]
        return compare_answers(scores, self._judge)

    def _spans(self, response: Response) -> list[str]:
        """Return the spans to ask about, without duplicates unless `Settings.official`."""
        texts = [span.text for span in self.finder.spans(response.text)]
        if self.settings.official:
            return texts
        unique: dict[str, str] = {}
        for text in texts:
            unique.setdefault(text.lower(), text)
        return list(unique.values())

    def _ask(
        self, responses: Sequence[Response], spans: Sequence[Sequence[str]]
    ) -> list[_SpanQuestions]:
        owned_spans = [(owner, span) for owner, found in enumerate(spans) for span in found]
        asked = unless_too_long(
            lambda pairs: self._judge.ask(pairs, count=self.settings.beams),
            [(span, responses[owner].text) for owner, span in owned_spans],
        )
        items = []
        for (owner, span), questions in zip(owned_spans, asked, strict=True):
            item = _SpanQuestions(owner, span, [], [])
            if isinstance(questions, TooLongError):
                item.tried.append(Question("", span, rejected=TOO_LONG))
            else:
                kept = (text for text in questions[: self.settings.beams] if text.strip())
                item.remaining += dict.fromkeys(kept)
            items.append(item)
        return items

    def _try_questions(
        self, responses: Sequence[Response], items: Sequence[_SpanQuestions]
    ) -> None:
        """Answer questions from their own response, best first, until each span has a valid one."""
        while batch := [(item, text) for item in items if (text := self._next(item)) is not None]:
            answers = unless_too_long(
                self._judge.answer,
                [Reading(text, responses[item.owner].text) for item, text in batch],
            )
            for (item, text), answer in zip(batch, answers, strict=True):
                question = self._check_answer(text, item.span, answer)
                item.tried.append(question)
                if question.valid:
                    item.remaining.clear()

    def _next(self, item: _SpanQuestions) -> str | None:
        """Return the next question of a span; reject personal ones before it."""
        while item.remaining:
            text = item.remaining.pop(0)
            if self.settings.personal or not self.finder.personal(text):
                return text
            item.tried.append(Question(text, item.span, rejected=PERSONAL))
        return None

    def _check_answer(self, text: str, span: str, answer: Span | TooLongError | None) -> Question:
        if isinstance(answer, TooLongError):
            return Question(text, span, rejected=TOO_LONG)
        if answer is None:
            return Question(text, span, rejected=UNANSWERED)
        official = self.settings.official
        agrees = answers_agree(span, answer.text, official=official)
        rejected = None if agrees else ANOTHER_ANSWER
        return Question(text, span, answer.text, rejected, official=official)

    def _answer_from_knowledge(
        self, responses: Sequence[Response], items: Sequence[_SpanQuestions]
    ) -> None:
        """Answer the valid questions, which are the last ones of their spans."""
        valid = [item for item in items if item.tried and item.tried[-1].valid]
        answers = unless_too_long(
            self._judge.answer,
            [Reading(item.tried[-1].text, responses[item.owner].knowledge) for item in valid],
        )
        for item, answer in zip(valid, answers, strict=True):
            if isinstance(answer, TooLongError):
                item.tried[-1] = replace(item.tried[-1], rejected=TOO_LONG)
            elif answer is not None:
                item.tried[-1] = replace(item.tried[-1], answer=Found(*answer))


def run_record(
    scores: Sequence[ResponseScore],
    described: Mapping[str, Any],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Any]:
    """Return the JSON-ready record of a run, with bootstrap intervals.

    `described` has the settings of the run, its judge and its files.
    """
    draws: Any = {"resamples": resamples, "seed": seed}
    groups: dict[str, list[ResponseScore]] = {}
    for score in scores:
        groups.setdefault(score.response.system or "", []).append(score)
    questions = [question for score in scores for question in score.questions]
    valid = [question for question in questions if question.valid]
    return {
        "kind": KIND,
        "n": len(scores),
        "scores": summarise(scores, **draws),
        "systems": {n: summarise(group, **draws) for n, group in groups.items() if len(groups) > 1},
        "questions": {
            "spans": sum(score.spans for score in scores),
            "tried": len(questions),
            "valid": len(valid),
            "unanswered_by_knowledge": sum(question.answer is None for question in valid),
            "rejected": dict(Counter(each.rejected for each in questions if not each.valid)),
            "responses_without": sum(not score.valid for score in scores),
        },
        **described,
        "bootstrap": {**draws, "confidence": CONFIDENCE},
        "rows": [score.to_dict() for score in scores],
    }
