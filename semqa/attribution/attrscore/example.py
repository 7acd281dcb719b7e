"""One claim, what it is to rest on, and how the two stand to each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.attribution.attrscore.label import Label

__all__ = ["Example"]


@dataclass(frozen=True, slots=True)
class Example:
    """A row of AttrEval-GenSearch, of AttrEval-Simulation, or of a training set.

    Attributes:
        id: of the row; where the data has none, its number from 1.
        query: the question; may be empty.
        answer: the answer to it, or the whole claim.
        reference: the text that is to support it.
        label: the gold label, or None where there is none.
        how: how a simulated or mapped row was made.
        where: ``file:line``, for messages.
    """

    id: str
    query: str
    answer: str
    reference: str
    label: Label | None = None
    how: Mapping[str, object] = field(default_factory=dict)
    where: str = ""

    def claim(self, with_query: bool = True) -> str:
        """Return the claim as the paper makes it: the query and the answer, joined by a space.

        Args:
            with_query: False leaves the query out.

        Example:
            >>> Example("1", "Who sang it?", "Bing Crosby", "…").claim()
            'Who sang it? Bing Crosby'
        """
        parts = (self.query, self.answer) if with_query else (self.answer,)
        return " ".join(text for part in parts if (text := " ".join(part.split())))

    def to_dict(self) -> dict[str, object]:
        """Return the row as data files have it; without a label or a making where there is none."""
        row: dict[str, object] = {
            "id": self.id,
            "query": self.query,
            "answer": self.answer,
            "reference": self.reference,
        }
        if self.label is not None:
            row["label"] = self.label
        if self.how:
            row["how"] = dict(self.how)
        return row
