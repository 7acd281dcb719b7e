"""A judge whose every opinion a test writes down, and that notes what it was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from semqa.attribution.judges import Entailment, Pair, Reading, Span

__all__ = ["LABELS", "WrittenJudge"]

LABELS = {
    "entailment": Entailment(0.8, 0.1, 0.1),
    "neutral": Entailment(0.1, 0.8, 0.1),
    "contradiction": Entailment(0.1, 0.1, 0.8),
}


class WrittenJudge:
    """Answers by tables; what is in none is neutral, unanswered, or raises no question."""

    name = "written"
    identity = "written 1"

    def __init__(
        self,
        questions: Mapping[str, Sequence[str]] | None = None,
        answers: Mapping[tuple[str, str], str] | None = None,
        labels: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        self.questions = questions or {}
        self.answers = answers or {}
        self.labels = labels or {}
        self.pairs: list[Pair] = []
        self.readings: list[Reading] = []

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        return [list(self.questions.get(answer, ()))[:count] for answer, _ in readings]

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        self.readings += readings
        found: list[Span | None] = []
        for reading in readings:
            text = self.answers.get((reading.question, reading.passage))
            start = -1 if text is None else reading.passage.find(text)
            assert (start < 0) is (text is None), "an answer stands in its passage"
            found.append(None if text is None else Span(text, start, start + len(text), 0.9))
        return found

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        self.pairs += pairs
        return [LABELS[self.labels.get((p.premise, p.hypothesis), "neutral")] for p in pairs]
