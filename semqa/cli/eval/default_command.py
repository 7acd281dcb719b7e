"""A group of commands of which one is meant where none is named."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup

__all__ = ["DefaultCommand"]


class DefaultCommand(TyperGroup):
    """``group FILE`` is ``group run FILE``; a file with the name of a command is ``./NAME``."""

    default: ClassVar[str] = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command in front where no command stands there."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
