"""The plan of a benchmark run: its questions, engine and options.

A plan has an identity: data, prompt, options and versions. A folder holds the run of one identity
only, so resuming never mixes two runs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import semqa
from semqa.data.files import display_name
from semqa.data.quotesum import Question, read_quotesum
from semqa.engines import ConstrainedEngine, Engine, batch_size_of, create_engine
from semqa.engines.model.hub import model_identity, model_versions
from semqa.errors import InputError
from semqa.prompting import PromptBuilder
from semqa.retrieval.settings import ExemplarCache, PromptSettings

HUMAN = "human"
"""Engine name of the leave-one-out run: each reference scored against the question's others."""


@dataclass(frozen=True, slots=True)
class Item:
    """One example to answer and score.

    Attributes:
        left_out: in the human row, the index of the reference used as the prediction; the others
            are its references.
    """

    key: str
    question: Question
    left_out: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a benchmark run.

    Attributes:
        engine: a name for `semqa.engines.create_engine`, or ``human``.
        prompts: prompt settings; None for engines without a language model.
        name: display name; not part of the identity.
    """

    data: Path
    engine: str
    options: Mapping[str, object] = field(default_factory=dict)
    limit: int | None = None
    prompts: PromptSettings | None = None
    name: str | None = None

    @property
    def given(self) -> dict[str, object]:
        """The options that are not None, sorted by name."""
        return {name: value for name, value in sorted(self.options.items()) if value is not None}

    @property
    def folder(self) -> str:
        """Name of the run's folder in a grid.

        It depends only on this run's settings, so an extended grid finds its finished runs.

        Example:
            >>> from pathlib import Path
            >>> Plan(Path("dev.jsonl"), "lead-1").folder
            'lead-1-941681b2'
        """
        settings: dict[str, object] = {
            "data": self.data.name,
            "engine": self.engine,
            "options": {name: self.options[name] for name in sorted(self.options)},
            "limit": self.limit,
        }
        if self.prompts is not None:
            prompts = self.prompts
            train = prompts.train if prompts.count else None
            settings["prompts"] = {
                "template": prompts.template,
                "shots": prompts.shots,
                "exemplars": prompts.strategy if prompts.count else None,
                "train": None if train is None else train.name,
                "encoder": prompts.encoder,
                "form": prompts.form,
                "seed": prompts.seed,
            }
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
        name = self.name or self.engine.rstrip("/").rpartition("/")[2]
        readable = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:40]
        return f"{readable or 'run'}-{digest.hexdigest()[:8]}"

    def check(self) -> None:
        """Validate the plan as far as possible without loading anything."""
        if self.engine == HUMAN and self.given:
            first = next(iter(self.given))
            raise InputError("is not an option of the human row.", field=first)

    def about(self) -> dict[str, object]:
        """Return metadata about the run that is not part of its identity."""
        found: dict[str, object] = {"data_path": str(self.data)}
        return found if self.name is None else {"name": self.name, **found}

    def create_prompts(
        self,
        questions: Sequence[Question],
        on_embedded: Callable[[int, int], None],
        cache: ExemplarCache | None = None,
    ) -> PromptBuilder | None:
        """Create the prompt builder. A question is never its own exemplar, by text or by qid.

        Args:
            on_embedded: called while questions are embedded, unless there is a cache.
            cache: cache of encoders and files shared by several runs.
        """
        if self.prompts is None:
            return None
        if self.prompts.train is not None:
            _check_regular(self.prompts.train, "train")
        asked = [(question.question, question.qid) for question in questions]
        return self.prompts.create_builder(asked, on_embedded, cache)

    def create_engine(
        self, prompts: PromptBuilder | None = None, say: Callable[[str], None] | None = None
    ) -> Engine | None:
        """Create the engine; return None for the human row."""
        self.check()
        if self.engine == HUMAN:
            return None
        engine = create_engine(self.engine, {**self.given, "prompts": prompts})
        if isinstance(engine, ConstrainedEngine):
            engine.warm_up(say)
        return engine

    def batch_size(self) -> int:
        """Return the engine's batch size without loading it."""
        return batch_size_of(self.engine, self.given)

    def questions(self) -> list[Question]:
        """Read the questions of the run."""
        _check_regular(self.data, "data")
        return read_quotesum(self.data)[: self.limit]

    def items(self, questions: Sequence[Question]) -> list[Item]:
        """Return the examples to answer, in order, with unique keys."""
        if self.engine != HUMAN:
            return [Item(question.qid, question) for question in questions]
        return [
            Item(reference.unique_id, question, place)
            for question in questions
            for place, reference in enumerate(question.references)
        ]

    def identity(self, prompts: PromptBuilder | None = None) -> dict[str, object]:
        """Return what must match to resume a run, as a JSON-ready object."""
        identity: dict[str, object] = {
            "task": "quotesum",
            "engine": self.engine,
            "options": self.given,
            "limit": self.limit,
            "data": display_name(self.data.name),
            "data_sha256": data_digest(self.data),
        }
        if prompts is not None:
            identity["prompts"] = prompts.identity()
            if self.prompts is not None and self.prompts.count and self.prompts.train is not None:
                identity["train"] = display_name(self.prompts.train.name)
                identity["train_sha256"] = data_digest(self.prompts.train)
        return identity | self.versions(asking=prompts is not None)

    def versions(self, *, asking: bool) -> dict[str, object]:
        """Return the machine-dependent part of the identity: versions and weights."""
        found: dict[str, object] = {"semqa": semqa.__version__}
        if asking:
            found["model"] = model_identity(self.engine, self.options.get("revision"))
            found["model_versions"] = model_versions()
        return found


