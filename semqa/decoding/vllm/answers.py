"""The constrained answers of an engine, by slot.

An error ends only the answer that caused it and is logged, never raised. This module uses vLLM's
sampling parameters but is independent of its model runners.
"""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from semqa.decoding.constraint import CopyConstraint
from semqa.decoding.masks import compile_masking, mask_in_place, mask_on_device
from semqa.decoding.rows import ConstraintRows
from semqa.decoding.vllm.request import ConstraintRequest, check_params, stops_of, without_stops
from semqa.decoding.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

_logger = logging.getLogger("semqa.vllm")


_MAX_BYTES = 1 << 29
"""Estimated size limit of the cache: 0.5 GB."""
_BYTES_PER_CHARACTER = 64


class ConstraintCache:
    """Compiles constraints in the background and caches them.

    A constraint is compiled while the engine processes the prompt. Further samples of a request, and
    requests that were preempted, reuse it.

    Args:
        max_bytes: estimated size limit of the cache.
    """

    def __init__(self, vocabulary: Vocabulary, *, max_bytes: int = _MAX_BYTES) -> None:
        self._vocabulary = vocabulary
        self._max_bytes = max_bytes
        self._cached: OrderedDict[bytes, tuple[Future[CopyConstraint], int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="semqa-compile")

    def get(self, request: ConstraintRequest, stops: Sequence[str]) -> Future[CopyConstraint]:
        """Return the future of a request's constraint; its result may raise."""
        key = _digest(request, stops)
        with self._lock:
            if key in self._cached:
                future, size = self._cached.pop(key)
                if not (future.done() and future.exception() is not None):  # retry failures
                    self._cached[key] = future, size
                    return future
                self._size -= size
            future = self._pool.submit(self._compile, request, tuple(stops))
            size = 100_000 + _BYTES_PER_CHARACTER * sum(
                len(source.text) + len(source.title) for source in request.sources
            )
            self._cached[key] = future, size
            self._size += size
            while self._size > self._max_bytes and len(self._cached) > 1:
                _, (_, freed) = self._cached.popitem(last=False)
                self._size -= freed
        return future

    def later(self, work: Callable[[], object]) -> None:
        """Run some work in the background, after the constraints in the queue."""
        self._pool.submit(work)

    def __len__(self) -> int:
        return len(self._cached)

    def _compile(self, request: ConstraintRequest, stops: tuple[str, ...]) -> CopyConstraint:
        policy, sources = request.policy, request.sources
        if stops:
            sources = tuple(without_stops(sources, stops))
        return CopyConstraint(self._vocabulary, sources, policy, question=request.question)


def _digest(request: ConstraintRequest, stops: Sequence[str]) -> bytes:
    digest = hashlib.blake2b(repr((request.policy, tuple(stops))).encode("utf-8", "surrogatepass"))
    texts = [request.question]
    for source in request.sources:
        texts += (source.text, source.title)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.digest()


class Answers:
    """Constrained answers in the slots of an engine.

    Attributes:
        own: [slots] bool, which slots have constrained answers, including failed ones.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        slots: int,
        max_tokens: int,
    ) -> None:
        self._vocabulary = vocabulary
        self._max_tokens = max_tokens
        self._cache = ConstraintCache(vocabulary)
        self._rows = ConstraintRows(vocabulary, slots, later=self._cache.later)
        self._masks = np.empty((8, self._rows.width), np.int32)
        self._futures: list[Future[CopyConstraint] | None] = [None] * slots
        self._budgets: list[int | None] = [None] * slots
        self._pending = np.zeros(slots, np.bool_)
        self.own = np.zeros(slots, np.bool_)
        compile_masking()

    def admit(self, slot: int, params: Any) -> bool:
        """Begin the answer to a request and start compiling its constraint."""
        self.release(slot)
        try:
            request = check_params(params)
            if request is None:
                return False
            self.own[slot] = True
            self._futures[slot] = self._cache.get(request, stops_of(params))
            self._budgets[slot] = params.max_tokens
            self._pending[slot] = True
        except Exception as error:  # noqa: BLE001  (the engine must continue)
            self.own[slot] = True
            self.fail(slot, error)
        return True

    def release(self, slot: int) -> None:
        """Discard an answer."""
        self._rows.release(slot)
        self._futures[slot] = None
        self.own[slot] = self._pending[slot] = False

    def restart(self, slot: int) -> None:
        """Reset an answer to its beginning."""
        if self._futures[slot] is not None:
            self._rows.release(slot)
            self._pending[slot] = True

    def fail(self, slot: int, reason: object) -> None:
        """End an answer at once."""
        self._rows.release(slot)
        self._futures[slot] = None
        self._pending[slot] = False
        _logger.error(
            "semqa: ended an answer that can no longer be constrained (slot %d): %s",
            slot,
            reason,
        )

    def begin(self, slots: NDArray[np.int64], prompt_lengths: Sequence[int | None]) -> None:
        """Give new answers their constraints, waiting for those still being compiled."""
        pending = self._pending[slots]
        if not pending.any():
            return
        for place in np.flatnonzero(pending).tolist():
            slot = int(slots[place])
            self._pending[slot] = False
            try:
                self._begin(slot, prompt_lengths[place])
            except Exception as error:  # noqa: BLE001
                self.fail(slot, error)

    def _begin(self, slot: int, prompt_length: int | None) -> None:
        future, limit = self._futures[slot], self._budgets[slot]
        if future is None:
            return
        if prompt_length is None:
            self.fail(
                slot,
                "A constrained prompt must be text or token ids, not embeddings.",
            )
            return
        remaining = self._max_tokens - prompt_length
        budget = remaining if limit is None else min(limit, remaining)
        self._rows.admit(slot, future.result(), budget)

    def advance_and_mask(
        self,
        logits: torch.Tensor,
        places: NDArray[np.int64],
        slots: NDArray[np.int64],
        tokens: Sequence[Sequence[int]],
    ) -> None:
        """Advance answers by the tokens that the engine has accepted, and mask their rows."""
        masks = self._mask_buffer(len(slots))
        try:
            status = self._rows.advance_and_fill(slots, tokens, masks)
        except Exception:  # no answer has advanced
            _logger.exception("semqa: a step failed; retrying, one answer at a time if necessary")
            self.advance(slots, tokens)
            self.mask(logits, places, slots)
            return
        self._fail_rejected(slots, tokens, status)
        try:
            self._write(logits, places, slots, masks)
        except Exception:
            _logger.exception("semqa: masking failed; retrying, one row at a time if necessary")
            self.mask(logits, places, slots)

    def advance(self, slots: NDArray[np.int64], tokens: Sequence[Sequence[int]]) -> None:
        """Advance answers by the tokens that the engine has accepted."""
        try:
            status = self._rows.advance(slots, tokens)
        except Exception:
            if len(slots) > 1:
                for place in range(len(slots)):  # find the answer that fails
                    self.advance(slots[place : place + 1], tokens[place : place + 1])
                return
            _logger.exception("semqa: an answer could not be advanced (slot %d)", slots[0])
            status = np.full(len(slots), -2)
        self._fail_rejected(slots, tokens, status)

    def _fail_rejected(
        self, slots: NDArray[np.int64], tokens: Sequence[Sequence[int]], status: NDArray[np.int64]
    ) -> None:
        if (status == -1).all():
            return
        for place in np.flatnonzero(status != -1).tolist():
            found = int(status[place])
            reason = (
                f"Token {tokens[place][found]} is not allowed. Do not force tokens."
                if found >= 0
                else "The state is invalid."
            )
            self.fail(int(slots[place]), reason)

    def _mask_buffer(self, rows: int) -> NDArray[np.int32]:
        if len(self._masks) < rows:
            self._masks = np.empty((2 * rows, self._rows.width), np.int32)
        return self._masks[:rows]

    def mask(
        self,
        logits: torch.Tensor,
        places: NDArray[np.int64],
        slots: NDArray[np.int64],
        ahead: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Mask some rows of the logits, in place.

        Args:
            ahead: the drafts before each row. Rows after a draft that is not allowed may only end;
                they are never sampled from.
        """
        masks = self._mask_buffer(len(slots))
        try:
            self._rows.fill(slots, masks, ahead)
            self._write(logits, places, slots, masks)
        except Exception as error:  # noqa: BLE001
            if len(slots) > 1:
                for place in range(len(slots)):
                    one = slice(place, place + 1)
                    drafts = None if ahead is None else ahead[one]
                    self.mask(logits, places[one], slots[one], drafts)
                return
            self.fail(int(slots[0]), error)
            _end_only(logits, places, self._vocabulary.eos_ids[0])

    def _write(
        self,
        logits: torch.Tensor,
        places: NDArray[np.int64],
        slots: NDArray[np.int64],
        masks: NDArray[np.int32],
    ) -> None:
        biases = self._rows.biases(slots)
        end = self._vocabulary.eos_ids[0]
        if logits.device.type == "cpu" and logits.element_size() == 4 and logits.stride(-1) == 1:
            lifted = () if biases is None else (self._rows.quote_openers, biases)
            alive = mask_in_place(logits.numpy(), places, masks, *lifted)
            if not alive.all():
                dead = np.flatnonzero(~alive)
                _logger.error(
                    "semqa: ended %d answers because every allowed token had a logit of -inf or NaN. "
                    "Do not forbid tokens.",
                    len(dead),
                )
                _end_only(logits, places[dead], end)
            return
        if biases is not None:
            _add_biases(logits, places, self._rows.quote_openers, biases)
        mask_on_device(logits, places, masks, end)

    def close(self, logits: torch.Tensor, places: NDArray[np.int64]) -> None:
        """Mask some rows of the logits so that they may only end."""
        _end_only(logits, places, self._vocabulary.eos_ids[0])


def _add_biases(
    logits: torch.Tensor,
    places: NDArray[np.int64],
    openers: NDArray[np.int64],
    biases: NDArray[np.float32],
) -> None:
    """Add the biases of tokens that open a quote; infinite and NaN scores stay as they are."""
    import torch

    openers = openers[openers < logits.shape[-1]]
    rows = torch.from_numpy(places)[:, None].to(logits.device)
    columns = torch.from_numpy(openers)[None].to(logits.device)
    added = torch.from_numpy(biases)[:, None].to(logits.device, logits.dtype)
    logits[rows, columns] += added


def _end_only(logits: torch.Tensor, places: NDArray[np.int64], end: int) -> None:
    for place in places.tolist():
        logits[place] = -np.inf
        logits[place, end] = 0.0
