"""Indexes of passages: of their words from the start, of their vectors once there are many."""

from __future__ import annotations

import warnings
from datetime import timedelta
from typing import Any

__all__ = ["keep_indexed", "make_indexes"]

WORDS = "searched_idx"

LATE = 4000
"""Passages outside the index of words, which are read one by one, before they are brought in."""

FRAGMENTS = 64
"""Writes before the files of a table are put together."""

MANY = 100_000
"""Vectors from which they are searched through an index; fewer are compared one by one."""

KEPT = timedelta(hours=1)
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
    waiting = passages.index_stats(WORDS)
    late = waiting.num_unindexed_rows if waiting is not None else 0
    if now or late >= LATE or _fragments(passages) >= FRAGMENTS:
        _index_vectors(passages)
        passages.optimize(cleanup_older_than=KEPT)
    if now or _fragments(documents) >= FRAGMENTS:
        documents.optimize(cleanup_older_than=KEPT)


def _fragments(table: Any) -> int:
    return int(table.stats()["fragment_stats"]["num_fragments"])


def _index_vectors(passages: Any) -> None:
    columns = [name for name in passages.schema.names if name.startswith("vector_")]
    there = {index.name for index in passages.list_indices()}
    for column in columns:
        name = f"{column}_idx"
        if name in there or passages.count_rows(f"{column} IS NOT NULL") < MANY:
            continue
        from lancedb.index import IvfSq

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            passages.create_index(column, config=IvfSq(distance_type="dot"), name=name)
