"""Full-text and vector search, with rank fusion and reranking."""

from __future__ import annotations

import hashlib
import logging
import math
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semqa.documents.document import distinct_titles
from semqa.errors import InputError, first_line
from semqa.quotes import Source
from semqa.quotes.words import function_words, language_of
from semqa.retrieval.encoder import MAX_QUICK, SentenceEncoder, SentenceModel, unit
from semqa.retrieval.passages.store import Found, passage_url

_log = logging.getLogger("semqa.retrieval")

_MAX_CACHED = 100_000
"""Maximum number of cached documents."""

READ_ALL = 20_000
"""Up to this many documents, read the whole table at once, because it takes no longer."""

_DOCUMENT_COLUMNS = ("id", "write", "name", "title")


class DocumentRows:
    """A cache of the rows in the documents table, by id.

    It is cleared when any process changes the table. Thread-safe.
    """

    def __init__(self, documents: Any) -> None:
        self._documents = documents
        self._lock = threading.Lock()
        self._version = -1
        self._rows: dict[str, Mapping[str, str] | None] = {}

    def find(self, ids: Iterable[str]) -> dict[str, Mapping[str, str]]:
        """Return the id, write, name and title of the documents that exist, by id."""
        wanted = set(ids)
        version = self._documents.version
        with self._lock:
            if version != self._version or len(self._rows) > _MAX_CACHED:
                self._version, self._rows = version, {}
            rows = self._rows
        unknown = sorted(wanted - rows.keys())
        if unknown:
            found = self._documents.search().select(list(_DOCUMENT_COLUMNS))
            if self._documents.count_rows() > READ_ALL:
                listed = ", ".join(f"'{each}'" for each in unknown)
                found = found.where(f"id IN ({listed})")
            read: dict[str, Mapping[str, str] | None] = dict.fromkeys(unknown)
            read |= {row["id"]: row for row in found.to_list()}
            # Rows that were read during a change are not cached.
            if self._documents.version == version:
                rows.update(read)
            return {each: row for each in wanted if (row := read.get(each) or rows.get(each))}
        return {each: row for each in wanted if (row := rows[each])}


AT_ONCE = 64
"""Number of texts embedded before another thread may use the encoder.

A question then waits for one such batch, not for a whole upload.
"""


class DenseEncoder:
    """An encoder that one thread uses at a time."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._lock = threading.Lock()
        self._gate = threading.Lock()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Hold the encoder. A waiting thread comes before the last holder's next batch."""
        with self._gate:
            self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    @cached_property
    def column(self) -> str:
        """The name of the column with this encoder's vectors."""
        with self._turn():
            digest = hashlib.sha256(self._encoder.identity().encode()).hexdigest()
        return f"vector_{digest[:12]}"

    @cached_property
    def width(self) -> int:
        """The dimension of a vector."""
        return int(self.embed(["width"]).shape[1])

    def warm_up(self) -> None:
        """Load the models for questions (numpy) and for uploads (torch, if needed)."""
        _ = self.column
        self.embed_question("a first search")
        self.embed(["a first upload"] * (MAX_QUICK + 1))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of length 1 for each text."""
        found = self._encoder.quick(texts)  # needs no lock
        if found is None:
            parts = []
            for at in range(0, max(len(texts), 1), AT_ONCE):
                with self._turn():
                    parts.append(self._encoder.embed(texts[at : at + AT_ONCE]))
            found = np.concatenate(parts)
        return unit(found)

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """Return a vector of length 1 for a question."""
        found = self._encoder.quick([question])
        if found is None:
            with self._turn():
                found = self._encoder.embed_question(question)[None]
        return np.asarray(unit(found)[0])


WORDS = "searched_idx"

MAX_UNINDEXED = 2000
"""Maximum number of passages outside the full-text index.

Each search scans all of them, which takes about a second for ten thousand.
"""

MAX_UNINDEXED_SHARE = 0.005
"""The same limit as a share of the indexed passages, if that is more.

