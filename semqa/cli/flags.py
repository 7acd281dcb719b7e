"""Options as they are spelled on a command line."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def flag(name: str) -> str:
    """Return the flag of an option.

    Example:
        >>> flag("max_words")
        '--max-words'
    """
    return "--" + name.replace("_", "-")


@contextmanager
def fields_as_flags(names: Collection[str]) -> Iterator[None]:
    """Name the flags that the user typed in errors about these fields.

    Example:
        >>> with fields_as_flags({"max_words"}):
        ...     raise InputError("must be at least 1.", field="max_words")
        Traceback (most recent call last):
        semqa.errors.InputError: --max-words must be at least 1.
    """
    try:
        yield
    except InputError as error:
        if error.field is not None and error.field in names:
            error.field = flag(error.field)
        raise


def in_flags(message: str, names: Collection[str]) -> str:
    """Return an error's message with the flags in it that were typed, for the names of options.

    Args:
        message: begins with ``<name>: got …`` or ``<name> must be …``.
        names: of the options; a message that does not begin with one of them stays as it is.

    Example:
        >>> in_flags("top_k: got 5 with temperature=0, expected draws", ["top_k", "temperature"])
        '--top-k: got 5 with --temperature 0, expected draws'
    """
    name, _, rest = message.partition(" ")
    if name in names:
        return f"{flag(name)} {rest}"
    name, colon, rest = message.partition(": ")
    if not colon or name not in names:
        return message
    got, comma, advice = rest.partition(", expected ")
    got = re.sub(
        r"(?<= with )(\w+)(?:=('?)(\S+?)\2)?$",
        lambda found: found[0] if found[1] not in names else _typed(found[1], found[3]),
        got,
    )
    return f"{flag(name)}: {got}{comma}{advice}"


def _typed(name: str, value: str | None) -> str:
    return flag(name) if value is None else f"{flag(name)} {value}"
