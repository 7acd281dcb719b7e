"""Checks of settings. An error names the setting, the allowed values and the given value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise unless a setting is one of the choices.

    Example:
        >>> check_choice("free", "glue", ("glue", "any"))
    """
    if value not in choices:
        listed = " or ".join(choices) if len(choices) < 3 else f"one of {', '.join(choices)}"
        raise InputError(f"must be {listed}, got {value!r}.", field=name, value=value)


def check_whole(name: str, value: object, least: int) -> None:
    """Raise unless a setting is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
        raise InputError(
            f"must be a whole number of at least {least}, got {value!r}.", field=name, value=value
        )


def check_range(
    name: str, value: object, least: float, most: float, *, least_given: bool = True
) -> None:
    """Raise unless a setting is a number in a range.

    Args:
        least_given: whether `least` itself is allowed.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = number and least <= value <= most  # type: ignore[operator]  # False for NaN
    if not fits or (value == least and not least_given):
        allowed = f"from {least:,g} to" if least_given else f"above {least:,g} and at most"
        raise InputError(
            f"must be a number {allowed} {most:,g}, got {value!r}.", field=name, value=value
        )
