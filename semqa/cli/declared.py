"""Options of a command made of the fields of a dataclass, so that a setting is declared once."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, fields
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from semqa.cli.options import flag

if TYPE_CHECKING:
    from collections.abc import Callable


def takes_options(options: type, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each field of a dataclass; it gets them together, by that name.

    A field's annotation is an option of typer, or has its help and perhaps its panel:
    ``Annotated[int, "Steps of the optimizer."]``.
    """
    hints = get_type_hints(options, include_extras=True)
    added = [_parameter(field, hints[field.name]) for field in fields(options)]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**values: Any) -> None:
            own = {each.name: values.pop(each.name) for each in added}
            command(**{name: options(**own)}, **values)

        signature = inspect.signature(command, eval_str=True)
        kept = [p for p in signature.parameters.values() if p.name != name]
        parameters = [*(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in kept), *added]
        made: Any = run
        made.__signature__ = signature.replace(parameters=parameters)
        made.__annotations__ = {p.name: p.annotation for p in parameters}
        made.__doc__ = command.__doc__
        return run

    return decorate


def _parameter(field: Field[Any], annotation: Any) -> inspect.Parameter:
    kind, *metadata = get_args(annotation)
    if isinstance(metadata[0], str):
        flags = [flag(field.name)] if field.default is False else []
        option = typer.Option(
            *flags,
            help=metadata[0],
            rich_help_panel=metadata[1] if len(metadata) > 1 else None,
            envvar="SEMQA_SEED" if field.name == "seed" else None,
            show_default=field.default not in (None, MISSING),
        )
        annotation = Annotated[kind, option]
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(field.name, keyword, default=default, annotation=annotation)
