"""The copy constraint for `generate` of Hugging Face transformers.

It sees only token ids and scores, and is independent of prompts, tokenizers and models.
`semqa.decoding` does not import this module because it loads torch and transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from semqa.decoding import CopyConstraint
from semqa.decoding.masks import compile_masking, forbid, mask_in_place
from semqa.decoding.rows import ConstraintRows
from semqa.errors import InputError
from semqa.extras import require

try:
    import torch
    from transformers import LogitsProcessor
except ModuleNotFoundError:  # names the command that installs them
    require("transformers", extra="local", purpose="semqa.decoding.transformers")
    raise


class CopyConstraintLogitsProcessor(LogitsProcessor):
    """Restricts `generate` to valid quoted answers, with a constraint per prompt.

    Works with greedy search, sampling and beam search, any `num_beams` and `num_return_sequences`,
    decoder-only models (pad on the left) and encoder-decoder models. Create a new processor for each
    call of `generate`.

    Pass the same `max_new_tokens` to `generate`, so that every answer is finished, and let it stop
    on the end tokens of the vocabulary::

        constraints = [CopyConstraint(vocabulary, sources) for sources in batch]
        processor = CopyConstraintLogitsProcessor(constraints, max_new_tokens=200)
        model.generate(
            **inputs,
            logits_processor=[processor],
            max_new_tokens=200,
            eos_token_id=list(vocabulary.eos_ids),
        )

    Tokens forbidden by other processors stay forbidden. An error is raised if no allowed token is
    left, or if `generate` takes a token that is not allowed. Therefore do not use `min_new_tokens`,
    `no_repeat_ngram_size`, `bad_words_ids`, `stop_strings` and the like. Assisted and prompt-lookup
    decoding, and beam search with sampling (which continues with tokens of probability zero), are
    not supported and raise the same errors.

    Args:
        constraints: one constraint per prompt, in order, or one for all prompts. With `num_beams`
            or `num_return_sequences` above 1, a prompt has several consecutive rows. All
            constraints must share one vocabulary.
        max_new_tokens: at most this many tokens per answer, including the end token.
        forced_bos_token_id: a token that the model's configuration forces at the start of the
            output, such as the target language of a translation model. It is not part of the
            answer but counts as a token.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        constraints: CopyConstraint | Sequence[CopyConstraint],
        *,
        max_new_tokens: int,
        forced_bos_token_id: int | None = None,
    ) -> None:
        given = [*constraints] if isinstance(constraints, Sequence) else [constraints]
        if not given:
            raise InputError("must hold at least one constraint.", field="constraints")
        self._vocabulary = given[0].vocabulary
        if any(one.vocabulary != self._vocabulary for one in given):
            raise InputError("must share one vocabulary, that of the model.", field="constraints")
        self._given = given
        self._skipped = int(forced_bos_token_id is not None)
        self._budget = max_new_tokens - self._skipped
        for one in given:
            one.start(self._budget)  # raises if no answer fits
        self._end = self._vocabulary.eos_ids[0]
        self._is_end = np.zeros(self._vocabulary.size, bool)
        self._is_end[list(self._vocabulary.eos_ids)] = True
        compile_masking()
        self._prompt_length = -1
        # The batch after the last call; row r is the same answer in all of these.
        self._history = np.empty((0, 0), np.int64)  # [R, N] new tokens
        self._rows = ConstraintRows(self._vocabulary, 0)
        self._slots = np.empty(0, np.int64)  # [R], 0 to R - 1
        self._ended = np.empty(0, bool)  # [R]
        self._masks = np.empty((0, 0), np.int32)  # [R, W]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Set the scores of tokens that no valid answer can continue with to minus infinity.

        Args:
            input_ids: [R, T] int, the prompts and the tokens generated so far.
            scores: [R, S] logits or log probabilities; S is the width of the model's head.
        """
        rows, length = input_ids.shape
        if self._prompt_length < 0:
            self._begin(rows, length, scores.shape[-1])
        else:
            if rows != self._ended.size or length != self._length + 1:
                self._reject_step(rows, length)
            # Copy only the new ids from the device.
            self._step(input_ids[:, self._prompt_length :].cpu().numpy())
        if length - self._prompt_length < self._skipped:
            return scores
        return self._masked(scores)

    @property
    def _length(self) -> int:
        return self._prompt_length + self._history.shape[1]

    def _begin(self, rows: int, length: int, width: int) -> None:
        """Set the prompt length and the initial state of each row."""
        prompts = len(self._given)
        if rows == 0 or rows % prompts:
            raise InputError(
                f"must be one per prompt, or one for all; got {prompts} for a batch of {rows} rows.",
                field="constraints",
            )
        offsets = self._vocabulary.offsets
        if self._end >= width or offsets[min(width, self._vocabulary.size)] < offsets[-1]:
            raise InputError(
                f"must be at least as wide as the vocabulary, {self._vocabulary.size}, got {width}.",
                field="scores",
                hint="Create the vocabulary without tokens that the model cannot generate.",
            )
        self._prompt_length = length
        self._rows = ConstraintRows(self._vocabulary, rows)
        for row in range(rows):
            self._rows.admit(row, self._given[row * prompts // rows], self._budget)
        self._slots = np.arange(rows)
        self._ended = np.zeros(rows, bool)
        self._history = np.empty((rows, 0), np.int64)
        self._masks = np.empty((rows, self._rows.width), np.int32)
        self._rows.fill(self._slots, self._masks)

    def _step(self, history: NDArray[np.int64]) -> None:
        """Advance every row by its newest token, after any reordering by beam search."""
        if history.shape[1] > self._skipped:
            ended = self._ended
            if not np.array_equal(history[:, :-1], self._history):
                parents = self._parents(history[:, :-1])
                self._rows.reorder(parents)
                ended = ended[parents]
            # generate may pad a finished row with any token.
            tokens = np.where(ended, self._end, history[:, -1])
            status = self._rows.advance_and_fill(self._slots, tokens[:, None].tolist(), self._masks)
            for row in np.flatnonzero(status != -1).tolist():
                raise InputError(
                    f"generate took a token that was not allowed, new token {history.shape[1]} of row {row}: {tokens[row]}.",
                    hint="Do not force tokens after the constraint (other processors, assisted decoding, beam search with sampling).",
                )
            self._ended = self._is_end[tokens]
        self._history = history

    def _parents(self, before: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return for each row the row of the last call that it continues.

        Rows change places only in beam search, within their prompt. Rows with equal histories have
        equal states, so any of them will do.
        """
        rows, length = before.shape
        prompts = len(self._given)
        new = before.reshape(prompts, -1, 1, length)
        old = self._history.reshape(prompts, 1, -1, length)
        equal = (new == old).all(axis=-1)  # [prompts, beams, beams]
        if not equal.any(axis=-1).all():
            lost = int(np.flatnonzero(~equal.any(axis=-1))[0])
            raise InputError(
                f"does not match the last step: row {lost} continues none of its rows.",
                field="input_ids",
                hint="Create a new processor for each call of generate.",
            )
        beams = rows // prompts
        return np.asarray(equal.argmax(axis=-1).ravel() + np.arange(rows) // beams * beams)

    def _masked(self, scores: torch.Tensor) -> torch.Tensor:
        biases = self._rows.biases(self._slots)
        if scores.device.type == "cpu" and scores.dtype == torch.float32:
            masked, alive = self._masked_on_host(scores, biases)
        else:
            masked, alive = self._masked_on_device(scores, biases)
        if not alive.all():
            row = int(np.flatnonzero(~alive)[0])
            raise InputError(
                f"No token is left for row {row} after {self._history.shape[1]} new tokens: every allowed token has the logit -inf or NaN.",
                hint="Do not forbid tokens (min_new_tokens, no_repeat_ngram_size, bad_words_ids, …), and check that the model's logits are finite.",
            )
        return masked

    def _masked_on_host(
        self, scores: torch.Tensor, biases: NDArray[np.float32] | None
    ) -> tuple[torch.Tensor, NDArray[np.bool_]]:
        masked = scores.detach().clone(memory_format=torch.contiguous_format)
        lifted = () if biases is None else (self._rows.quote_openers, biases)
        return masked, mask_in_place(masked.numpy(), self._slots, self._masks, *lifted)

    def _masked_on_device(
        self, scores: torch.Tensor, biases: NDArray[np.float32] | None
    ) -> tuple[torch.Tensor, NDArray[np.bool_]]:
        """Apply the masks on the device of the scores, with one upload."""
        masked = scores.detach().clone(memory_format=torch.contiguous_format)
        slots = torch.from_numpy(self._slots).to(masked.device)
        forbid(masked, slots, torch.from_numpy(self._masks).to(masked.device))
        if biases is not None:
            openers = self._rows.quote_openers
            columns = torch.from_numpy(openers[openers < scores.shape[-1]]).to(masked.device)
            bias = torch.from_numpy(biases)[:, None].to(masked.device, masked.dtype)
            # Sums must not overflow in half precision.
            most = torch.finfo(masked.dtype).max
            masked[:, columns] = (masked[:, columns] + bias).clamp(max=most)
        # Also False for rows with NaN.
        alive = masked.amax(dim=-1) > -torch.inf
        return masked, alive.cpu().numpy()

    def _reject_step(self, rows: int, length: int) -> NoReturn:
        if rows != self._ended.size:
            raise InputError(
                f"must have {self._ended.size} rows as in the first step, got {rows}.",
                field="input_ids",
                hint="Create a new processor for each call of generate.",
            )
        raise InputError(
            f"must have {self._length + 1} tokens per row, one more than before, got {length}.",
            field="input_ids",
            hint="Create a new processor for each call of generate, and do not use assisted or prompt-lookup decoding.",
        )
