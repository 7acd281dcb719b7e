"""The header of a template: a comment at its beginning that says what the template is.

The comment's first line is ``semqa prompt``; each further line is a key, a colon and a value.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from semqa.errors import InputError
from semqa.prompting.prompt import Answers

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Header"]

_FIRST_LINE = "semqa prompt"
_COMMENT = re.compile(r"\{#[-+]?(.*?)[-+]?#\}", re.DOTALL)
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]*")


@dataclass(frozen=True, slots=True)
class Header:
    """What a template says of itself.

    Attributes:
        name: its name; by default that of its file.
        version: its version, in digits, letters, dots; empty where none is stated.
        answers: what answers it asks for.
        stop: texts that end an answer of a model that continues the completion form.
    """

    name: str
    version: str = ""
    answers: Answers = "quotes"
    stop: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str, where: str, name: str) -> Header:
        """Read the header of a template; a template without one gets the defaults.

        Args:
            text: the template.
            where: the file, for messages.
            name: the name to take where the header states none.

        Raises:
            InputError: a line of the header is not usable.
        """
        comment = _COMMENT.match(text.lstrip())
        lines = comment[1].strip("\n").splitlines() if comment else []
        if not lines or lines[0].strip() != _FIRST_LINE:
            return cls(name)
        first = text[: text.find(_FIRST_LINE)].count("\n") + 1
        fields: dict[str, str] = {}
        for number, line in enumerate(lines[1:], first + 1):
            if not line.strip():
                continue
            key, colon, value = line.partition(":")
            key, value = key.strip(), value.strip()
            if not colon or key not in _RULES or key in fields:
                raise InputError(
                    f"Invalid header line {line.strip()!r}; expected each of {', '.join(_RULES)} at most once, with a colon.",
                    where=f"{where}:{number}",
                )
            rule, fits = _RULES[key]
            if not fits(value):
                raise InputError(
                    f"must be {rule}, got {value!r}.",
                    field=key,
                    value=value,
                    where=f"{where}:{number}",
                )
            fields[key] = value
        answers: Answers = "citations" if fields.get("answers") == "citations" else "quotes"
        stop = tuple(json.loads(fields.get("stop", "[]")))
        return cls(fields.get("name", name), fields.get("version", ""), answers, stop)


def _is_list_of_texts(value: str) -> bool:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and all(isinstance(text, str) and text for text in found)


_RULES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "name": ("a name", bool),
    "version": ("digits, letters and dots", lambda v: _VERSION.fullmatch(v) is not None),
    "answers": (" or ".join(get_args(Answers)), lambda v: v in get_args(Answers)),
    "about": ("some words", bool),
    "stop": ('a JSON list of texts, such as ["\\nQuestion:"]', _is_list_of_texts),
}
