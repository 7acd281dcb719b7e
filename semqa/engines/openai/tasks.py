"""Build constrained requests, run them concurrently, and fall back if one is rejected."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, TypeVar

from semqa.decoding.grammar import quoting_grammar
from semqa.decoding.vllm.request import SOURCES, to_extra_args
from semqa.engines.base import Method, Request
from semqa.engines.model.excerpts import quotable
from semqa.engines.model.text import StoppedText
from semqa.engines.openai.capabilities import Capability, grammar_fields, schema_fields
from semqa.engines.openai.client import RefusedError, RemoteModel, truncate
from semqa.engines.openai.replies import Piece, StreamAccumulator, Usage
from semqa.engines.options import OpenAIOptions
from semqa.errors import InputError, PromptTooLongError
from semqa.prompting import Message, Prompt
from semqa.prompting.prompt import Spelling
from semqa.quotes import ABSTENTION
from semqa.quotes.pointing import INSTRUCTION, Pointing
from semqa.quotes.repair import Repairer, Repairs

_T = TypeVar("_T")
_R = TypeVar("_R")


class Task(NamedTuple):
    """A request for the endpoint; if the sources are irrelevant, it is not sent."""

    request: Request
    prompt: Prompt
    capability: Capability
    fields: Mapping[str, object]
    pointing: Pointing | None = None
    relevant: bool = True

    @property
    def method(self) -> Method:
        """How verbatim quotes are enforced."""
        return self.capability.method


def make_task(
    request: Request, prompt: Prompt, capability: Capability, options: OpenAIOptions
) -> Task:
    """Return the task for a request and its prompt, which may have excerpts of the sources.

    Sources that do not fit in a grammar fall back to repair, unless a grammar is required.
    """
    question, sources = request.understood, request.sources
    fields: dict[str, object] = {}
    pointing = None
    if capability.method == "processor":
        fields = {"vllm_xargs": to_extra_args(sources, options.policy, question)}
    elif capability.method == "grammar":
        if prompt.sources != tuple(sources):
            sources = quotable(prompt.sources, sources)
        try:
            grammar = quoting_grammar(
                sources, options.policy, question=question, dialect=capability.dialect
            )
            fields = grammar_fields(grammar, capability.dialect)
        except InputError:
            if options.constraint == "grammar":
                raise
            capability = capability._replace(method="repair")
    elif capability.method == "pointing":
        pointing = Pointing(prompt.sources, question, sources)
        fields = schema_fields(pointing.schema(bounded=capability.bounded))
    return Task(request, prompt, capability, fields, pointing)


def answer_budget(capability: Capability, options: OpenAIOptions) -> int:
    """Return the maximum tokens of a reply; pointers need more than the words they refer to."""
    return options.max_new_tokens * (2 if capability.method == "pointing" else 1)


_TOKEN = re.compile(r"[A-Za-z]{1,4}|[^\sA-Za-z]|\s\s+|\n")
_TOKENS_PER_MESSAGE = 8


def estimate_tokens(prompt: Prompt) -> int:
    """Estimate the number of tokens of a prompt, usually too high.

    Of 212 prompts over English documents, SmolLM2's tokenizer made 0.73 to 1.00 times as many.

    Example:
        >>> estimate_tokens(Prompt.plain("Who sang it?"))
        12
    """
    texts = (message.content for message in prompt.messages)
    return sum(_TOKENS_PER_MESSAGE + len(_TOKEN.findall(text)) for text in texts)


def pointing_prompt(question: str, prompt: Prompt, spell: Spelling) -> Prompt:
    """Return the prompt that asks for pointers to the sources of `prompt`, with its form and history."""
    listing = Pointing(prompt.sources, question).listing
    text = f"Question: {spell(question)}\n\n{spell(listing)}"
    if prompt.history:
        earlier = "\n".join(
            f"Question: {spell(each.question)}\nAnswer: {spell(each.answer)}"
            for each in prompt.history
        )
        text = f"Earlier in this conversation:\n{earlier}\n\n{text}"
    return Prompt(
        messages=(Message("system", INSTRUCTION), Message("user", text)),
        text=f"{INSTRUCTION}\n\n{text}\n\nJSON:",
        form=prompt.form,
        stop=(),
        answers="quotes",
        exemplars=(),
        template="pointing",
        version="1",
        sha256="",
        history=prompt.history,
        sources=prompt.sources,
    )


TOO_LONG = re.compile(
    r"context (?:length|window|size)|maximum (?:context|model)|max_model_len|too (?:long|many tokens)",
    re.IGNORECASE,
)
"""Matches error messages about prompts that exceed the model's context."""


class Result(NamedTuple):
    """The result of a task.

    Attributes:
        text: the text of `piece` with repaired quotes, or unchanged if the constraint is off.
        repairs: the changes; None if the constraint is off.
        repeated: the repeated quote before which the answer was cut off, or None.
    """

    task: Task
    piece: Piece
    text: str
    repairs: Repairs | None
    repeated: str | None = None


