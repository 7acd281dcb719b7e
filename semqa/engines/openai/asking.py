"""Tasks and prompts put to a model, several at a time."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from semqa.decoding.grammar import quoting_grammar
from semqa.decoding.vllm.request import to_extra_args
from semqa.engines.base import PromptTooLongError
from semqa.engines.model.text import StoppedText
from semqa.engines.openai.capabilities import grammar_fields, schema_fields
from semqa.engines.openai.client import RefusedError
from semqa.engines.openai.replies import AnswerSink
from semqa.errors import InputError
from semqa.prompting import Message, Prompt
from semqa.quotes import ABSTENTION
from semqa.quotes.pointing import INSTRUCTION, Pointing
from semqa.quotes.repair import Repairer, Repairs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from semqa.engines.base import Request
    from semqa.engines.generation import Way
    from semqa.engines.openai.capabilities import Offer
    from semqa.engines.openai.options import OpenAIOptions
    from semqa.engines.openai.replies import Piece, RemoteModel
    from semqa.prompting.prompt import Spelling

_T = TypeVar("_T")
_R = TypeVar("_R")


class Task(NamedTuple):
    """A request, ready for the endpoint; `plain` is its prompt if the endpoint refuses the rest."""

    request: Request
    prompt: Prompt
    way: Way
    fields: Mapping[str, object]
    pointing: Pointing | None = None
    plain: Prompt | None = None


def make_task(
    request: Request, prompt: Prompt, offer: Offer, options: OpenAIOptions, spell: Spelling
) -> Task:
    """Return a task; what no grammar takes is repaired, unless a grammar was asked for."""
    question, sources = request.understood, request.sources
    if offer.way == "processor":
        keys = to_extra_args(sources, options.policy, question)
        return Task(request, prompt, offer.way, {"vllm_xargs": keys})
    if offer.way == "grammar":
        try:
            grammar = quoting_grammar(
                sources,
                options.policy,
                question=question,
                dialect=offer.dialect,
            )
        except InputError:
            if options.constraint == "grammar":
                raise
            return Task(request, prompt, "repair", {})
        return Task(request, prompt, offer.way, grammar_fields(grammar, offer.dialect))
    if offer.way == "pointing":
        pointing = Pointing(sources, question)
        asked = pointing_prompt(pointing, request.question, prompt, spell)
        return Task(
            request,
            asked,
            offer.way,
            schema_fields(pointing.schema(bounded=offer.bounded)),
            pointing,
            prompt,
        )
    return Task(request, prompt, offer.way, {})


def pointing_prompt(pointing: Pointing, question: str, prompt: Prompt, spell: Spelling) -> Prompt:
    """Return the prompt that asks for pointers, in the form of another, with its history."""
    asked = f"Question: {spell(question)}\n\n{spell(pointing.listing)}"
    if prompt.history:
        said = "\n".join(
            f"Question: {spell(each.question)}\nAnswer: {spell(each.answer)}"
            for each in prompt.history
        )
        asked = f"Earlier in this conversation:\n{said}\n\n{asked}"
    return Prompt(
        messages=(Message("system", INSTRUCTION), Message("user", asked)),
        text=f"{INSTRUCTION}\n\n{asked}\n\nJSON:",
        form=prompt.form,
        stop=(),
        answers="quotes",
        exemplars=(),
        template="pointing",
        version="1",
        sha256="",
        history=prompt.history,
    )


TOO_LONG = re.compile(
    r"context (?:length|window|size)|maximum (?:context|model)|max_model_len|too (?:long|many tokens)",
    re.IGNORECASE,
)
"""What endpoints say of a prompt that does not fit into the model's context."""

_TOO_MUCH = re.compile(r"semqa_sources holds [0-9,]+ bytes")


class Written(NamedTuple):
    """What came of a task.

    Attributes:
        text: the same with its quotes repaired, unless the constraint is off.
        repairs: what was changed; None where the constraint is off.
        repeated: a quote of text that was quoted before, where the answer was cut; None if there is none.
    """

    task: Task
    piece: Piece
    text: str
    repairs: Repairs | None
    repeated: str | None = None


