"""The protocol of judges: four questions, of which a judge answers some.

All four take many inputs at once and give one result an input, in order: batches are the judge's
own matter. A judge is deterministic: the same input gives the same result, whatever stands beside
it in a batch, so that results can be kept on disk by content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AnsweringJudge",
    "AskingJudge",
    "CompletingJudge",
    "Entailment",
    "EntailmentJudge",
    "Judge",
    "Pair",
    "Reading",
    "Relation",
    "Schema",
    "Span",
]

Schema = Mapping[str, object]
Relation = Literal["entailment", "neutral", "contradiction"]
"""How a hypothesis stands to a premise, or a claim to its source."""


class Pair(NamedTuple):
    """What may follow from what."""

    premise: str
    hypothesis: str


class Entailment(NamedTuple):
    """Probabilities of the three relations; they are in [0, 1] and sum to 1."""

    entailment: float
    neutral: float
    contradiction: float

    @property
    def entailed(self) -> bool:
        """Whether entailment is the most probable, and no other is as probable."""
        return self.relation == "entailment"

    @property
    def relation(self) -> Relation:
        """The most probable relation; neutral if two are equally probable."""
        if self.entailment > max(self.neutral, self.contradiction):
            return "entailment"
        if self.contradiction > max(self.entailment, self.neutral):
            return "contradiction"
        return "neutral"


class Reading(NamedTuple):
    """A question to be answered from a passage."""

    question: str
    passage: str


class Span(NamedTuple):
    """An answer found in a passage: ``passage[start:end] == text``, in code points.

    Attributes:
        score: how sure the judge is, in [0, 1].
    """

    text: str
    start: int
    end: int
    score: float


class Judge(Protocol):
    """What all judges have.

    Attributes:
        name: the specification that creates this judge again, such as ``lexical``.
        identity: what tells its results from those of any other judge: kind, models with the
            digests of their content, and settings; the key of what is kept on disk.
    """

    name: str
    identity: str


@runtime_checkable
class EntailmentJudge(Judge, Protocol):
    """A judge of whether one text follows from another."""

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """Return how each hypothesis stands to its premise."""
        ...


@runtime_checkable
class AnsweringJudge(Judge, Protocol):
    """A judge that answers questions by a span of a passage."""

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        """Return the span that answers each question, or None where the passage does not."""
        ...


@runtime_checkable
class AskingJudge(Judge, Protocol):
    """A judge that asks questions."""

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        """Return questions whose answer is given, best first.

        Args:
            readings: (answer, passage) pairs; the answer stands in the passage.
            count: at most so many questions a pair, 1 or more (the beams, for a model).
        """
        ...


@runtime_checkable
class CompletingJudge(Judge, Protocol):
    """A judge that writes on from a prompt."""

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, schema: Schema | None = None
    ) -> list[str]:
        """Return what is written after each prompt, without the prompt.

        Args:
            prompts: what is asked.
            max_new_tokens: most tokens of a reply.
            schema: JSON schema of the replies; a judge that does not support schemas ignores it.
        """
        ...
