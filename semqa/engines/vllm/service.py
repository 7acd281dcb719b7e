"""Load a model into vLLM, and run its asynchronous engine in a background thread.

Requests from all threads run in one event loop, so that vLLM batches them. Independent of questions
and answers.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from semqa.decoding import Vocabulary
from semqa.decoding.tokenizers import read_tokenizer
from semqa.decoding.vllm.engine import NAME, vocabulary_of
from semqa.engines.model.background import Background
from semqa.engines.model.hub import ModelFiles, explained, quiet
from semqa.engines.options import VllmOptions
from semqa.errors import InputError, SemqaError, UnavailableError, first_line
from semqa.extras import require

_POLL_SECONDS = 1.0
_FAILED = "vLLM stopped working ({}). Set VLLM_LOGGING_LEVEL=INFO to see its log, and start again."


class Output(NamedTuple):
    """The output for one request.

    Attributes:
        tokens: all output tokens or, in a stream, the new ones.
        ended: ``stop`` or ``length`` once the output is complete, else None.
        prompt_ids: the prompt tokens that have scores, if scores were requested.
    """

    tokens: list[int]
    ended: str | None
    prompt_ids: Sequence[int] = ()
    prompt_scores: Sequence[float] = ()


class Service:
    """Runs requests; each is a prompt's token ids with vLLM's sampling parameters."""

    def __init__(self, start: Callable[[], Any]) -> None:
        self._background = Background("semqa-vllm")
        self._process = os.getpid()
        self._numbers = count()
        self._waiting: set[asyncio.Task[Any]] = set()  # used only in the loop's thread
        self._engine: Any = None
        try:
            self._background.run(self._begin(start))
        except BaseException:
            self._background.close()
            raise

    @property
    def context(self) -> int:
        """Maximum tokens of prompt and answer together, from the engine's configuration."""
        return int(self._open().model_config.max_model_len)

    @property
    def config(self) -> Any:
        """The vLLM configuration."""
        return self._open().vllm_config

    def run(self, requests: Sequence[tuple[Sequence[int], Any]]) -> list[Output]:
        """Return the output for each of several requests, which vLLM batches."""
        self._open()
        try:
            return self._background.run(self._run_all(requests))
        except ExceptionGroup as group:
            _raise_converted(group.exceptions[0])
        except Exception as error:  # noqa: BLE001  (raised again)
            _raise_converted(error)

    def stream(self, prompt: Sequence[int], params: Any) -> Iterator[Output]:
        """Yield the output piece by piece; closing the iterator cancels the request."""
        self._open()

        async def follow(put: Callable[[Output], None]) -> None:
            async for output in self._follow(prompt, params):
                put(output)

        try:
            yield from self._background.iterate(follow)
        except Exception as error:  # noqa: BLE001  (raised again)
            _raise_converted(error)

    def close(self) -> None:
        """Stop the engine and free its memory. Safe to call more than once."""
        engine, self._engine = self._engine, None
        if engine is not None and os.getpid() == self._process:
            self._background.run(self._shut_down(engine))
            self._background.close()

    async def _begin(self, start: Callable[[], Any]) -> None:
        self._engine = start()
        self._watch_task = asyncio.create_task(self._watch_engine())

    async def _shut_down(self, engine: Any) -> None:
        """Cancel all waiting tasks, then stop: vLLM would not end them."""
        waiting = [*self._waiting, self._watch_task]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        engine.shutdown()

    async def _run_all(self, requests: Sequence[tuple[Sequence[int], Any]]) -> list[Output]:
        async def one(prompt: Sequence[int], params: Any) -> Output:
            tokens: list[int] = []
            output = Output(tokens, None)
            async for output in self._follow(prompt, params):
                tokens += output.tokens
            return output._replace(tokens=tokens)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(*request)) for request in requests]
        return [task.result() for task in tasks]

    async def _follow(self, prompt: Sequence[int], params: Any) -> AsyncIterator[Output]:
        engine = self._open()
        number = f"semqa-{next(self._numbers)}"
        task = asyncio.current_task()
        if task is not None:
            self._waiting.add(task)
        try:
            async for output in engine.generate({"prompt_token_ids": [*prompt]}, params, number):
                (completion,) = output.outputs
                scored = output.prompt_logprobs
                scores = (scored.token_ids, scored.logprobs) if scored else ()
                yield Output([*completion.token_ids], completion.finish_reason, *scores)
        except asyncio.CancelledError:
            self._open()
            if engine.errored:
                raise UnavailableError(_FAILED.format("a process that died")) from None
            raise
        finally:
            self._waiting.discard(task)

    async def _watch_engine(self) -> None:
        """Cancel waiting tasks if the engine fails, because vLLM does not always end them."""
        while self._engine is not None:
            await asyncio.sleep(_POLL_SECONDS)
            if self._engine is not None and self._engine.errored:
                for task in self._waiting:
                    task.cancel()

    def _open(self) -> Any:
        if self._engine is None:
            raise InputError("The engine is closed.")
        if os.getpid() != self._process:
            raise InputError("The engine cannot be used in a forked process; create one there.")
        return self._engine


