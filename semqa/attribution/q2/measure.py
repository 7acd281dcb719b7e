"""Compute Q² for batches of responses: spans, questions, answers and their comparison.

For each informative span, the judge generates one question per beam. Personal questions are
dropped. The best question that the response itself answers with the span is kept. The judge then
answers it from the knowledge, and the two answers are compared.

Source: Honovich et al. 2021.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from semqa.attribution.judges.base import (
    EntailmentJudge,
    Judge,
    Reading,
    TooLongError,
    require_ability,
    unless_too_long,
)
from semqa.attribution.q2.baselines import end_to_end_pair
from semqa.attribution.q2.responses import (
    ANOTHER_ANSWER,
    PERSONAL,
    TOO_LONG,
    UNANSWERED,
    Found,
    Question,
    ResponseScore,
    answers_agree,
    entailment_pair,
)
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.attribution.judges.base import Pair, Span
    from semqa.attribution.q2.responses import Response
    from semqa.attribution.q2.spans import SpanFinder


def compare_answers(scores: Sequence[ResponseScore], judge: EntailmentJudge) -> list[ResponseScore]:
    """Add the entailment that scores need, in one batch.

    If a pair is too long for the judge, its response stays unscored.
    """
    pairs: list[Pair] = []
    for score in scores:
        pairs += [_pair(question) for question in score.questions if _undecided(question, score)]
        if not score.valid:
            pairs.append(end_to_end_pair(score.response, official=score.official))
    judged = unless_too_long(judge.entailment, pairs)
    found = iter([None if isinstance(each, TooLongError) else each for each in judged])
    compared = []
    for score in scores:
        questions = tuple(
            replace(question, entailment=next(found)) if _undecided(question, score) else question
            for question in score.questions
        )
        fallback = None if score.valid else next(found)
        compared.append(replace(score, questions=questions, fallback=fallback))
    return compared


def _undecided(question: Question, score: ResponseScore) -> bool:
    return question.needs_entailment(official=score.official)


def _pair(question: Question) -> Pair:
    answer = "" if question.answer is None else question.answer.text
    return entailment_pair(question.text, question.span, answer)


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

    def __post_init__(self) -> None:
        if self.beams < 1:
            raise InputError(
                f"must be at least 1, got {self.beams}.", field="--beams", value=self.beams
            )


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

    Raises:
        InputError: the judge lacks an ability.
    """

    def __init__(self, judge: Judge, finder: SpanFinder, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._asking = require_ability(judge, "ask")
        self._answering = require_ability(judge, "answer")
        self._entails = require_ability(judge, "entailment")
        self.finder = finder

    def score(
        self,
        responses: Sequence[Response],
        on_progress: Callable[[int, int], None] | None = None,
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
        questions: list[list[Question]] = [[] for _ in responses]
        for item in items:
            questions[item.owner] += item.tried
        scores = [
            ResponseScore(
                response,
                tuple(tried),
                official=self.settings.official,
                spans=len(found),
            )
            for response, tried, found in zip(
                responses, self._answer_from_knowledge(responses, questions), spans, strict=True
            )
        ]
        return compare_answers(scores, self._entails)

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
        if not owned_spans:
            return []
        asked = unless_too_long(
            lambda pairs: self._asking.ask(pairs, count=self.settings.beams),
            [(span, responses[owner].text) for owner, span in owned_spans],
        )
        items = []
        for (owner, span), questions in zip(owned_spans, asked, strict=True):
            if isinstance(questions, TooLongError):
                items.append(
                    _SpanQuestions(owner, span, [], [Question("", span, rejected=TOO_LONG)])
                )
                continue
            kept = dict.fromkeys(text for text in questions[: self.settings.beams] if text.strip())
            items.append(_SpanQuestions(owner, span, list(kept), []))
        return items

    def _try_questions(
        self, responses: Sequence[Response], items: Sequence[_SpanQuestions]
    ) -> None:
        """Answer questions from their own response, best first, until each span has a valid one."""
        while batch := [(item, text) for item in items if (text := self._next(item)) is not None]:
            answers = unless_too_long(
                self._answering.answer,
                [Reading(text, responses[item.owner].text) for item, text in batch],
            )
            for (item, text), answer in zip(batch, answers, strict=True):
                question = self._check_answer(text, item.span, answer)
                item.tried.append(question)
                if question.valid:
                    item.remaining.clear()

    def _next(self, item: _SpanQuestions) -> str | None:
        """Return the next question of a span; reject personal ones on the way."""
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
        agrees = answers_agree(span, answer.text, official=self.settings.official)
        return Question(text, span, answer.text, None if agrees else ANOTHER_ANSWER)

    def _answer_from_knowledge(
        self, responses: Sequence[Response], questions: Sequence[Sequence[Question]]
    ) -> list[list[Question]]:
        """Answer the valid questions from the knowledge."""
        valid = [
            (owner, place)
            for owner, tried in enumerate(questions)
            for place, question in enumerate(tried)
            if question.valid
        ]
        found = [list(tried) for tried in questions]
        if not valid:
            return found
        answers = unless_too_long(
            self._answering.answer,
            [
                Reading(questions[owner][place].text, responses[owner].knowledge)
                for owner, place in valid
            ],
        )
        for (owner, place), answer in zip(valid, answers, strict=True):
            if isinstance(answer, TooLongError):
                found[owner][place] = replace(questions[owner][place], rejected=TOO_LONG)
            elif answer is not None:
                found[owner][place] = replace(questions[owner][place], answer=Found(*answer))
        return found
