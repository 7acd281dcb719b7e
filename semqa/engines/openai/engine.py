"""The engine for models behind an OpenAI-compatible endpoint: request, verify, repair, report."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from threading import Lock

from semqa.decoding.breach import find_breach
from semqa.engines.base import Generation, Request
from semqa.engines.model.background import Background
from semqa.engines.model.engine import ModelEngine, build_within, check_budget
from semqa.engines.model.options import free_options
from semqa.engines.model.spans import is_relevant
from semqa.engines.model.text import check_unicode
from semqa.engines.openai.capabilities import PROBE, Capability, probe
from semqa.engines.openai.client import Endpoint, RemoteModel, Transport
from semqa.engines.openai.replies import Piece, Usage
from semqa.engines.openai.tasks import (
    Result,
    Task,
    TaskRunner,
    answer_budget,
    complete_all,
    estimate_tokens,
    make_task,
    pointing_prompt,
)
from semqa.engines.options import OpenAIOptions
from semqa.errors import InputError
from semqa.history import Exchange
from semqa.prompting import Prompt, PromptBuilder
from semqa.prompting.prompt import Spelling
from semqa.quotes import Source

# Control tokens of chat models; servers interpret them in any message.
_CONTROL = re.compile(
    r"<\|[^|<>\s]{1,40}\|>|</?s>|<(?:start|end)_of_turn>|\[/?(?:INST|AVAILABLE_TOOLS)\]"
)


class OpenAIEngine(ModelEngine):
    """Answers with a model behind an OpenAI-compatible endpoint, using its strongest constraint.

    There are four methods for verbatim quotes. ``processor``: the endpoint is a vLLM server with
    semqa's logits processor. ``grammar``: it enforces a grammar. ``pointing``: it enforces a JSON
    schema, and the model names the clauses to quote. ``repair``: there is no constraint, and quotes
    are repaired afterwards. Each quote is verified locally. Each `Generation` names the method and,
    in `breach`, any violation. The engine is thread-safe.

    Args:
        base_url: the endpoint, such as ``http://localhost:8000/v1``; by default ``SEMQA_BASE_URL``,
            ``OPENAI_BASE_URL`` or OpenAI's own.
        api_key: by default ``SEMQA_API_KEY`` or ``OPENAI_API_KEY``. It is never shown.
    """

    options: OpenAIOptions

    def __init__(
        self,
        model: str,
        options: OpenAIOptions | None = None,
        *,
        prompts: PromptBuilder | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
    ) -> None:
        super().__init__(f"openai:{model}", options or OpenAIOptions(), prompts)
        transport = Transport(Endpoint.find(base_url, api_key), self.options.timeout)
        self._remote = RemoteModel(model, transport)
        self._background = Background("semqa-endpoint", transport.close)
        self._known_capability: Capability | None = None
        self._lock = Lock()
        self._runner = TaskRunner(self._remote, self.options, self._task)
        self._closed = False

    def warm_up(self, say: Callable[[str], None] | None = None) -> None:  # noqa: ARG002 - a protocol
        """Probe the endpoint's capabilities, unless they are known."""
        self._capability()

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return the model's output for each request."""
        tasks = self._prepare(requests)
        return [
            self._generation(result) for result in self._background.run(self._runner.run_all(tasks))
        ]

    def stream(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> Generator[str, None, Generation]:
        """Yield the answer piece by piece while the model generates it.

        A quote is yielded when it is complete and verified. Closing the iterator closes the
        connection.
        """
        (task,) = self._prepare([Request(question, sources, history)])
        result: list[Result] = []

        async def work(show: Callable[[str], None]) -> None:
            result.append(await self._runner.stream(task, show))

        yield from self._background.iterate(work)
        return self._generation(result[0])

    def complete(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int = 256,
        sample: bool = False,
        schema: Mapping[str, object] | None = None,
    ) -> list[str]:
        """Return the reply to each prompt; the first failure cancels the others.

        With a JSON schema, replies conform to it, unless the endpoint does not support schemas.
        """
        self._check_open()
        for text in prompts:
            check_unicode(text, "a prompt")
        plain = [
            Prompt.plain(Spelling(_CONTROL.findall(text))(text), self._prompts.form)
            for text in prompts
        ]
        options = free_options(self.options, max_new_tokens, sample=sample)
        return self._background.run(complete_all(self._remote, plain, options, schema))

    def prompt(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> Prompt:
        """Return the prompt for a question, with as much as fits according to the endpoint.

        Before the capability probe (`warm_up`), this is always the prompt that asks for marks, and
        only the option `context` limits it.
        """
        request = Request(question, sources, history)
        self._check(request)
        capability = self._known_capability or Capability("repair", context=self.options.context)
        return self._task(request, capability).prompt

    @property
    def chat(self) -> bool:
        """Whether prompts are sent as chat messages, as far as is known; if False, as text."""
        return self._remote.chats(self._prompts.form)

    def close(self) -> None:
        """Close the connections; the engine cannot be used afterwards."""
        if not self._closed:
            self._closed = True
            self._background.close()

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("The engine is closed.")

    def _capability(self) -> Capability:
        """Return the method to use; the endpoint is probed once."""
        self._check_open()

        async def ask(fields: Mapping[str, object], budget: int) -> Piece:
            prompt = Prompt.plain(PROBE, self._prompts.form)
            return await self._remote.ask(prompt, self.options, fields, budget)

        async def find() -> Capability:
            context = self.options.context or await self._remote.context()
            return (await probe(self.options.constraint, ask))._replace(context=context)

        with self._lock:
            if self._known_capability is None:
                self._known_capability = self._background.run(find())
            return self._known_capability

    def _prepare(self, requests: Sequence[Request]) -> list[Task]:
        self._check_open()
        for request in requests:
            self._check(request)
        self._prompts.prepare([request.question for request in requests])
        if not requests:
            return []
        capability = self._capability()
        free = not self.options.constrained
        return [
            self._task(request, capability)._replace(
                relevant=free or is_relevant(request, self.options.quote_from)
            )
            for request in requests
        ]

    def _task(self, request: Request, capability: Capability, limit: int | None = None) -> Task:
        """Return a task whose prompt fits into the endpoint's context and a limit in tokens."""
        if capability.context is not None:
            check_budget(self.options.max_new_tokens, capability.context)
            limit = limit or capability.context - answer_budget(capability, self.options)

        def build(part: Request) -> Prompt:
            reserved = {found for text in _texts(part) for found in _CONTROL.findall(text)}
            spelling = Spelling(reserved)

            def shaped(prompt: Prompt) -> Prompt:
                points = capability.method == "pointing"
                return pointing_prompt(part.question, prompt, spelling) if points else prompt

            def count(prompt: Prompt) -> int:
                return estimate_tokens(shaped(prompt))

            return shaped(
                self._prompts.build(*part, count_tokens=count, limit=limit, reserved=reserved)
            )

        prompt = build(request) if limit is None else build_within(limit, build, request)
        return make_task(request, prompt, capability, self.options)

    def _check(self, request: Request) -> None:
        super()._check(request)
        for text in _texts(request):
            check_unicode(text, "the question or a source")

    def _generation(self, result: Result) -> Generation:
        task, piece, text, repairs, repeated = result
        breach = None
        if task.method != "off":
            checked = piece.text if task.method == "processor" else text
            breach = find_breach(
                checked, task.request.sources, self.options.policy, task.request.understood
            )
            if repeated is not None:
                breach = f"{repeated} quotes the same text again; the answer ends before it"
        usage = piece.usage or Usage()
        return Generation(
            text=text,
            prompt=task.prompt,
            prompt_tokens=usage.prompt_tokens,
            new_tokens=usage.new_tokens,
            finished=bool(piece.finished),
            constraint=task.method,
            breach=breach,
            written=piece.text if task.method != "off" and piece.text != text else None,
            repairs=repairs or None,
        )


def _texts(request: Request) -> list[str]:
    texts = [request.question, *(text for each in request.history for text in each)]
    return texts + [text for each in request.sources for text in (each.title, each.text)]
