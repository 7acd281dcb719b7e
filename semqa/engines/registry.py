"""Engines by name: ``extractive``, ``bm25``, ``lead-2``, ``transformers:MODEL`` and others.

An engine's module is imported when the engine is created, not before.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from semqa.engines.base import Engine
    from semqa.engines.model.options import AnswerOptions


def create_engine(spec: str, options: Mapping[str, object] | None = None) -> Engine:
    """Create an engine from its specification.

    Args:
        spec: a name, where ``lead-K`` and ``tail-K`` carry the number of sentences, and
            ``transformers:MODEL`` and ``vllm:MODEL`` a folder or the name of a model on the Hub, and
            ``openai:MODEL`` the name of a model at an endpoint, which is in the option ``base_url``.
        options: keyword options of the engine, such as ``max_words``; None values are left out.
            Engines that ask a language model take ``prompts``, a `semqa.prompting.PromptBuilder`,
            ``say``, which is called with a message when loading is going to take long, and
            ``warm``, whether to compile ahead.

    Raises:
        InputError: the name is unknown, what it carries is not usable, or the engine does not take
            an option.
        UnavailableError: a model was not reached, or a package is missing.

    Example:
        >>> create_engine("lead-2").name
        'lead-2'
    """
    key, carried = _split(spec)
    given = _given(options)
    family = _checked(spec, given)
    engine: Callable[..., Engine] = getattr(import_module(family.module), family.engine)
    if key in ("lead-K", "tail-K"):
        return engine(key[:4], int(carried))
    if family.settings is None:
        return engine(**given)
    settings = family.settings(**_settings(given))  # type: ignore[arg-type]  # checks them itself
    return engine(carried, settings, **{k: v for k, v in given.items() if k in _BESIDES})


def _checked(spec: str, given: Mapping[str, object]) -> _Family:
    """Return the family of a specification, which takes all the options given."""
    key, _ = _split(spec)
    if key not in _FAMILIES:
        close = _nearest(spec)
        raise InputError(
            f"Unknown engine {spec!r}.",
            value=spec,
            hint=f"Did you mean {close}?" if close else f"Choose one of {', '.join(_FAMILIES)}.",
        )
    family = _FAMILIES[key]
    accepted = family.accepts()
    inner = () if family.settings is None else _ASKING
    for option, value in given.items():
        if option not in (*accepted, *inner):
            near = difflib.get_close_matches(option, accepted, n=1)
            raise InputError(
                f"is not an option of the engine {spec}, which takes {', '.join(accepted) or 'no options'}.",
                field=option,
                value=value,
                hint=f"Did you mean {near[0]}?" if near else None,
            )
    return family


def check_options(spec: str, options: Mapping[str, object] | None = None) -> None:
    """See what can be seen to be wrong with an engine's options, without loading it.

    Example:
        >>> check_options("transformers:gpt2", {"num_beams": 4})
    """
    given = _given(options)
    family = _checked(spec, given)
    if family.settings is None:
        create_engine(spec, given)  # made in no time
    else:
        family.settings(**_settings(given))  # type: ignore[arg-type]  # checks them itself


def accepted_options(spec: str) -> tuple[str, ...] | None:
    """Return the names of the options of an engine, without loading it; None if it is unknown.

    Those of an engine that asks a language model have ``prompts`` among them, those of one that can
    keep it to verbatim quotes ``constraint``.

    Example:
        >>> accepted_options("extractive")
        ('max_words', 'coverage', 'encoder')
    """
    family = _FAMILIES.get(_split(spec)[0])
    if family is None:
        return None
    return family.accepts() if family.settings is None else (*family.accepts(), *_ASKING)


def batch_size_of(spec: str, options: Mapping[str, object] | None = None) -> int:
    """Return how many questions an engine is given together, without loading it.

    Example:
        >>> batch_size_of("lead-2"), batch_size_of("transformers:gpt2", {"batch_size": 4})
        (1, 4)
    """
    family = _FAMILIES.get(_split(spec)[0])
    if family is None or family.settings is None:
        return 1
    return family.settings(**_settings(_given(options))).batch_size  # type: ignore[arg-type]


def _given(options: Mapping[str, object] | None) -> dict[str, object]:
    return {k: v for k, v in (options or {}).items() if v is not None}


def _settings(given: Mapping[str, object]) -> dict[str, object]:
    """Return the options that an engine's record of settings has."""
    return {k: v for k, v in given.items() if k not in _BESIDES}


def engines_with(option: str) -> tuple[str, ...]:
    """Return the families of engines that take an option.

    Example:
        >>> engines_with("coverage"), engines_with("num_beams")
        (('extractive',), ('transformers:MODEL',))
    """
    return tuple(name for name, family in _FAMILIES.items() if option in family.accepts())


def _nearest(spec: str) -> str | None:
    """Return the specification that was meant, perhaps.

    Example:
        >>> _nearest("Transfomers:my/Model"), _nearest("led-2"), _nearest("ollama:x")
        ('transformers:my/Model', 'lead-2', None)
    """
    name, mark, carried = re.fullmatch(r"([^:-]*)([:-]?)(.*)", spec, re.DOTALL).groups()  # type: ignore[union-attr]  # it always fits
    families = {re.split("[:-]", key)[0]: key for key in _FAMILIES}
    for family in difflib.get_close_matches(name.casefold(), families, n=1, cutoff=0.65):
        key = families[family]
        placed = f"{family}{mark}{carried}"
        return placed if mark and carried and _split(placed)[0] in _FAMILIES else key
    return None


def _split(spec: str) -> tuple[str, str]:
    """Return the name of a family of engines, and what a specification of it carries."""
    name, colon, model = spec.partition(":")
    if colon and model:
        return f"{name}:MODEL", model
    match = re.fullmatch(r"([a-z]+)-([0-9]{1,9})", spec)
    return (f"{match[1]}-K", match[2]) if match else (spec, "")


class _Family(NamedTuple):
    """Engines of one name, and where they are."""

    module: str
    engine: str
    options: tuple[str, ...] | str = ()
    more: tuple[str, ...] = ()

    @property
    def settings(self) -> type[AnswerOptions] | None:
        """The class of its options, for a language model."""
        if isinstance(self.options, tuple):
            return None
        found: type[AnswerOptions] = getattr(import_module(f"{self.module}.options"), self.options)
        return found

    def accepts(self) -> tuple[str, ...]:
        """Return the names of the options that users set."""
        if isinstance(self.options, tuple):
            return self.options
        names = (field.name for field in fields(cast("Any", self.settings)))
        return (*names, *self.more)


_ASKING = ("prompts", "say", "warm")
"""What an engine that asks a language model takes besides, and no user sets."""

_BESIDES = (*_ASKING, "base_url")
"""What is not among its settings."""

_FAMILIES: dict[str, _Family] = {
    "extractive": _Family(
        "semqa.engines.extractive", "ExtractiveEngine", ("max_words", "coverage", "encoder")
    ),
    "bm25": _Family("semqa.engines.baselines", "Bm25Engine"),
    "nearest": _Family("semqa.engines.baselines", "NearestEngine", ("encoder",)),
    "lead-K": _Family("semqa.engines.baselines", "EdgeEngine"),
    "tail-K": _Family("semqa.engines.baselines", "EdgeEngine"),
    "transformers:MODEL": _Family(
        "semqa.engines.transformers", "TransformersEngine", "TransformersOptions"
    ),
    "vllm:MODEL": _Family("semqa.engines.vllm", "VllmEngine", "VllmOptions"),
    "openai:MODEL": _Family("semqa.engines.openai", "OpenAIEngine", "OpenAIOptions", ("base_url",)),
}
