"""A judge whose opinions a test writes down, and that notes what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from semqa.attribution.judges import Entailment, Judge, Pair, Reading, Span, TooLongError

LABELS = {
    "entailment": Entailment(0.8, 0.1, 0.1),
    "neutral": Entailment(0.1, 0.8, 0.1),
    "contradiction": Entailment(0.1, 0.1, 0.8),
}


class FakeJudge(Judge):
    """Judges each input by a function; it has the abilities that it is given functions for.

    Args:
        too_long: whether an input is too long; a batch with such an input is refused.

    Attributes:
        asked: all inputs, in order.
    """

    name = identity = "fake"

    def __init__(
        self,
        *,
        entailment: Callable[[Pair], Entailment] | None = None,
        answer: Callable[[Reading], Span | None] | None = None,
        ask: Callable[[tuple[str, str]], list[str]] | None = None,
        complete: Callable[[str], str] | None = None,
        too_long: Callable[[Any], bool] = lambda _: False,
    ) -> None:
        given = {"entailment": entailment, "answer": answer, "ask": ask, "complete": complete}
        self._judge: dict[str, Any] = {name: each for name, each in given.items() if each}
        self._too_long = too_long
        self.asked: list[Any] = []

    @property
    def abilities(self) -> frozenset[Any]:
        return frozenset(self._judge)

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        return list(self._all("entailment", pairs))

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        return list(self._all("answer", readings))

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        return [each[:count] for each in self._all("ask", readings)]

    def complete(self, prompts: Sequence[str], **_: object) -> list[str]:
        return list(self._all("complete", prompts))

    def _all(self, ability: str, inputs: Sequence[Any]) -> Iterator[Any]:
        if any(map(self._too_long, inputs)):
            raise TooLongError("too long")
        self.asked += inputs
        return map(self._judge[ability], inputs)


def find(text: str | None, passage: str) -> Span | None:
    """Return the span of a text in a passage; None if it is None or not there."""
    start = -1 if text is None else passage.find(text)
    return None if text is None or start < 0 else Span(text, start, start + len(text), 1.0)


def by_tables(
    questions: Mapping[str, Sequence[str]] | None = None,
    answers: Mapping[tuple[str, str], str] | None = None,
    labels: Mapping[tuple[str, str], str] | None = None,
    **more: Any,
) -> FakeJudge:
    """Judge by tables; what is in none is neutral, unanswered, or raises no question."""
    return FakeJudge(
        entailment=lambda pair: LABELS[(labels or {}).get(pair, "neutral")],
        answer=lambda reading: find((answers or {}).get(reading), reading.passage),
        ask=lambda reading: list((questions or {}).get(reading[0], ())),
        **more,
    )
