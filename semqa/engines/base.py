"""The protocols of everything that answers.

An engine proposes marked text; `QuotedAnswer.parse` alone decides what in it is verified. Every
engine is an `Engine`; what some can do besides is a protocol of its own, which ``isinstance`` tells.
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
    """A prompt does not fit into a model's context; it alone is at fault, and not the others."""


class Request(NamedTuple):
    """One question and what it is to be answered from.

    Attributes:
        sources: the passages to answer from; source *k* is ``sources[k - 1]``.
        history: earlier exchanges of the conversation, the oldest first.
    """

    question: str
    sources: Sequence[Source]
    history: Sequence[Exchange] = ()

    @property
    def understood(self) -> str:
        """The question with the earlier ones that it refers to, as one text."""
        return in_context(self.question, self.history)


class Engine(Protocol):
    """Answers questions over given sources.

    Attributes:
        name: the specification that creates this engine again, such as ``lead-2``.
    """

    name: str

    def answer(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer:
        """Answer one question; raise if it is blank or there is no source."""
        ...


@runtime_checkable
class AbstainingEngine(Engine, Protocol):
    """An engine that can tell when no source has to do with a question."""

    def attempt(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer | None:
        """Answer one question as `answer` does, or return None where no source answers it."""
        ...


@runtime_checkable
class StreamingEngine(Engine, Protocol):
    """An engine that shows its answer while it writes it."""

    def stream(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> Generator[str, None, Generation | None]:
        """Give the text of the answer piece by piece; closing the iterator stops the work.

        Returns:
            How the answer came about, where the engine asks a model.
        """
        ...


@runtime_checkable
class GeneratingEngine(Engine, Protocol):
    """An engine that asks a language model, and is faster on several questions at once.

    Attributes:
        batch_size: how many questions it works on together.
    """

    batch_size: int

    def prompt(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> Prompt:
        """Return what `answer` would ask the model, without asking it."""
        ...

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return what a model writes for each request; what is wrong with one is found first."""
        ...


@runtime_checkable
class ConstrainedEngine(Engine, Protocol):
    """An engine that can keep a model to verbatim quotes."""

    def warm_up(self, say: Callable[[str], None] | None = None) -> None:
        """Get the constraint ready, if it is on, so that no answer waits for it."""
        ...


@runtime_checkable
class SharingEngine(Engine, Protocol):
    """An engine whose model serves other settings, too."""

    def with_settings(
        self, settings: Mapping[str, object], prompts: PromptBuilder | None
    ) -> Engine | None:
        """Return an engine with other settings and prompts that shares this one's model.

        Settings that are left out are the defaults, not this engine's. Closing one of them may
        close all. None if the model would have to be loaded anew.
        """
        ...


@runtime_checkable
class CompletingEngine(Engine, Protocol):
    """An engine that asks its model whatever it is told to, without sources."""

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, sample: bool = False
    ) -> list[str]:
        """Return what the model writes after each prompt, freely, without the prompt.

        A prompt is one message of a user where the model chats, else a text to go on with. White
        space around a reply is stripped. Raises `PromptTooLongError` for a prompt that does not fit.
        """
        ...


@runtime_checkable
class SchemaEngine(CompletingEngine, Protocol):
    """An engine whose model can be held to a JSON schema."""

    def complete_json(
        self,
        prompts: Sequence[str],
        schema: Mapping[str, object],
        *,
        max_new_tokens: int = 256,
        sample: bool = False,
    ) -> list[str]:
        """Complete prompts as `complete` does, with JSON that conforms to a schema.

        If the model or its endpoint does not support schemas, replies are free text.
        """
        ...


def close_engine(engine: Engine | None) -> None:
    """Close an engine, if it holds anything."""
    close = getattr(engine, "close", None)
    if close is not None:
        close()


def check_request(question: str, sources: Sequence[Source]) -> None:
    """Check that there is a question, and sources to answer it from."""
    from semqa.quotes import Source

    asked: object = question
    if not isinstance(asked, str):
        raise InputError(f"must be text, got {asked!r}.", field="question", value=asked)
    given: object = sources
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        raise InputError(
            f"must be a sequence of Source, got {_shown(given)}.", field="sources", value=given
        )
    for number, source in enumerate(given, 1):
        if not isinstance(source, Source):
            raise InputError(
                f"Source {number} must be a Source, got {_shown(source)}.", value=source
            )
    if not any(map(str.isalnum, question)):
        raise InputError("The question is blank.", value=question)
    if not sources:
        raise InputError("At least one source is needed.")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
