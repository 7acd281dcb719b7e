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
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from semqa.data.quotesum import Question
    from semqa.engines import Engine

__all__ = ["HUMAN", "Item", "Plan"]

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
    """

    data: Path
    engine: str
    options: Mapping[str, object] = field(default_factory=dict)
    limit: int | None = None

    def create_engine(self) -> Engine | None:
        """Create the engine; None for the human row.

        Raises:
            InputError: there is no such engine, or it does not take an option.
        """
        from semqa.engines import create_engine

        given = {name: value for name, value in self.options.items() if value is not None}
        if self.engine != HUMAN:
            return create_engine(self.engine, given)
        if given:
            raise InputError(
                f"the human row takes no options: got {', '.join(given)}, expected none; leave "
                "them out"
            )
        return None

    def questions(self) -> list[Question]:
        """Read the questions of the run.

        Raises:
            InputError: the file or a row of it is not usable, or it is no regular file.
        """
        from semqa.data.quotesum import read_quotesum

        if str(self.data) == "-" or (self.data.exists() and not self.data.is_file()):
            raise InputError(
                f"{self.data}: not a regular file: got a pipe or a folder, expected a file that a "
                "resumed run can read again; save the data first"
            )
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

    def identity(self) -> dict[str, object]:
        """Return what must be equal for a run to be resumed, ready for JSON."""
        return {
            "task": "quotesum",
            "engine": self.engine,
            "options": {k: v for k, v in sorted(self.options.items()) if v is not None},
            "limit": self.limit,
            "data": display_name(self.data.name),
            "data_sha256": hashlib.sha256(self.data.read_bytes()).hexdigest(),
            "semqa": semqa.__version__,
            "engines_sha256": _engines_digest(),
        }


@cache
def _engines_digest() -> str:
    """Digest the engines' code and weights: a run must not go on with other ones."""
    digest = hashlib.sha256()
    for path in _files_below(files("semqa.engines")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _files_below(folder: Traversable) -> Iterator[Traversable]:
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.is_dir():
            yield from _files_below(path)
        elif path.name.endswith((".py", ".json")):
            yield path
