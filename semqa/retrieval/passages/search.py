"""Search: by words and by vectors, put together, and ranked again by a closer look."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from semqa.errors import InputError
from semqa.quotes import Source
from semqa.retrieval.passages.info import Found, passage_url
from semqa.retrieval.passages.rerank import Candidate, drop_repeats, rank
from semqa.retrieval.passages.reranker import LOOKS_AT, read_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.retrieval.passages.dense import Dense
    from semqa.retrieval.passages.live import Live
    from semqa.retrieval.passages.reranker import Reranker

__all__ = ["LONGEST_QUERY", "MOST", "Search"]

MOST = 100
"""Passages that one search returns at most."""

LONGEST_QUERY = 10_000
"""Characters of a question."""

READ = 2000
"""Characters of a question that are searched for: its end, where a conversation asks."""

LOOKED_AT = 60
"""Candidates of each way of searching that are looked at closely."""

NPROBES = 64
"""Parts of the index of vectors that are looked into: some sixty thousand vectors."""

REFINED = 150
"""Vectors that are compared by all of their numbers, at least."""

_COLUMNS = ("document", "write", "start", "end", "page", "searched")


@dataclass(frozen=True, slots=True)
class Search:
    """The passages of a collection, the documents that are there, and how they are searched."""

    passages: Any
    live: Live
    collection: str
    dense: Dense | None
    reranker: Reranker | None = None

    def best(self, query: str, limit: int) -> list[Found]:
        """Return the passages that speak to a question best, best first.

        Raises:
            InputError: the question is blank or too long, or the limit is out of range.
        """
        if not query.strip() or len(query) > LONGEST_QUERY:
            raise InputError(
                f"A query has words, and at most {LONGEST_QUERY} characters; got {len(query.split())} words in {len(query)} characters."
            )
        if not 1 <= limit <= MOST:
            raise InputError(f"must be 1 to {MOST}, got {limit}.", field="limit", value=limit)
        asked = query[-READ:]
        many = max(LOOKED_AT, 3 * limit)
        ways = self._ways(asked, many)
        ranked = rank(asked, self._living(ways))
        if self.reranker is not None:
            ranked = read_again(self.reranker, asked, ranked[: max(LOOKS_AT, limit)])
        kept = drop_repeats(ranked, limit)
        return [self._found(candidate) for candidate in kept]

    def _ways(self, query: str, many: int) -> list[list[dict[str, Any]]]:
        """Return rows by words and, where there are vectors, by nearness, with their ``meaning``."""
        column = self._column
        if column is None or self.dense is None:
            return [self._by_words(query, many, None).to_pylist()]
        # Most of the time is spent outside of Python, where two cores do more than one.
        with ThreadPoolExecutor(1) as other:
            waiting = other.submit(self._by_words, query, many, column)
            vector = self.dense.embed([query])[0]
            near = self._by_vector(vector, many, column)
            found = waiting.result()
        return [
            _with_meaning(found.drop_columns([column]), _products(found[column], vector)),
            _with_meaning(near, 1.0 - near["_distance"].to_numpy()),
        ]

    @property
    def _column(self) -> str | None:
        """The column of this encoder's vectors, where the collection has it."""
        if self.dense is None or self.dense.column not in self.passages.schema.names:
            return None
        return self.dense.column

    def _by_words(self, query: str, many: int, column: str | None) -> Any:
        """Return rows by their words, with the vectors of the column."""
        # Its arguments with defaults are not optional for type checkers.
        match: Any = import_module("lancedb.query").MatchQuery
        found = self.passages.search(match(query, "searched"), query_type="fts")
        columns = [*_COLUMNS, "_score", *([column] if column is not None else [])]
        return found.select(columns).limit(many).to_arrow()

    def _by_vector(self, vector: NDArray[np.float32], many: int, column: str) -> Any:
        """Return rows by their nearness, with their ``_distance``."""
        found = self.passages.search(vector, vector_column_name=column)
        times = max(2, -(-REFINED // many))
        found = found.distance_type("dot").nprobes(NPROBES).refine_factor(times)
        return found.select([*_COLUMNS, "_distance"]).limit(many).to_arrow()

    def _living(self, ways: Sequence[list[dict[str, Any]]]) -> list[Candidate]:
        """Return what was found, once, without what no document speaks for."""
        live = self.live.find(row["document"] for rows in ways for row in rows)
        merged: dict[tuple[str, int], Candidate] = {}
        for rows in ways:
            for place, row in enumerate(rows):
                document = live.get(row["document"])
                if document is None or document["write"] != row["write"]:
                    continue
                key = (row["document"], row["start"])
                if key not in merged:
                    at = len(row["searched"]) - (row["end"] - row["start"])
                    _, _, context = row["searched"][:at].partition("\n")
                    merged[key] = Candidate(
                        document_id=row["document"],
                        name=document["name"],
                        title=document["title"],
                        start=row["start"],
                        end=row["end"],
                        page=row["page"],
                        text=row["searched"][at:],
                        context=context.rstrip("\n"),
                    )
                candidate = merged[key]
                candidate.places.append(place)
                candidate.meaning = row.get("meaning", 0.0)
        return list(merged.values())

    def _found(self, candidate: Candidate) -> Found:
        start, end = candidate.start, candidate.end
        url = passage_url(self.collection, candidate.document_id, start, end)
        return Found(
            source=Source(candidate.text, candidate.title, url, candidate.context),
            document_id=candidate.document_id,
            name=candidate.name,
            start=start,
            end=end,
            page=candidate.page,
            score=round(candidate.score, 6),
        )


def _products(vectors: Any, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how near each vector is; 0 where there is none."""
    column = vectors.combine_chunks()
    there = column.is_valid().to_numpy(zero_copy_only=False)
    found = np.zeros(len(column), dtype=np.float32)
    found[there] = column.flatten().to_numpy().reshape(-1, len(vector)) @ vector
    return found


def _with_meaning(rows: Any, meanings: NDArray[np.floating[Any]]) -> list[dict[str, Any]]:
    return [
        {**row, "meaning": meaning}
        for row, meaning in zip(rows.to_pylist(), meanings.tolist(), strict=True)
    ]
