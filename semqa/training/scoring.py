"""An evaluation: the questions answered by the engine itself, with the model as it is, and scored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.engines.base import Request
from semqa.errors import InputError
from semqa.metrics import METRICS, Example, score
from semqa.trainer import Ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.data.quotesum import Question
    from semqa.engines.transformers import TransformersEngine

__all__ = ["DevScorer"]


class DevScorer:
    """Scores a model on questions that it does not learn from.

    Args:
        engine: over the very model that is trained.
        questions: with their references.
        where: their file, for messages.
        ranks: the processes of the training, which share the questions.

    Raises:
        InputError: the engine cannot answer one of them.
    """

    def __init__(
        self,
        engine: TransformersEngine,
        questions: Sequence[Question],
        where: str,
        ranks: Ranks = Ranks(),  # noqa: B008  (a constant)
    ) -> None:
        self._engine = engine
        self._ranks = ranks
        self._questions = tuple(questions)
        for question in self._questions:
            try:
                engine.prompt(question.question, question.sources)
            except InputError as error:
                raise InputError(f"{where}: question {question.qid!r}: {error}") from error

    def scores(self) -> dict[str, float]:
        """Return the corpus scores by name, and the share of answers that quote, all verified."""
        requests = [Request(each.question, each.sources) for each in self._questions]
        here = self._engine.answer_batch(self._ranks.spread(requests))
        answers = self._ranks.join_spread([(each.marked, each.verified) for each in here])
        report = score(
            (
                Example(
                    qid=question.qid,
                    prediction=marked,
                    references=question.texts,
                    short_answers=question.short_answers,
                    present=question.numbers,
                )
                for question, (marked, _) in zip(self._questions, answers, strict=True)
            ),
            resamples=0,
        )
        found = {name: report.value(name) for name in METRICS}
        return {
            **{name: value for name, value in found.items() if value is not None},
            "verified": sum(verified for _, verified in answers) / len(answers),
        }
