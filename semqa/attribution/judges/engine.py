"""A language model as a judge, through any engine of semqa that asks one.

The model writes freely, greedily, in the form that the engine gives prompts in. What it replies is
read by `semqa.attribution.judges.replies`; a reply that cannot be read counts as neutral, or as no
answer, and is counted in `EngineJudge.unparsed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from semqa.attribution.judges.base import Entailment
from semqa.attribution.judges.length import TooLongError
from semqa.attribution.judges.replies import read_questions, read_relation, read_span
from semqa.attribution.prompts import JudgePrompt
from semqa.engines.base import CompletingEngine, PromptTooLongError
from semqa.engines.model.identity import model_identity
from semqa.engines.openai.endpoint import default_url
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from semqa.attribution.judges.base import Pair, Reading, Span

__all__ = ["PROMPTS", "EngineJudge"]

PROMPTS = {"entailment": "engine-entailment", "answer": "engine-answer", "ask": "engine-ask"}
"""The prompts of the three questions, by name."""

_VERDICT_TOKENS = 64
_SPAN_TOKENS = 96
_QUESTION_TOKENS = 48
_WHERE_MODELS_RUN = ("base_url", "batch_size", "device", "dtype", "trust_remote_code")
_HARMLESS = ("base_url", "batch_size", "device", "say", "prompts", "warm", "constraint")
"""Options that change no result."""

_SURE = {
    "entailment": Entailment(1.0, 0.0, 0.0),
    "neutral": Entailment(0.0, 1.0, 0.0),
    "contradiction": Entailment(0.0, 0.0, 1.0),
}
_UNREAD = Entailment(0.49, 0.51, 0.0)
"""Neutral, and near enough to one half to be called unclear where that is told apart."""


class EngineJudge:
    """Judges by what a language model says.

    It says a word and no probability: entailment is 1 or 0.

    Args:
        engine: asks the model.
        identity: what tells the model from others.
        prompts: templates by question (the keys of `PROMPTS`), by name or file; what is not given is
            that of `PROMPTS`.

    Attributes:
        name: the specification that creates this judge again.
        identity: the engine, its model's digest, its options and the prompts' digests.
        unparsed: how many replies could not be read so far.

    Raises:
        InputError: a prompt is not usable.
    """

    def __init__(
        self,
        engine: CompletingEngine,
        identity: str,
        prompts: Mapping[str, str] | None = None,
    ) -> None:
        self._engine = engine
        chosen = PROMPTS | dict(prompts or {})
        self._prompts = {kind: JudgePrompt.load(name) for kind, name in chosen.items()}
        self.name = f"engine:{engine.name}"
        digests = ",".join(self._prompts[kind].sha256[:16] for kind in sorted(self._prompts))
        self._engine_identity = identity
        self.identity = f"{identity};prompts={digests}"
        self.unparsed = 0
        self._complete: Callable[..., list[str]] = engine.complete

    @classmethod
    def create(
        cls,
        spec: str,
        options: Mapping[str, object] | None = None,
        prompts: Mapping[str, str] | None = None,
    ) -> Self:
        """Create the judge of an engine's specification, such as ``transformers:MODEL``.

        Args:
            spec: the specification.
            options: of the engine; where models run is left out where the engine has no such option.
            prompts: templates by question, as for the class.

        Raises:
            InputError: there is no such engine, or it asks no language model.
            UnavailableError: a model was not reached, or a package is missing.
        """
        from semqa.engines import accepted_options, create_engine

        accepted = accepted_options(spec)
        if accepted is not None and "prompts" not in accepted:
            raise InputError(
                f"judge: got engine:{spec}, expected an engine that asks a language model; choose "
                "such as engine:transformers:MODEL or engine:openai:MODEL"
            )
        given = {
            name: value
            for name, value in (options or {}).items()
            if accepted is None or name in accepted or name not in _WHERE_MODELS_RUN
        }
        more = {"constraint": "off", "warm": False} if accepted is not None else {}
        engine = create_engine(spec, {**given, **more})
        if not isinstance(engine, CompletingEngine):
            raise InputError(
                f"judge: got engine:{spec}, expected an engine that writes on from a prompt; choose "
                "another"
            )
        kept = sorted((k, v) for k, v in given.items() if k not in _HARMLESS)
        # What stands behind an endpoint it alone knows: its address has to do.
        where = None
        if spec.startswith("openai:"):
            where = given.get("base_url") or default_url()
        digest = model_identity(spec, given.get("revision"))
        return cls(engine, f"engine:{spec}@{digest or where};{kept}", prompts)

    def through(self, complete: Callable[..., list[str]]) -> EngineJudge:
        """Return this judge with its replies coming from elsewhere, such as from a cache of them.

        Args:
            complete: as `complete`.
        """
        other = EngineJudge.__new__(EngineJudge)
        other.__dict__.update(self.__dict__)
        other.unparsed = 0
        other._complete = complete
        return other

    def close(self) -> None:
        """Close the engine."""
        close: Any = getattr(self._engine, "close", None)
        if close is not None:
            close()

    def complete(self, prompts: Sequence[str], *, max_new_tokens: int = 256) -> list[str]:
        """Return what the model writes after each prompt.

        Raises:
            TooLongError: one does not fit into the model's context.
        """
        try:
            return self._complete(prompts, max_new_tokens=max_new_tokens)
        except PromptTooLongError as error:
            raise TooLongError(str(error)) from error

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """Return how each hypothesis stands to its premise, as the model says."""
        prompt = self._prompts["entailment"]
        asked = [prompt.fill(premise=pair.premise, hypothesis=pair.hypothesis) for pair in pairs]
        found = []
        for reply in self.complete(asked, max_new_tokens=_VERDICT_TOKENS):
            verdict = read_relation(reply)
            self.unparsed += verdict is None
            found.append(_UNREAD if verdict is None else _SURE[verdict])
        return found

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        """Return the span that the model copies, or None where it copies none."""
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