class TaskRunner:
    """Runs tasks on a remote model."""

    def __init__(
        self,
        remote: RemoteModel,
        options: OpenAIOptions,
        make: Callable[[Request, Capability, int | None], Task],
    ) -> None:
        self._remote = remote
        self._options = options
        self._make = make

    async def run_all(self, tasks: Sequence[Task]) -> list[Result]:
        """Run all tasks concurrently; the first failure cancels the others."""

        async def ask(task: Task) -> Result:
            return await self._with_fallback(task, self._run)

        return await _run_concurrently(ask, tasks, self._options.batch_size)

    async def stream(self, task: Task, show: Callable[[str], None]) -> Result:
        """Run a task and show text as soon as it is final."""

        async def send(task: Task) -> Result:
            if task.pointing is not None or not task.relevant:
                result = await self._run(task)
                show(result.text)
                return result
            return await self._stream(task, show)

        return await self._with_fallback(task, send)

    async def _stream(self, task: Task, show: Callable[[str], None]) -> Result:
        accumulators: list[StreamAccumulator] = []
        stop_at_repeat = task.method == "grammar"

        def make_accumulator(chat: bool) -> StreamAccumulator:
            sources = None if task.method == "off" else task.request.sources
            stops = () if chat else task.prompt.stop
            budget = self._options.max_new_tokens
            accumulators.append(
                StreamAccumulator(
                    show, sources, stops, budget, chat=chat, stop_at_repeat=stop_at_repeat
                )
            )
            return accumulators[-1]

        await self._remote.stream(self._prompt(task), self._options, task.fields, make_accumulator)
        return Result(task, *accumulators[-1].end())

    async def _run(self, task: Task) -> Result:
        if not task.relevant:
            return Result(task, Piece(ABSTENTION, True, Usage(0, 0)), ABSTENTION, Repairs())
        if task.method == "grammar":
            # Streamed to stop at the first repetition: small models may repeat a quote endlessly.
            return await self._stream(task, lambda _: None)
        budget = answer_budget(task.capability, self._options)
        piece = await self._remote.ask(self._prompt(task), self._options, task.fields, budget)
        stopped = StoppedText(() if self._remote.chats(task.prompt.form) else task.prompt.stop)
        text = stopped.add(piece.text) + stopped.end()
        piece = piece._replace(text=text, finished=piece.finished or stopped.stopped)
        if task.method == "off":
            return Result(task, piece, text, None)
        if task.pointing is not None:
            answer = task.pointing.read(text)
            if answer is not None:
                return Result(task, piece, answer or ABSTENTION, Repairs())
            # The endpoint ignored the schema.
            task = task._replace(capability=task.capability._replace(method="repair"))
        repairer = Repairer(task.request.sources)
        repaired = repairer.add(text) + repairer.end()
        return Result(task, piece, repaired, repairer.repairs)

    def _prompt(self, task: Task) -> Prompt:
        # The processor ends the answer; a stop string could end it before its first quote.
        return replace(task.prompt, stop=()) if task.method == "processor" else task.prompt

    async def _with_fallback(self, task: Task, send: Callable[[Task], Awaitable[Result]]) -> Result:
        while True:
            try:
                return await send(task)
            except RefusedError as error:
                # Choosing excerpts takes a while.
                fallback = await asyncio.to_thread(self._fallback, task, error)
                if fallback is not None:
                    task = fallback
                elif TOO_LONG.search(error.detail):
                    raise PromptTooLongError(
                        f"The prompt is too long for the model: {truncate(error.detail.rstrip('.'))}.",
                        hint="Give fewer or shorter sources, index them as a collection, or use a "
                        "model with a longer context.",
                    ) from error
                else:
                    raise

    def _fallback(self, task: Task, error: RefusedError) -> Task | None:
        """Return a replacement for a rejected task, or None."""
        if TOO_LONG.search(error.detail):
            with suppress(PromptTooLongError):
                shorter = estimate_tokens(task.prompt) * 3 // 4
                return self._make(task.request, task.capability, shorter)
        too_large = task.method == "processor" and error.param == SOURCES
        if (
            task.method in ("grammar", "pointing") or too_large
        ) and self._options.constraint == "auto":
            return self._make(task.request, task.capability._replace(method="repair"), None)
        return None


async def complete_all(
    remote: RemoteModel,
    prompts: Sequence[Prompt],
    options: OpenAIOptions,
    schema: Mapping[str, object] | None = None,
) -> list[str]:
    """Return the reply to each prompt, stripped; the first failure cancels the others.

    Args:
        schema: a JSON schema for the replies; omitted once the endpoint has rejected it.
    """

    async def one(prompt: Prompt) -> str:
        while True:
            constrained = schema is not None and remote.takes_schemas
            fields = schema_fields(schema) if constrained and schema is not None else {}
            try:
                return (await remote.ask(prompt, options, fields)).text.strip()
            except RefusedError as error:
                if TOO_LONG.search(error.detail):
                    raise PromptTooLongError(str(error)) from error
                if not constrained or error.status in (401, 403, 404):
                    raise
                remote.takes_schemas = False

    return await _run_concurrently(one, prompts, options.batch_size)


async def _run_concurrently(
    work: Callable[[_T], Awaitable[_R]], items: Sequence[_T], limit: int
) -> list[_R]:
    """Process items concurrently, at most `limit` at once; the first failure cancels the rest."""
    semaphore = asyncio.Semaphore(limit)

    async def one(item: _T) -> _R:
        async with semaphore:
            return await work(item)

    running = [asyncio.ensure_future(one(item)) for item in items]
    try:
        return list(await asyncio.gather(*running))
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
