"""Engines by name: ``extractive``, ``lead-2``, ``tail-1``.

An engine's module is imported when the engine is created, not before.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from semqa.engines.base import Engine

__all__ = ["create_engine"]


def create_engine(spec: str, options: Mapping[str, object] | None = None) -> Engine:
    """Create an engine from its specification.

    Args:
        spec: a name, where ``lead-K`` and ``tail-K`` carry the number of sentences.
        options: keyword options of the engine, such as ``max_words``; None values are left out.

    Raises:
        InputError: the name is unknown, its number is not usable, or the engine does not take an
            option.

    Example:
        >>> create_engine("lead-2").name
        'lead-2'
    """
    match = re.fullmatch(r"([a-z]+)(?:-([0-9]{1,9}))?", spec)
    name, number = match.groups() if match else (spec, None)
    key = name if number is None else f"{name}-K"
    if key not in _FACTORIES:
        close = difflib.get_close_matches(spec, _FACTORIES, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}?" if close else "choose one of these"
        raise InputError(
            f"unknown engine: got {spec!r}, expected one of {', '.join(_FACTORIES)}; {hint}"
        )
    given = {k: v for k, v in (options or {}).items() if v is not None}
    factory, accepted = _FACTORIES[key]
    for option, value in given.items():
        if option not in accepted:
            flag = option.replace("_", "-")
            raise InputError(
                f"engine {spec} does not take the option {flag}: got {value!r}, expected "
                f"{'only ' + ', '.join(accepted) if accepted else 'no options'}; leave it out"
            )
    return factory(int(number or 0), given)


def _extractive(_number: int, options: Mapping[str, object]) -> Engine:
    from semqa.engines.extractive import ExtractiveEngine

    return ExtractiveEngine(**options)  # type: ignore[arg-type]  # checked by the engine itself


def _lead(number: int, _options: Mapping[str, object]) -> Engine:
    from semqa.engines.lead import EdgeEngine

    return EdgeEngine("lead", number)


def _tail(number: int, _options: Mapping[str, object]) -> Engine:
    from semqa.engines.lead import EdgeEngine

    return EdgeEngine("tail", number)


_FACTORIES: dict[str, tuple[Callable[[int, Mapping[str, object]], Engine], tuple[str, ...]]] = {
    "extractive": (_extractive, ("max_words", "coverage")),
    "lead-K": (_lead, ()),
    "tail-K": (_tail, ()),
}
