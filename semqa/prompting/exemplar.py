"""An exemplar: a question with sources and a good answer, shown to a model before its own task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.quotes import Source

__all__ = ["Exemplar", "ExemplarSelector"]


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A solved question.

    Attributes:
        question: the question, in words.
        sources: its passages; source *k* is ``sources[k - 1]``.
        answer: the answer with its marks.
        qid: names the question.
        unique_id: names the answer.
    """

    question: str
    sources: tuple[Source, ...]
    answer: str
    qid: str = ""
    unique_id: str = ""


class ExemplarSelector(Protocol):
    """Chooses exemplars for a question; never the question itself."""

    def select(self, question: str, count: int) -> Sequence[Exemplar]:
        """Choose `count` exemplars, the most useful first.

        Raises:
            InputError: there are not so many.
        """
        ...

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Do for many questions at once what `select` needs; calling it is never necessary.

        Raises:
            InputError: there are not `count` exemplars for one of the questions.
        """
        ...

    def identity(self) -> Mapping[str, object]:
        """Return what the choice depends on, ready for JSON, for the record of a run."""
        ...