The cost of an update grows with the size of the index.
"""

MAX_FRAGMENTS = 200
"""Number of writes after which the files of a table are compacted."""

MIN_INDEXED_VECTORS = 20_000
"""Number of vectors from which an index is used; fewer are compared one by one."""

REBUILD_GROWTH = 4
"""Rebuild the vector index when the number of vectors has grown by this factor."""

MAX_SEGMENTS = 8
"""Rebuild the vector index when it has more segments; each one is searched."""

PARTITION_SIZE = 1000
"""Vectors per partition of the vector index."""

BITS = 4
"""Bits per number in the vector index.

With one bit, 250 vectors must be compared in full to find 97% of the ten nearest of a million, which
takes longer.
"""

SAMPLE_RATE = 64
"""Vectors per partition that its centroid is learned from."""

MAX_ITERATIONS = 20
"""Maximum number of k-means iterations."""

KEEP_VERSIONS = timedelta(minutes=10)
"""How long old versions of a table stay on the disk for processes that still read them."""


def create_indexes(passages: Any) -> None:
    """Create the full-text index in an empty table."""
    from lancedb.index import FTS

    passages.create_index(
        "searched",
        config=FTS(
            # Unicode word boundaries, for languages without spaces between words.
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


def update_indexes(passages: Any, documents: Any, *, now: bool = False) -> None:
    """Add new passages to the indexes if there are many of them, or if `now` is set.

    The caller must hold the write lock.
    """
    state = passages.index_stats(WORDS)
    indexed = state.num_indexed_rows if state is not None else 0
    unindexed = state.num_unindexed_rows if state is not None else 0
    too_late = unindexed >= max(MAX_UNINDEXED, MAX_UNINDEXED_SHARE * indexed)
    if now or too_late or _fragments(passages) >= MAX_FRAGMENTS:
        passages.optimize(cleanup_older_than=KEEP_VERSIONS)
        _index_vectors(passages)
    if now or _fragments(documents) >= MAX_FRAGMENTS:
        documents.optimize(cleanup_older_than=KEEP_VERSIONS)


def _fragments(table: Any) -> int:
    return int(table.stats()["fragment_stats"]["num_fragments"])


def _index_vectors(passages: Any) -> None:
    """Create or rebuild the vector indexes that need it.

    An index is created once there are many vectors. It is rebuilt when there are many more, or when
    it has many segments. Its name contains the number of bits and of vectors.
    """
    for column in passages.schema.names:
        if not column.startswith("vector_"):
            continue
        count = passages.count_rows(f"{column} IS NOT NULL")
        old = [index for index in passages.list_indices() if column in index.columns]
        known = max((int(index.name.rpartition("_")[2]) for index in old), default=0)
        outdated = any(
            index.num_segments > MAX_SEGMENTS or not index.name.startswith(f"{column}_{BITS}bit_")
            for index in old
        )
        if count < MIN_INDEXED_VECTORS or (count < REBUILD_GROWTH * known and not outdated):
            continue
        name = f"{column}_{BITS}bit_{count}"
        config = _vector_index(max(1, count // PARTITION_SIZE))
        passages.create_index(column, config=config, name=name, replace=True)
        for index in old:
            if index.name != name:
                passages.drop_index(index.name)


def _vector_index(parts: int) -> Any:
    """Return the configuration of an index with a few bits per number.

    A search scans the quantized vectors and compares the best ones in full. The error of the
    quantization decreases with the dimension. Source: Gao and Long 2024 (RaBitQ).
    """
    from lancedb.index import IvfRq

    return IvfRq(
        num_bits=BITS,
        distance_type="dot",
        num_partitions=parts,
        sample_rate=SAMPLE_RATE,
        max_iterations=MAX_ITERATIONS,
    )


FUSION = 5
"""The constant *k* of reciprocal rank fusion; with the usual 60, the first ranks differ too little."""

RANK_WEIGHT, SIMILARITY_WEIGHT, COVERAGE_WEIGHT = 0.1, 0.5, 0.4
"""Weights of the parts of a score, chosen on the questions in tests/data/docs.

