"""A judge that goes on: what is too long for it gets the reply that says nothing, and is counted.

For measures that have no place for a reason why something is unjudged. Others ask through
`semqa.attribution.judges.length.unless_too_long`, and keep the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from semqa.attribution.judges.base import (
    AnsweringJudge,
    AskingJudge,
    CompletingJudge,
    Entailment,
    EntailmentJudge,
)
from semqa.attribution.judges.length import TooLongError, unless_too_long

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semqa.attribution.judges.base import Judge, Pair, Reading, Schema, Span

__all__ = ["PatientJudge"]

_In = TypeVar("_In")
_Out = TypeVar("_Out")

_NEUTRAL = Entailment(0.0, 1.0, 0.0)


class PatientJudge:
    """Asks another judge, and takes what is too long for it for nothing.

    That is: a pair is neutral, a reading has no answer, an answer asks no question, and a prompt has
    an empty reply. It can what the other judge can, so that ``isinstance(patient, EntailmentJudge)``
    tells.

    Args:
        judge: the judge to ask.

    Attributes:
        name: that of the other judge.
        identity: that of the other judge.
        too_long: how many inputs were too long so far.
    """

    def __init__(self, judge: Judge) -> None:
        self.name, self.identity = judge.name, judge.identity
        self.too_long = 0
        self._judge: Any = judge
        # Only what the other judge can: `isinstance` looks for the methods.
        if isinstance(judge, EntailmentJudge):
            self.entailment = self._entailment
        if isinstance(judge, AnsweringJudge):
            self.answer = self._answer
        if isinstance(judge, AskingJudge):
            self.ask = self._ask
        if isinstance(judge, CompletingJudge):
            self.complete = self._complete

    def _entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        return self._all(self._judge.entailment, pairs, _NEUTRAL)

    def _answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        return self._all(self._judge.answer, readings, None)

    def _ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        return self._all(lambda some: self._judge.ask(some, count=count), readings, [])

    def _complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, schema: Schema | None = None
    ) -> list[str]:
        def complete(some: Sequence[str]) -> list[str]:
            replies: list[str] = self._judge.complete(
                some, max_new_tokens=max_new_tokens, schema=schema
            )
            return replies

        return self._all(complete, prompts, "")

    def _all(
        self, ask: Callable[[Sequence[_In]], list[_Out]], inputs: Sequence[_In], nothing: _Out
    ) -> list[_Out]:
        results = unless_too_long(ask, inputs)
        self.too_long += sum(isinstance(each, TooLongError) for each in results)
        return [nothing if isinstance(each, TooLongError) else each for each in results]
