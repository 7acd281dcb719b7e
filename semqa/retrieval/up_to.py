"""As many exemplars as there are, up to a number: for when nobody asked for that number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from semqa.prompting.exemplar import ExemplarSelector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.prompting.exemplar import Exemplar

__all__ = ["CountedSelector", "UpTo"]


class CountedSelector(ExemplarSelector, Protocol):
    """A selector that knows how many it can choose."""

    def available(self, question: str) -> int:
        """Return how many exemplars there are for a question, itself not counted."""
        ...


class UpTo:
    """Chooses what another selector chooses, and fewer where there are fewer, but at least one.

    Args:
        selector: the other selector.
    """

    def __init__(self, selector: CountedSelector) -> None:
        self._selector = selector

    def select(self, question: str, count: int) -> Sequence[Exemplar]:
        """Choose up to `count` exemplars, the most useful first.

        Raises:
            InputError: there is none.
        """
        return self._selector.select(question, self._count(question, count))

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Do for many questions at once what `select` needs.

        Raises:
            InputError: there is none for one of the questions.
        """
        counts = {question: self._count(question, count) for question in questions}
        self._selector.prepare(questions, min(counts.values(), default=1))

    def identity(self) -> Mapping[str, object]:
        """Return what the choice depends on, ready for JSON."""
        return {**self._selector.identity(), "up_to": True}

    def _count(self, question: str, count: int) -> int:
        return min(count, max(1, self._selector.available(question)))
