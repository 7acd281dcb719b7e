"""Indexes of passages: of their words from the start, of their vectors once there are many."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

__all__ = ["keep_indexed", "make_indexes"]

WORDS = "searched_idx"

LATE = 2000
"""Passages outside the index of words before they are brought in: each search reads them all, which
takes a second for some ten thousand."""

SHARE = 0.005
"""Share of those inside that may be late, where that is more: bringing them in costs a part of what
there is altogether."""

FRAGMENTS = 200
"""Writes before the files of a table are put together."""

MANY = 20_000
"""Vectors from which they are searched through an index; fewer are compared one by one."""

GROWTH = 4
"""How many times as many vectors there are when their index is made anew."""

SEGMENTS = 8
"""Indexes of late vectors, each of which is searched, before there is one again."""

PART = 1000
"""Vectors in a part of their index."""

WIDE = 256
"""Numbers of a vector from which a bit of each tells enough."""

SAMPLE = 64
"""Vectors for each part that its place is learned from."""

ROUNDS = 20
"""Times that the places of parts are mended."""

KEPT = timedelta(minutes=10)
"""How long an old state stays on the disk, for who still reads it."""


def make_indexes(passages: Any) -> None:
    """Make the index of words, in an empty table."""
    from lancedb.index import FTS

    passages.create_index(
        "searched",
        config=FTS(
            # The word boundaries of Unicode: it finds words where no blanks stand between them.
            base_tokenizer="icu",
            language="English",
            stem=True,
            remove_stop_words=False,
            ascii_folding=True,
            lower_case=True,
            with_position=False,
        ),
        name=WORDS,
    )


def keep_indexed(passages: Any, documents: Any, *, now: bool = False) -> None:
    """Bring late passages into the indexes, if there are many of them, or `now`.

    To be called by whoever may write.
    """
    state = passages.index_stats(WORDS)
    inside = state.num_indexed_rows if state is not None else 0
    late = state.num_unindexed_rows if state is not None else 0
    if now or late >= max(LATE, SHARE * inside) or _fragments(passages) >= FRAGMENTS:
        passages.optimize(cleanup_older_than=KEPT)
        _index_vectors(passages)
    if now or _fragments(documents) >= FRAGMENTS:
        documents.optimize(cleanup_older_than=KEPT)


def _fragments(table: Any) -> int:
    return int(table.stats()["fragment_stats"]["num_fragments"])


def _index_vectors(passages: Any) -> None:
    """Index vectors once there are many, and anew when there are many more or many small indexes.

    The number of parts is right for so many vectors as there are; the index's name tells how many.
    """
    for column in passages.schema.names:
        if not column.startswith("vector_"):
            continue
        count = passages.count_rows(f"{column} IS NOT NULL")
        old = [index for index in passages.list_indices() if column in index.columns]
        known = max((int(index.name.rpartition("_")[2]) for index in old), default=0)
        torn = any(index.num_segments > SEGMENTS for index in old)
        if count < MANY or (count < GROWTH * known and not torn):
            continue
        name = f"{column}_{count}"
        config = _vector_index(max(1, count // PART), passages.schema.field(column).type.list_size)
        passages.create_index(column, config=config, name=name, replace=True)
        for index in old:
            if index.name != name:
                passages.drop_index(index.name)


def _vector_index(parts: int, width: int) -> Any:
    """Return what index to make: of one bit a number where there are many, of a byte otherwise.

    Bits are quick to go through; what they find is compared again by all numbers. Their error
    falls with how many there are. Source: Gao and Long 2024 (RaBitQ).
    """
    from lancedb.index import IvfRq, IvfSq

    kind = IvfRq if width >= WIDE and width % 8 == 0 else IvfSq
    return kind(
        distance_type="dot", num_partitions=parts, sample_rate=SAMPLE, max_iterations=ROUNDS
    )
