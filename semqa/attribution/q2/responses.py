"""Responses, the questions about them, and what both are worth.

The score of a response is the mean over its valid questions, that of a system the mean over its
responses. A question that the knowledge does not answer counts as 0. If no valid question remains,
entailment of the whole response takes the place of the questions; the variant without NLI leaves the
response unscored.

The default compares answers as SQuAD does. With ``official`` they are compared as the released code does,
which differs: *in* and *our* are dropped too; an answer without a word left is worth 0; equal bags of
words are worth 1 without asking for entailment; the text ``nan`` (an answer that a table read as missing)
keeps the overlap; and the variant without NLI falls back on entailment as well.

Source: Honovich et al. 2021 (Q²), and its released code.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from semqa.attribution.judges.base import Pair
from semqa.metrics.bootstrap import mean_with_interval
from semqa.metrics.text import normalise_answer, token_f1

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from semqa.attribution.judges.base import Entailment


@dataclass(frozen=True, slots=True)
class Response:
    """One response of one system, and the knowledge that it was given to say.

    Attributes:
        id: names it among those that are scored together.
        inconsistent: what people found; None if unknown.
        context: the id of what it responds to, where several systems respond to the same.
        where: ``file:line``, for messages.
        scores: scores that stood beside it, by the name of their column.
    """

    id: str
    text: str
    knowledge: str
    inconsistent: bool | None = None
    system: str | None = None
    context: str | None = None
    where: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)


def repeated(responses: Iterable[Response]) -> list[Response]:
    """Return those whose system, text and knowledge have all been there before.

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


ENTAILED, NEUTRAL, CONTRADICTED = 1.0, 0.5, 0.0
"""What a whole response is worth by entailment; between answers, neutral is worth their overlap."""

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DROPPED = re.compile(r"\b(a|an|the|in|our)\b")
_NO_ANSWER = "[CLS]"


def clean_officially(text: str) -> str:
    """Normalise an answer as the released code does.

    Example:
        >>> clean_officially("In our well-known House!")
        'wellknown house'
    """
    # Only spaces are squeezed there: a tab between two words stays, and parts them all the same.
    found = _DROPPED.sub(" ", text.lower().translate(_PUNCTUATION))
    return re.sub(" +", " ", found).strip()


def answers_agree(span: str, answer: str, *, official: bool = False) -> bool:
    """Return whether the answer to a question is the span that it was asked for.

    Example:
        >>> answers_agree("The U.S.", "US"), answers_agree("well-known", "well known")
        (True, False)
    """
    if official:
        return answer != _NO_ANSWER and clean_officially(span) == clean_officially(answer)
    left = normalise_answer(span)
    return bool(left) and left == normalise_answer(answer)


