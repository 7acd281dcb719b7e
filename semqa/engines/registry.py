"""Engines by name: ``extractive``, ``bm25``, ``lead-2``, ``transformers:MODEL`` and others.

An engine's module is imported only when the engine is created.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from typing import NamedTuple

from semqa.engines.base import Engine
from semqa.engines.options import AnswerOptions, OpenAIOptions, TransformersOptions, VllmOptions
from semqa.errors import InputError


def create_engine(spec: str, options: Mapping[str, object] | None = None) -> Engine:
    """Create an engine from its specification.

    Args:
        spec: the engine's name. In ``lead-K`` and ``tail-K``, K is the number of sentences. In
            ``transformers:MODEL`` and ``vllm:MODEL``, MODEL is a folder or the name of a model on
            the Hub. In ``openai:MODEL``, it is the name of a model at the endpoint ``base_url``.
        options: keyword options of the engine, such as ``max_words``; None values are ignored.
            Engines with a language model also accept ``prompts``, a
            `semqa.prompting.PromptBuilder`.

    Raises:
        InputError: the name is unknown, its K or MODEL is invalid, or the engine does not accept an
            option.
        UnavailableError: a model cannot be reached, or a package is missing.

    Example:
        >>> create_engine("lead-2").name
        'lead-2'
    """
    family, argument, given = _resolve(spec, options)
    engine: Callable[..., Engine] = getattr(import_module(family.module), family.engine)
    if family.settings is None:
        return engine(spec.partition("-")[0], int(argument)) if argument else engine(**given)
    arguments = {name: given[name] for name in _ARGUMENTS if name in given}
    return engine(argument, family.read_settings(given), **arguments)


def _resolve(
    spec: str, options: Mapping[str, object] | None
) -> tuple[_Family, str, dict[str, object]]:
    """Return the family of an engine, its K or MODEL, and its options that are not None."""
    key, argument = _split(spec)
    given = _not_none(options)
    if key not in _FAMILIES:
        close = _suggestion(spec)
        raise InputError(
            f"Unknown engine {spec!r}.",
            hint=f"Did you mean {close}?" if close else f"Choose one of {', '.join(_FAMILIES)}.",
        )
    family = _FAMILIES[key]
    accepted = family.accepts()
    for option in given:
        if option not in accepted and not (option == "prompts" and family.settings):
            matches = difflib.get_close_matches(option, accepted, n=1)
            raise InputError(
                f"is not an option of the engine {spec}, which takes {', '.join(accepted) or 'no options'}.",
                field=option,
                hint=f"Did you mean {matches[0]}?" if matches else None,
            )
    return family, argument, given


def check_options(spec: str, options: Mapping[str, object] | None = None) -> None:
    """Validate an engine's options as far as possible without loading the engine.

    Example:
        >>> check_options("transformers:gpt2", {"num_beams": 4})
    """
    family, _, given = _resolve(spec, options)
    if family.settings is None:
        create_engine(spec, given)  # cheap: no model is loaded
    else:
        family.read_settings(given)


def accepted_options(spec: str) -> tuple[str, ...] | None:
    """Return the names of an engine's options without loading it, or None if it is unknown.

    The names include ``prompts`` if the engine uses a language model.

    Example:
        >>> accepted_options("extractive")
        ('max_words', 'coverage', 'encoder')
    """
    family = _FAMILIES.get(_split(spec)[0])
    if family is None:
        return None
    return (*family.accepts(), "prompts") if family.settings else family.accepts()


def batch_size_of(spec: str, options: Mapping[str, object] | None = None) -> int:
    """Return an engine's batch size without loading the engine.

    Example:
        >>> batch_size_of("lead-2"), batch_size_of("transformers:gpt2", {"batch_size": 4})
        (1, 4)
    """
    family = _FAMILIES.get(_split(spec)[0])
    settings = None if family is None else family.read_settings(_not_none(options))
    return 1 if settings is None else settings.batch_size


def _not_none(options: Mapping[str, object] | None) -> dict[str, object]:
    return {k: v for k, v in (options or {}).items() if v is not None}


def engines_with(option: str) -> tuple[str, ...]:
    """Return the engine families that accept an option.

    Example:
        >>> engines_with("coverage"), engines_with("num_beams")
        (('extractive',), ('transformers:MODEL',))
    """
    return tuple(name for name, family in _FAMILIES.items() if option in family.accepts())


def _suggestion(spec: str) -> str | None:
    """Return the closest valid specification to suggest, or None.

    Example:
        >>> _suggestion("Transfomers:my/Model"), _suggestion("led-2"), _suggestion("ollama:x")
        ('transformers:my/Model', 'lead-2', None)
    """
    name, mark, argument = re.fullmatch(r"([^:-]*)([:-]?)(.*)", spec, re.DOTALL).groups()  # type: ignore[union-attr]  # always matches
    families = {re.split("[:-]", key)[0]: key for key in _FAMILIES}
    for family in difflib.get_close_matches(name.casefold(), families, n=1, cutoff=0.65):
        key = families[family]
        corrected = f"{family}{mark}{argument}"
        return corrected if mark and argument and _split(corrected)[0] in _FAMILIES else key
    return None


def _split(spec: str) -> tuple[str, str]:
    """Split a specification into its family and the value of K or MODEL."""
    name, colon, model = spec.partition(":")
    if colon and model:
        return f"{name}:MODEL", model
    match = re.fullmatch(r"([a-z]+)-([0-9]{1,9})", spec)
    return (f"{match[1]}-K", match[2]) if match else (spec, "")


class _Family(NamedTuple):
    """Engines with the same name pattern, and where to import them from."""

    module: str
    engine: str
    options: tuple[str, ...] = ()
    settings: type[AnswerOptions] | None = None
    """The settings class if the engine uses a language model."""

    def accepts(self) -> tuple[str, ...]:
        """Return the names of the options that users can set."""
        own = () if self.settings is None else fields(self.settings)
        return (*(field.name for field in own), *self.options)

    def read_settings(self, given: Mapping[str, object]) -> AnswerOptions | None:
        """Return the settings among options, or None if the engine uses no language model."""
        if self.settings is None:
            return None
        own = {name: value for name, value in given.items() if name not in _ARGUMENTS}
        return self.settings(**own)  # type: ignore[arg-type]  # validated by the class


_ARGUMENTS = ("prompts", "base_url")
"""Options passed to the engine itself, not to its settings class."""

_FAMILIES: dict[str, _Family] = {
    "extractive": _Family(
        "semqa.engines.extractive", "ExtractiveEngine", ("max_words", "coverage", "encoder")
    ),
    "bm25": _Family("semqa.engines.baselines", "Bm25Engine"),
    "nearest": _Family("semqa.engines.baselines", "NearestEngine", ("encoder",)),
    "lead-K": _Family("semqa.engines.baselines", "EdgeEngine"),
    "tail-K": _Family("semqa.engines.baselines", "EdgeEngine"),
    "transformers:MODEL": _Family(
        "semqa.engines.transformers", "TransformersEngine", settings=TransformersOptions
    ),
    "vllm:MODEL": _Family("semqa.engines.vllm", "VllmEngine", settings=VllmOptions),
    "openai:MODEL": _Family(
        "semqa.engines.openai", "OpenAIEngine", ("base_url",), settings=OpenAIOptions
    ),
}
