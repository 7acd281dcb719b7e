"""The options of engines, as given to a command.

A command of the class ``taking(EngineOptions)`` has these options besides its own, and finds their values
in its context: ``options: EngineOptions = ctx.obj[EngineOptions]``.
"""

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from semqa.cli.declared import declared
from semqa.decoding.policy import RULES_PANEL, QuotePolicy
from semqa.engines.options import OpenAIOptions, TransformersOptions, VllmOptions
from semqa.errors import InputError
from semqa.retrieval.settings import PromptSettings


@dataclass(frozen=True, slots=True)
class _OtherOptions:
    """Options of the extractive engine, and the endpoint of `OpenAIOptions`."""

    max_words: Annotated[
        int,
        Option(min=1, help="Maximum words in an answer (extractive).", rich_help_panel=RULES_PANEL),
    ] = 100
    coverage: Annotated[
        float | None,
        Option(
            min=0,
            max=1,
            help="How readily to quote less relevant sources (extractive).",
            show_default="the engine's",
            rich_help_panel=RULES_PANEL,
        ),
    ] = None
    base_url: Annotated[
        str | None,
        Option(
            help="OpenAI-compatible endpoint; set its key in SEMQA_API_KEY or OPENAI_API_KEY.",
            envvar="SEMQA_BASE_URL",
            metavar="URL",
        ),
    ] = None


_PYTHON_ONLY = ("connect_timeout", "read_timeout", "attempts")


@cache
def engine_params() -> dict[str, Any]:
    """Return the command parameters of the options, by name."""
    found: dict[str, Any] = {}
    for each in (PromptSettings, _OtherOptions, OpenAIOptions, TransformersOptions, VllmOptions):
        found = {**{param.name: param for param in declared(each).params}, **found}
    return {name: param for name, param in found.items() if name not in _PYTHON_ONLY}


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The engine options that were given.

    Attributes:
        values: the values by option name, as typed.
        optional: options to drop if the engine does not accept them, such as those from the
            environment.
        typed: all options of the command that were given on the command line.
    """

    values: dict[str, Any] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    typed: frozenset[str] = frozenset()

    @classmethod
    def params(cls) -> list[Any]:
        """Return the parameters of commands."""
        return list(engine_params().values())

    @classmethod
    def collect(cls, ctx: Any, values: dict[str, Any]) -> "EngineOptions":
        """Return the options that were given; those from the environment are optional."""
        sources = {name: ctx.get_parameter_source(name) for name in (*ctx.params, *values)}
        by = {
            kind: frozenset(n for n, source in sources.items() if source and source.name == kind)
            for kind in ("COMMANDLINE", "ENVIRONMENT", "DEFAULT")
        }
        given = {name: value for name, value in values.items() if name not in by["DEFAULT"]}
        return cls(given, by["ENVIRONMENT"] & given.keys(), by["COMMANDLINE"])

    def given(self) -> dict[str, Any]:
        """Return the values, converted for engines and prompts."""
        values = dict(self.values)
        if "train" in values:
            values["train"] = Path(values["train"])
        if "quote_from" in values:
            values["quote_from"] = QuotePolicy(quote_from=values["quote_from"]).quote_from
        if "engine_args" in values:
            values["engine_args"] = _object("engine_args", values["engine_args"])
        return values


def _object(name: str, text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            f'must be a JSON object such as {{"max_num_seqs": 64}}, got {text!r}.',
            field=name,
            value=text,
        )
    return found
