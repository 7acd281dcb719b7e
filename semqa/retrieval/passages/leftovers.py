"""What a write that was cut off leaves behind: noted before it begins, cleared away by the next."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from semqa.retrieval.passages.store import literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["clear", "clear_leftovers", "noted"]

_AT_ONCE = 500
"""Conditions in one removal."""


@contextmanager
def noted(note: Path, passages: Any, documents: Any) -> Iterator[None]:
    """Have a file stand beside the tables while they are being written to.

    Where it stands already, a write was cut off, and what it left is cleared away first. So nobody
    looks through all passages but after that. To be called by whoever may write.
    """
    if note.exists():
        clear_leftovers(passages, documents)
    note.touch()
    yield
    note.unlink(missing_ok=True)


def clear_leftovers(passages: Any, documents: Any) -> None:
    """Remove the passages that no document speaks for; until then no search shows them."""
    columns = passages.search().select(["document", "write"]).to_arrow()
    there = columns.group_by(["document", "write"]).aggregate([]).to_pylist()
    known = documents.search().select(["id", "write"]).to_list()
    live = {(row["id"], row["write"]) for row in known}
    pairs = [(row["document"], row["write"]) for row in there]
    clear(passages, [pair for pair in pairs if pair not in live])


def clear(passages: Any, pairs: Sequence[tuple[str, str]]) -> None:
    """Remove passages, by document and write."""
    for at in range(0, len(pairs), _AT_ONCE):
        some = pairs[at : at + _AT_ONCE]
        passages.delete(
            " OR ".join(
                f"(document = {literal(document)} AND write = {literal(write)})"
                for document, write in some
            )
        )
