"""What answers and scores for a run when it does not do so itself; `semqa.distributed` has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semqa.bench.plan import Item, Plan
    from semqa.bench.record import Record
    from semqa.metrics import ExampleScores
    from semqa.prompting import PromptBuilder

__all__ = ["Workers"]


class Workers(Protocol):
    """Other processes that do the work of a run; its files stay the run's own business."""

    def answer(
        self,
        plan: Plan,
        prompts: PromptBuilder | None,
        groups: Sequence[Sequence[Item]],
        *,
        predict_only: bool,
    ) -> Iterator[Record]:
        """Answer items as `semqa.bench.answering.answer_items` does, group by group.

        Records come as they are finished, in any order, and one may come twice. What cannot be
        answered comes as a failed record, so that every item has one in the end.

        Args:
            plan: what is run.
            prompts: how questions are put to a model; None for engines that ask none.
            groups: the items, those together that an engine is given together.
            predict_only: leave the scores out.

        Raises:
            InputError: the engine cannot be made.
            UnavailableError: what fails from outside; what came before is good.
        """
        ...

    def score(self, items: Sequence[Item], predictions: Sequence[str]) -> list[ExampleScores]:
        """Return what `semqa.bench.results.score_item` returns for each item, in their order.

        Raises:
            UnavailableError: what fails from outside.
        """
        ...

    def describe(self) -> dict[str, object]:
        """Return what worked for a run, for its record, ready for JSON."""
        ...
