"""The logits processor that vLLM loads: one class for both of its model runners.

Imported where requests arrive, too, so what is compiled is imported by whoever makes a processor.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from vllm.v1.sample.logits_processor.interface import LogitsProcessor as _FirstInterface

from semqa.decoding.vllm.request import check_params
from semqa.errors import InputError

if TYPE_CHECKING:
    import torch


try:
    from vllm.v1.worker.gpu.sample.logits_processor.interface import (
        LogitsProcessor as _SecondInterface,
    )
    from vllm.v1.worker.gpu.sample.logits_processor.interface import LogitsProcRequestState
except ImportError:  # before Model Runner V2 had an interface

    class _SecondInterface:  # type: ignore[no-redef]
        pass

    class LogitsProcRequestState:  # type: ignore[no-redef]
        """Never given by the first runner."""


_logger = logging.getLogger("semqa.vllm")


class CopyConstraintProcessor(_FirstInterface, _SecondInterface):  # type: ignore[misc]
    """Lets requests that bring sources quote them, and nothing but them.

    vLLM makes it, for ``--logits-processors semqa.decoding.vllm:CopyConstraintProcessor`` or
    ``LLM(logits_processors=[...])``. What a request says is in `ConstraintRequest`; requests that
    say nothing are left alone. See ``docs/vllm.md``.

    Args:
        vllm_config: the engine's configuration.
        given: the record of all requests under Model Runner V2; the device under the first.
    """

    def __init__(self, vllm_config: Any, given: Any, is_pin_memory: bool | None = None) -> None:
        del is_pin_memory
        from semqa.decoding import warm_up
        from semqa.decoding.vllm.engine import check_setup, vocabulary_of
        from semqa.decoding.vllm.runners import FirstRunner, SecondRunner

        second = isinstance(given, LogitsProcRequestState)
        check_setup(vllm_config, type(self), second_runner=second)
        vocabulary = vocabulary_of(vllm_config)
        warm_up(vocabulary=vocabulary)  # now, and in no step
        length = int(vllm_config.model_config.max_model_len)
        self._runner: Any
        if second:
            speculative = vllm_config.speculative_config
            drafts = 0 if speculative is None else int(speculative.num_speculative_tokens or 0)
            self._runner = SecondRunner(vocabulary, given, length, drafts)
        else:
            rows = int(vllm_config.scheduler_config.max_num_seqs)
            self._runner = FirstRunner(vocabulary, rows, length)
        _logger.info("Constrains requests that bring sources, on runner V%d", 1 + second)

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Refuse a request that is wrong or would break the guarantee."""
        try:
            check_params(sampling_params)
        except InputError as error:
            raise ValueError(str(error)) from None
        except Exception as error:  # anything else would be a fault of the server
            raise ValueError(f"Invalid request with sources: {error!r}.") from error

    def is_argmax_invariant(self) -> bool:
        """Tell that greedy answers are masked as well."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Follow the batch of the first runner; whatever is wrong with a request ends its answer."""
        self._runner.update_state(batch_update)

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """Begin a request of Model Runner V2; tell whether it is ours, as one is that is wrong."""
        return bool(self._runner.add_request(req_idx, sampling_params))

    def apply(self, logits: torch.Tensor, ctx: Any = None) -> torch.Tensor:
        """Mask the rows of constrained answers, in place: logits [N, V] float32.

        Whatever goes wrong ends answers: an error would end the engine.
        """
        try:
            self._runner.apply(logits, ctx)
        except Exception:
            _logger.exception("semqa: all constrained answers of this step are ended")
            self._runner.close(logits, ctx)
        return logits
