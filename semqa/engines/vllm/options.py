"""Settings of the vLLM engine.

This module does not import vLLM, so that invalid settings are found before it is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from semqa.checks import check_choice, check_whole
from semqa.engines.model.options import DTYPES, LocalOptions
from semqa.errors import InputError

LOADING = (
    "dtype",
    "revision",
    "trust_remote_code",
    "context",
    "tensor_parallel_size",
    "engine_args",
)
"""Settings that vLLM is started with; changing one needs a restart. The seed is set per request."""

_RESERVED = ("model", "tokenizer", "logits_processors", "skip_tokenizer_init")
"""Arguments of vLLM that the engine sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmOptions(LocalOptions):
    """Settings of a `VllmEngine`.

    Attributes:
        context: maximum tokens of prompt and answer together (default: from the model's
            configuration).
        tensor_parallel_size: number of GPUs that share each layer.
        engine_args: more arguments of vLLM's ``AsyncEngineArgs``, by name.
    """

    batch_size: int = 64
    dtype: str = "auto"
    revision: str | None = None
    trust_remote_code: bool = False
    context: int | None = None
    tensor_parallel_size: int = 1
    engine_args: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("dtype", self.dtype, DTYPES)
        if self.context is not None:
            check_whole("context", self.context, 2)
        check_whole("tensor_parallel_size", self.tensor_parallel_size, 1)
        given: object = self.engine_args
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise InputError(
                f'must be arguments of vLLM by name, such as {{"max_num_seqs": 64}}, got {given!r}.',
                field="engine_args",
                value=given,
            )
        for name in given:
            named = "context" if name == "max_model_len" else name
            if name in _RESERVED or named in ("seed", *LOADING):
                use = "the engine sets it" if name in _RESERVED else f"use the setting {named}"
                raise InputError(f"must not hold {name}; {use}.", field="engine_args", value=given)
        LocalOptions.__post_init__(self)
