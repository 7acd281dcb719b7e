"""vLLM's asynchronous engine in a thread of its own, for callers that wait.

Requests of all threads meet there, so that vLLM forms batches of them. Knows nothing of questions
and answers.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import CancelledError
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from semqa.engines.model.background import Background
from semqa.errors import InputError, SemqaError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

_SECONDS_BETWEEN_LOOKS = 1.0
_DEAD = "vLLM stopped working ({}). Set VLLM_LOGGING_LEVEL=INFO to see its log, and start again."


class Written(NamedTuple):
    """What a model wrote for one request.

    Attributes:
        tokens: all of it, or, in a stream, what is new.
        ended: ``stop`` or ``length`` once it is whole; None before.
        prompt_ids: if scores of the prompt were asked for, the tokens that have one.
    """

    tokens: list[int]
    ended: str | None
    prompt_ids: Sequence[int] = ()
    prompt_scores: Sequence[float] = ()


class Service:
    """Runs requests, each a prompt's token ids and vLLM's sampling parameters."""

    def __init__(self, start: Callable[[], Any]) -> None:
        self._background = Background("semqa-vllm")
        self._process = os.getpid()
        self._numbers = count()
        self._waiting: set[asyncio.Task[Any]] = set()  # touched in the loop's thread only
        self._engine: Any = None
        try:
            self._background.run(self._begin(start))
        except BaseException:
            self._background.close()
            raise

    @property
    def context(self) -> int:
        """Tokens of prompt and answer together, as the engine was configured."""
        return int(self._open().model_config.max_model_len)

    @property
    def config(self) -> Any:
        """VLLM's whole configuration."""
        return self._open().vllm_config

    def run(self, requests: Sequence[tuple[Sequence[int], Any]]) -> list[Written]:
        """Return what is written for each of several requests; vLLM works on them together."""
        self._open()
        try:
            return self._background.run(self._run_all(requests))
        except ExceptionGroup as group:
            _raise_explained(group.exceptions[0])
        except Exception as error:  # noqa: BLE001  (raised again)
            _raise_explained(error)

    def stream(self, prompt: Sequence[int], params: Any) -> Iterator[Written]:
        """Give what is written piece by piece; closing the iterator abandons the request."""
        self._open()

        async def follow(put: Callable[[Written], None]) -> None:
            async for written in self._follow(prompt, params):
                put(written)

        try:
            yield from self._background.iterate(follow)
        except Exception as error:  # noqa: BLE001  (raised again)
            _raise_explained(error)

    def close(self) -> None:
        """Stop the engine and give its memory back; more than once is fine."""
        engine, self._engine = self._engine, None
        if engine is not None and os.getpid() == self._process:
            self._background.run(self._shut_down(engine))
            self._background.close()

    async def _begin(self, start: Callable[[], Any]) -> None:
        self._engine = start()
        self._watch = asyncio.create_task(self._end_what_waits_in_vain())

    async def _shut_down(self, engine: Any) -> None:
        """Tell those who wait, then stop: nobody else would tell them."""
        waiting = [*self._waiting, self._watch]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        engine.shutdown()

    async def _run_all(self, requests: Sequence[tuple[Sequence[int], Any]]) -> list[Written]:
        async def one(prompt: Sequence[int], params: Any) -> Written:
            tokens: list[int] = []
            written = Written(tokens, None)
            async for written in self._follow(prompt, params):
                tokens += written.tokens
            return written._replace(tokens=tokens)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(*request)) for request in requests]
        return [task.result() for task in tasks]

    async def _follow(self, prompt: Sequence[int], params: Any) -> AsyncIterator[Written]:
        engine = self._open()
        number = f"semqa-{next(self._numbers)}"
        task = asyncio.current_task()
        if task is not None:
            self._waiting.add(task)
        try:
            async for output in engine.generate({"prompt_token_ids": [*prompt]}, params, number):
                (completion,) = output.outputs
                scored = output.prompt_logprobs
                told = (scored.token_ids, scored.logprobs) if scored else ()
                yield Written([*completion.token_ids], completion.finish_reason, *told)
        except asyncio.CancelledError:
            self._open()
            if engine.errored:
                raise UnavailableError(_DEAD.format("a process that died")) from None
            raise
        finally:
            self._waiting.discard(task)

    async def _end_what_waits_in_vain(self) -> None:
        """Look after the engine: not every death of its processes is told to those who wait."""
        while self._engine is not None:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            if self._engine is not None and self._engine.errored:
                for task in self._waiting:
                    task.cancel()

    def _open(self) -> Any:
        if self._engine is None:
            raise InputError("The engine is closed.")
        if os.getpid() != self._process:
            raise InputError("The engine cannot be used in a forked process; create one there.")
        return self._engine


def _raise_explained(error: Exception) -> NoReturn:
    """Say in one line what an error of a request means."""
    if isinstance(error, (CancelledError, SemqaError)):
        raise error
    from vllm.exceptions import VLLMClientError

    if isinstance(error, (VLLMClientError, ValueError, TypeError)):
        raise InputError(str(error)) from error
    raise UnavailableError(_DEAD.format(repr(str(error) or type(error).__name__))) from error
