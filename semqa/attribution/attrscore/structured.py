"""Verdicts that a model gave as JSON.

Finds the field that holds the verdict, under the names that models use; what the words in it mean is
`parsing`'s.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Field", "read_fields"]

_TRIED = 50
"""Braces that are tried as the beginning of an object."""

_DEEPEST = 4

_VERDICTS: Final = (
    r"final[ _-]?(?:answer|label|verdict)",
    r"(?:predicted|attribution)?[ _-]?label",
    r"verdict",
    r"classification|class|category",
    r"judge?ment|decision|determination|assessment|evaluation",
    r"relation(?:ship)?|conclusion|status",
    r"predict(?:ion|ed)|attribution",
    r"result|rating|output",
    r"answer|response|choice",
)
"""Names of the field, the plainest first."""


class Field(NamedTuple):
    """A value that may be the verdict.

    Attributes:
        text: the value; a field of its own name and a flag or number is written ``name: yes``.
        final: whether nothing besides can be the verdict, for the field's name says so.
    """

    text: str
    final: bool


def read_fields(text: str) -> list[Field]:
    """Return what may be the verdict in the JSON of a text, likeliest first; of the last object.

    Example:
        >>> read_fields('Sure: {"reason": "It says so.", "label": "Supported"}')
        [Field(text='Supported', final=True)]
    """
    found = list(_values(text))
    for value in reversed(found):
        if fields := _fields(value, 0):
            return fields
    return []


def _values(text: str) -> Iterator[object]:
    decoder = json.JSONDecoder()
    stripped = re.sub(r"^\s*```\w*\s*|\s*```\s*$", "", text)
    if stripped.strip()[:1] in ('"', "["):
        try:
            yield json.loads(stripped)
        except (ValueError, RecursionError):
            pass
        else:
            return
    at = text.find("{")
    for _ in range(_TRIED):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def _fields(value: object, depth: int) -> list[Field]:
    if depth > _DEEPEST:
        return []
    match value:
        case str():
            return [Field(value, final=False)]
        case [single]:
            return _fields(single, depth + 1)
        case dict():
            return _of_object({str(key): held for key, held in value.items()}, depth)
    return []


def _of_object(fields: dict[str, object], depth: int) -> list[Field]:
    found: list[Field] = []
    for rank, pattern in enumerate(_VERDICTS):
        for name, held in fields.items():
            if not re.fullmatch(pattern, name.strip(), re.IGNORECASE):
                continue
            if inner := _fields(held, depth + 1):
                found += [Field(each.text, final=rank < 4 or each.final) for each in inner]
            elif rank < 4:
                found.append(Field("", final=True))  # such as null: the model did not decide
    if found:
        return found
    flags = [(name, held) for name, held in fields.items() if isinstance(held, bool)]
    if flags:
        lines = "\n".join(f"{name}: {'yes' if held else 'no'}" for name, held in flags)
        return [Field(lines, final=True)]
    numbers = {name: held for name, held in fields.items() if isinstance(held, int | float)}
    if len(numbers) > 1:
        best = max(numbers.values())
        names = [name for name, held in numbers.items() if held == best]
        return [Field(names[0] if len(names) == 1 else "", final=True)]
    return [
        each
        for held in fields.values()
        if isinstance(held, dict)
        for each in _fields(held, depth + 1)
    ]
