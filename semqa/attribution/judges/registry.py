"""Judges by name: ``lexical``, ``transformers:nli=MODEL,…``, ``engine:SPEC``.

A judge's module is imported when the judge is created, not before.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from semqa.attribution.judges.base import Judge

__all__ = ["create_judge"]


def create_judge(spec: str, options: Mapping[str, object] | None = None) -> Judge:
    """Create a judge from its specification.

    Args:
        spec: ``lexical``; ``transformers`` with any of ``nli=MODEL``, ``qa=MODEL``, ``qg=MODEL``
            and ``lm=MODEL`` after a colon, where a part without a model takes the default and
            ``transformers`` alone takes nli, qa and qg; or ``engine:`` and the specification of an
            engine that asks a language model, perhaps with options of it, such as
            ``engine:openai:gpt-4o-mini,temperature=0.7``.
        options: keyword options of the judge, such as ``device`` or ``batch_size``; None values
            are left out. ``engine:`` takes those of the engine, and ``prompt``, a template of one's
            own for entailment, by name or file, which gets ``premise`` and ``hypothesis``.

    Raises:
        InputError: the name is unknown, what it carries is invalid, or the judge does not take
            an option.
        UnavailableError: a model was not reached, or a package is missing.

    Example:
        >>> create_judge("lexical").name
        'lexical'
    """
    name, _, carried = spec.partition(":")
    if name not in _FACTORIES:
        close = difflib.get_close_matches(name.casefold(), _FACTORIES, n=1, cutoff=0.6)
        hint = (
            f"Did you mean {close[0]}?"
            if close
            else "Choose lexical, transformers:nli=MODEL or engine:SPEC."
        )
        raise InputError(f"Judge {spec!r} not found.", hint=hint)
    given = {key: value for key, value in (options or {}).items() if value is not None}
    if "temperature" in given and name != "engine":
        raise InputError(
            f"needs a language model; {spec} has none.",
            field="temperature",
            value=given["temperature"],
            hint="Choose a judge such as engine:openai:MODEL.",
        )
    if "prompt" in given and name != "engine":
        raise InputError(
            f"needs a judge engine:SPEC; {spec} takes no prompt.",
            field="prompt",
            value=given["prompt"],
        )
    return _FACTORIES[name](spec, carried, given)


def _lexical(spec: str, carried: str, options: Mapping[str, object]) -> Judge:
    from semqa.attribution.judges.lexical import LexicalJudge

    if carried:
        raise InputError("takes nothing after it.", field="lexical", value=spec)
    # What a model needs is nothing to it: the same command serves for every judge.
    del options
    return LexicalJudge()


def _transformers(spec: str, carried: str, options: Mapping[str, object]) -> Judge:
    from semqa.attribution.judges.models import ModelSettings, read_parts
    from semqa.attribution.judges.transformers import TransformersJudge

    models, settings = read_parts(spec, carried)
    # The address of an endpoint is nothing to models that run here.
    given = {name: value for name, value in options.items() if name != "base_url"}
    return TransformersJudge(models, ModelSettings.of({**given, **settings}), name=spec)


def _engine(spec: str, carried: str, options: Mapping[str, object]) -> Judge:
    from semqa.attribution.judges.engine import EngineJudge

    if not carried:
        raise InputError(
            "needs an engine after the colon, such as engine:transformers:MODEL.",
            field="engine",
            value=spec,
        )
    own = {name: value for name, value in options.items() if name != "prompt"}
    prompt = options.get("prompt")
    return EngineJudge.create(carried, own, {"entailment": str(prompt)} if prompt else None)


_FACTORIES: dict[str, Callable[[str, str, Mapping[str, object]], Judge]] = {
    "lexical": _lexical,
    "transformers": _transformers,
    "engine": _engine,
}
