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
def declared(declaration: Callable[..., Any]) -> Any:
    """Return typer's command of a dataclass or a function: its `params`, and its `callback`."""
    app = typer.Typer(add_completion=False)
    app.command()(declaration)
    return typer.main.get_command(app)


class DeclaredCommand(Command):
    """A command that takes the options of its `declaration`."""

    declaration: ClassVar[Callable[..., Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *declared(self.declaration).params]

    def invoke(self, ctx: Any) -> Any:
        """Run the command, with what was given in its context."""
        with self.naming_flags():
            params = declared(self.declaration).params
            ctx.obj = self.collect(ctx, {each.name: ctx.params.pop(each.name) for each in params})
            return super().invoke(ctx)

    def collect(self, _ctx: Any, values: dict[str, Any]) -> Any:
        """Return the object that the values make, which typer converts as it does a command's."""
        return declared(self.declaration).callback(**values)