def _raise_converted(error: Exception) -> NoReturn:
    """Raise a one-line error for a failed request."""
    if isinstance(error, (CancelledError, SemqaError)):
        raise error
    from vllm.exceptions import VLLMClientError

    if isinstance(error, (VLLMClientError, ValueError, TypeError)):
        raise InputError(str(error)) from error
    raise UnavailableError(_FAILED.format(repr(str(error) or type(error).__name__))) from error


_WEIGHTS = (".safetensors", ".bin", ".pt")


@dataclass(frozen=True, slots=True)
class LoadedService:
    """A model that runs on vLLM, and its tokenizer."""

    service: Service
    tokenizer: Any
    vocabulary: Vocabulary
    context: int


def load_service(name: str, options: VllmOptions) -> LoadedService:
    """Start vLLM with a model and the constraint's processor."""
    files = ModelFiles.find(name, options.revision, trust_remote_code=options.trust_remote_code)
    if files.folder is not None and "load_format" not in options.engine_args:
        _check_weights(name, files.folder)
    # vLLM reads these at import; the user's own values are kept.
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    if files.on_disk_only:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with quiet():
        try:
            tokenizer = files.tokenizer()
            read_tokenizer(tokenizer)  # raises now if it is unusable
            service = Service(lambda: _start(files.where, options))
            vocabulary = vocabulary_of(service.config)  # the same as the processor's
        except SemqaError:
            raise
        except Exception as error:  # vLLM and transformers raise many types
            raise _explained(name, options, error) from error
    return LoadedService(service, tokenizer, vocabulary, service.context)


def require_vllm(name: str) -> None:
    """Raise if vLLM is not installed, without importing it, which is slow."""
    if find_spec("vllm") is None:
        require("vllm", extra="vllm", purpose=f"the engine vllm:{name}")


def _check_weights(name: str, folder: str) -> None:
    """Raise if a folder has no weights; vLLM's own error comes late and is a hundred lines long."""
    if not any(path.suffix in _WEIGHTS for path in Path(folder).iterdir()):
        raise InputError(f"{name} has no weights ({', '.join(_WEIGHTS)}).")


def _start(where: str, options: VllmOptions) -> Any:
    """Start the engine; must run in the thread and event loop that will use it."""
    vllm: Any = require("vllm", extra="vllm", purpose="the engine vllm")
    given: dict[str, Any] = {
        "model": where,
        "dtype": options.dtype,
        "trust_remote_code": options.trust_remote_code,
        "tensor_parallel_size": options.tensor_parallel_size,
        "seed": options.seed % 2**32,
        # Named here because vLLM ignores processors from entry points in some configurations.
        "logits_processors": [NAME],
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
        **options.engine_args,
    }
    if options.revision is not None:
        given["revision"] = options.revision
    if options.context is not None:
        given["max_model_len"] = options.context
    if options.temperature > 0 and "max_num_batched_tokens" not in given:
        from vllm.platforms import current_platform

        if current_platform.is_cpu():
            # vLLM 0.32 crashes on a CPU if it prefills a request with a seed in chunks.
            given.setdefault("enable_chunked_prefill", False)
    try:
        arguments = vllm.AsyncEngineArgs(**given)
    except TypeError as error:
        raise InputError(
            f"is not accepted by vLLM's AsyncEngineArgs: {first_line(error)}.", field="engine_args"
        ) from error
    from vllm.v1.engine.async_llm import AsyncLLM

    return AsyncLLM.from_engine_args(arguments)


def _explained(name: str, options: VllmOptions, error: Exception) -> SemqaError:
    """Convert a startup error to one line; vLLM reports causes only in its log."""
    causes = [error, error.__cause__, error.__context__]
    if any(type(cause).__module__.startswith(("vllm", "pydantic")) for cause in causes) or (
        isinstance(error, (RuntimeError, ValueError))
    ):
        return InputError(
            f"vLLM cannot run model {name}: {_message(error)}",
            hint="Set VLLM_LOGGING_LEVEL=INFO to see its log.",
        )
    return explained(name, options.revision, error)


def _message(error: Exception) -> str:
    """Return an error's message; the first line of a pydantic error is not informative."""
    listed: Any = getattr(error, "errors", None)
    if callable(listed):
        for one in listed():
            return first_line(ValueError(one.get("msg", "")))
    return first_line(error)
