"""A judge small enough to see through: words that are there, and words that are not."""

from __future__ import annotations

from collections.abc import Sequence

from semqa.attribution.judges import Entailment, Pair, Reading, Span

__all__ = ["WordJudge"]


class WordJudge:
    """Entailed is what has no word that the premise lacks; an answer is the word after ``is``.

    Attributes:
        asked: the pairs of each call.
    """

    name = identity = "words"

    def __init__(self) -> None:
        self.asked: list[list[Pair]] = []

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        self.asked.append(list(pairs))
        return [
            Entailment(1.0, 0.0, 0.0)
            if set(hypothesis.strip(".").split()) <= set(premise.split())
            else Entailment(0.0, 1.0, 0.0)
            for premise, hypothesis in pairs
        ]

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        return [_answer(reading) for reading in readings]


def _answer(reading: Reading) -> Span | None:
    """Find the first word after the last word of the question."""
    key = reading.question.rstrip("?").split()[-1]
    at = reading.passage.find(f"{key} ")
    if at < 0:
        return None
    start = at + len(key) + 1
    text = reading.passage[start:].split()[0].strip(".,")
    return Span(text, start, start + len(text), 1.0)
