"""Batches of inputs of similar length, so that padding costs little."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["in_batches", "padded", "rounded"]

_In = TypeVar("_In")
_Out = TypeVar("_Out")

_DIGITS = 6
"""Decimals of a probability: fewer than padding can change in float32."""


def in_batches(
    inputs: Sequence[_In],
    length: Callable[[_In], int],
    size: int,
    run: Callable[[list[_In]], Sequence[_Out]],
) -> list[_Out]:
    """Return what `run` makes of each input, given neighbours in length together."""
    order = sorted(range(len(inputs)), key=lambda place: length(inputs[place]))
    results: dict[int, _Out] = {}
    for places in _cut(order, size):
        made = run([inputs[place] for place in places])
        results.update(zip(places, made, strict=True))
    return [results[place] for place in range(len(inputs))]


def padded(tokenizer: Any, rows: Sequence[dict[str, list[int]]], device: Any) -> dict[str, Any]:
    """Return rows of token ids as tensors [B, T], with an attention mask."""
    import torch

    width = max(len(row["input_ids"]) for row in rows)
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    fills = {"input_ids": pad, "attention_mask": 0, "token_type_ids": 0}
    return {
        name: torch.tensor(
            [row[name] + [fill] * (width - len(row[name])) for row in rows], device=device
        )
        for name, fill in fills.items()
        if name in rows[0]
    }


def rounded(value: float) -> float:
    """Return a probability that is the same whatever stood beside its input in a batch."""
    return round(min(1.0, max(0.0, value)), _DIGITS)


def _cut(order: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (order[start : start + size] for start in range(0, len(order), size))
