"""Checks of settings: an error names the setting, what it must be and what was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Check that a setting is one of several.

    Example:
        >>> check_choice("free", "glue", ("glue", "any"))
    """
    if value not in choices:
        listed = " or ".join(choices) if len(choices) < 3 else f"one of {', '.join(choices)}"
        raise InputError(f"must be {listed}, got {value!r}.", field=name, value=value)


def check_whole(name: str, value: object, least: int) -> None:
    """Check that a setting is a whole number."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
        raise InputError(
            f"must be a whole number from {least}, got {value!r}.", field=name, value=value
        )


def check_range(
    name: str, value: object, least: float, most: float, *, least_given: bool = True
) -> None:
    """Check that a setting is a number of a range."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = number and least <= value <= most  # type: ignore[operator]  # NaN does not
    if not fits or (value == least and not least_given):
        start = f"from {least:,g}" if least_given else f"above {least:,g}"
        raise InputError(
            f"must be a number {start} to {most:,g}, got {value!r}.", field=name, value=value
        )
