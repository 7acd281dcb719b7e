"""The engine protocols.

An engine proposes marked text; only `QuotedAnswer.parse` decides which quotes are verified. Every
engine implements `Engine`. Each optional ability is a separate protocol; test for it with
``isinstance``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from semqa.errors import InputError
from semqa.history import in_context

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from semqa.engines.generation import Generation
    from semqa.history import Exchange
    from semqa.prompting import Prompt, PromptBuilder
    from semqa.quotes import QuotedAnswer, Source


class PromptTooLongError(InputError):
    """The prompt does not fit in the model's context. Other prompts may still fit."""


class Request(NamedTuple):
    """A question and the sources to answer it from.

    Attributes:
        sources: the passages to answer from; source *k* is ``sources[k - 1]``.
        history: earlier exchanges in the conversation, oldest first.
    """

    question: str
    sources: Sequence[Source]
    history: Sequence[Exchange] = ()

    @property
    def understood(self) -> str:
        """The question together with the earlier questions that it refers to, as one text."""
        return in_context(self.question, self.history)


class Engine(Protocol):
    """Answers questions from sources.

    Attributes:
        name: the specification that `create_engine` takes, such as ``lead-2``.
    """

    name: str

    def answer(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer:
        """Answer one question; raise InputError if it is blank or there are no sources."""
        ...


@runtime_checkable
class AbstainingEngine(Engine, Protocol):
    """An engine that can detect when no source is relevant to a question."""

    def attempt(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer | None:
        """Answer one question as `answer` does, or return None if no source answers it."""
        ...


@runtime_checkable
class StreamingEngine(Engine, Protocol):
    """An engine that streams its answer."""

    def stream(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> Generator[str, None, Generation | None]:
        """Yield the answer piece by piece; closing the iterator cancels the answer.

        Returns:
            The generation, if the engine uses a language model; otherwise None.
        """
        ...


@runtime_checkable
class GeneratingEngine(Engine, Protocol):
    """An engine that uses a language model and can answer questions in batches.

    Attributes:
        batch_size: number of questions per batch.
    """

    batch_size: int

    def prompt(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> Prompt:
        """Return the prompt that `answer` would send, without calling the model."""
        ...

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return the model's output for each request; all requests are validated first."""
        ...


@runtime_checkable
class ConstrainedEngine(Engine, Protocol):
    """An engine that can constrain a model to verbatim quotes."""

    def warm_up(self, say: Callable[[str], None] | None = None) -> None:
        """Prepare the constraint, if it is on, so that the first answer is not delayed."""
        ...


@runtime_checkable
class SharingEngine(Engine, Protocol):
    """An engine that can share its model with engines that have other settings."""

    def with_settings(
        self, settings: Mapping[str, object], prompts: PromptBuilder | None
    ) -> Engine | None:
        """Return an engine that shares this model but has other settings and prompts.

        Omitted settings take their defaults, not this engine's values. Closing one of these engines
        may close all of them. Returns None if the model would have to be reloaded.
        """
        ...


@runtime_checkable
class CompletingEngine(Engine, Protocol):
    """An engine that completes arbitrary prompts, without sources."""

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, sample: bool = False
    ) -> list[str]:
        """Return the unconstrained completion of each prompt, without the prompt.

        A chat model gets each prompt as one user message; other models continue it as text. White
        space around a reply is stripped. Raises `PromptTooLongError` if a prompt does not fit.
        """
        ...


@runtime_checkable
class SchemaEngine(CompletingEngine, Protocol):
    """An engine that can constrain its model to a JSON schema."""

    def complete_json(
        self,
        prompts: Sequence[str],
        schema: Mapping[str, object],
        *,
        max_new_tokens: int = 256,
        sample: bool = False,
    ) -> list[str]:
        """Complete prompts like `complete`, with JSON that conforms to a schema.

        If the model or its endpoint does not support schemas, replies are free text.
        """
        ...


def close_engine(engine: Engine | None) -> None:
    """Close an engine if it has a ``close`` method."""
    close = getattr(engine, "close", None)
    if close is not None:
        close()


def check_request(question: str, sources: Sequence[Source]) -> None:
    """Raise InputError if the question is blank or not text, or if the sources are not usable."""
    from semqa.quotes import Source

    text: object = question
    if not isinstance(text, str):
        raise InputError(f"must be text, got {text!r}.", field="question", value=text)
    items: object = sources
    if isinstance(items, (str, bytes)) or not isinstance(items, Sequence):
        raise InputError(
            f"must be a sequence of Source, got {_short_repr(items)}.", field="sources", value=items
        )
    for number, source in enumerate(items, 1):
        if not isinstance(source, Source):
            raise InputError(
                f"Source {number} must be a Source, got {_short_repr(source)}.", value=source
            )
    if not any(map(str.isalnum, question)):
        raise InputError("The question is blank.", value=question)
    if not sources:
        raise InputError("At least one source is needed.")


def _short_repr(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
