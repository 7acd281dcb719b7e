"""A judge made of models of Hugging Face transformers, one for each question that it answers.

Loads torch and transformers when it judges for the first time, not when it is created: a run whose
judgements are all kept already loads no model.
"""

from __future__ import annotations

from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

from semqa.attribution.judges.models import DEFAULTS, ModelSettings, load, model_digest, read_parts
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.judges.base import Ability, Entailment, Pair, Reading, Schema, Span

__all__ = ["DEFAULTS", "TransformersJudge", "read_parts"]

_ABILITY: dict[str, Ability] = {
    "nli": "entailment",
    "qa": "answer",
    "qg": "ask",
    "lm": "complete",
}
_VERSION = 1
"""Increased when the same models give other results."""


class TransformersJudge:
    """Judges with an entailment model, a reader, a questioner and a language model, or some of them.

    Models are those of the papers unless named: see `DEFAULTS`. Safe to call from several threads,
    which take turns.

    Args:
        models: names of models by part: ``nli``, ``qa``, ``qg``, ``lm``; folders or names on the
            Hub.
        settings: how they are loaded and asked.
        name: the specification that creates this judge again.

    Attributes:
        name: the specification.
        abilities: what there are models for.
        identity: the models, by the digests of their files or their commits, and the settings.

    Raises:
        InputError: there is no such model.
        UnavailableError: a model that is not here was not reached.
        MissingExtraError: a package is missing.
    """

    def __init__(
        self,
        models: Mapping[str, str],
        settings: ModelSettings | None = None,
        *,
        name: str | None = None,
    ) -> None:
        self.settings = settings or ModelSettings()
        self._models = dict(models)
        self._lock = Lock()
        self._made: dict[str, Any] = {}
        written = ",".join(f"{part}={model}" for part, model in self._models.items())
        self.name = name or f"transformers:{written}"
        for package in ("transformers", "torch"):
            if find_spec(package) is None:  # they are not imported before they are needed
                require(package, extra="local", purpose=f"the judge {self.name}")
        digests = []
        for part, model in self._models.items():
            if model_digest(model) is None:
                self._part(part)  # fetches it
            digests.append(f"{part}={model_digest(model)}")
        self.identity = f"transformers/{_VERSION}:{','.join(digests)};{self.settings.identity()}"
        self.abilities: frozenset[Ability] = frozenset(_ABILITY[part] for part in self._models)

    def close(self) -> None:
        """Let go of the models."""
        with self._lock:
            for made in self._made.values():
                close: Any = getattr(made, "close", None)
                if close is not None:
                    close()
            self._made.clear()

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """Return the relation of each hypothesis to its premise."""
        with self._lock:
            found: list[Entailment] = self._part("nli").run(pairs)
        return found

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        """Return the span that answers each question, or None."""
        with self._lock:
            found: list[Span | None] = self._part("qa").run(readings)
        return found

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        """Return questions whose answer is given."""
        with self._lock:
            found: list[list[str]] = self._part("qg").run(readings, count)
        return found

    def complete(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int = 256,
        schema: Schema | None = None,  # noqa: ARG002
    ) -> list[str]:
        """Return what the language model writes after each prompt."""
        with self._lock:
            found: list[str] = self._part("lm").complete(prompts, max_new_tokens=max_new_tokens)
        return found

    def _part(self, part: str) -> Any:
        """Return what a model does, loading it the first time."""
        if part not in self._made:
            self._made[part] = self._make(part)
        return self._made[part]

    def _make(self, part: str) -> Any:
        name = self._models[part]
        if part == "lm":
            from semqa.attribution.judges.engine import EngineJudge

            settings = self.settings
            options = {
                "device": settings.device,
                "dtype": settings.dtype,
                "batch_size": settings.batch_size,
                "trust_remote_code": settings.trust_remote_code,
            }
            return EngineJudge.create(f"transformers:{name}", options)
        if part == "nli":
            from semqa.attribution.judges.models import Entailer

            return Entailer(load(name, "nli", self.settings), self.settings)
        if part == "qa":
            from semqa.attribution.judges.models import Reader

            return Reader(load(name, "qa", self.settings), self.settings)
        from semqa.attribution.judges.models import Asker

        return Asker(load(name, "qg", self.settings), self.settings)
