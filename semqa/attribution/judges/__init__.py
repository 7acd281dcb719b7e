"""Judges, which decide whether a text supports a claim; read `base` first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semqa.attribution.judges.base import (
    Entailment,
    Judge,
    Pair,
    Reading,
    Span,
    TooLongError,
    unless_too_long,
)
from semqa.attribution.judges.cached import CachedJudge, TolerantJudge
from semqa.errors import InputError

__all__ = [
    "CachedJudge",
    "Entailment",
    "Judge",
    "Pair",
    "Reading",
    "Span",
    "TolerantJudge",
    "TooLongError",
    "create_judge",
    "unless_too_long",
]


def create_judge(spec: str, options: Mapping[str, object] | None = None) -> Judge:
    """Create a judge from its specification.

    Args:
        spec: one of

            - ``lexical``;
            - ``transformers:`` and any of ``nli=MODEL``, ``qa=MODEL`` and ``qg=MODEL``. Without
              ``=MODEL``, a part uses its default model; ``transformers`` alone uses all three.
            - ``engine:`` and the specification of an engine that uses a language model, with
              its options if you like: ``engine:openai:gpt-4o-mini,temperature=0.7``.
        options: such as ``device`` or ``batch_size``; None values are ignored, and so is
            ``base_url`` for a local model. ``engine:`` takes the options of the engine, and
            ``prompt``: the name or file of an entailment template, which gets ``premise`` and
            ``hypothesis``.

    Example:
        >>> create_judge("lexical").name
        'lexical'
    """
    kind, _, arguments = spec.partition(":")
    given = {key: value for key, value in (options or {}).items() if value is not None}
    for name in ("temperature", "prompt"):
        if kind != "engine" and name in given:
            raise InputError(
                f"needs a language model, but {spec} does not use one.",
                field=name,
                hint="Choose a judge such as engine:openai:MODEL.",
            )
    if spec == "lexical":
        from semqa.attribution.judges.lexical import LexicalJudge

        return LexicalJudge()
    if kind == "transformers":
        from semqa.attribution.judges.models import ModelSettings, TransformersJudge, read_parts

        given.pop("base_url", None)
        models, settings = read_parts(spec, arguments)
        merged: dict[str, Any] = {**given, **settings}
        return TransformersJudge(models, ModelSettings(**merged), spec)
    if kind == "engine" and arguments:
        from semqa.attribution.judges.engine import EngineJudge

        prompt = given.pop("prompt", None)
        return EngineJudge.create(arguments, given, {"entailment": str(prompt)} if prompt else None)
    raise InputError(
        f"Judge {spec!r} not found.",
        hint="Choose lexical, transformers:nli=MODEL or engine:SPEC, such as engine:openai:MODEL.",
    )
