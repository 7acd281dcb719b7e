"""Engines by name: ``extractive``, ``bm25``, ``lead-2``, ``transformers:MODEL`` and others.

An engine's module is imported when the engine is created, not before.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, NamedTuple

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from semqa.engines.base import Engine
    from semqa.engines.model import AnswerOptions
    from semqa.engines.openai import OpenAIOptions
    from semqa.engines.transformers import TransformersOptions
    from semqa.engines.vllm import VllmOptions

__all__ = ["accepted_options", "batch_size_of", "check_options", "create_engine", "engines_with"]


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
    if key not in _FACTORIES:
        close = _nearest(spec)
        raise InputError(
            f"Unknown engine {spec!r}.",
            value=spec,
            hint=f"Did you mean {close}?" if close else f"Choose one of {', '.join(_FACTORIES)}.",
        )
    given = {k: v for k, v in (options or {}).items() if v is not None}
    factory = _FACTORIES[key]
    accepted = factory.accepts()
    for option, value in given.items():
        if option not in (*accepted, *factory.inner):
            raise InputError(
                f"is not an option of the engine {spec}, which takes {', '.join(accepted) or 'no options'}.",
                field=option,
                value=value,
            )
    return factory.create(carried, given)


def check_options(spec: str, options: Mapping[str, object] | None = None) -> None:
    """See what can be seen to be wrong with an engine's options, without loading it.

    Args:
        spec: as for `create_engine`.
        options: likewise.

    Raises:
        InputError: the name is unknown, or an option is not one of this engine or out of its range.

    Example:
        >>> check_options("transformers:gpt2", {"num_beams": 4})
    """
    key, _ = _split(spec)
    if key in _OPTIONS:
        given = {k: v for k, v in (options or {}).items() if v is not None}
        unknown = given.keys() - {*_FACTORIES[key].accepts(), *_FACTORIES[key].inner}
        if not unknown:
            _OPTIONS[key](_settings(options))
            return
    # The others are made in no time, and so is the message about an option that there is not.
    create_engine(spec, options)


def accepted_options(spec: str) -> tuple[str, ...] | None:
    """Return the names of the options of an engine, without loading it; None if it is unknown.

    Those of an engine that asks a language model have ``prompts`` among them, those of one that can
    keep it to verbatim quotes ``constraint``.

    Example:
        >>> accepted_options("extractive")
        ('max_words', 'coverage', 'encoder')
    """
    factory = _FACTORIES.get(_split(spec)[0])
    return None if factory is None else (*factory.accepts(), *factory.inner)


def batch_size_of(spec: str, options: Mapping[str, object] | None = None) -> int:
    """Return how many questions an engine is given together, without loading it.

    Args:
        spec: as for `create_engine`.
        options: likewise.

    Raises:
        InputError: an option of an engine that asks a model is not one, or out of its range.

    Example:
        >>> batch_size_of("lead-2"), batch_size_of("transformers:gpt2", {"batch_size": 4})
        (1, 4)
    """
    key, _ = _split(spec)
    return _OPTIONS[key](_settings(options)).batch_size if key in _OPTIONS else 1


def _settings(options: Mapping[str, object] | None) -> dict[str, object]:
    """Return the options that an engine's record of settings has."""
    given = {k: v for k, v in (options or {}).items() if v is not None}
    return {k: v for k, v in given.items() if k not in (*_ASKING, "base_url")}


def engines_with(option: str) -> tuple[str, ...]:
    """Return the families of engines that take an option.

    Example:
        >>> engines_with("coverage"), engines_with("num_beams")
        (('extractive',), ('transformers:MODEL',))
    """
    return tuple(family for family, factory in _FACTORIES.items() if option in factory.accepts())


def _nearest(spec: str) -> str | None:
    """Return the specification that was meant, perhaps.

    Example:
        >>> _nearest("Transfomers:my/Model"), _nearest("led-2"), _nearest("ollama:x")
        ('transformers:my/Model', 'lead-2', None)
    """
    name, mark, carried = re.fullmatch(r"([^:-]*)([:-]?)(.*)", spec, re.DOTALL).groups()  # type: ignore[union-attr]  # it always fits
    families = {re.split("[:-]", key)[0]: key for key in _FACTORIES}
    for family in difflib.get_close_matches(name.casefold(), families, n=1, cutoff=0.65):
        key = families[family]
        placed = f"{family}{mark}{carried}"
        return placed if mark and carried and _split(placed)[0] in _FACTORIES else key
    return None


def _read_transformers(settings: dict[str, object]) -> TransformersOptions:
    from semqa.engines.transformers.options import TransformersOptions

    return TransformersOptions(**settings)  # type: ignore[arg-type]  # checked by the record itself


