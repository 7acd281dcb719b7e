"""The answers of Model Runner V2 whose constraints run on the device, next to their tokens.

Nothing here waits for the device. What cannot be a program there is left to the host (`answers.py`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from semqa.errors import InputError
from semqa.kernels.tables import NOT_OURS

if TYPE_CHECKING:
    import torch

    from semqa.decoding.program import DeviceProgram
    from semqa.decoding.vocabulary import Vocabulary

__all__ = ["KERNELS", "DeviceAnswers", "device_answers"]

KERNELS = "SEMQA_VLLM_KERNELS"
"""The environment variable that says what runs there: `_CHOICES`."""
_CHOICES = ("auto", "triton", "torch", "off")


def device_answers(vocabulary: Vocabulary, requests: Any, *, alone: bool) -> DeviceAnswers | None:
    """Return room for answers on the device of an engine; None where the host is to do all.

    Args:
        vocabulary: the tokens.
        requests: vLLM's record of all requests, on the device.
        alone: see `DeviceAnswers`.

    Raises:
        InputError: the environment asks for what there is not.
    """
    given = os.environ.get(KERNELS, "auto")
    if given not in _CHOICES:
        raise InputError(
            f"{KERNELS}: got {given!r}, expected {', '.join(_CHOICES)}; choose one of them"
        )
    if given == "off" or (given == "auto" and requests.device.type == "cpu"):
        return None
    from semqa.decoding.tables import vocabulary_tables

    if not vocabulary_tables(vocabulary).complete:
        return None
    fast = None if given == "auto" else given == "triton"
    return DeviceAnswers(vocabulary, requests, alone=alone, fast=fast)


class DeviceAnswers:
    """Constrained answers by slot, as states in memory of the device.

    Args:
        vocabulary: the tokens; every single byte must be one.
        requests: vLLM's record of all requests, on the device.
        alone: whether nobody else forbids tokens; if not, answers that are left none are ended,
            for which the scores have to be read.
        fast: use Triton; None for wherever the device is not the host's processor.
    """

    def __init__(
        self, vocabulary: Vocabulary, requests: Any, *, alone: bool, fast: bool | None = None
    ) -> None:
        from semqa.decoding.device import DeviceSlots
        from semqa.decoding.program import shared_program

        self._requests = requests
        self._alone = alone
        self._end = vocabulary.eos_ids[0]
        self._slots = DeviceSlots(
            shared_program(vocabulary), requests.max_num_reqs, requests.device, fast=fast
        )

    def admit(self, slot: int, program: DeviceProgram, prompt_length: int, budget: int) -> bool:
        """Begin an answer; tell whether there was room for its program.

        Raises:
            InputError: no answer is so short.
        """
        return self._slots.admit(slot, program, begin=prompt_length, max_tokens=budget)

    def release(self, slot: int) -> None:
        """Forget an answer."""
        self._slots.release(slot)

    def mask(self, logits: torch.Tensor, context: Any) -> None:
        """Take all answers forward by what was written, and mask their rows, in place.

        Rows that still read their prompt are masked too; nothing is sampled from them.
        """
        rows = self._slots.apply(
            logits,
            slots=context.expanded_idx_mapping,
            positions=context.expanded_local_pos,
            input_ids=context.input_ids,
            history=self._requests.all_token_ids.gpu,
            lengths=self._requests.total_len.gpu,
        )
        if not self._alone:
            from semqa.decoding.device_masks import end_dead_rows

            end_dead_rows(logits, rows[:, 0] != NOT_OURS, self._end)