With all documents of a set in one collection, 8 passages have 88% of the evidence on average (with 0.5,
0.3, 0.2 and k = 60, and the encoder before, 82%), and 75% by words only (69%). `benchmarks/evidence.py`
measures that.
"""

DUPLICATE_OVERLAP = 0.9
"""Jaccard similarity of words from which two passages are duplicates."""

_STEM_LENGTH = 4
"""Minimum length of a stem, in characters."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(slots=True)
class Candidate:
    """A passage that at least one search found.

    Attributes:
        ranks: its ranks, from 0, in the result lists that contain it.
        similarity: cosine similarity to the question, from -1 to 1; 0 without vectors.
    """

    found: Found
    ranks: list[int] = field(default_factory=list)
    similarity: float = 0.0
    score: float = 0.0

    @property
    def searched(self) -> str:
        """The title, context and text, one below the other."""
        source = self.found.source
        return "\n".join(filter(None, (source.title, source.context, source.text)))


def rank(query: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Sort candidates by score, best first; ties by document and offset.

    The score is a weighted sum of three parts from 0 to 1: the fused rank, the scaled similarity of
    the vectors, and the share of the question's words in the passage, its title and its context.
    Rare words weigh more.
    """
    if not candidates:
        return []
    fused = [sum(FUSION / (FUSION + rank) for rank in each.ranks) for each in candidates]
    similarities = [each.similarity for each in candidates]
    covered = _coverage(query, candidates)
    low, span = min(similarities), max(similarities) - min(similarities)
    for i, candidate in enumerate(candidates):
        near = (similarities[i] - low) / span if span else 0.0
        candidate.score = (
            RANK_WEIGHT * fused[i] / max(fused)
            + SIMILARITY_WEIGHT * near
            + COVERAGE_WEIGHT * covered[i]
        )
    return sorted(candidates, key=lambda each: (-each.score, each.found.name, each.found.start))


def _coverage(query: str, candidates: Sequence[Candidate]) -> list[float]:
    """Return the share of the question's words in each passage, weighted by rarity.

    Function words do not count, unless there are no others.
    """
    functions = function_words(language_of(query))
    words = (word for word in _WORD.findall(query.casefold()) if word not in functions)
    asked = _stems(" ".join(words)) or _stems(query)
    shared = [asked & _stems(each.searched) for each in candidates]
    counts = Counter(word for words in shared for word in words)
    weights = {word: math.log(1 + len(shared) / (1 + counts[word])) for word in asked}
    total = math.fsum(weights.values())  # exact, so the order of the set does not matter
    return [
        math.fsum(weights[word] for word in words) / total if total else 0.0 for words in shared
    ]


def _stems(text: str) -> set[str]:
    """Return the stems of words, and the single characters of scripts without spaces."""
    words: set[str] = set()
    for word in set(_WORD.findall(text.casefold())):
        if word[0] >= "\u3040":
            words.update(word)
        else:
            words.add(word[: max(_STEM_LENGTH, len(word) - 3)])
    return words


def drop_duplicates(ranked: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Return the first `limit` candidates that do not repeat a better one.

    Example:
        >>> sources = map(Source, ("Oslo is a city.", "Oslo  is a CITY", "Oslo is old."))
        >>> some = [Candidate(Found(each, "", "", 0, 9, None, 0.0)) for each in sources]
        >>> [each.searched for each in drop_duplicates(some, 5)]
        ['Oslo is a city.', 'Oslo is old.']
    """
    kept: list[Candidate] = []
    seen: list[frozenset[str]] = []
    for candidate in ranked:
        if len(kept) == limit:
            break
        # The same text under different headings is not a duplicate.
        text = f"{candidate.found.source.context} {candidate.found.source.text}"
        words = frozenset(_WORD.findall(text.casefold()))
        if any(_are_duplicates(words, other) for other in seen):
            continue
        kept.append(candidate)
        seen.append(words)
    return kept


def _are_duplicates(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two passages share most words and do not differ in a number."""
    if len(one & other) < DUPLICATE_OVERLAP * len(one | other):
        return False
    return not any(c.isdigit() for word in one ^ other for c in word)


MAX_RERANKED = 40
"""Passages that are reranked; a small model on two cores scores about 40 per second."""

BATCH = 16


class Reranker:
    """A cross-encoder from sentence-transformers, loaded on first use. One thread uses it at a time."""

    def __init__(self, model: str) -> None:
        self.name = model
        self._source = SentenceModel("CrossEncoder", model, role="reranker")
        self._lock = threading.Lock()

    @cached_property
    def _model(self) -> Any:
        return self._source.load()

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how well each text answers the query, float32[texts]; higher is better."""
        with self._lock:
            model = self._model
            try:
                found = model.predict(
                    [(query, text) for text in texts], batch_size=BATCH, show_progress_bar=False
                )
            except Exception as error:
                raise InputError(f"Reranker {self.name} failed: {first_line(error)}.") from error
        scores = np.asarray(found, dtype=np.float32)
        if scores.shape != (len(texts),) or not np.isfinite(scores).all():
            raise InputError(
                f"Reranker {self.name} returned scores of shape {scores.shape}, or infinite numbers, for {len(texts)} passages."
            )
        return scores


def rerank(reranker: Reranker, query: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Replace the scores of candidates by the reranker's and sort them, best first."""
    if not candidates:
        return []
    scores = reranker.scores(query, [each.searched for each in candidates])
    for candidate, score in zip(candidates, scores.tolist(), strict=True):
        candidate.score = score
    return sorted(candidates, key=lambda each: -each.score)


MAX_LIMIT = 100
"""Maximum number of passages per search."""

SEARCHED_LENGTH = 2000
"""Characters of a question that are searched for: the last ones, because a conversation ends with
its question."""

MIN_CANDIDATES = 60
"""Minimum number of candidates from the full-text search and from the vector search."""

NPROBES = 32
"""Partitions of the vector index that are searched: about 30,000 vectors."""

MIN_REFINED = 30
"""Minimum number of vectors compared in full: they contain 99.9% of the ten nearest of a million."""

_PASSAGE_COLUMNS = ("document", "write", "start", "end", "page", "searched")


@dataclass(frozen=True, slots=True)
class Search:
    """A search in the passages of a collection."""

    passages: Any
    documents: DocumentRows
    collection: str
    dense: DenseEncoder | None
    reranker: Reranker | None = None

    def best(self, query: str, limit: int) -> list[Found]:
        """Return the most relevant passages, best first."""
        if not query.strip():
            raise InputError("The query is empty.")
        if not 1 <= limit <= MAX_LIMIT:
            raise InputError(f"must be 1 to {MAX_LIMIT}, got {limit}.", field="limit", value=limit)
        asked = query[-SEARCHED_LENGTH:].encode("utf-8", "replace").decode()  # lone surrogates
        results = self._search(asked, max(MIN_CANDIDATES, 3 * limit))
        ranked = rank(asked, self._merge(results))
        if self.reranker is not None:
            ranked = rerank(self.reranker, asked, ranked[: max(MAX_RERANKED, limit)])
        kept = drop_duplicates(ranked, limit)
        titles = distinct_titles([(each.found.name, each.found.source.title) for each in kept])
        return [
            replace(
                each.found,
                source=replace(each.found.source, title=title),
                score=round(each.score, 6),
            )
            for each, title in zip(kept, titles, strict=True)
        ]

    def _search(self, query: str, count: int) -> list[list[dict[str, Any]]]:
        """Return the results of the full-text search and, if there are vectors, the vector search.

        Each row of the two has its ``similarity``.
        """
        column = self._column
        if column is None or self.dense is None:
            rows = self._by_words(query, count, None).to_pylist()
            if rows and self.dense is not None:
                _warn_of_other_encoder(self.collection)
            return [rows]
        # Both searches release the GIL, so they run in parallel.
        with ThreadPoolExecutor(1) as executor:
            waiting = executor.submit(self._by_words, query, count, column)
            vector = self.dense.embed_question(query)
            near = self._by_vector(vector, count, column)
            found = waiting.result()
        return [
            _with_similarity(found.drop_columns([column]), _products(found[column], vector)),
            _with_similarity(near, 1.0 - near["_distance"].to_numpy()),
        ]

    @property
    def _column(self) -> str | None:
        """The column with this encoder's vectors, or None if the collection has none."""
        if self.dense is None or self.dense.column not in self.passages.schema.names:
            return None
        return self.dense.column

    def _by_words(self, query: str, count: int, column: str | None) -> Any:
        """Return the rows that match the words of a query, with the vectors of `column`."""
        # Imported by name, because its stub does not mark arguments with defaults as optional.
        match: Any = import_module("lancedb.query").MatchQuery
        found = self.passages.search(match(query, "searched"), query_type="fts")
        columns = [*_PASSAGE_COLUMNS, "_score", *([column] if column is not None else [])]
        return found.select(columns).limit(count).to_arrow()

    def _by_vector(self, vector: NDArray[np.float32], count: int, column: str) -> Any:
        """Return the nearest rows with their ``_distance``."""
        found = self.passages.search(vector, vector_column_name=column)
        factor = max(2, -(-MIN_REFINED // count))
        found = found.distance_type("dot").nprobes(NPROBES).refine_factor(factor)
        return found.select([*_PASSAGE_COLUMNS, "_distance"]).limit(count).to_arrow()

    def _merge(self, results: Sequence[list[dict[str, Any]]]) -> list[Candidate]:
        """Merge result lists; leave out passages of deleted documents and interrupted writes."""
        documents = self.documents.find(row["document"] for rows in results for row in rows)
        merged: dict[tuple[str, int], Candidate] = {}
        for rows in results:
            for rank, row in enumerate(rows):
                document = documents.get(row["document"])
                if document is None or document["write"] != row["write"]:
                    continue
                key = (row["document"], row["start"])
                if key not in merged:
                    at = len(row["searched"]) - (row["end"] - row["start"])
                    _, _, context = row["searched"][:at].partition("\n")
                    place = row["document"], row["start"], row["end"]
                    source = Source(
                        row["searched"][at:],
                        document["title"],
                        passage_url(self.collection, *place),
                        context.rstrip("\n"),
                    )
                    found = Found(
                        source,
                        row["document"],
                        document["name"],
                        row["start"],
                        row["end"],
                        row["page"],
                        score=0.0,
                    )
                    merged[key] = Candidate(found)
                candidate = merged[key]
                candidate.ranks.append(rank)
                candidate.similarity = row.get("similarity", 0.0)
        return list(merged.values())


@lru_cache(maxsize=256)
def _warn_of_other_encoder(collection: str) -> None:
    """Warn once about a collection that was indexed without the encoder or with another one."""
    _log.warning(
        "Collection %r is searched by words only, because it was indexed with another encoder or "
        "none. Index it again, or upload its documents again.",
        collection,
    )


def _products(vectors: Any, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the dot product of each vector with `vector`; 0 for null."""
    column = vectors.combine_chunks()
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    found = np.zeros(len(column), dtype=np.float32)
    found[valid] = column.flatten().to_numpy().reshape(-1, len(vector)) @ vector
    return found


def _with_similarity(rows: Any, similarities: NDArray[np.floating[Any]]) -> list[dict[str, Any]]:
    return [
        {**row, "similarity": similarity}
        for row, similarity in zip(rows.to_pylist(), similarities.tolist(), strict=True)
    ]
