"""One question to score, and the scores it gets.

Plain values only: whoever reads a file or runs an engine makes an `Example` of each question.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["METRICS", "Example", "ExampleScores", "NoReferenceError", "examples_from_lists"]

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
"""Names of the scores, in the order in which they are reported."""


class NoReferenceError(InputError, ValueError):
    """A question has no reference to score against; the official scorer raises ValueError."""


@dataclass(frozen=True, slots=True)
class Example:
    """What it takes to score one prediction.

    Attributes:
        qid: names the question in reports and errors.
        prediction: the answer to score, with canonical marks (``[ 1 span ]``).
        references: the answers people wrote, marked the same way.
        short_answers: for each reference the short answers it covers, marked the same way; "" for
            a reference without any.
        present: numbers of the sources that the question comes with, from 1.

    Raises:
        InputError: a field is no text, no tuple (or list) of texts, or holds a number below 1.
    """

    qid: str
    prediction: str
    references: tuple[str, ...]
    short_answers: tuple[str, ...]
    present: tuple[int, ...]

    def __post_init__(self) -> None:
        prediction: object = self.prediction
        if not isinstance(prediction, str):
            raise _wrong(self.qid, "prediction", prediction, "a text")
        for name in ("references", "short_answers"):
            texts: object = getattr(self, name)
            if not isinstance(texts, (tuple, list)) or set(map(type, texts)) - {str}:
                raise _wrong(self.qid, name, texts, "a tuple of texts")
            object.__setattr__(self, name, tuple(texts))
        object.__setattr__(self, "present", tuple(self.present))
        if set(map(type, self.present)) - {int} or min(self.present, default=1) < 1:
            raise _wrong(self.qid, "present", self.present, "source numbers from 1")


@dataclass(frozen=True, slots=True)
class ExampleScores:
    """The scores of one prediction, 0-100; None where `unscored` says why.

    With ``official=True`` a score is NaN where the official scorer's is.

    Attributes:
        qid: the question.
        sem_f1_harmonic: harmonic mean of all per-source precisions and recalls.
        semqa: √(sem_f1 · rougeLsum) of this example. The mean of these is *not* the SEMQA of a
            corpus, which `Report` computes from the corpus means.
        unscored: for each score that is None, the reason.
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
        """Return the row of a prediction that no metric can score."""
        reasons = dict.fromkeys(METRICS, reason)
        return cls(qid, None, None, None, None, None, None, None, None, unscored=reasons)

    def value(self, metric: str) -> float | None:
        """Return one score by its name, one of `METRICS`."""
        if metric not in METRICS:
            raise InputError(f"metric: got {metric!r}, expected one of {', '.join(METRICS)}")
        value: float | None = getattr(self, metric)
        return value

    def to_dict(self) -> dict[str, Any]:
        """Return the row of a per-example file: qid, each score, and `unscored` where not empty.

        A NaN becomes None, with the reason "NaN in the official scorer": JSON has no NaN.
        """
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


def examples_from_lists(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    short_answers: Sequence[Sequence[str]],
    present: Sequence[Sequence[int]],
    *,
    qids: Sequence[str] | None = None,
) -> list[Example]:
    """Make examples of parallel lists, one entry for each question.

    Args:
        predictions: one answer a question.
        references: the human answers of each question.
        short_answers: their short answers.
        present: the source numbers of each question.
        qids: names of the questions; their places from 1 by default.

    Raises:
        InputError: the lists differ in length.

    Example:
        >>> examples_from_lists(["[ 1 a ]"], [["[ 1 a ]"]], [["[ 1 a ]"]], [[1]])[0].qid
        '1'
    """
    if qids is None:
        qids = [str(place) for place in range(1, len(predictions) + 1)]
    lists: dict[str, Sequence[Any]] = {
        "references": references,
        "short_answers": short_answers,
        "present": present,
        "qids": qids,
    }
    for name, entries in lists.items():
        if len(entries) != len(predictions):
            raise InputError(
                f"{name}: got {len(entries)} entries for {len(predictions)} predictions, "
                "expected one for each; pair them by question first"
            )
    return [
        Example(qid, prediction, tuple(answers), tuple(shorts), tuple(numbers))
        for qid, prediction, answers, shorts, numbers in zip(
            qids, predictions, references, short_answers, present, strict=True
        )
    ]


def _wrong(qid: str, name: str, got: object, rule: str) -> InputError:
    return InputError(f"question {qid}: {name}: got {got!r:.80}, expected {rule}")
