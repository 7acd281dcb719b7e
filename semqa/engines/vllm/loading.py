"""Loading a model into vLLM, with errors of one line. Knows nothing of questions and answers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.decoding.tokenizers import read_tokenizer
from semqa.decoding.vllm.engine import NAME, vocabulary_of
from semqa.engines.model.hub import (
    check_revision,
    explained,
    first_line,
    folder_of,
    is_on_disk_only,
    load_tokenizer,
    quiet,
)
from semqa.engines.vllm.service import Service
from semqa.errors import InputError, SemqaError
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.decoding import Vocabulary
    from semqa.engines.vllm.options import VllmOptions

_WEIGHTS = (".safetensors", ".bin", ".pt")


@dataclass(frozen=True, slots=True)
class LoadedService:
    """A model that vLLM runs, and its tokenizer."""

    service: Service
    tokenizer: Any
    vocabulary: Vocabulary
    context: int


def load_service(name: str, options: VllmOptions) -> LoadedService:
    """Start vLLM with a model and the constraint's processor."""
    folder = folder_of(name)
    check_revision(folder, options.revision)
    if folder is not None and "load_format" not in options.engine_args:
        _check_weights(name, folder)
    on_disk_only = folder is None and is_on_disk_only(name, options.revision)
    # vLLM reads these when it is imported; what the user has set stays.
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    # The engine is started in a thread, and a process with threads is not to be forked.
    os.environ.setdefault("VLLM_WORKER_MULTIPROCESSING_METHOD", "spawn")
    if on_disk_only:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    shared: dict[str, Any] = {"trust_remote_code": options.trust_remote_code}
    if options.revision is not None:
        shared["revision"] = options.revision
    if on_disk_only:
        shared["local_files_only"] = True
    with quiet():
        try:
            tokenizer = load_tokenizer(name, folder, shared)
            read_tokenizer(tokenizer)  # what is wrong with it is found at once
            service = Service(lambda: _start(folder or name, options))
            vocabulary = vocabulary_of(service.config)  # as the processor has it
        except SemqaError:
            raise
        except Exception as error:  # the libraries below raise all sorts
            raise _explained(name, options, error) from error
    return LoadedService(service, tokenizer, vocabulary, service.context)


def require_vllm(name: str) -> None:
    """See that vLLM is there, without importing it, which takes long."""
    if find_spec("vllm") is None:
        require("vllm", extra="vllm", purpose=f"the engine vllm:{name}")


def _check_weights(name: str, folder: str) -> None:
    """See that a folder holds weights: vLLM finds out late, and tells it on a hundred lines."""
    if not any(path.suffix in _WEIGHTS for path in Path(folder).iterdir()):
        raise InputError(f"{name} has no weights: none of {', '.join(_WEIGHTS)} is there.")


def _start(where: str, options: VllmOptions) -> Any:
    """Start the engine; runs in the thread, and in the event loop, that it will live in."""
    vllm: Any = require("vllm", extra="vllm", purpose="the engine vllm")
    given: dict[str, Any] = {
        "model": where,
        "dtype": options.dtype,
        "trust_remote_code": options.trust_remote_code,
        "tensor_parallel_size": options.tensor_parallel_size,
        "pipeline_parallel_size": options.pipeline_parallel_size,
        "data_parallel_size": options.data_parallel_size,
        "seed": options.seed % 2**32,
        # As a name in this list: vLLM passes over processors that it finds by itself in some set-ups.
        "logits_processors": [NAME],
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
        **options.engine_args,
    }
    for name in (
        "revision",
        "quantization",
        "gpu_memory_utilization",
        "distributed_executor_backend",
    ):
        if getattr(options, name) is not None:
            given[name] = getattr(options, name)
    if options.context is not None:
        given["max_model_len"] = options.context
    if options.temperature > 0 and "max_num_batched_tokens" not in given:
        from vllm.platforms import current_platform

        if current_platform.is_cpu():
            # Draws have seeds, and vLLM 0.32 dies on a CPU when it reads a prompt with one in pieces.
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
    """Say in one line what an error of starting means; vLLM tells causes in its log alone."""
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
    """Return what an error says; pydantic's begins with a line that says nothing."""
    listed: Any = getattr(error, "errors", None)
    if callable(listed):
        for one in listed():
            return first_line(ValueError(one.get("msg", "")))
    return first_line(error)