def _read_vllm(settings: dict[str, object]) -> VllmOptions:
    from semqa.engines.vllm.options import VllmOptions

    return VllmOptions(**settings)  # type: ignore[arg-type]  # as above


def _read_openai(settings: dict[str, object]) -> OpenAIOptions:
    from semqa.engines.openai.options import OpenAIOptions

    return OpenAIOptions(**settings)  # type: ignore[arg-type]  # as above


_OPTIONS: dict[str, Callable[[dict[str, object]], AnswerOptions]] = {
    "transformers:MODEL": _read_transformers,
    "vllm:MODEL": _read_vllm,
    "openai:MODEL": _read_openai,
}


def _split(spec: str) -> tuple[str, str]:
    """Return the name of a family of engines, and what a specification of it carries."""
    name, colon, model = spec.partition(":")
    if colon and model:
        return f"{name}:MODEL", model
    match = re.fullmatch(r"([a-z]+)-([0-9]{1,9})", spec)
    return (f"{match[1]}-K", match[2]) if match else (spec, "")


class _Factory(NamedTuple):
    """How to make an engine.

    Attributes:
        create: from what the specification carries, and options.
        accepts: names the options.
        inner: names further ones, which no user sets.
    """

    create: Callable[[str, Mapping[str, object]], Engine]
    accepts: Callable[[], tuple[str, ...]]
    inner: tuple[str, ...] = ()


def _extractive(_: str, options: Mapping[str, object]) -> Engine:
    from semqa.engines.extractive import ExtractiveEngine

    return ExtractiveEngine(**options)  # type: ignore[arg-type]  # checked by the engine itself


def _bm25(_: str, _options: Mapping[str, object]) -> Engine:
    from semqa.engines.baselines import Bm25Engine

    return Bm25Engine()


def _nearest_sentences(_: str, options: Mapping[str, object]) -> Engine:
    from semqa.engines.baselines import NearestEngine

    return NearestEngine(**options)  # type: ignore[arg-type]  # checked by the encoder itself


def _lead(number: str, _options: Mapping[str, object]) -> Engine:
    from semqa.engines.baselines import EdgeEngine

    return EdgeEngine("lead", int(number))


def _tail(number: str, _options: Mapping[str, object]) -> Engine:
    from semqa.engines.baselines import EdgeEngine

    return EdgeEngine("tail", int(number))


def _transformers(model: str, options: Mapping[str, object]) -> Engine:
    from semqa.engines.transformers import TransformersEngine, TransformersOptions

    settings = dict(options)
    given = {key: settings.pop(key) for key in _ASKING if key in settings}
    return TransformersEngine(
        model,
        TransformersOptions(**settings),  # type: ignore[arg-type]  # checked by the record itself
        **given,  # type: ignore[arg-type]
    )


def _transformers_options() -> tuple[str, ...]:
    from semqa.engines.transformers.options import TransformersOptions

    return TransformersOptions.names_of_all()


def _vllm(model: str, options: Mapping[str, object]) -> Engine:
    from semqa.engines.vllm import VllmEngine, VllmOptions

    settings = dict(options)
    given = {key: settings.pop(key) for key in _ASKING if key in settings}
    return VllmEngine(model, VllmOptions(**settings), **given)  # type: ignore[arg-type]  # as above


def _vllm_options() -> tuple[str, ...]:
    from semqa.engines.vllm.options import VllmOptions

    return VllmOptions.names_of_all()


def _openai(model: str, options: Mapping[str, object]) -> Engine:
    from semqa.engines.openai import OpenAIEngine, OpenAIOptions

    settings = dict(options)
    given = {key: settings.pop(key) for key in (*_ASKING, "base_url") if key in settings}
    return OpenAIEngine(model, OpenAIOptions(**settings), **given)  # type: ignore[arg-type]  # as above


def _openai_options() -> tuple[str, ...]:
    from semqa.engines.openai.options import OpenAIOptions

    return (*OpenAIOptions.names_of_all(), "base_url")


_ASKING = ("prompts", "say", "warm")

_FACTORIES: dict[str, _Factory] = {
    "extractive": _Factory(_extractive, lambda: ("max_words", "coverage", "encoder")),
    "bm25": _Factory(_bm25, tuple),
    "nearest": _Factory(_nearest_sentences, lambda: ("encoder",)),
    "lead-K": _Factory(_lead, tuple),
    "tail-K": _Factory(_tail, tuple),
    "transformers:MODEL": _Factory(_transformers, _transformers_options, _ASKING),
    "vllm:MODEL": _Factory(_vllm, _vllm_options, _ASKING),
    "openai:MODEL": _Factory(_openai, _openai_options, _ASKING),
}
