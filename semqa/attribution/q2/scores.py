"""What a response is worth, from the questions about it; and what a system is, from its responses.

The score of a response is the mean over its valid questions, that of a system the mean over its
responses. A question that the knowledge does not answer counts as 0. Where no valid question
remains, entailment of the whole response takes the place of the questions. The variant without NLI
has nothing to take their place, and leaves the response unscored; with ``official`` it takes the
same entailment, as the released code does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from semqa.attribution.q2.answers import entailment_score
from semqa.attribution.q2.question import TOO_LONG, Question, read_entailment
from semqa.attribution.q2.response import Response
from semqa.data.jsonl import as_row, describe
from semqa.errors import InputError
from semqa.metrics.bootstrap import mean_with_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from semqa.attribution.judges.base import Entailment
    from semqa.data.jsonl import Row

__all__ = ["MEASURES", "NO_ENTAILMENT", "NO_QUESTION", "ResponseScore", "summarise"]

MEASURES: Final = ("q2", "q2_no_nli")

NO_QUESTION: Final = "no valid question"
NO_ENTAILMENT: Final = "no judge of entailment"


@dataclass(frozen=True, slots=True)
class ResponseScore:
    """A response, the questions about it, and what it is worth by them.

    Attributes:
        response: what was scored.
        questions: all that were tried, valid or not, in the order of their spans.
        fallback: how the whole response stands to its knowledge; None where nobody asked.
        nli: whether entailment was to be judged; Q² is unscored where it was not.
        official: which rules of comparison hold; see `semqa.attribution.q2.answers`.
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
        """Q², in [0, 1]; None where it is unscored."""
        if not self.nli:
            return None
        if not self.valid:
            return None if self.fallback is None else entailment_score(self.fallback)
        found = [question.worth(official=self.official) for question in self.valid]
        known = [worth for worth in found if worth is not None]
        return fmean(known) if len(known) == len(found) else None

    @property
    def q2_no_nli(self) -> float | None:
        """Q² without NLI between answers, in [0, 1]; None where it is unscored."""
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

    @classmethod
    def read(cls, row: Row, *, nli: bool, official: bool) -> ResponseScore:
        """Read the row of a record; the scores are computed anew.

        Raises:
            InputError: a field is missing or of the wrong type.
        """
        questions = row.fields.get("questions")
        baselines = row.fields.get("baselines", {})
        inconsistent = row.fields.get("inconsistent")
        if not isinstance(questions, list):
            raise _wrong(row, questions, "questions", "an array")
        if not isinstance(baselines, dict) or not all(
            isinstance(value, int | float) for value in baselines.values()
        ):
            raise _wrong(row, baselines, "baselines", "an object of numbers")
        if not (inconsistent is None or isinstance(inconsistent, bool)):
            raise _wrong(row, inconsistent, "inconsistent", "true, false or null")
        spans = row.fields.get("spans", 0)
        return cls(
            Response(
                row.text("id"),
                row.text("response"),
                row.text("knowledge"),
                inconsistent,
                None if row.fields.get("system") is None else row.text("system"),
                None if row.fields.get("context") is None else row.text("context"),
                row.where,
            ),
            tuple(
                Question.read(as_row(each, f"{row.where}, question {number}"))
                for number, each in enumerate(questions, start=1)
            ),
            read_entailment(row, "fallback"),
            nli,
            official,
            spans if isinstance(spans, int) else 0,
            {name: float(value) for name, value in baselines.items()},
        )


def summarise(
    scores: Sequence[ResponseScore],
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, dict[str, Any]]:
    """Return the score of a system for each measure that some response has.

    Returns:
        Measure to ``value`` (None where nothing is scored), ``n``, ``interval`` and ``unscored``
        (reason to number of responses).
    """
    names = dict.fromkeys(MEASURES)
    names |= dict.fromkeys(name for score in scores for name in score.baselines)
    found = {}
    for name in names:
        values = [value for score in scores if (value := score.value(name)) is not None]
        mean = mean_with_interval(values, resamples=resamples, seed=seed, confidence=confidence)
        found[name] = {
            "value": mean.value,
            "n": mean.n,
            "interval": None if mean.interval is None else list(mean.interval),
            "unscored": _reasons(scores, name),
        }
    return found


def _reasons(scores: Iterable[ResponseScore], name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for score in scores:
        reason = score.unscored(name) if name in MEASURES else None
        if name not in MEASURES and score.value(name) is None:
            reason = "not computed"
        if reason is not None:
            found[reason] = found.get(reason, 0) + 1
    return found


def _wrong(row: Row, value: object, name: str, rule: str) -> InputError:
    return InputError(
        f"{row.where}: not a row of a record: got {describe(value)} in {name!r}, expected {rule}; "
        "make the record again"
    )
