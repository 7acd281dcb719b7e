"""Commands with short help, and with options that several commands share.

`--help` shows the options without a panel; `--help-all` shows all, grouped by panel. Help is plain text
because typer's boxes cut off long flags.

Shared options are declared once, as a dataclass. A command of the class ``taking(JudgeOptions)`` has the
options of `JudgeOptions` after its own, and finds the object made from their values in its context:
``judge_options: JudgeOptions = ctx.obj[JudgeOptions]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from semqa.errors import InputError, describe_invalid


class Command(TyperCommand):
    """A command that has `--help-all` if `--help` leaves out options."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with `--help-all` if some options are in panels."""
        params = super().get_params(ctx)
        if any(map(_panel, params)):
            params.append(_help_all(self, ctx))
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the arguments of the usage line: ``QUESTION [FILE...]``."""
        pieces = [self.options_metavar or ""]
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                name = (param.metavar or param.name or "").upper()
                name = f"{name}..." if param.nargs < 0 else name
                pieces.append(name if param.required else f"[{name}]")
        return pieces

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments; errors about a value are worded as elsewhere."""
        try:
            return super().make_context(*args, **kwargs)
        except typer.BadParameter as error:
            error.message = plain_message(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors about a setting name its flag."""
        with self.naming_flags():
            return super().invoke(ctx)

    @contextmanager
    def naming_flags(self) -> Iterator[None]:
        """Replace the setting's name by its flag in errors."""
        try:
            yield
        except InputError as error:
            flags: dict[str | None, str] = {}
            for param in self.params:
                if (flag := param.opts[0]).startswith("--"):
                    flags |= dict.fromkeys((param.name, flag[2:].replace("-", "_")), flag)
            if error.where is None:  # settings in a file are not spelled as flags
                error.field = flags.get(error.field, error.field)
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options; those in panels only for `--help-all`."""
        show_all = ctx.meta.get(_ALL, False)
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            panel = _panel(param)
            record = param.get_help_record(ctx)
            if record is not None and (show_all or not panel):
                kind = "Arguments" if param.param_type_name == "argument" else "Options"
                name = _LIST_OF.sub(lambda of: f"<{of[1].lower()}>", record[0])
                groups.setdefault(panel or kind, []).append((name, record[1]))
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def plain_message(error: typer.BadParameter) -> str:
    """Return what is wrong with a value in our own words, if pydantic or typer checked it."""
    cause: Any = error.__cause__
    details = getattr(cause, "errors", None)
    return describe_invalid(details()[0]) if details else str(error.message)


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


class Group(TyperGroup):
    """A group that lists its commands by panel."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with a hidden `--help-all`, since its commands may have one."""
        option = _help_all(self, ctx)
        option.hidden = True
        return [*super().get_params(ctx), option]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, grouped by panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if not command.hidden:
                record = (name, command.get_short_help_str(limit=120))
                panels.setdefault(command.rich_help_panel or "Commands", []).append(record)
        for title, records in panels.items():
            with formatter.section(title):
                formatter.write_dl(records)


def use_help(app: typer.Typer) -> None:
    """Use this help for an app and all its commands and groups."""
    own: Any = app.info.cls
    if not (isinstance(own, type) and issubclass(own, Group)):
        app.info.cls = Group
    app.rich_markup_mode = None
    for command in app.registered_commands:
        if command.cls is None or command.cls is TyperCommand:
            command.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            use_help(group.typer_instance)


_ALL = "semqa.help_all"
_LIST_OF = re.compile(r"<list\[([\w|]+)\]>")
"""How typer shows the type of a repeatable argument."""


def _panel(param: Any) -> str | None:
    panel = getattr(param, "rich_help_panel", None)
    return panel if isinstance(panel, str) else None


def _help_all(command: Any, ctx: Any) -> Any:
    option = copy(command.get_help_option(ctx))
    option.name, option.opts = "help_all", ["--help-all"]
    option.help, option.callback = "Show every option and exit.", _print_all
    return option


def _print_all(ctx: typer.Context, _param: Any, requested: bool) -> None:
    if requested:
        ctx.meta[_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit
