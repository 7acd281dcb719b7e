"""Judges by name: ``lexical``, ``transformers:nli=MODEL,…``, ``engine:SPEC``.

A judge's module is imported when the judge is created, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.attribution.judges.base import Judge


def create_judge(spec: str, options: Mapping[str, object] | None = None) -> Judge:
    """Create a judge from its specification.

    Args:
        spec: ``lexical``; ``transformers`` with any of ``nli=MODEL``, ``qa=MODEL`` and ``qg=MODEL``
            after a colon, where a part without a model takes the default and ``transformers`` alone
            takes all three; or ``engine:`` and the specification of an engine that asks a language
            model, perhaps with options of it, such as ``engine:openai:gpt-4o-mini,temperature=0.7``.
        options: such as ``device`` or ``batch_size``; None values are left out, and so is what a
            judge that runs here has no use for. ``engine:`` takes those of the engine, and
            ``prompt``, a template of one's own for entailment, by name or file, which gets
            ``premise`` and ``hypothesis``.

    Raises:
        InputError: the name is unknown, what it carries is invalid, or the judge does not take
            an option.
        UnavailableError: a model was not reached, or a package is missing.

    Example:
        >>> create_judge("lexical").name
        'lexical'
    """
    kind, _, carried = spec.partition(":")
    given = {key: value for key, value in (options or {}).items() if value is not None}
    if kind != "engine":
        for name in ("temperature", "prompt"):
            if name in given:
                raise InputError(
                    f"needs a language model; {spec} has none.",
                    field=name,
                    value=given[name],
                    hint="Choose a judge such as engine:openai:MODEL.",
                )
    if spec == "lexical":
        from semqa.attribution.judges.lexical import LexicalJudge

        return LexicalJudge()
    if kind == "transformers":
        from semqa.attribution.judges.models import ModelSettings, read_parts
        from semqa.attribution.judges.transformers import TransformersJudge

        given.pop("base_url", None)
        models, settings = read_parts(spec, carried)
        how: dict[str, Any] = {**given, **settings}
        return TransformersJudge(models, ModelSettings(**how), spec)
    if kind == "engine" and carried:
        from semqa.attribution.judges.engine import EngineJudge

        prompt = given.pop("prompt", None)
        return EngineJudge.create(carried, given, {"entailment": str(prompt)} if prompt else None)
    raise InputError(
        f"Judge {spec!r} not found.",
        hint="Choose lexical, transformers:nli=MODEL or engine:SPEC, such as engine:openai:MODEL.",
    )
