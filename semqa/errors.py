"""The exceptions that semqa raises: for invalid input, and for external failures.

An error carries its parts (message, field, value, hint, place), so that no caller has to parse a
message. The command line, the server and vLLM replace `field` with the name that the user typed.

Code that reads input raises `InputError` if the input is invalid. Code that needs a disk, a network or a
package raises `UnavailableError` if it is missing. Docstrings list these only if that is not obvious.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = [
    "ForbiddenError",
    "InputError",
    "MissingExtraError",
    "NotFoundError",
    "PromptTooLongError",
    "SemqaError",
    "UnavailableError",
]


class SemqaError(Exception):
    """Base class of semqa's exceptions."""


class InputError(SemqaError):
    """Invalid input that the user can correct: a file, a field or an option.

    Args:
        message: what is wrong. With a field, the message completes a sentence that begins with the
            field's name: ``must be at least 1, got 0.``
        field: name of the setting or key, such as ``max_words``. A caller that uses another name
            (``--max-words``) sets the attribute and re-raises the error.
        hint: how to fix it, in one sentence; None if that is obvious.
        where: the location, such as ``sources.jsonl:14``.

    Example:
        >>> error = InputError("must be at least 1, got 0.", field="max_words", value=0)
        >>> str(error)
        'max_words must be at least 1, got 0.'
        >>> error.field, error.where = "--max-words", "grid.yaml:3"
        >>> str(error)
        'grid.yaml:3: --max-words must be at least 1, got 0.'
    """

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        value: object = None,
        hint: str | None = None,
        where: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.value = value
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return place + " ".join(filter(None, (self.field, self.message, self.hint)))


class NotFoundError(InputError):
    """The named object does not exist or is hidden from the user; the message is the same."""


class ForbiddenError(InputError):
    """The user may see the named object, but may not do this with it."""


class PromptTooLongError(InputError):
    """The prompt does not fit in the model's context. Other prompts may still fit."""


class UnavailableError(SemqaError):
    """Something external failed, such as the network, a disk or a server; a retry may help."""


class MissingExtraError(UnavailableError):
    """An optional package is missing; the message has the pip command that installs it."""


def first_line(error: BaseException) -> str:
    """Return the first line of an error message, at most 200 characters."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    first = lines[0].strip()
    return first if len(first) <= 200 else first[:199] + "…"


def describe_invalid(wrong: Mapping[str, Any]) -> str:
    """Return one of pydantic's errors as the end of a sentence that begins with the field's name.

    Example:
        >>> describe_invalid({"type": "int_type", "msg": "Input should be a valid integer"})
        'must be a whole number'
    """
    kind, message, context = wrong["type"], wrong["msg"], wrong.get("ctx", {})
    if kind in _INVALID:
        return _INVALID[kind].format(**context, bound=message.rpartition(" ")[2])
    if kind == "value_error":
        return str(message).removeprefix("Value error, ")
    return re.sub(r"^.*? should (?=\S)", "must ", message)


_NUMBER, _INTEGER, _OBJECT = "must be a number", "must be a whole number", "must be an object"
_INVALID = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dataclass_type": _OBJECT,
    "dict_type": _OBJECT,
    "extra_forbidden": "is not a known field",
    "finite_number": "must be a finite number",
    "float_parsing": _NUMBER,
    "float_type": _NUMBER,
    "greater_than": "must be more than {bound}",
    "greater_than_equal": "must be at least {bound}",
    "int_from_float": _INTEGER,
    "int_parsing": _INTEGER,
    "int_type": _INTEGER,
    "less_than": "must be less than {bound}",
    "less_than_equal": "must be at most {bound}",
    "list_type": "must be an array",
    "literal_error": "must be {expected}",
    "missing": "is missing",
    "missing_argument": "is missing",
    "model_attributes_type": _OBJECT,
    "model_type": _OBJECT,
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have {min_length} or more characters",
    "string_type": "must be a string",
    "too_long": "must have at most {max_length} items",
    "tuple_type": "must be an array",
}
"""Messages by pydantic's error types."""
