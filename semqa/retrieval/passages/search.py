"""Search: by words and by vectors, put together, and ranked again by a closer look."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from semqa.errors import InputError
from semqa.quotes import Source
from semqa.retrieval.passages.info import Found, passage_url
from semqa.retrieval.passages.rerank import Candidate, drop_repeats, rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.retrieval.passages.dense import Dense

__all__ = ["LONGEST_QUERY", "MOST", "Search"]

MOST = 100
"""Passages that one search returns at most."""

LONGEST_QUERY = 10_000
"""Characters of a question."""

READ = 2000
"""Characters of a question that are searched for: its end, where a conversation asks."""

LOOKED_AT = 60
"""Candidates of each way of searching that are looked at closely."""

NPROBES = 24
"""Parts of the index of vectors that are looked into."""

_COLUMNS = ("document", "write", "start", "end", "page", "searched")


@dataclass(frozen=True, slots=True)
class Search:
    """The tables of a collection, and how they are searched."""

    passages: Any
    documents: Any
    collection: str
    dense: Dense | None

    def best(self, query: str, limit: int) -> list[Found]:
        """Return the passages that speak to a question best, best first.

        Raises:
            InputError: the question is blank or too long, or the limit is out of range.
        """
        if not query.strip() or len(query) > LONGEST_QUERY:
            raise InputError(
                f"query: not usable: got {len(query)} characters, {len(query.split())} words, "
                f"expected words, at most {LONGEST_QUERY} characters; ask a shorter question"
            )
        if not 1 <= limit <= MOST:
            raise InputError(f"limit: out of range: got {limit}, expected 1 to {MOST}; correct it")
        asked = query[-READ:]
        many = max(LOOKED_AT, 3 * limit)
        vector = self._vector(asked)
        ways = [self._by_words(asked, many, vector)]
        if vector is not None:
            ways.append(self._by_vector(vector, many))
        kept = drop_repeats(rank(asked, self._living(ways)), limit)
        return [self._found(candidate) for candidate in kept]

    def _vector(self, query: str) -> NDArray[np.float32] | None:
        if self.dense is None or self.dense.column not in self.passages.schema.names:
            return None
        return cast("NDArray[np.float32]", self.dense.embed([query])[0])

    def _by_words(
        self, query: str, many: int, vector: NDArray[np.float32] | None
    ) -> list[dict[str, Any]]:
        """Return rows by their words, each with its ``meaning`` where there are vectors."""
        # Its arguments with defaults are not optional for type checkers.
        match: Any = import_module("lancedb.query").MatchQuery
        found = self.passages.search(match(query, "searched"), query_type="fts")
        if vector is None or self.dense is None:
            rows: list[dict[str, Any]] = found.select([*_COLUMNS, "_score"]).limit(many).to_list()
            return rows
        column = self.dense.column
        rows = found.select([*_COLUMNS, "_score", column]).limit(many).to_list()
        for row in rows:
            known = row.pop(column)
            row["meaning"] = 0.0 if known is None else float(np.dot(vector, known))
        return rows

    def _by_vector(self, vector: NDArray[np.float32], many: int) -> list[dict[str, Any]]:
        """Return rows by their ``meaning``."""
        column = self.dense.column if self.dense is not None else ""
        found = self.passages.search(vector, vector_column_name=column)
        found = found.distance_type("dot").nprobes(NPROBES).refine_factor(2)
        rows: list[dict[str, Any]] = found.select([*_COLUMNS, "_distance"]).limit(many).to_list()
        return [
            {**row, "meaning": 1.0 - row["_distance"]}
            for row in rows
            if row["_distance"] is not None
        ]

    def _living(self, ways: Sequence[list[dict[str, Any]]]) -> list[Candidate]:
        """Return what was found, once, without what no document speaks for."""
        ids = sorted({row["document"] for rows in ways for row in rows})
        if not ids:
            return []
        listed = ", ".join(f"'{each}'" for each in ids)
        columns = ["id", "write", "name", "title"]
        known = self.documents.search().select(columns).where(f"id IN ({listed})").to_list()
        live = {(row["id"], row["write"]): row for row in known}
        merged: dict[tuple[str, int], Candidate] = {}
        for rows in ways:
            for place, row in enumerate(rows):
                document = live.get((row["document"], row["write"]))
                if document is None:
                    continue
                key = (row["document"], row["start"])
                if key not in merged:
                    length = row["end"] - row["start"]
                    merged[key] = Candidate(
                        document_id=row["document"],
                        name=document["name"],
                        title=document["title"],
                        start=row["start"],
                        end=row["end"],
                        page=row["page"],
                        text=row["searched"][-length:],
                    )
                candidate = merged[key]
                candidate.places.append(place)
                candidate.meaning = row.get("meaning", 0.0)
        return list(merged.values())

    def _found(self, candidate: Candidate) -> Found:
        start, end = candidate.start, candidate.end
        url = passage_url(self.collection, candidate.document_id, start, end)
        return Found(
            source=Source(candidate.text, title=candidate.title, url=url),
            document_id=candidate.document_id,
            name=candidate.name,
            start=start,
            end=end,
            page=candidate.page,
            score=round(candidate.score, 6),
        )
