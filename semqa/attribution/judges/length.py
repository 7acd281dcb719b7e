"""What is too long for a judge, and may not be cut: told apart from other mistakes.

One question that a model cannot read is no reason to lose the thousand beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["TooLongError", "unless_too_long"]

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class TooLongError(InputError):
    """A text is longer than a judge reads, and what is cut off would change what is judged."""


def unless_too_long(
    judge: Callable[[Sequence[_In]], list[_Out]], inputs: Sequence[_In]
) -> list[_Out | TooLongError]:
    """Judge all that is not too long.

    Args:
        judge: a method of a judge.
        inputs: what it takes, in one batch; in halves where one of them is too long.

    Returns:
        One result an input, in order; for what is too long, the error that says so.

    Example:
        >>> def lengths(texts):
        ...     if any(len(text) > 3 for text in texts):
        ...         raise TooLongError("too long")
        ...     return [len(text) for text in texts]
        >>> unless_too_long(lengths, ["ab", "abcd"])
        [2, TooLongError('too long')]
    """
    if not inputs:
        return []
    try:
        return list(judge(inputs))
    except TooLongError as error:
        if len(inputs) == 1:
            return [error]
    half = len(inputs) // 2
    return [*unless_too_long(judge, inputs[:half]), *unless_too_long(judge, inputs[half:])]
