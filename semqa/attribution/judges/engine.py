"""A language model as a judge, through any engine that completes prompts.

Replies are parsed by `semqa.attribution.judges.replies`. An unparsed reply counts as neutral, or as
no answer, and is counted in `EngineJudge.unparsed`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from semqa.attribution.judges.base import (
    Entailment,
    Judge,
    Pair,
    Reading,
    Schema,
    Span,
    TooLongError,
)
from semqa.attribution.judges.replies import (
    read_questions,
    read_relation,
    read_span,
    verdict_schema,
)
from semqa.attribution.prompts import JudgePrompt
from semqa.engines import accepted_options, create_engine
from semqa.engines.base import CompletingEngine
from semqa.engines.model.hub import model_identity
from semqa.engines.openai import OpenAIEngine
from semqa.engines.openai.client import default_url
from semqa.errors import InputError, PromptTooLongError

PROMPTS = {"entailment": "engine-entailment", "answer": "engine-answer", "ask": "engine-ask"}
"""The name of the default prompt for each task."""

_VERDICT_TOKENS = 64
_SPAN_TOKENS = 96
_QUESTION_TOKENS = 48
_JSON_TOKENS = 32
"""Tokens that the braces and field names of a JSON reply take."""

_VERDICT = verdict_schema("verdict", ("Entailment", "Neutral", "Contradiction"))
_RUNTIME_OPTIONS = ("base_url", "batch_size", "device", "dtype", "trust_remote_code")
_NOT_IN_IDENTITY = ("base_url", "batch_size", "device", "prompts", "constraint")
"""Options that cannot change a result, so they are not part of the identity."""

_CERTAIN = {
    "entailment": Entailment(1.0, 0.0, 0.0),
    "neutral": Entailment(0.0, 1.0, 0.0),
    "contradiction": Entailment(0.0, 0.0, 1.0),
}
_UNPARSED = Entailment(0.49, 0.51, 0.0)
"""Neutral, with a probability near enough to one half to count as unclear."""


class EngineJudge(Judge):
    """A judge that parses the replies of a language model.

    Its verdicts have no probability: entailment is 1 or 0. If the endpoint supports JSON schemas,
    verdicts are requested as JSON.

    Args:
        prompts: for each task, the name or file of a template that replaces the one in `PROMPTS`.
        sample: whether to sample with the engine's options; otherwise decoding is greedy.
        complete: replaces the engine, for example with a cache; has the signature of the method
            `complete`.
    """

    unparsed = 0

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

    @classmethod
    def create(
        cls,
        spec: str,
        options: Mapping[str, object] | None = None,
        prompts: Mapping[str, str] | None = None,
    ) -> Self:
        """Create a judge from an engine specification, such as ``openai:MODEL,temperature=0.7``.

        Options that say where a model runs are ignored if the engine does not accept them.
        """
        given_spec = spec
        spec, settings = _settings(spec)
        accepted = accepted_options(spec)
        if accepted is not None and "prompts" not in accepted:
            raise InputError(
                f"engine:{spec} does not use a language model.",
                hint="Choose one such as engine:transformers:MODEL or engine:openai:MODEL.",
            )
        given = {
            name: value
            for name, value in {**(options or {}), **settings}.items()
            if accepted is None or name in accepted or name not in _RUNTIME_OPTIONS
        }
        fixed = {"constraint": "off"} if accepted is not None else {}
        engine = create_engine(spec, {**given, **fixed})
        if not isinstance(engine, CompletingEngine):
            raise InputError(f"engine:{spec} does not complete prompts.")
        kept = sorted((k, v) for k, v in given.items() if k not in _NOT_IN_IDENTITY)
        # Only the endpoint knows which model it serves, so its address identifies the model.
        where = (given.get("base_url") or default_url()) if spec.startswith("openai:") else None
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
        return EngineJudge(*self._given, sample=self._sample, name=self.name, complete=complete)

    def close(self) -> None:
        close: Any = getattr(self._engine, "close", None)
        if close is not None:
            close()

    def complete(
        self, prompts: Sequence[str], *, max_new_tokens: int = 256, schema: Schema | None = None
    ) -> list[str]:
        try:
            return self._complete(prompts, max_new_tokens=max_new_tokens, schema=schema)
        except PromptTooLongError as error:
            raise TooLongError(str(error)) from error

    def _ask_engine(
        self, prompts: Sequence[str], *, max_new_tokens: int, schema: Schema | None = None
    ) -> list[str]:
        sampling = {"sample": True} if self._sample else {}
        if schema is not None and isinstance(self._engine, OpenAIEngine):
            limit = max_new_tokens + _JSON_TOKENS
            return self._engine.complete(prompts, max_new_tokens=limit, schema=schema, **sampling)
        return self._engine.complete(prompts, max_new_tokens=max_new_tokens, **sampling)

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        prompt = self._prompts["entailment"]
        prompts = [prompt.fill(premise=pair.premise, hypothesis=pair.hypothesis) for pair in pairs]
        found = []
        for reply in self.complete(prompts, max_new_tokens=_VERDICT_TOKENS, schema=self._schema):
            relation = read_relation(reply)
            self.unparsed += relation is None
            found.append(_UNPARSED if relation is None else _CERTAIN[relation])
        return found

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        prompt = self._prompts["answer"]
        prompts = [prompt.fill(question=one.question, passage=one.passage) for one in readings]
        found = []
        replies = self.complete(prompts, max_new_tokens=_SPAN_TOKENS)
        for reading, reply in zip(readings, replies, strict=True):
            span, parsed = read_span(reply, reading.passage)
            self.unparsed += not parsed
            found.append(span)
        return found

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        fill = self._prompts["ask"].fill
        prompts = [fill(answer=answer, passage=text, count=count) for answer, text in readings]
        found = []
        for reply in self.complete(prompts, max_new_tokens=_QUESTION_TOKENS * count):
            questions = read_questions(reply)[:count]
            self.unparsed += not questions
            found.append(questions)
        return found


def _settings(spec: str) -> tuple[str, dict[str, object]]:
    """Split a specification into the engine and the options after it.

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
