"""The logits processor for both model runners of vLLM.

vLLM also imports this module in its front end, so compiled code is imported by the constructor only.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from vllm.exceptions import VLLMValidationError
from vllm.v1.sample.logits_processor.interface import LogitsProcessor as _V1Interface

from semqa.decoding import warm_up
from semqa.decoding.vllm.request import check_params
from semqa.errors import InputError

if TYPE_CHECKING:
    import torch

try:
    from vllm.v1.worker.gpu.sample.logits_processor.interface import (
        LogitsProcessor as _V2Interface,
    )
    from vllm.v1.worker.gpu.sample.logits_processor.interface import LogitsProcRequestState
except ImportError:  # vLLM versions without this interface of Model Runner V2

    class _V2Interface:  # type: ignore[no-redef]
        pass

    class LogitsProcRequestState:  # type: ignore[no-redef]
        """Stands in for the missing class."""


_logger = logging.getLogger("semqa.vllm")


class CopyConstraintProcessor(_V1Interface, _V2Interface):  # type: ignore[misc]
    """Constrains requests with sources to quotes from these sources.

    vLLM creates it for ``--logits-processors semqa.decoding.vllm:CopyConstraintProcessor`` or
    ``LLM(logits_processors=[...])``. The request format is `ConstraintRequest`; requests without
    sources are not constrained. See ``docs/vllm.md``.

    Args:
        given: the state of all requests (Model Runner V2) or the device (V1).
    """

    def __init__(self, vllm_config: Any, given: Any, is_pin_memory: bool | None = None) -> None:
        del is_pin_memory
        from semqa.decoding.vllm.engine import check_setup, vocabulary_of
        from semqa.decoding.vllm.runners import FirstRunner, SecondRunner

        second = isinstance(given, LogitsProcRequestState)
        check_setup(vllm_config, type(self), second_runner=second)
        vocabulary = vocabulary_of(vllm_config)
        warm_up(vocabulary=vocabulary)  # compile now rather than in a step
        length = int(vllm_config.model_config.max_model_len)
        self._runner: Any
        if second:
            speculative = vllm_config.speculative_config
            drafts = 0 if speculative is None else int(speculative.num_speculative_tokens or 0)
            self._runner = SecondRunner(vocabulary, given, length, drafts)
        else:
            rows = int(vllm_config.scheduler_config.max_num_seqs)
            self._runner = FirstRunner(vocabulary, rows, length)
        _logger.info(
            "The copy constraint is active for requests with sources (model runner V%d).",
            1 + second,
        )

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Raise if a request is invalid or would break the guarantee.

        The error's `parameter` is the invalid field. vLLM's server returns it as ``error.param``.
        """
        try:
            check_params(sampling_params)
        except InputError as error:
            raise VLLMValidationError(str(error), parameter=error.field) from None
        except Exception as error:  # vLLM reports other exceptions as server errors
            raise VLLMValidationError(f"Invalid request with sources: {error!r}.") from error

    def is_argmax_invariant(self) -> bool:
        """Return False: masks affect greedy decoding too."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Update the batch (Model Runner V1); an invalid request ends its answer."""
        self._runner.update_state(batch_update)

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """Begin a request (Model Runner V2); return whether it is constrained, even if invalid."""
        return bool(self._runner.add_request(req_idx, sampling_params))

    def apply(self, logits: torch.Tensor, ctx: Any = None) -> torch.Tensor:
        """Mask the rows of constrained answers, in place: logits [N, V] float32.

        Errors end the constrained answers, because an exception would stop the engine.
        """
        try:
            self._runner.apply(logits, ctx)
        except Exception:
            _logger.exception("semqa: masking failed; ended all constrained answers of this step")
            self._runner.close(logits, ctx)
        return logits