def overlap_of_answers(span: str, answer: str, *, official: bool = False) -> float:
    """Return the F1 of the words of two answers, in [0, 1].

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


def needs_entailment(span: str, answer: str, overlap: float, *, official: bool = False) -> bool:
    """Return whether entailment has a say in how two answers compare."""
    if official:
        return overlap < 1 and _NO_ANSWER not in answer and answer not in ("", "nan")
    return normalise_answer(span) != normalise_answer(answer)


def entailment_pair(question: str, span: str, answer: str) -> Pair:
    """Return the pair that is judged: does the knowledge's answer entail the response's?"""
    return Pair(f"{question} {answer}.", f"{question} {span}.")


def compared(overlap: float, entailment: Entailment | None) -> float:
    """Return what a pair of answers is worth: entailment decides, neutral leaves the overlap.

    Without entailment the overlap of their words is left, too.
    """
    if entailment is None:
        return overlap
    worth = entailment_score(entailment)
    return overlap if worth == NEUTRAL else worth


def entailment_score(entailment: Entailment) -> float:
    """Return 1 for entailment, 0 for contradiction, and 0.5 if neither is most probable."""
    worth = {"entailment": ENTAILED, "neutral": NEUTRAL, "contradiction": CONTRADICTED}
    return worth[entailment.relation]


PERSONAL: Final = "personal"
UNANSWERED: Final = "not answered by the response"
ANOTHER_ANSWER: Final = "answered otherwise by the response"
TOO_LONG: Final = "too long for the judge"


class Found(NamedTuple):
    """What the knowledge answers: where it stands there, and the judge's confidence, if known."""

    text: str
    start: int | None = None
    end: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question that was generated for a span of a response.

    Attributes:
        text: the question; empty if its span was too long to ask about.
        own_answer: what the response answers to it; None if it was not asked, or has no answer.
        rejected: why it does not count: `PERSONAL`, `UNANSWERED`, `ANOTHER_ANSWER` or `TOO_LONG`.
        answer: what the knowledge answers to it; None if it was not asked, or has no answer.
        entailment: how the response's answer stands to the knowledge's; None if unknown.
        stated: the overlap of the answers where a file stated it; None if it is computed.
    """

    text: str
    span: str
    own_answer: str | None = None
    rejected: str | None = None
    answer: Found | None = None
    entailment: Entailment | None = None
    stated: float | None = None

    @property
    def valid(self) -> bool:
        """Whether it counts."""
        return self.rejected is None

    def overlap(self, *, official: bool = False) -> float:
        """Return what the answers are worth by their words alone; no answer is worth 0."""
        if self.stated is not None:
            return self.stated
        if self.answer is None:
            return 0.0
        return overlap_of_answers(self.span, self.answer.text, official=official)

    def needs_entailment(self, *, official: bool = False) -> bool:
        """Return whether entailment has a say in what it is worth."""
        if not self.valid or self.answer is None:
            return False
        overlap = self.overlap(official=official)
        return needs_entailment(self.span, self.answer.text, overlap, official=official)

    def worth(self, *, official: bool = False) -> float | None:
        """Return what the answers are worth with entailment; None if it was needed and not asked."""
        overlap = self.overlap(official=official)
        if not self.needs_entailment(official=official):
            return overlap if official or self.answer is None else 1.0
        return None if self.entailment is None else compared(overlap, self.entailment)

    def to_dict(self, *, official: bool = False) -> dict[str, Any]:
        """Return it with what it is worth, for a record."""
        row: dict[str, Any] = {
            "question": self.text,
            "span": self.span,
            "own_answer": self.own_answer,
            "rejected": self.rejected,
        }
        if not self.valid:
            return row
        answer = None if self.answer is None else self.answer._asdict()
        entailment = None if self.entailment is None else self.entailment._asdict()
        return row | {
            "knowledge_answer": answer,
            "entailment": entailment,
            "q2": self.worth(official=official),
            "q2_no_nli": self.overlap(official=official),
            **({} if self.stated is None else {"stated": self.stated}),
        }


MEASURES: Final = ("q2", "q2_no_nli")

NO_QUESTION: Final = "no valid question"
NO_ENTAILMENT: Final = "no judge of entailment"


@dataclass(frozen=True, slots=True)
class ResponseScore:
    """A response, the questions about it, and what it is worth by them.

    Attributes:
        questions: all that were tried, valid or not, in the order of their spans.
        fallback: how the whole response stands to its knowledge; None if unknown.
        nli: whether entailment was to be judged; Q² is unscored if it was not.
        official: whether the rules of the released code hold.
        spans: how many informative spans were found.
        baselines: other scores of the response, by name; those that it has.
    """

    response: Response
    questions: tuple[Question, ...]
    fallback: Entailment | None = None
    nli: bool = True
    official: bool = False
    spans: int = 0
    baselines: Mapping[str, float] = field(default_factory=dict)

    @property
    def valid(self) -> tuple[Question, ...]:
        """The questions that count."""
        return tuple(question for question in self.questions if question.valid)

    @property
    def q2(self) -> float | None:
        """Q², in [0, 1]; None if it is unscored."""
        if not self.nli:
            return None
        if not self.valid:
            return None if self.fallback is None else entailment_score(self.fallback)
        found = [question.worth(official=self.official) for question in self.valid]
        known = [worth for worth in found if worth is not None]
        return fmean(known) if len(known) == len(found) else None

    @property
    def q2_no_nli(self) -> float | None:
        """Q² without NLI between answers, in [0, 1]; None if it is unscored."""
        if not self.valid:
            return self.q2 if self.official else None
        return fmean(question.overlap(official=self.official) for question in self.valid)

    def value(self, measure: str) -> float | None:
        """Return one of `MEASURES`, or a baseline."""
        if measure in MEASURES:
            found: float | None = getattr(self, measure)
            return found
        return self.baselines.get(measure)

    def unscored(self, measure: str) -> str | None:
        """Return why one of `MEASURES` has no value."""
        if self.value(measure) is not None:
            return None
        if measure == "q2_no_nli" and not self.official:
            return NO_QUESTION
        return TOO_LONG if self.nli else NO_ENTAILMENT

    def to_dict(self) -> dict[str, Any]:
        """Return the row of a record."""
        response = self.response
        row: dict[str, Any] = {
            "id": response.id,
            "system": response.system,
            "context": response.context,
            "inconsistent": response.inconsistent,
            "response": response.text,
            "knowledge": response.knowledge,
            **{measure: self.value(measure) for measure in MEASURES},
            "unscored": {m: reason for m in MEASURES if (reason := self.unscored(m)) is not None},
            "baselines": dict(self.baselines),
            "spans": self.spans,
            "questions": [each.to_dict(official=self.official) for each in self.questions],
            "fallback": None if self.fallback is None else self.fallback._asdict(),
        }
        return row


def summarise(
    scores: Sequence[ResponseScore], *, resamples: int = 1000, seed: int = 0
) -> dict[str, dict[str, Any]]:
    """Return the score of a system for each measure that some response has.

    It is ``value`` (None if nothing is scored), ``n``, ``interval`` and ``unscored`` (reason to
    number of responses).
    """
    names = dict.fromkeys(MEASURES)
    names |= dict.fromkeys(name for score in scores for name in score.baselines)
    found = {}
    for name in names:
        values = [value for score in scores if (value := score.value(name)) is not None]
        mean = mean_with_interval(values, resamples=resamples, seed=seed)
        found[name] = {
            "value": mean.value,
            "n": mean.n,
            "interval": None if mean.interval is None else list(mean.interval),
            "unscored": _reasons(scores, name),
        }
    return found


def _reasons(scores: Iterable[ResponseScore], name: str) -> dict[str, int]:
    missing = (score for score in scores if score.value(name) is None)
    return dict(
        Counter(
            (score.unscored(name) if name in MEASURES else None) or "not computed"
            for score in missing
        )
    )