def items_of(identity: Mapping[str, object], data: Path, out: Path) -> list[Item]:
    """Return the items of an existing run, read from its data.

    Raises:
        InputError: the data has another digest than that of the run.
    """
    limit = identity.get("limit")
    first = limit if isinstance(limit, int) and limit > 0 else None
    plan = Plan(data, str(identity.get("engine")), limit=first)
    questions = plan.questions()
    if data_digest(data) != identity.get("data_sha256"):
        raise InputError(
            f"{data} is not the data of {out}: {identity.get('data')!r} has another digest."
        )
    return plan.items(questions)


def data_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _check_regular(path: Path, key: str) -> None:
    if str(path) == "-" or (path.exists() and not path.is_file()):
        raise InputError(
            f"must be a regular file, so that the run can be resumed, got {path}.",
            field=key,
            value=str(path),
            hint="Save the data to a file first.",
        )


def settings_of(plan: Plan) -> dict[str, object]:
    """Return the settings that distinguish a plan's run."""
    found: dict[str, object] = {"engine": plan.engine}
    if plan.prompts is not None:
        prompts = plan.prompts
        found |= {"prompt": prompts.template, "shots": prompts.count}
        if prompts.count:
            found["exemplars"] = prompts.strategy
    return found | plan.given | {"data": plan.data.name, "limit": plan.limit}


def settings_of_identity(identity: Mapping[str, object]) -> dict[str, object]:
    """Return the same settings as `settings_of`, from the contents of ``run.json``."""
    found: dict[str, object] = {"engine": str(identity.get("engine"))}
    prompts = identity.get("prompts")
    if isinstance(prompts, dict):
        found |= {"prompt": prompts.get("template"), "shots": prompts.get("shots")}
        if isinstance(prompts.get("exemplars"), dict):
            found["exemplars"] = prompts["exemplars"].get("strategy")
    options = identity.get("options")
    found |= options if isinstance(options, dict) else {}
    return found | {"data": identity.get("data"), "limit": identity.get("limit")}


def labels_of(runs: Sequence[Mapping[str, object]]) -> list[str]:
    """Return a unique label for each run: its engine and the settings that distinguish it.

    Example:
        >>> labels_of([{"engine": "lead-1"}, {"engine": "t:m", "shots": 0}, {"engine": "t:m", "shots": 5}])
        ['lead-1', 't:m, 0 shots', 't:m, 5 shots']
    """
    by_engine: dict[object, list[Mapping[str, object]]] = {}
    for run in runs:
        by_engine.setdefault(run["engine"], []).append(run)
    # The prompt often depends on the shots, and the quoting rules on the constraint.
    first = ("shots", "prompt", "exemplars", "constraint")
    others = ("engine", "data", "limit")
    own = {
        engine: _distinguishing(
            peers, [*first, *(key for peer in peers for key in peer if key not in others)]
        )
        for engine, peers in by_engine.items()
    }
    shared = _distinguishing(runs, ("data", "limit"))
    labels = []
    for run in runs:
        keys = [key for key in own[run["engine"]] if key in run] + shared
        labels.append(
            ", ".join([str(run["engine"]), *(_setting_text(k, run.get(k)) for k in keys)])
        )
    alike = Counter(labels)
    seen: Counter[str] = Counter()
    for at, label in enumerate(labels):
        if alike[label] > 1:
            seen[label] += 1
            labels[at] = f"{label} ({seen[label]})"
    return labels


def _distinguishing(runs: Sequence[Mapping[str, object]], keys: Sequence[str]) -> list[str]:
    """Return the keys, in order, that tell apart runs which the earlier keys do not."""
    chosen: list[str] = []
    apart = 1
    for key in dict.fromkeys(keys):
        found = len({tuple(_text(run.get(each)) for each in (*chosen, key)) for run in runs})
        if found > apart:
            chosen.append(key)
            apart = found
    return chosen


def _setting_text(key: str, value: object) -> str:
    match key:
        case "shots":
            return f"{value} shot" if value == 1 else f"{value} shots"
        case "prompt" | "exemplars" | "data":
            return _text(value)
        case "constraint":
            names = {"on": "constrained", "off": "unconstrained"}
            return names.get(_text(value), f"constraint {_text(value)}")
        case "limit":
            if value is None:
                return "all questions"
            return f"{value} question" if value == 1 else f"{value} questions"
        case _:
            return f"{key.replace('_', ' ')} {_text(value)}"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)
