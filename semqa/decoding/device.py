"""Constraints of many requests on one device: their programs, where each answer stands, and masks.

Knows tensors and slots, no engine. Nothing here waits for the device: what is written to it is queued,
in the order of the current stream, and nothing is read back.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semqa.errors import InputError
from semqa.extras import require
from semqa.kernels.tables import NOT_OURS, ROW_FIELDS, START, UNLIMITED, ProgramTables

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from torch import Tensor

    from semqa.decoding.program import DeviceProgram, SharedProgram

__all__ = ["DeviceSlots"]

MOST_BYTES = 1 << 30
"""Of all programs together."""
_ADDRESSED = 1 << 33
"""What 32 bits count in numbers of four bytes."""
_FIRST_ARENA = 1 << 18
_GRAIN = 32
"""Programs begin at multiples of so many numbers: 128 bytes."""


class _Held(NamedTuple):
    """A program in the arena: where it is, and how much it takes there."""

    start: int
    size: int
    program: DeviceProgram


class DeviceSlots:
    """The answers in flight, by slot: a number that an engine gives a request for its time.

    Programs are shared by content, and stay until their room is needed.

    Attributes:
        tables: what the kernels read.

    Example:
        >>> import torch
        >>> from semqa import Source
        >>> from semqa.decoding import CopyConstraint, Vocabulary
        >>> from semqa.decoding.program import build_program, shared_program
        >>> vocabulary = Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [b""], [256])
        >>> program = build_program(CopyConstraint(vocabulary, [Source("In 1943.")]))
        >>> slots = DeviceSlots(shared_program(vocabulary), 2, torch.device("cpu"))
        >>> slots.admit(1, program, begin=0, max_tokens=100)
        True
        >>> history = torch.zeros((2, 16), dtype=torch.int32)
        >>> history[1, :4] = torch.tensor(list(b"[ 1 "))
        >>> logits = torch.zeros((1, 257))
        >>> _ = slots.apply(
        ...     logits,
        ...     slots=torch.tensor([1]),
        ...     positions=torch.tensor([0], dtype=torch.int32),
        ...     input_ids=history[1, 3:4],
        ...     history=history,
        ...     lengths=torch.tensor([0, 4], dtype=torch.int32),
        ... )
        >>> bytes(logits[0].isfinite().nonzero().flatten().tolist())
        b'.1I'
    """

    def __init__(
        self,
        shared: SharedProgram,
        count: int,
        device: torch.device,
        *,
        most_bytes: int = MOST_BYTES,
        fast: bool | None = None,
    ) -> None:
        """Make room for answers over one vocabulary.

        Args:
            shared: of the vocabulary.
            count: how many slots there are.
            device: where the logits are.
            most_bytes: of all programs together.
            fast: use Triton; None for wherever the device is not the host's processor.

        Raises:
            InputError: `most_bytes` is more than kernels can address, or nothing.
            MissingExtraError: torch is not installed, or Triton where it is needed.
        """
        torch = require("torch", extra="local", purpose="the constraint on a device")
        if device.type != "cpu" if fast is None else fast:
            require("triton", extra="local", purpose="the constraint on a device")
        if not 0 < most_bytes < _ADDRESSED:
            raise InputError(
                f"most_bytes: got {most_bytes:,}, expected 1 to {_ADDRESSED - 1:,}; lower it"
            )
        self._shared, self._device, self._fast = shared, device, fast
        self._most = most_bytes // 4
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._of_slot: dict[int, str] = {}
        self._staged: dict[int, tuple[int, ...]] = {}
        self._biased: set[int] = set()

        def on_device(array: NDArray[Any]) -> Tensor:
            copied: Tensor = torch.from_numpy(array).to(device, copy=True)
            return copied

        self._openers = on_device(shared.quote_openers)
        self._biases = torch.zeros(count, dtype=torch.float32, device=device)
        self.tables = ProgramTables(
            bits=on_device(shared.bits),
            targets=on_device(shared.targets),
            traits=on_device(shared.traits),
            arena=torch.zeros(min(_FIRST_ARENA, self._most), dtype=torch.int32, device=device),
            places=torch.full((count, 3), NOT_OURS, dtype=torch.int64, device=device),
            limits=torch.zeros((count, 2), dtype=torch.int32, device=device),
            registers=torch.zeros((count, 4), dtype=torch.int32, device=device),
        )

    def __contains__(self, slot: object) -> bool:
        """Tell whether a slot has a program."""
        return slot in self._of_slot

    def admit(
        self, slot: int, program: DeviceProgram, *, begin: int, max_tokens: int | None = None
    ) -> bool:
        """Give a slot to an answer, whoever had it before.

        Args:
            slot: the slot.
            program: of the answer's constraint.
            begin: where the answer begins in the slot's history: the length of its prompt.
            max_tokens: the most tokens of the answer, its end token included; None for no limit.

        Returns:
            Whether there was room; if not, the slot is nobody's, and the host has to serve it.

        Raises:
            InputError: there is no such slot, the program is of another vocabulary, or no answer
                is so short.
        """
        count = self.tables.places.shape[0]
        if not 0 <= slot < count:
            raise InputError(f"slot: got {slot}, expected 0 to {count - 1}; make room for more")
        if program.shared.fingerprint != self._shared.fingerprint:
            raise InputError(
                f"program: got one of vocabulary {program.shared.fingerprint[:12]}, expected "
                f"{self._shared.fingerprint[:12]}; compile it for this engine's vocabulary"
            )
        least = program.min_quotes * program.quote_cost + 1
        if max_tokens is not None and not least <= max_tokens < UNLIMITED:
            raise InputError(
                f"max_tokens: got {max_tokens}, expected at least {least} for "
                f"min_quotes={program.min_quotes}; raise it or ask for fewer quotes"
            )
        self.release(slot)
        held = self._hold(program)
        if held is None:
            return False
        self._of_slot[slot] = program.fingerprint
        tokens = held.start + program.rows.size
        self._staged[slot] = (
            *(held.start, tokens, tokens + program.tokens.size),
            *(program.longest, program.quote_cost),
            *(START, UNLIMITED if max_tokens is None else max_tokens, program.min_quotes, begin),
            int(np.float32(program.quote_bias).view(np.int32)),
        )
        if program.quote_bias:
            self._biased.add(slot)
        return True

    def release(self, slot: int) -> None:
        """Take a slot from its answer, if it has one; its rows are left alone from then on."""
        self._biased.discard(slot)
        if self._of_slot.pop(slot, None) is not None:
            self._staged[slot] = (NOT_OURS, NOT_OURS, NOT_OURS, *[0] * 7)

    def apply(
        self,
        logits: Tensor,
        *,
        slots: Tensor,
        positions: Tensor,
        input_ids: Tensor,
        history: Tensor,
        lengths: Tensor,
    ) -> Tensor:
        """Read the tokens that were written since, and mask logits in place; rows of others stay.

        Args:
            logits: see `semqa.kernels.mask.mask_rows`.
            slots: see `semqa.kernels.advance.advance_rows`, as the rest.
            positions: likewise.
            input_ids: likewise.
            history: likewise.
            lengths: likewise.

        Returns:
            int32[R, ROW_FIELDS], where each row stands, see `semqa.kernels.tables.Row`.
        """
        from semqa.kernels.advance import advance_rows
        from semqa.kernels.bias import bias_rows
        from semqa.kernels.mask import mask_rows

        self.flush()
        rows = slots.new_empty((slots.shape[0], ROW_FIELDS), dtype=self.tables.arena.dtype)
        advance_rows(
            self.tables, slots, positions, input_ids, history, lengths, rows, fast=self._fast
        )
        mask_rows(logits, rows, self.tables, fast=self._fast)
        if self._biased:
            bias_rows(logits, rows, self._openers, self._biases, fast=self._fast)
        return rows

    def flush(self) -> None:
        """Queue what `admit` and `release` changed; `apply` does it, an engine may do it earlier."""
        if not self._staged:
            return
        numbers = [(slot, *fields) for slot, fields in self._staged.items()]
        self._staged.clear()
        sent = self._send(np.array(numbers, np.int64))
        where = sent[:, 0]
        self.tables.places.index_copy_(0, where, sent[:, 1:4])
        self.tables.limits.index_copy_(0, where, sent[:, 4:6].int())
        self.tables.registers.index_copy_(0, where, sent[:, 6:10].int())
        self._biases.index_copy_(0, where, sent[:, 10].int().view(self._biases.dtype))

    def _send(self, array: NDArray[Any]) -> Tensor:
        """Queue a copy to the device; pinned memory is kept by torch until it is through."""
        import torch

        here = torch.from_numpy(array)
        if self._device.type == "cpu":
            return here
        return here.pin_memory().to(self._device, non_blocking=True)

    def _hold(self, program: DeviceProgram) -> _Held | None:
        """Put a program into the arena, unless it is there; None if there is no room."""
        held = self._held.get(program.fingerprint)
        if held is None:
            size = -(-program.nbytes // 4 // _GRAIN) * _GRAIN
            start = self._find_room(size)
            if start is None:
                return None
            held = _Held(start, size, program)
            parts = (program.rows.reshape(-1), program.tokens, program.targets)
            sent = self._send(np.concatenate(parts))
            self.tables.arena[start : start + sent.shape[0]] = sent
            self._held[program.fingerprint] = held
        self._held.move_to_end(program.fingerprint)
        return held

    def _find_room(self, size: int) -> int | None:
        """Return where so many numbers fit: behind or between others, after growing or clearing."""
        while True:
            capacity, end = self.tables.arena.shape[0], 0
            for held in sorted(self._held.values()):
                if held.start - end >= size:
                    return end
                end = held.start + held.size
            if capacity - end >= size:
                return end
            if not self._evict():
                wanted = max(end + size, min(2 * capacity, self._most))
                if end + size > self._most:
                    return None
                self._grow(wanted)

    def _evict(self) -> bool:
        """Forget the program that is unused for longest, if there is one."""
        used = set(self._of_slot.values())
        for fingerprint in self._held:
            if fingerprint not in used:
                del self._held[fingerprint]
                return True
        return False

    def _grow(self, size: int) -> None:
        arena = self.tables.arena.new_zeros(size)
        arena[: self.tables.arena.shape[0]] = self.tables.arena
        self.tables = self.tables._replace(arena=arena)
