"""vLLM's asynchronous engine in a thread of its own, for callers that wait.

Requests of all threads meet there, so that vLLM forms batches of them. Knows nothing of questions
and answers.
"""

from __future__ import annotations

import asyncio
import queue
from concurrent.futures import CancelledError
from itertools import count
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.errors import InputError, SemqaError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence
    from concurrent.futures import Future

__all__ = ["Service", "Written"]


_SECONDS_BETWEEN_LOOKS = 1.0
_DEAD = (
    "vLLM stopped working: got {}, expected an answer; set VLLM_LOGGING_LEVEL=INFO to see its log, "
    "and start again"
)


class Written(NamedTuple):
    """What a model wrote for one request.

    Attributes:
        tokens: all of it, or, in a stream, what is new.
        ended: ``stop`` or ``length`` once it is whole; None before.
    """

    tokens: list[int]
    ended: str | None


class Service:
    """Runs requests, each a prompt's token ids and vLLM's sampling parameters.

    Args:
        start: makes the engine; called in the service's thread.

    Raises:
        Exception: what `start` raised.
    """

    def __init__(self, start: Callable[[], Any]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True, name="semqa-vllm")
        self._thread.start()
        self._numbers = count()
        self._waiting: set[asyncio.Task[Any]] = set()  # touched in the loop's thread only
        self._engine: Any = None
        try:
            self._engine = self._wait(_called(start))
            self._watch = self._submit(self._end_what_waits_in_vain())
        except BaseException:
            self._stop()
            raise

    @property
    def context(self) -> int:
        """Tokens of prompt and answer together, as the engine was configured."""
        return int(self._open().model_config.max_model_len)

    def run(self, requests: Sequence[tuple[Sequence[int], Any]]) -> list[Written]:
        """Return what is written for each of several requests; vLLM works on them together.

        Raises:
            InputError: vLLM, or the constraint, refuses one; the others are abandoned.
            UnavailableError: the engine died.
        """
        self._open()
        rows: list[Written] = self._wait(self._run_all(requests))
        return rows

    def stream(self, prompt: Sequence[int], params: Any) -> Iterator[Written]:
        """Give what is written piece by piece; closing the iterator abandons the request.

        Raises:
            InputError, UnavailableError: as `run`.
        """
        self._open()
        pieces: queue.SimpleQueue[Written | BaseException | None] = queue.SimpleQueue()

        async def follow() -> None:
            try:
                async for written in self._follow(prompt, params):
                    pieces.put(written)
            except BaseException as error:  # raised again by who reads
                pieces.put(error)
                raise
            else:
                pieces.put(None)

        task = self._submit(follow())
        try:
            while (piece := pieces.get()) is not None:
                if isinstance(piece, BaseException):
                    raise _explained(piece) from piece
                yield piece
        finally:
            task.cancel()

    def close(self) -> None:
        """Stop the engine and give its memory back; more than once is fine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            self._watch.cancel()
            self._submit(_called(engine.shutdown)).result()
            self._stop()

    async def _run_all(self, requests: Sequence[tuple[Sequence[int], Any]]) -> list[Written]:
        async def one(prompt: Sequence[int], params: Any) -> Written:
            tokens: list[int] = []
            ended = None
            async for written in self._follow(prompt, params):
                tokens += written.tokens
                ended = written.ended
            return Written(tokens, ended)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(*request)) for request in requests]
        return [task.result() for task in tasks]

    async def _follow(self, prompt: Sequence[int], params: Any) -> Any:
        engine = self._open()
        number = f"semqa-{next(self._numbers)}"
        task = asyncio.current_task()
        if task is not None:
            self._waiting.add(task)
        try:
            async for output in engine.generate({"prompt_token_ids": [*prompt]}, params, number):
                (completion,) = output.outputs
                yield Written([*completion.token_ids], completion.finish_reason)
        except asyncio.CancelledError:
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
            raise InputError(
                "engine: closed: got a question after close(), expected none; make another"
            )
        return self._engine

    def _submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Wait for work in the loop; who is interrupted meanwhile takes it back."""
        task = self._submit(work)
        try:
            return task.result()
        except BaseExceptionGroup as group:
            first = group.exceptions[0]
            raise _explained(first) from first
        except BaseException as error:
            task.cancel()
            if self._engine is None:
                raise
            raise _explained(error) from error

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _called(function: Callable[[], Any]) -> Any:
    return function()


def _explained(error: BaseException) -> BaseException:
    """Say in one line what an error of a request means."""
    if not isinstance(error, Exception) or isinstance(error, (CancelledError, SemqaError)):
        return error
    from vllm.exceptions import VLLMClientError

    if isinstance(error, (VLLMClientError, ValueError, TypeError)):
        return InputError(str(error))
    return UnavailableError(_DEAD.format(repr(str(error) or type(error).__name__)))
