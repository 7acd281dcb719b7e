"""Prompt templates for judges: Jinja files in ``prompts/judge/``, or the user's own.

They run in the same sandbox as answer prompts. A comment at the beginning of a file describes it.
Texts are passed as values and never parsed as templates.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from semqa.data.files import ByteBudget, decode_text, open_input
from semqa.errors import InputError
from semqa.prompting.template import MAX_TEMPLATE_BYTES, shipped_folder

_SUFFIX = ".jinja"


class JudgePrompt:
    """A prompt template, with the name and the SHA-256 of its file; create it with `load`."""

    def __init__(self, name: str, raw: bytes, where: str) -> None:
        self.name = name
        self.sha256 = hashlib.sha256(raw).hexdigest()
        self._where = where
        self._template = _compile(decode_text(raw, where), where)

    @classmethod
    def load(cls, prompt: Path | str) -> JudgePrompt:
        """Load a prompt by name or from a file.

        Example:
            >>> JudgePrompt.load("no-such-prompt")  # doctest: +ELLIPSIS
            Traceback (most recent call last):
            semqa.errors.InputError: Prompt 'no-such-prompt' not found. ...
        """
        given, path = str(prompt), Path(prompt)
        shipped = {
            each.name.removesuffix(_SUFFIX): each
            for each in (shipped_folder() / "judge").iterdir()
            if each.name.endswith(_SUFFIX)
        }
        if given in shipped:
            return cls(given, shipped[given].read_bytes(), given + _SUFFIX)
        if not (path.exists() or path.suffix or path.name != given):
            raise InputError(
                f"Prompt {given!r} not found.",
                hint=f"Choose a template file or one of {', '.join(sorted(shipped))}.",
            )
        with open_input(path, ByteBudget(MAX_TEMPLATE_BYTES)) as file:
            return cls(path.stem, file.read_all(), file.name)

    def fill(self, **values: object) -> str:
        """Render the prompt; raise `InputError` if that fails."""
        try:
            return str(self._template.render(values)).strip()
        except Exception as error:  # a template can raise anything
            raise InputError(
                f"The prompt cannot be rendered: {str(error) or type(error).__name__}. Its variables are {', '.join(values)}.",
                where=self._where,
            ) from error


def _compile(text: str, where: str) -> Any:
    from jinja2 import StrictUndefined, TemplateSyntaxError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    try:
        return environment.from_string(text)
    except TemplateSyntaxError as error:
        raise InputError(
            f"Not a Jinja template: {error.message}.", where=f"{where}:{error.lineno}"
        ) from error
