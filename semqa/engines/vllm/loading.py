"""Load a model into vLLM, with one-line errors. Independent of questions and answers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from semqa.decoding import Vocabulary
from semqa.decoding.tokenizers import read_tokenizer
from semqa.decoding.vllm.engine import NAME, vocabulary_of
from semqa.engines.model.hub import ModelFiles, explained, quiet
from semqa.engines.options import VllmOptions
from semqa.engines.vllm.service import Service
from semqa.errors import InputError, SemqaError, first_line
from semqa.extras import require

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
    # The engine is started in a thread, and a process with threads must not be forked.
    os.environ.setdefault("VLLM_WORKER_MULTIPROCESSING_METHOD", "spawn")
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
