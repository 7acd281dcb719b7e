"""Exemplar selectors by name: ``knn``, ``random``, ``fixed``, ``fixed:QID,QID``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.errors import InputError
from semqa.retrieval.fixed import FixedExemplars
from semqa.retrieval.nearest import NearestExemplars
from semqa.retrieval.seeded import SeededExemplars

if TYPE_CHECKING:
    from collections.abc import Callable

    from semqa.retrieval.embeddings import TextEncoder
    from semqa.retrieval.pool import ExemplarPool
    from semqa.retrieval.up_to import CountedSelector

__all__ = ["STRATEGIES", "check_strategy", "create_selector", "named_qids"]

STRATEGIES = ("knn", "random", "fixed", "fixed:QID,QID")
"""What `create_selector` takes."""


def check_strategy(strategy: str) -> None:
    """See that there is such a strategy, before anything is read for it.

    Raises:
        InputError: there is none.
    """
    name, colon, qids = strategy.partition(":")
    if name not in ("knn", "random", "fixed") or (colon and (name != "fixed" or not qids.strip())):
        raise InputError(
            f"must be one of {', '.join(STRATEGIES)}, got {strategy!r}.",
            field="exemplars",
            value=strategy,
        )


def named_qids(strategy: str) -> list[str]:
    """Return the qids that ``fixed:QID,QID`` names, each once; none for other strategies.

    Example:
        >>> named_qids("fixed:q3, q1,q3")
        ['q3', 'q1']
    """
    named = (qid.strip() for qid in strategy.partition(":")[2].split(","))
    return list(dict.fromkeys(qid for qid in named if qid))


def create_selector(
    strategy: str,
    pool: ExemplarPool,
    *,
    seed: int = 0,
    encoder: Callable[[], TextEncoder],
) -> CountedSelector:
    """Create a selector from the name of its strategy.

    Args:
        strategy: ``knn`` for the nearest questions, ``random``, ``fixed`` for the first of the
            pool, or ``fixed:`` with qids, separated by commas.
        pool: what may be chosen.
        seed: for ``random``.
        encoder: makes the encoder; called for ``knn`` only.

    Raises:
        InputError: there is no such strategy, or a qid is not in the pool.
    """
    check_strategy(strategy)
    name, _, _ = strategy.partition(":")
    if name == "knn":
        return NearestExemplars(pool, encoder())
    if name == "random":
        return SeededExemplars(pool, seed)
    return FixedExemplars(pool, named_qids(strategy) or None)
