"""The base class of judges. A judge supports one or more of four tasks.

Each method takes a batch of inputs and returns one result per input, in order. Judges are
deterministic: the result of an input does not depend on its batch, so results can be cached by
content. (A language model that samples is as deterministic as its engine is with a fixed seed.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from semqa.errors import InputError

Schema = Mapping[str, object]
Relation = Literal["entailment", "neutral", "contradiction"]
"""The relation of a hypothesis to a premise, or of a claim to its source."""


class Pair(NamedTuple):
    """A hypothesis that may follow from a premise."""

    premise: str
    hypothesis: str


class Entailment(NamedTuple):
    """Probabilities of the three relations, in [0, 1]; they sum to 1."""

    entailment: float
    neutral: float
    contradiction: float

    @property
    def entailed(self) -> bool:
        return self.relation == "entailment"

    @property
    def relation(self) -> Relation:
        """The most probable relation; neutral if there is a tie."""
        if self.entailment > max(self.neutral, self.contradiction):
            return "entailment"
        if self.contradiction > max(self.entailment, self.neutral):
            return "contradiction"
        return "neutral"


class Reading(NamedTuple):
    """A question to answer from a passage."""

    question: str
    passage: str


class Span(NamedTuple):
    """An answer found in a passage: ``passage[start:end] == text``; the score is in [0, 1]."""

    text: str
    start: int
    end: int
    score: float


Ability = Literal["entailment", "answer", "ask", "complete"]
_ABILITIES: dict[Ability, tuple[str, str]] = {
    "entailment": ("judge entailment", "lexical, engine:SPEC or transformers:nli=MODEL"),
    "answer": ("answer questions", "lexical, engine:SPEC or transformers:qa=MODEL"),
    "ask": ("ask questions", "lexical, engine:SPEC or transformers:qg=MODEL"),
    "complete": ("answer prompts", "engine:openai:MODEL or engine:transformers:MODEL"),
}
"""For each ability: its description in errors, and judges that have it."""


class Judge:
    """Base class of judges, each of which overrides the methods of its abilities.

    Attributes:
        name: the specification that creates this judge again, such as ``lexical``.
        identity: the kind of judge, its models with content digests, and its settings; part of
            cache keys.
    """

    name: str
    identity: str

    @property
    def abilities(self) -> frozenset[Ability]:
        """The tasks that this judge supports."""
        kind = type(self)
        return frozenset(
            each for each in _ABILITIES if getattr(kind, each) is not getattr(Judge, each)
        )

    def require(self, *abilities: Ability) -> None:
        for ability in abilities:
            if ability not in self.abilities:
                task, others = _ABILITIES[ability]
                raise InputError(f"The judge {self.name} cannot {task}.", hint=f"Choose {others}.")

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """Return the relation of each hypothesis to its premise."""
        raise NotImplementedError

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        """Return the span that answers each question, or None if the passage has no answer."""
        raise NotImplementedError

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        """Return at most `count` questions for each (answer, passage) pair, best first."""
        raise NotImplementedError

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, schema: Schema | None = None
    ) -> list[str]:
        """Complete each prompt; a judge that does not support JSON schemas ignores the schema."""
        raise NotImplementedError

    @property
    def unparsed(self) -> int:
        """The number of replies of a language model that could not be parsed so far."""
        return 0

    def through(self, complete: Callable[..., list[str]]) -> Judge | None:  # noqa: ARG002
        """Return this judge with replies from another source, such as a cache.

        Judges that parse no replies return None.
        """
        return None

    def close(self) -> None:
        """Release models and files; does nothing unless overridden."""


_In = TypeVar("_In")
_Out = TypeVar("_Out")


class TooLongError(InputError):
    """A text is too long for a judge, and truncation would change the judgement."""


def unless_too_long(
    judge: Callable[[Sequence[_In]], list[_Out]], inputs: Sequence[_In]
) -> list[_Out | TooLongError]:
    """Return a judge's result for each input, or the error if the input is too long.

    All inputs go in one batch. If one of them is too long, the batch is halved and retried.

    Example:
        >>> def lengths(texts):
        ...     if any(len(text) > 3 for text in texts):
        ...         raise TooLongError("too long")
        ...     return [len(text) for text in texts]
        >>> unless_too_long(lengths, ["ab", "abcd"])
        [2, TooLongError('too long')]
    """
    if not inputs:
        return []
    try:
        return list(judge(inputs))
    except TooLongError as error:
        if len(inputs) == 1:
            return [error]
    half = len(inputs) // 2
    return [*unless_too_long(judge, inputs[:half]), *unless_too_long(judge, inputs[half:])]
