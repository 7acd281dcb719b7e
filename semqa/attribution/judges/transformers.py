"""A judge made of models of Hugging Face transformers, one for each question that it answers.

Loads torch and transformers when it judges for the first time, not when it is created: a run whose
judgements are all kept already loads no model.
"""

from __future__ import annotations

from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

from semqa.attribution.judges.models import (
    Asker,
    Entailer,
    ModelSettings,
    Reader,
    load,
    model_digest,
)
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.judges.base import Ability, Entailment, Pair, Reading, Span
    from semqa.attribution.judges.models import Part

_ABILITY: dict[Part, Ability] = {"nli": "entailment", "qa": "answer", "qg": "ask"}
_KINDS: dict[Part, Any] = {"nli": Entailer, "qa": Reader, "qg": Asker}
_VERSION = 1
"""Increased when the same models give other results."""


class TransformersJudge:
    """Judges with an entailment model, a reader and a questioner, or some of them.

    Safe to call from several threads, which take turns.

    Args:
        models: folders or names on the Hub, by part: ``nli``, ``qa``, ``qg``.
        settings: how they are loaded and asked.
        name: the specification that creates this judge again.

    Attributes:
        abilities: what there are models for.
        identity: the models, by the digests of their files or their commits, and the settings.
    """

    def __init__(
        self,
        models: Mapping[Part, str],
        settings: ModelSettings,
        name: str,
    ) -> None:
        self.name = name
        self._settings = settings
        self._models = dict(models)
        self._lock = Lock()
        self._made: dict[Part, Any] = {}
        for package in ("transformers", "torch"):
            if find_spec(package) is None:  # they are not imported before they are needed
                require(package, extra="local", purpose=f"the judge {self.name}")
        digests = []
        for part, model in self._models.items():
            if model_digest(model) is None:
                self._part(part)  # fetches it
            digests.append(f"{part}={model_digest(model)}")
        self.identity = f"transformers/{_VERSION}:{','.join(digests)};{settings.identity()}"
        self.abilities: frozenset[Ability] = frozenset(_ABILITY[part] for part in self._models)

    def close(self) -> None:
        """Let go of the models."""
        with self._lock:
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

    def _part(self, part: Part) -> Any:
        """Return what a model does, loading it the first time."""
        if part not in self._made:
            loaded = load(self._models[part], part, self._settings)
            self._made[part] = _KINDS[part](loaded, self._settings)
        return self._made[part]
