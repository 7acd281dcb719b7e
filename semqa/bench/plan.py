"""What a benchmark run does: which questions, which engine, which options.

A plan has an identity; a folder holds the run of one identity only, so that a resumed run cannot
mix two.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import semqa
from semqa.data.files import display_name
from semqa.engines.model.hub import model_identity, model_versions
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from semqa.data.quotesum import Question
    from semqa.engines import Engine
    from semqa.prompting import PromptBuilder
    from semqa.retrieval import PromptSettings
    from semqa.retrieval.settings import ExemplarShelf

__all__ = ["HUMAN", "Item", "Plan", "data_digest"]

HUMAN = "human"
"""The engine name of the human row: each reference, scored against the others of its question."""


@dataclass(frozen=True, slots=True)
class Item:
    """One answer to be made and scored.

    Attributes:
        key: names it in the run: the question's qid, for the human row the answer's unique_id.
        question: the question.
        left_out: for the human row, the place of the reference that is the prediction; the others
            are the references then.
    """

    key: str
    question: Question
    left_out: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A benchmark run, before it is run.

    Attributes:
        data: the QuoteSum file.
        engine: a name that `semqa.engines.create_engine` takes, or ``human``.
        options: the engine's options; None values count as not given.
        limit: only the first so many questions.
        prompts: how questions are put to a language model; None for engines that ask none.
        name: what people call the run; no part of its identity.
    """

    data: Path
    engine: str
    options: Mapping[str, object] = field(default_factory=dict)
    limit: int | None = None
    prompts: PromptSettings | None = None
    name: str | None = None

    @property
    def given(self) -> dict[str, object]:
        """The options that were given, by name."""
        return {name: value for name, value in sorted(self.options.items()) if value is not None}

    def check(self) -> None:
        """See what can be seen to be wrong before anything is loaded.

        Raises:
            InputError: the human row is given options.
        """
        if self.engine == HUMAN and self.given:
            raise InputError(
                f"the human row takes no options: got {', '.join(self.given)}, expected none; "
                "leave them out"
            )

    def about(self) -> dict[str, object]:
        """Return what a reader of the run likes to know and its identity leaves out."""
        found: dict[str, object] = {"data_path": str(self.data)}
        return found if self.name is None else {"name": self.name, **found}

    def create_prompts(
        self,
        questions: Sequence[Question],
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
        *,
        prepare: bool = True,
        shelf: ExemplarShelf | None = None,
    ) -> PromptBuilder | None:
        """Make what puts questions to a model, with the exemplars of all questions looked for.

        A question is no exemplar of itself, be it by its text or by its qid.

        Args:
            questions: those of the run.
            on_progress: called with how many questions are embedded, and of how many.
            prepare: look for the exemplars now; their identity is known without.
            shelf: has encoders and files that several runs share.

        Raises:
            InputError: the template or the file of exemplars is not usable.
            UnavailableError: the encoder of ``knn`` was not reached, or a package is missing.
        """
        if self.prompts is None:
            return None
        if self.prompts.train is not None:
            _check_regular(self.prompts.train)
        asked = [(question.question, question.qid) for question in questions]
        builder = self.prompts.create_builder(asked, on_progress, shelf)
        if prepare:
            builder.prepare([question.question for question in questions])
        return builder

    def create_engine(
        self, prompts: PromptBuilder | None = None, say: Callable[[str], None] | None = None
    ) -> Engine | None:
        """Create the engine; None for the human row.

        Args:
            prompts: what `create_prompts` made.
            say: told in words what takes long, such as compiling.

        Raises:
            InputError: there is no such engine, or it does not take an option.
            UnavailableError: a model was not reached, or a package is missing.
        """
        from semqa.engines import create_engine

        self.check()
        if self.engine == HUMAN:
            return None
        asking = {"prompts": prompts, "say": say} if prompts else {}
        return create_engine(self.engine, self.given | asking)

    def batch_size(self) -> int:
        """Return how many questions the engine is given together, without loading it."""
        from semqa.engines import batch_size_of

        return batch_size_of(self.engine, self.given)

    def questions(self) -> list[Question]:
        """Read the questions of the run.

        Raises:
            InputError: the file or a row of it is not usable, or it is no regular file.
        """
        from semqa.data.quotesum import read_quotesum

        _check_regular(self.data)
        return read_quotesum(self.data)[: self.limit]

    def items(self, questions: Sequence[Question]) -> list[Item]:
        """List what is to be answered, in order, every key once."""
        if self.engine != HUMAN:
            return [Item(question.qid, question) for question in questions]
        return [
            Item(reference.unique_id, question, place)
            for question in questions
            for place, reference in enumerate(question.references)
        ]

    def identity(self, prompts: PromptBuilder | None = None) -> dict[str, object]:
        """Return what must be equal for a run to be resumed, ready for JSON.

        Args:
            prompts: what `create_prompts` made.
        """
        identity: dict[str, object] = {
            "task": "quotesum",
            "engine": self.engine,
            "options": self.given,
            "limit": self.limit,
            "data": display_name(self.data.name),
            "data_sha256": data_digest(self.data),
        }
        if prompts is None:
            return identity | self.what_runs(asking=False)
        identity["prompts"] = prompts.identity()
        if self.prompts is not None and self.prompts.count and self.prompts.train is not None:
            identity["train"] = display_name(self.prompts.train.name)
            identity["train_sha256"] = data_digest(self.prompts.train)
        return identity | self.what_runs(asking=True)

    def what_runs(self, *, asking: bool) -> dict[str, object]:
        """Return the part of the identity that tells the code and the model of this machine.

        Args:
            asking: whether the engine asks a model.
        """
        found: dict[str, object] = {
            "semqa": semqa.__version__,
            "engines_sha256": _code_digest("engines"),
        }
        if asking:
            rooms = ("decoding", "kernels", "prompting", "retrieval")
            found["asking_sha256"] = _code_digest(*rooms)
            found["model"] = model_identity(self.engine, self.options.get("revision"))
            found["model_versions"] = model_versions()
        return found


def data_digest(path: Path) -> str:
    """Return what tells a data file from another, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _check_regular(path: Path) -> None:
    if str(path) == "-" or (path.exists() and not path.is_file()):
        raise InputError(
            f"{path}: not a regular file: got a pipe or a folder, expected a file that a resumed "
            "run can read again; save the data first"
        )


@cache
def _code_digest(*rooms: str) -> str:
    """Digest the code and weights of rooms: a run must not go on with other ones."""
    digest = hashlib.sha256()
    for room in rooms:
        for path in _files_below(files(f"semqa.{room}")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _files_below(folder: Traversable) -> Iterator[Traversable]:
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.is_dir():
            yield from _files_below(path)
        elif path.name.endswith((".py", ".json")):
            yield path
