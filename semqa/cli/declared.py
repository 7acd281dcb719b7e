"""Options that several commands take, declared once: as typer declares them, in a dataclass.

A command of the class `DeclaredCommand` takes them after its own, and finds them in its context, as
one object: ``asking: JudgeOptions = ctx.obj``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from semqa.cli.help import Command

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def declared_params(declaration: Callable[..., Any]) -> dict[str, Any]:
    """Return the options that a dataclass or function declares, by name, as parameters of a command."""
    app = typer.Typer(add_completion=False)
    app.command()(declaration)
    return {param.name: param for param in typer.main.get_command(app).params if param.name}


class DeclaredCommand(Command):
    """A command that takes the options of its `declaration`."""

    declaration: ClassVar[Callable[..., Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *declared_params(self.declaration).values()]

    def invoke(self, ctx: Any) -> Any:
        """Run the command, with what was given in its context."""
        with self.naming_flags():
            values = {name: ctx.params.pop(name) for name in declared_params(self.declaration)}
            ctx.obj = self.collect(ctx, values)
            return super().invoke(ctx)

    def collect(self, _ctx: Any, values: dict[str, Any]) -> Any:
        """Return the object that the values make."""
        return self.declaration(**values)
