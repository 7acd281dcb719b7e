"""The protocols of everything that answers.

An engine proposes marked text; `QuotedAnswer.parse` alone decides what in it is verified. Every
engine is an `Engine`; what some can do besides is a protocol of its own, which ``isinstance`` tells:
`BatchEngine`, `StreamingEngine`, `PromptedEngine`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semqa.prompting import Prompt
    from semqa.quotes import QuotedAnswer, Source

__all__ = [
    "BatchEngine",
    "Engine",
    "PromptedEngine",
    "Request",
    "StreamingEngine",
    "check_request",
]


class Request(NamedTuple):
    """One question and what it is to be answered from.

    Attributes:
        question: the question, in words.
        sources: the passages to answer from; source *k* is ``sources[k - 1]``.
    """

    question: str
    sources: Sequence[Source]


class Engine(Protocol):
    """Answers questions over given sources.

    Attributes:
        name: the specification that creates this engine again, such as ``lead-2``.
    """

    name: str

    def answer(self, question: str, sources: Sequence[Source]) -> QuotedAnswer:
        """Answer one question.

        Args:
            question: the question, in words.
            sources: the passages to answer from; source *k* is ``sources[k - 1]``.

        Raises:
            InputError: the question is blank or there is no source.
        """
        ...


@runtime_checkable
class BatchEngine(Engine, Protocol):
    """An engine that is faster on several questions at once.

    Attributes:
        batch_size: how many questions it works on together.
    """

    batch_size: int

    def answer_batch(self, requests: Sequence[Request]) -> list[QuotedAnswer]:
        """Answer several questions, each as `answer` would; any number may be given.

        Raises:
            InputError: a request cannot be answered; it is found before any work is done.
        """
        ...


@runtime_checkable
class StreamingEngine(Engine, Protocol):
    """An engine that shows its answer while it writes it."""

    def stream(self, question: str, sources: Sequence[Source]) -> Iterator[str]:
        """Give the text of the answer piece by piece; closing the iterator stops the work.

        Raises:
            InputError: as `answer`, at the first piece.
        """
        ...


@runtime_checkable
class PromptedEngine(Engine, Protocol):
    """An engine that asks a language model."""

    def prompt(self, question: str, sources: Sequence[Source]) -> Prompt:
        """Return what `answer` would ask the model, without asking it.

        Raises:
            InputError: as `answer`.
        """
        ...


def check_request(question: str, sources: Sequence[Source]) -> None:
    """See that there is something to answer, and something to answer from.

    Raises:
        InputError: the question is blank or there is no source.
    """
    if not question.strip():
        raise InputError("the question is blank: got no words, expected a question; write one")
    if not sources:
        raise InputError("no source to answer from: got 0, expected at least 1; give one")
