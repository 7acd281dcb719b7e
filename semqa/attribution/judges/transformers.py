"""A judge that runs Hugging Face transformers models, one for each task.

torch and transformers are imported when the judge is first used, not when it is created. A run with
all judgements in the cache loads no model.
"""

from __future__ import annotations

from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

from semqa.attribution.judges.models import (
    Entailer,
    ModelSettings,
    QuestionGenerator,
    Reader,
    load,
    model_digest,
)
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.judges.base import Ability, Entailment, Pair, Reading, Span
    from semqa.attribution.judges.models import Part

_ABILITIES: dict[Part, Ability] = {"nli": "entailment", "qa": "answer", "qg": "ask"}
_KINDS: dict[Part, Any] = {"nli": Entailer, "qa": Reader, "qg": QuestionGenerator}
_VERSION = 1
"""Increase this when the same models give different results."""


class TransformersJudge:
    """A judge with any of three models: entailment, question answering and question generation.

    `models` has a folder or a name on the Hub for each part. Calls are serialized, for threads.
    """

    def __init__(self, models: Mapping[Part, str], settings: ModelSettings, name: str) -> None:
        self.name = name
        self._settings = settings
        self._models = dict(models)
        self._lock = Lock()
        self._loaded: dict[Part, Any] = {}
        for package in ("transformers", "torch"):
            if find_spec(package) is None:  # imported only when a model is loaded
                require(package, extra="local", purpose=f"the judge {self.name}")
        digests = []
        for part, model in self._models.items():
            if model_digest(model) is None:
                self._part(part)  # download the model
            digests.append(f"{part}={model_digest(model)}")
        self.identity = f"transformers/{_VERSION}:{','.join(digests)};{settings.identity()}"
        self.abilities: frozenset[Ability] = frozenset(_ABILITIES[part] for part in self._models)

    def close(self) -> None:
        """Release the models."""
        with self._lock:
            self._loaded.clear()

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """Return the relation of each hypothesis to its premise."""
        return self._run("nli", pairs)

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        """Return the span that answers each question, or None."""
        return self._run("qa", readings)

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        """Return at most `count` questions for each (answer, passage) pair, best first."""
        return self._run("qg", readings, count)

    def _run(self, part: Part, *inputs: Any) -> list[Any]:
        with self._lock:
            found: list[Any] = self._part(part).run(*inputs)
        return found

    def _part(self, part: Part) -> Any:
        """Return the model of a part; load it on first use."""
        if part not in self._loaded:
            model = load(self._models[part], part, self._settings)
            self._loaded[part] = _KINDS[part](model, self._settings)
        return self._loaded[part]
