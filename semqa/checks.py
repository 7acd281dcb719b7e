"""Validation of settings, whose types, defaults, limits and help are declared once in a dataclass.

A field is declared as ``top_k: Annotated[int, Option(min=0, help="…")] = 0``. `check_settings` reads its
type and limits; the command line turns it into a flag (`semqa.cli.command`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from semqa.errors import InputError


def check_settings(settings: object) -> None:
    """Raise unless the fields of a dataclass have their types and are within their limits."""
    declared: Any = type(settings)
    for name, kind, optional, low, high in _rules(declared):
        value = getattr(settings, name)
        if value is None and optional:
            continue
        if get_origin(kind) is Literal:
            check_choice(name, value, get_args(kind))
        elif kind in (int, float):
            check_number(name, value, low, high, whole=kind is int)


@cache
def _rules(kind: Any) -> list[tuple[str, Any, bool, float | None, float | None]]:
    """Return name, type, whether None is allowed, and limits of the fields."""
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for field in fields(kind):
        annotated, *more = get_args(hints[field.name]) or (hints[field.name],)
        option = next((each for each in more if hasattr(each, "rich_help_panel")), None)
        if option is None:
            annotated = hints[field.name]
        types = [each for each in get_args(annotated) if each is not type(None)]
        optional = len(types) < len(get_args(annotated))
        limits = (getattr(option, "min", None), getattr(option, "max", None))
        found.append((field.name, types[0] if optional else annotated, optional, *limits))
    return found


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise unless a setting is one of the choices.

    Example:
        >>> check_choice("free", "glue", ("glue", "any"))
    """
    if value not in choices:
        listed = " or ".join(choices) if len(choices) < 3 else f"one of {', '.join(choices)}"
        raise InputError(f"must be {listed}, got {value!r:.80}.", field=name, value=value)


def check_number(
    name: str,
    value: object,
    low: float | None = None,
    high: float | None = None,
    *,
    whole: bool = False,
) -> None:
    """Raise unless a setting is a number within its limits.

    Example:
        >>> check_number("top_p", 0.5, 0, 1)
    """
    number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    least, most = -(2**63) if low is None else low, 2**63 if high is None else high
    if number and least <= value <= most:  # type: ignore[operator]  # not NaN
        return
    noun = "a whole number" if whole else "a number"
    if low is not None and high is not None:
        noun += f" from {low:,g} to {high:,g}"
    elif low is not None:
        noun += f" of at least {low:,g}"
    raise InputError(f"must be {noun}, got {value!r:.80}.", field=name, value=value)
