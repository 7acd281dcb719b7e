"""What stands for a name that a template gets wrong: using it is an error in the template's terms."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined, UndefinedError
from jinja2.utils import missing

from semqa.prompting.view import SourceView, TaskView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import TemplateRuntimeError

__all__ = ["TemplateUndefined", "WrongNameError"]

VALUES = ("question", "sources", "exemplars", "answer")
"""What macros are given."""

_VIEWS = {SourceView: "a source", TaskView: "an exemplar"}


class WrongNameError(UndefinedError):
    """A template uses a name that is not there; says what was got and expected, and what to do."""


class TemplateUndefined(StrictUndefined):
    """An undefined value of a template."""

    __slots__ = ()

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = missing,
        name: str | None = None,
        exc: type[TemplateRuntimeError] = UndefinedError,
    ) -> None:
        known = obj is missing or type(obj) in _VIEWS
        if hint is None and known and isinstance(name, str) and exc is UndefinedError:
            exc = WrongNameError
        super().__init__(hint, obj, name, exc)

    @property
    def _undefined_message(self) -> str:
        name = self._undefined_name
        if self._undefined_exception is not WrongNameError or name is None:
            return super()._undefined_message
        if self._undefined_obj is missing:
            return (
                f"got {name!r}, which is not defined, expected one of {', '.join(VALUES)} where a "
                f"macro takes it, or a name that the template sets; {_advice(name, VALUES)}"
            )
        fields = self._undefined_obj._fields
        return (
            f"got {name!r} of {_VIEWS[type(self._undefined_obj)]}, expected one of "
            f"{', '.join(fields)}; {_advice(name, fields)}"
        )


def _advice(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if not close or close[0] == name:
        return "correct it (docs/prompts.md lists what a template may use)"
    return f"did you mean {close[0]}?"