class Asker:
    """Puts tasks to a model."""

    def __init__(
        self,
        remote: RemoteModel,
        options: OpenAIOptions,
        fewer_shots: Callable[[Request, int], Prompt],
    ) -> None:
        self._remote = remote
        self._options = options
        self._fewer_shots = fewer_shots

    async def ask_all(self, tasks: Sequence[Task]) -> list[Written]:
        """Ask for all; the first that fails ends the others."""

        async def ask(task: Task) -> Written:
            return await self._adapting(task, self._ask)

        return await _all(ask, tasks, self._options.batch_size)

    async def stream(self, task: Task, show: Callable[[str], None]) -> Written:
        """Ask, and show the text that is sure while it comes."""

        async def send(task: Task) -> Written:
            if task.pointing is not None:
                written = await self._ask(task)
                show(written.text)
                return written
            return await self._stream(task, show)

        return await self._adapting(task, send)

    async def _stream(self, task: Task, show: Callable[[str], None]) -> Written:
        sinks: list[AnswerSink] = []
        once = task.way == "grammar"

        def sink_for(chat: bool) -> AnswerSink:
            sources = None if task.way == "off" else task.request.sources
            stops = () if chat else task.prompt.stop
            budget = self._options.max_new_tokens
            sinks.append(AnswerSink(show, sources, stops, budget, chat=chat, once=once))
            return sinks[-1]

        await self._remote.stream(self._given(task), self._options, task.fields, sink_for)
        return Written(task, *sinks[-1].end())

    async def _ask(self, task: Task) -> Written:
        if task.way == "grammar":
            # Closed at the first repeated quote: a small model may go on with it to the last token.
            return await self._stream(task, lambda _: None)
        # Pointers take more tokens than the words that they stand for.
        budget = 2 * self._options.max_new_tokens if task.pointing else None
        piece = await self._remote.ask(self._given(task), self._options, task.fields, budget)
        stopped = StoppedText(() if self._remote.chats(task.prompt.form) else task.prompt.stop)
        text = stopped.add(piece.text) + stopped.end()
        piece = piece._replace(text=text, finished=piece.finished or stopped.stopped)
        if task.way == "off":
            return Written(task, piece, text, None)
        if task.pointing is not None:
            answer = task.pointing.read(text)
            if answer is not None:
                return Written(task, piece, answer or ABSTENTION, Repairs())
            task = task._replace(way="repair")  # the endpoint ignored the schema this time
        repairer = Repairer(task.request.sources)
        repaired = repairer.add(text) + repairer.end()
        return Written(task, piece, repaired, repairer.repairs)

    def _given(self, task: Task) -> Prompt:
        # With the processor the answer ends by itself, and a stop could end it before its first quote.
        return replace(task.prompt, stop=()) if task.way == "processor" else task.prompt

    async def _adapting(self, task: Task, send: Callable[[Task], Awaitable[Written]]) -> Written:
        while True:
            try:
                return await send(task)
            except RefusedError as error:
                other = self._other(task, error)
                if other is None:
                    raise
                task = other

    def _other(self, task: Task, error: RefusedError) -> Task | None:
        """Return what to ask in place of a task that was refused, if anything."""
        shots = len(task.prompt.exemplars)
        if shots and TOO_LONG.search(error.detail):
            fewer = self._fewer_shots(task.request, shots - max(1, shots // 8))
            return task._replace(prompt=fewer)
        too_much = task.way == "processor" and _TOO_MUCH.search(error.detail) is not None
        if (task.way in ("grammar", "pointing") or too_much) and self._options.constraint == "auto":
            plain = task.plain or task.prompt
            return task._replace(way="repair", fields={}, prompt=plain, pointing=None)
        return None


async def complete_all(
    remote: RemoteModel,
    prompts: Sequence[Prompt],
    options: OpenAIOptions,
    schema: Mapping[str, object] | None = None,
) -> list[str]:
    """Return the reply to each prompt, stripped; the first that fails ends the others.

    Args:
        schema: a JSON schema of the replies; left out once the endpoint has refused it.
    """

    async def one(prompt: Prompt) -> str:
        while True:
            held = schema is not None and remote.takes_schemas
            fields = schema_fields(schema) if held and schema is not None else {}
            try:
                return (await remote.ask(prompt, options, fields)).text.strip()
            except RefusedError as error:
                if TOO_LONG.search(error.detail):
                    raise PromptTooLongError(str(error)) from error
                if not held or error.status in (401, 403, 404):
                    raise
                remote.takes_schemas = False

    return await _all(one, prompts, options.batch_size)


async def _all(work: Callable[[_T], Awaitable[_R]], items: Sequence[_T], at_once: int) -> list[_R]:
    """Work on all items, so many at once; the first that fails ends the others."""
    limit = asyncio.Semaphore(at_once)

    async def one(item: _T) -> _R:
        async with limit:
            return await work(item)

    running = [asyncio.ensure_future(one(item)) for item in items]
    try:
        return list(await asyncio.gather(*running))
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
