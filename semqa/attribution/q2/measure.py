"""Q² of responses: spans, questions, answers, comparison; many responses at a time.

Source: Honovich et al. 2021. For each informative span the judge asks questions (as many as it has
beams). Personal questions are dropped. The best question whose answer, found in the response itself, is
the span counts. The knowledge then answers each, or does not, and the two answers are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from semqa.attribution.judges.base import (
    EntailmentJudge,
    Judge,
    Reading,
    TooLongError,
    able,
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


AT_ONCE = 16
"""Responses whose questions are asked together: each is some tens of questions."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How questions are chosen and answers compared.

    Attributes:
        beams: questions asked for a span, 1 or more.
        nli: compare answers by entailment too; False needs no judge of entailment, and gives the
            variant without NLI alone.
        official: compare and fall back as the released code does; see
            `semqa.attribution.q2.responses`.
    """

    beams: int = 5
    nli: bool = True
    official: bool = False

    def __post_init__(self) -> None:
        if self.beams < 1:
            raise InputError(
                f"must be at least 1, got {self.beams}.", field="--beams", value=self.beams
            )


@dataclass(slots=True)
class _Slot:
    """A span of a response, and its questions that were not tried yet, best first."""

    owner: int
    span: str
    waiting: list[str]
    tried: list[Question]


class Q2:
    """The measure: the judge asks and answers questions, and judges entailment if `Settings.nli`.

    Raises:
        InputError: the judge does not do what is needed.
    """

    def __init__(self, judge: Judge, finder: SpanFinder, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._asking = able(judge, "ask")
        self._answering = able(judge, "answer")
        self._entails = able(judge, "entailment") if self.settings.nli else None
        self.finder = finder

    def score(
        self,
        responses: Sequence[Response],
        on_progress: Callable[[int, int], None] | None = None,
    ) -> list[ResponseScore]:
        """Score responses; `on_progress` is called with the number done and the total."""
        found: list[ResponseScore] = []
        for start in range(0, len(responses), AT_ONCE):
            found += self._scored(responses[start : start + AT_ONCE])
            if on_progress is not None:
                on_progress(len(found), len(responses))
        return found

    def _scored(self, responses: Sequence[Response]) -> list[ResponseScore]:
        spans = [self._spans(response) for response in responses]
        slots = self._ask(responses, spans)
        self._try_questions(responses, slots)
        questions: list[list[Question]] = [[] for _ in responses]
        for slot in slots:
            questions[slot.owner] += slot.tried
        scores = [
            ResponseScore(
                response,
                tuple(tried),
                nli=self.settings.nli,
                official=self.settings.official,
                spans=len(found),
            )
            for response, tried, found in zip(
                responses, self._answered(responses, questions), spans, strict=True
            )
        ]
        return scores if self._entails is None else compare_answers(scores, self._entails)

    def _spans(self, response: Response) -> list[str]:
        """Return the spans to ask about: each once, but as often as it is found in the official way."""
        texts = [span.text for span in self.finder.spans(response.text)]
        if self.settings.official:
            return texts
        once: dict[str, str] = {}
        for text in texts:
            once.setdefault(text.lower(), text)
        return list(once.values())

    def _ask(self, responses: Sequence[Response], spans: Sequence[Sequence[str]]) -> list[_Slot]:
        wanted = [(owner, span) for owner, found in enumerate(spans) for span in found]
        if not wanted:
            return []
        asked = unless_too_long(
            lambda some: self._asking.ask(some, count=self.settings.beams),
            [(span, responses[owner].text) for owner, span in wanted],
        )
        slots = []
        for (owner, span), questions in zip(wanted, asked, strict=True):
            if isinstance(questions, TooLongError):
                slots.append(_Slot(owner, span, [], [Question("", span, rejected=TOO_LONG)]))
                continue
            kept = dict.fromkeys(text for text in questions[: self.settings.beams] if text.strip())
            slots.append(_Slot(owner, span, list(kept), []))
        return slots

    def _try_questions(self, responses: Sequence[Response], slots: Sequence[_Slot]) -> None:
        """Have each response answer its own questions, the best of every span first."""
        while turn := [(slot, text) for slot in slots if (text := self._next(slot)) is not None]:
            answers = unless_too_long(
                self._answering.answer,
                [Reading(text, responses[slot.owner].text) for slot, text in turn],
            )
            for (slot, text), answer in zip(turn, answers, strict=True):
                question = self._checked(text, slot.span, answer)
                slot.tried.append(question)
                if question.valid:
                    slot.waiting.clear()

    def _next(self, slot: _Slot) -> str | None:
        """Return the next question of a span that is not personal; personal ones are rejected."""
        while slot.waiting:
            text = slot.waiting.pop(0)
            if not self.finder.personal(text):
                return text
            slot.tried.append(Question(text, slot.span, rejected=PERSONAL))
        return None

    def _checked(self, text: str, span: str, answer: Span | TooLongError | None) -> Question:
        if isinstance(answer, TooLongError):
            return Question(text, span, rejected=TOO_LONG)
        if answer is None:
            return Question(text, span, rejected=UNANSWERED)
        agrees = answers_agree(span, answer.text, official=self.settings.official)
        return Question(text, span, answer.text, None if agrees else ANOTHER_ANSWER)

    def _answered(
        self, responses: Sequence[Response], questions: Sequence[Sequence[Question]]
    ) -> list[list[Question]]:
        """Have the knowledge answer the valid questions."""
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
