"""A language model as a judge, through any engine that asks one.

Replies are parsed by `semqa.attribution.judges.replies`. An unparsed reply counts as neutral, or as no
answer, and is counted in `EngineJudge.unparsed`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

from semqa.attribution.judges.base import Entailment, TooLongError
from semqa.attribution.judges.replies import (
    read_questions,
    read_relation,
    read_span,
    verdict_schema,
)
from semqa.attribution.prompts import JudgePrompt
from semqa.engines.base import CompletingEngine, PromptTooLongError, SchemaEngine
from semqa.engines.model.hub import model_identity
from semqa.engines.openai.client import default_url
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from semqa.attribution.judges.base import Pair, Reading, Schema, Span

PROMPTS = {"entailment": "engine-entailment", "answer": "engine-answer", "ask": "engine-ask"}
"""The prompts of the three questions, by name."""

_VERDICT_TOKENS = 64
_SPAN_TOKENS = 96
_QUESTION_TOKENS = 48
_JSON_TOKENS = 32
"""What the braces and names of a JSON reply take."""

_VERDICT = verdict_schema("verdict", ("Entailment", "Neutral", "Contradiction"))
_WHERE_MODELS_RUN = ("base_url", "batch_size", "device", "dtype", "trust_remote_code")
_HARMLESS = ("base_url", "batch_size", "device", "say", "prompts", "warm", "constraint")
"""Options that change no result."""

_SURE = {
    "entailment": Entailment(1.0, 0.0, 0.0),
    "neutral": Entailment(0.0, 1.0, 0.0),
    "contradiction": Entailment(0.0, 0.0, 1.0),
}
_UNREAD = Entailment(0.49, 0.51, 0.0)
"""Neutral, and close enough to one half to be called unclear."""


class EngineJudge:
    """Judges by what a language model writes.

    It gives a verdict and no probability: entailment is 1 or 0. If the endpoint supports JSON schemas,
    verdicts are requested as JSON.

    Args:
        engine: asks the model.
        identity: tells the model and its settings from others.
        prompts: templates by question, by name or file, in place of those of `PROMPTS`.
        sample: sample as the engine's options say; otherwise decode greedily.
        name: the specification that creates this judge again; by default that of the engine.
        complete: completes prompts in place of the engine, such as from a cache; as `complete`.

    Attributes:
        identity: the engine, its model's digest, its options and the prompts' digests.
        unparsed: how many replies were unparsed so far.
    """

    def __init__(
        self,
        engine: CompletingEngine,
        identity: str,
        prompts: Mapping[str, str] | None = None,
        *,
        sample: bool = False,
        name: str | None = None,
        complete: Callable[..., list[str]] | None = None,
    ) -> None:
        self._engine = engine
        self._given = (engine, identity, dict(prompts or {}))
        chosen = PROMPTS | self._given[2]
        self._prompts = {kind: JudgePrompt.load(template) for kind, template in chosen.items()}
        self._schema = _VERDICT if chosen["entailment"] == PROMPTS["entailment"] else None
        self._sample = sample
        self._complete = complete or self._ask_engine
        self.name = name or f"engine:{engine.name}"
        digests = ",".join(self._prompts[kind].sha256[:16] for kind in sorted(self._prompts))
        self.identity = f"{identity};prompts={digests}"
        self.unparsed = 0

    @classmethod
    def create(
        cls,
        spec: str,
        options: Mapping[str, object] | None = None,
        prompts: Mapping[str, str] | None = None,
    ) -> Self:
        """Create the judge of an engine's specification, such as ``openai:MODEL,temperature=0.7``.

        Options on where models run are ignored by engines without such an option.
        """
        from semqa.engines import accepted_options, create_engine

        given_spec = spec
        spec, settings = _settings(spec)
        accepted = accepted_options(spec)
        if accepted is not None and "prompts" not in accepted:
            raise InputError(
                f"engine:{spec} asks no language model.",
                hint="Choose one such as engine:transformers:MODEL or engine:openai:MODEL.",
            )
        given = {
            name: value
            for name, value in {**(options or {}), **settings}.items()
            if accepted is None or name in accepted or name not in _WHERE_MODELS_RUN
        }
        more = {"constraint": "off", "warm": False} if accepted is not None else {}
        engine = create_engine(spec, {**given, **more})
        if not isinstance(engine, CompletingEngine):
            raise InputError(f"engine:{spec} does not complete prompts.")
        kept = sorted((k, v) for k, v in given.items() if k not in _HARMLESS)
        # Only the endpoint knows which model it serves: its address has to do.
        where = None
        if spec.startswith("openai:"):
            where = given.get("base_url") or default_url()
        digest = model_identity(spec, given.get("revision"))
        temperature = given.get("temperature")
        return cls(
            engine,
            f"engine:{spec}@{digest or where};{kept}",
            prompts,
            sample=isinstance(temperature, int | float) and temperature > 0,
            name=f"engine:{given_spec}",
        )

    def through(self, complete: Callable[..., list[str]]) -> EngineJudge:
        """Return the same judge with its replies from elsewhere, such as a cache of them."""
        return EngineJudge(*self._given, sample=self._sample, name=self.name, complete=complete)

    def close(self) -> None:
        """Close the engine."""
        close: Any = getattr(self._engine, "close", None)
        if close is not None:
            close()

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, schema: Schema | None = None
    ) -> list[str]:
        """Return what the model writes after each prompt.

        Raises:
            TooLongError: one does not fit into the model's context.
        """
        try:
            return self._complete(prompts, max_new_tokens=max_new_tokens, schema=schema)
        except PromptTooLongError as error:
            raise TooLongError(str(error)) from error

    def _ask_engine(
        self, prompts: Sequence[str], *, max_new_tokens: int, schema: Schema | None = None
    ) -> list[str]:
        how = {"sample": True} if self._sample else {}
        if schema is not None and isinstance(self._engine, SchemaEngine):
            most = max_new_tokens + _JSON_TOKENS
            return self._engine.complete_json(prompts, schema, max_new_tokens=most, **how)
        return self._engine.complete(prompts, max_new_tokens=max_new_tokens, **how)

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """Return the relation of each hypothesis to its premise."""
        prompt = self._prompts["entailment"]
        asked = [prompt.fill(premise=pair.premise, hypothesis=pair.hypothesis) for pair in pairs]
        found = []
        for reply in self.complete(asked, max_new_tokens=_VERDICT_TOKENS, schema=self._schema):
            relation = read_relation(reply)
            self.unparsed += relation is None
            found.append(_UNREAD if relation is None else _SURE[relation])
        return found

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        """Return the span that the model copies, or None if it copies none."""
        prompt = self._prompts["answer"]
        asked = [prompt.fill(question=one.question, passage=one.passage) for one in readings]
        found = []
        replies = self.complete(asked, max_new_tokens=_SPAN_TOKENS)
        for reading, reply in zip(readings, replies, strict=True):
            span, understood = read_span(reply, reading.passage)
            self.unparsed += not understood
            found.append(span)
        return found

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        """Return the questions that the model writes."""
        prompt = self._prompts["ask"]
        asked = [prompt.fill(answer=answer, passage=text, count=count) for answer, text in readings]
        found = []
        for reply in self.complete(asked, max_new_tokens=_QUESTION_TOKENS * count):
            questions = read_questions(reply)[:count]
            self.unparsed += not questions
            found.append(questions)
        return found


def _settings(spec: str) -> tuple[str, dict[str, object]]:
    """Split a specification from the options that follow it.

    Example:
        >>> _settings("openai:m,temperature=0.7,seed=2")
        ('openai:m', {'temperature': 0.7, 'seed': 2})
    """
    found: dict[str, object] = {}
    while match := re.fullmatch(r"(?P<rest>.+),\s*(?P<name>[a-z_]+)=(?P<value>[^,=]*)", spec):
        value = match["value"].strip()
        number = re.fullmatch(r"-?\d+(\.\d+)?", value)
        found = {
            match["name"]: (float(value) if number[1] else int(value)) if number else value
        } | found
        spec = match["rest"]
    return spec, found
