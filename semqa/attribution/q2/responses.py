"""Responses, their questions, and the scores of both.

The score of a response is the mean over its valid questions; the score of a system is the mean over
its responses. A question without an answer in the knowledge scores 0. If a response has no valid
question, its score is the entailment of the whole response; the variant without NLI leaves it
unscored.

By default, answers are compared as in SQuAD. With ``official``, they are compared as in the
released code, with these differences: *in* and *our* are removed, too; an answer with no word left
scores 0; equal bags of words score 1 without asking for entailment; the text ``nan`` (a missing
value in a table) keeps its overlap; and the variant without NLI also falls back on entailment.

Source: Honovich et al. 2021 (Q²), and its released code.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final, NamedTuple

from semqa.attribution.judges.base import Entailment, Pair
from semqa.metrics.bootstrap import mean_with_interval
from semqa.metrics.text import normalise_answer, token_f1


@dataclass(frozen=True, slots=True)
class Response:
    """A system's response, and the knowledge that it should express.

    Attributes:
        id: unique among the responses that are scored together.
        inconsistent: the human label; None if unknown.
        rating: a human rating on any scale, high for good; None if unknown.
        context: id of the context, if several systems respond to it.
        where: ``file:line``, for error messages.
        scores: scores by measure, from a file or a record; None if unscored.
    """

    id: str
    text: str
    knowledge: str
    inconsistent: bool | None = None
    system: str | None = None
    context: str | None = None
    where: str = ""
    scores: Mapping[str, float | None] = field(default_factory=dict)
    rating: float | None = None


def repeated(responses: Iterable[Response]) -> list[Response]:
    """Return the responses with the same system, text and knowledge as an earlier one.

    Example:
        >>> [r.id for r in repeated([Response("1", "yes", "k"), Response("2", "yes", "k")])]
        ['2']
    """
    seen: set[tuple[str | None, str, str]] = set()
    found = []
    for response in responses:
        key = (response.system, response.text, response.knowledge)
        if key in seen:
            found.append(response)
        seen.add(key)
    return found


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_REMOVED_WORDS = re.compile(r"\b(a|an|the|in|our)\b")
_NO_ANSWER = "[CLS]"


def clean_officially(text: str) -> str:
    """Normalise an answer as the released code does.

    Example:
        >>> clean_officially("In our well-known House!")
        'wellknown house'
    """
    # The released code only collapses spaces, not tabs; either separates words.
    found = _REMOVED_WORDS.sub(" ", text.lower().translate(_PUNCTUATION))
    return re.sub(" +", " ", found).strip()


def answers_agree(span: str, answer: str, *, official: bool = False) -> bool:
    """Return whether the answer to a question equals the span that the question is about.

    Example:
        >>> answers_agree("The U.S.", "US"), answers_agree("well-known", "well known")
        (True, False)
    """
    if official:
        return answer != _NO_ANSWER and clean_officially(span) == clean_officially(answer)
    left = normalise_answer(span)
    return bool(left) and left == normalise_answer(answer)


def overlap_of_answers(span: str, answer: str, *, official: bool = False) -> float:
    """Return the word F1 of two answers, in [0, 1].

    Example:
        >>> overlap_of_answers("in our house", "house", official=True)
        1.0
    """
    if not official:
        return token_f1(span, answer)
    left, right = clean_officially(span).split(), clean_officially(answer).split()
    common = (Counter(left) & Counter(right)).total()
    if not common:
        return 0.0
    precision, recall = 1.0 * common / len(right), 1.0 * common / len(left)
    return (2 * precision * recall) / (precision + recall)


def entailment_score(entailment: Entailment) -> float:
    """Return the score of a whole response: 1 if entailed, 0 if contradicted, otherwise 0.5."""
    return {"entailment": 1.0, "neutral": 0.5, "contradiction": 0.0}[entailment.relation]


PERSONAL: Final = "personal"
UNANSWERED: Final = "not answered by the response"
ANOTHER_ANSWER: Final = "answered differently by the response"
TOO_LONG: Final = "too long for the judge"


class Found(NamedTuple):
    """An answer found in the knowledge, with its span and the judge's confidence, if known."""

    text: str
    start: int | None = None
    end: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question generated for a span of a response.

    An answer is None if the question was not asked or has none. With `official`, answers are
    compared as in the released code.
    """

    text: str  # empty if the span was too long for the judge
    span: str
    own_answer: str | None = None  # in the response
    rejected: str | None = None  # the reason if it is not valid, such as `PERSONAL`
    answer: Found | None = None  # in the knowledge
    entailment: Entailment | None = None  # of the answers; None if unknown
    stated: float | None = None  # the overlap of the answers, if it was read from a file
    official: bool = False

    @property
    def valid(self) -> bool:
        return self.rejected is None

    @property
    def overlap(self) -> float:
        """The word overlap of the answers, in [0, 1]; 0 without an answer."""
        if self.stated is not None:
            return self.stated
        if self.answer is None:
            return 0.0
        return overlap_of_answers(self.span, self.answer.text, official=self.official)

    @property
    def needs_entailment(self) -> bool:
        if not self.valid or self.answer is None:
            return False
        answer = self.answer.text
        if self.official:
            return self.overlap < 1 and _NO_ANSWER not in answer and answer not in ("", "nan")
        return normalise_answer(self.span) != normalise_answer(answer)

    @property
    def pair(self) -> Pair:
        """The pair to judge: does the knowledge's answer entail the response's answer?"""
        answer = "" if self.answer is None else self.answer.text
        return Pair(f"{self.text} {answer}.", f"{self.text} {self.span}.")

    @property
    def worth(self) -> float | None:
        """The score: 1 or 0 by entailment, or the overlap if neutral; None if that is unknown."""
        if not self.needs_entailment:
            return self.overlap if self.official or self.answer is None else 1.0
        if self.entailment is None:
            return None
        relation = self.entailment.relation
        return self.overlap if relation == "neutral" else entailment_score(self.entailment)

    def to_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "question": self.text,
            "span": self.span,
            "own_answer": self.own_answer,
            "rejected": self.rejected,
        }
        if not self.valid:
            return row
        return row | {
            "knowledge_answer": None if self.answer is None else self.answer._asdict(),
            "entailment": None if self.entailment is None else self.entailment._asdict(),
            "q2": self.worth,
            "q2_no_nli": self.overlap,
            **({} if self.stated is None else {"stated": self.stated}),
        }


MEASURES: Final = ("q2", "q2_no_nli")

NO_QUESTION: Final = "no valid question"


@dataclass(frozen=True, slots=True)
class ResponseScore:
    """A response, its questions, and its scores; `official` follows the released code."""

    response: Response
    questions: tuple[Question, ...]  # all that were tried, in the order of their spans
    fallback: Entailment | None = None  # of the whole response; None if unknown
    official: bool = False
    spans: int = 0  # number of informative spans
    baselines: Mapping[str, float] = field(default_factory=dict)

    @property
    def valid(self) -> tuple[Question, ...]:
        return tuple(question for question in self.questions if question.valid)

    @property
    def q2(self) -> float | None:
        """Q², in [0, 1]; None if unscored."""
        if not self.valid:
            return None if self.fallback is None else entailment_score(self.fallback)
        found = [question.worth for question in self.valid]
        known = [worth for worth in found if worth is not None]
        return fmean(known) if len(known) == len(found) else None

    @property
    def q2_no_nli(self) -> float | None:
        """Q² without NLI between answers, in [0, 1]; None if unscored."""
        if not self.valid:
            return self.q2 if self.official else None
        return fmean(question.overlap for question in self.valid)

    def value(self, measure: str) -> float | None:
        if measure in MEASURES:
            found: float | None = getattr(self, measure)
            return found
        return self.baselines.get(measure)

    def unscored(self, measure: str) -> str | None:
        """Return the reason why one of `MEASURES` is None, or None if it is not."""
        if self.value(measure) is not None:
            return None
        if measure == "q2_no_nli" and not self.official:
            return NO_QUESTION
        return TOO_LONG

    def to_dict(self) -> dict[str, Any]:
        response = self.response
        return {
            "id": response.id,
            "system": response.system,
            "context": response.context,
            "inconsistent": response.inconsistent,
            **({} if response.rating is None else {"rating": response.rating}),
            "response": response.text,
            "knowledge": response.knowledge,
            **{measure: self.value(measure) for measure in MEASURES},
            "unscored": {m: reason for m in MEASURES if (reason := self.unscored(m)) is not None},
            "baselines": dict(self.baselines),
            "spans": self.spans,
            "questions": [each.to_dict() for each in self.questions],
            "fallback": None if self.fallback is None else self.fallback._asdict(),
        }


def summarise(
    scores: Sequence[ResponseScore], *, resamples: int = 1000, seed: int = 0
) -> dict[str, dict[str, Any]]:
    """Return the score of a system for each measure and baseline of its responses.

    A score has ``value`` (None if no response is scored), ``n``, ``interval`` and ``unscored``
    (number of responses by reason).
    """
    names = dict.fromkeys(MEASURES)
    names |= dict.fromkeys(name for score in scores for name in score.baselines)
    found = {}
    for name in names:
        values = [value for score in scores if (value := score.value(name)) is not None]
        missing = [score for score in scores if score.value(name) is None]
        reasons = [
            score.unscored(name) if name in MEASURES else "not computed" for score in missing
        ]
        mean = mean_with_interval(values, resamples=resamples, seed=seed)
        found[name] = {**mean._asdict(), "unscored": dict(Counter(reasons))}
    return found
