"""The same exemplars for every question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.data.jsonl import shown
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.prompting.exemplar import Exemplar
    from semqa.retrieval.pool import ExemplarPool

__all__ = ["FixedExemplars"]


class FixedExemplars:
    """Chooses the first exemplars of a pool, or those that are named.

    The first is taken for the most useful: in a prompt it stands next to the question and is the
    last to be dropped. The next one takes the place of one that is the question itself.

    Args:
        pool: what may be chosen.
        qids: the ones to choose, the most useful first; None for all, in the pool's order.

    Raises:
        InputError: a qid is not in the pool.
    """

    def __init__(self, pool: ExemplarPool, qids: Sequence[str] | None = None) -> None:
        self._pool = pool
        by_qid = {exemplar.qid: place for place, exemplar in enumerate(pool.exemplars)}
        for qid in qids or ():
            if qid not in by_qid:
                raise InputError(
                    f"names the qid {shown(qid)}, which is none of the {len(by_qid)} questions.",
                    field="exemplars",
                    value=qid,
                )
        self._places = range(len(pool)) if qids is None else [by_qid[qid] for qid in qids]
        self._qids = None if qids is None else list(qids)

    def select(self, question: str, count: int) -> list[Exemplar]:
        """Choose `count` exemplars, the most useful first.

        Raises:
            InputError: there are not so many.
        """
        allowed = set(self._pool.candidates(question, count))
        chosen = [place for place in dict.fromkeys(self._places) if place in allowed][:count]
        if len(chosen) < count:
            raise InputError(
                f"must name at least {count} exemplars besides the question itself, got {len(chosen)}.",
                field="exemplars",
            )
        return [self._pool.exemplars[place] for place in chosen]

    def available(self, question: str) -> int:
        """Return how many of them there are for a question, itself not counted."""
        return len(set(self._pool.candidates(question, 0)).intersection(self._places))

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """See that there are enough for each question.

        Raises:
            InputError: there are not.
        """
        for question in questions:
            self.select(question, count)

    def identity(self) -> dict[str, object]:
        """Return what the choice depends on, ready for JSON."""
        return {"strategy": "fixed", "qids": self._qids, "pool_sha256": self._pool.sha256}
