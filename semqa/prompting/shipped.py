"""The exemplars that come with semqa: solved questions over invented sources."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING

from semqa.errors import InputError
from semqa.prompting.exemplar import Exemplar
from semqa.prompting.template import shipped_folder
from semqa.quotes import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ShippedExemplars"]


class ShippedExemplars:
    """Chooses the first of the exemplars that come with semqa.

    They are varied: sources that disagree, a source that does not matter, an abbreviation, a
    question for reasons, and one that the sources do not answer.

    Example:
        >>> [exemplar.qid for exemplar in ShippedExemplars().select("Who sang it?", 2)]
        ['semqa_1', 'semqa_2']
    """

    def select(self, question: str, count: int) -> Sequence[Exemplar]:  # noqa: ARG002 (an ExemplarSelector)
        """Choose `count` exemplars, the most useful first.

        Raises:
            InputError: there are not so many.
        """
        if count > len(self):
            raise InputError(
                f"must be at most {len(self)}, the exemplars that semqa brings, got {count}.",
                field="shots",
                value=count,
            )
        return _exemplars()[:count]

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Do nothing: the choice does not depend on the question."""

    def identity(self) -> dict[str, object]:
        """Return what the choice depends on, ready for JSON."""
        return {"strategy": "shipped", "sha256": hashlib.sha256(_read()).hexdigest()}

    def __len__(self) -> int:
        return len(_exemplars())


@cache
def _read() -> bytes:
    return shipped_folder().joinpath("exemplars.jsonl").read_bytes()


@cache
def _exemplars() -> tuple[Exemplar, ...]:
    return tuple(map(_exemplar, map(json.loads, _read().splitlines())))


def _exemplar(row: dict[str, str]) -> Exemplar:
    numbers = range(1, 1 + sum(name.startswith("source") for name in row))
    return Exemplar(
        question=row["question"],
        sources=tuple(Source(row[f"source{k}"], row[f"title{k}"]) for k in numbers),
        answer=row["summary"],
        qid=row["qid"],
        unique_id=row["unique_id"],
    )
