"""The engine protocols, and what engines take and return.

An engine proposes marked text; only `QuotedAnswer.parse` decides which quotes are verified. Every
engine implements `Engine`. Each optional ability is a separate protocol; test for it with
``isinstance``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from semqa.errors import InputError
from semqa.history import Exchange, in_context
from semqa.quotes import QuotedAnswer, Source

if TYPE_CHECKING:
    from semqa.prompting import Prompt, PromptBuilder
    from semqa.quotes.repair import Repairs


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


Method = Literal["processor", "grammar", "pointing", "repair", "off"]
"""How verbatim quotes are enforced: vocabulary masks (``processor``), a grammar on the server
(``grammar``), JSON that refers to clauses of the sources (``pointing``), repair of the finished
text (``repair``), or not at all (``off``)."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The raw output of a language model for one question, before verification.

    Attributes:
        prompt_tokens: number of tokens in the prompt; None if the endpoint does not report it.
        new_tokens: number of generated tokens, including the end token; None if not reported.
        finished: whether the model ended the answer; if False, the token budget cut it off, which
            cannot happen with ``processor``.
        breach: a description of the rule that the text still violates; None if there is no
            violation or the constraint is off. `semqa.decoding.find_breach` checks the repaired
            text with ``repair`` and the model's own output otherwise.
        written: the model's own output if `text` was repaired; otherwise None.
    """

    text: str
    prompt: Prompt
    prompt_tokens: int | None
    new_tokens: int | None
    finished: bool
    constraint: Method = "off"
    breach: str | None = None
    written: str | None = None
    repairs: Repairs | None = None

    def read(self, sources: Sequence[Source]) -> QuotedAnswer:
        """Parse and verify the answer, keeping a record of repairs."""
        if self.repairs is not None:
            return self.repairs.read(self.text, sources)
        return QuotedAnswer.parse(self.text, sources)


class Engine(Protocol):
    """Answers questions from sources."""

    name: str
    """The specification that `create_engine` takes, such as ``lead-2``."""

    def answer(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer:
        """Answer one question; raise InputError if it is blank or there are no sources."""
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
    """An engine that uses a language model and can answer questions in batches."""

    batch_size: int
    """Number of questions per batch."""

    @property
    def chat(self) -> bool:
        """Whether prompts are sent as chat messages, as far as is known; if False, as text."""
        ...

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


def close_engine(engine: Engine | None) -> None:
    """Close an engine if it has a ``close`` method."""
    close = getattr(engine, "close", None)
    if close is not None:
        close()


def check_request(question: str, sources: Sequence[Source]) -> None:
    """Raise InputError if the question is blank, or the sources are empty or not `Source` objects."""
    given: object = sources
    if not isinstance(given, Sequence) or not all(isinstance(each, Source) for each in given):
        raise InputError(f"must be Source objects, got {given!r:.80}.", field="sources")
    if not any(map(str.isalnum, question)):
        raise InputError("The question is blank.")
    if not sources:
        raise InputError("At least one source is needed.")
