"""Groups of options that are declared once, as dataclasses, and shared by commands.

A command of the class ``taking(JudgeOptions)`` has the options of `JudgeOptions` after its own. It finds
the object made from their values in its context: ``judge_options: JudgeOptions = ctx.obj[JudgeOptions]``.
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
    """Return typer's command for a dataclass or function, for its `params` and `callback`."""
    app = typer.Typer(add_completion=False)
    app.command()(declaration)
    return typer.main.get_command(app)


class DeclaredCommand(Command):
    """A command that also has the options of its `declarations`."""

    declarations: ClassVar[tuple[Callable[..., Any], ...]] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for each in self.declarations:
            self.params = [*self.params, *_params(each)]

    def invoke(self, ctx: Any) -> Any:
        """Run the command with the objects made from the options in `ctx.obj`."""
        with self.naming_flags():
            ctx.obj = {}
            for each in self.declarations:
                values = {param.name: ctx.params.pop(param.name) for param in _params(each)}
                make = getattr(each, "collect", None)
                ctx.obj[each] = make(ctx, values) if make else declared(each).callback(**values)
            return super().invoke(ctx)


def _params(declaration: Any) -> list[Any]:
    own = getattr(declaration, "params", None)
    params: list[Any] = own() if own else declared(declaration).params
    return params


def taking(*declarations: Callable[..., Any]) -> type[DeclaredCommand]:
    """Return a class of commands that have the options of these dataclasses."""
    return type("Command", (DeclaredCommand,), {"declarations": declarations})
