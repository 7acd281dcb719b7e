"""Compare collections with bm25s and faiss on the same generated passages.

The words of passages follow Zipf's law and their vectors are clustered; questions are noisy copies
of both. Results are checked against exact search: words against exact BM25 (bm25s), vectors against
all inner products (faiss), and hybrid search against our ranking of these two results. Questions
are asked one at a time.

    python benchmarks/retrieval.py [--passages 1000000] [--queries 200] [--smoke]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from machine import describe_machine

from semqa.documents import Document, Passage
from semqa.quotes import Source
from semqa.retrieval.passages import DocumentInfo, Found, Library
from semqa.retrieval.passages.collection import Prepared
from semqa.retrieval.passages.search import (
    MIN_CANDIDATES,
    Candidate,
    DenseEncoder,
    Search,
    drop_duplicates,
    rank,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

WIDTH = 384
CENTRES = 2000
SPREAD = 0.7
WORDS = 200_000
TOP = 10
MIN_RECALL = 0.8
"""Times at a lower recall are meaningless."""

EXACT_QUESTIONS = 50
"""Number of questions for timing exact vector search, which is slow."""

PASSAGES_PER_DOCUMENT = 100
DOCUMENTS_PER_COMMIT = 20


class Generated:
    """Generated passages with vectors, identical in every run."""

    def __init__(self, count: int, words: int = WORDS) -> None:
        rng = np.random.default_rng(7)
        self.count = count
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
        lengths = rng.integers(4, 11, words)
        self.words = np.array(["".join(rng.choice(letters, n)) for n in lengths], dtype=object)
        frequencies = np.arange(1, words + 1) ** -1.07
        self._cumulative = np.cumsum(frequencies / frequencies.sum())
        centres = rng.standard_normal((CENTRES, WIDTH)).astype(np.float32)
        self.vectors = np.empty((count, WIDTH), dtype=np.float32)
        for at in range(0, count, 50_000):
            size = min(50_000, count - at)
            noise = rng.standard_normal((size, WIDTH)).astype(np.float32)
            vectors = centres[rng.integers(0, CENTRES, size)] + SPREAD * noise
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            self.vectors[at : at + size] = vectors
        self.texts = [self._text(number) for number in range(count)]
        """Passage texts; each ends with its number."""

    def _text(self, number: int) -> str:
        rng = np.random.default_rng((11, number))
        ranks = np.searchsorted(self._cumulative, rng.random(int(rng.integers(60, 120))))
        return " ".join(self.words[np.minimum(ranks, len(self.words) - 1)]) + f". n{number}"

    def question(self, number: int) -> tuple[str, NDArray[np.float32]]:
        """Return words of a passage mixed with other words, and a vector near the passage's own."""
        rng = np.random.default_rng((13, number))
        target = int(rng.integers(self.count))
        own = rng.choice(self.texts[target].split()[:-1], 6, replace=False)
        other = self.words[
            np.minimum(np.searchsorted(self._cumulative, rng.random(4)), len(self.words) - 1)
        ]
        near = (
            self.vectors[target] + 0.5 * rng.standard_normal(WIDTH).astype(np.float32) / WIDTH**0.5
        )
        return " ".join([*own, *other]), (near / np.linalg.norm(near)).astype(np.float32)


class GeneratedEncoder:
    """A fake encoder that returns the generated vectors."""

    name = "generated"

    def __init__(self, generated: Generated) -> None:
        self._generated = generated
        self.questions: dict[str, NDArray[np.float32]] = {}

    def identity(self) -> str:
        """Return the name."""
        return "generated"

    def quick(self, texts: Sequence[str]) -> None:
        """Return None: no text is faster than others."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of passages or of a question."""
        if len(texts) == 1 and texts[0] in self.questions:
            return self.questions[texts[0]][None]
        if texts[0] == "width":
            return self._generated.vectors[:1]
        return self._generated.vectors[[int(text.rpartition(" n")[2]) for text in texts]]

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """Return the vector of a question."""
        return np.asarray(self.embed([question])[0])


def main() -> None:
    """Build, check and time; print a table and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--where", type=Path, help="folder for the collection (default: temporary)")
    parser.add_argument(
        "--smoke", action="store_true", help="2,000 passages, to check that it works"
    )
    options = parser.parse_args()
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    count, queries = (2000, 10) if options.smoke else (options.passages, options.queries)
    machine = describe_machine()
    print(", ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    started = time.perf_counter()
    generated = Generated(count, 10_000 if options.smoke else WORDS)
    questions = [generated.question(i) for i in range(queries)]
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        ours = _semqa(generated, questions, options.where or Path(folder), results)
        exact_words = _bm25s(generated, questions, results)
        exact_near = _faiss(generated, questions, results)
    exact_both = [
        _ranked(generated, question, *exact)
        for question, *exact in zip(questions, exact_words, exact_near, strict=True)
    ]
    for name, exact in (("words", exact_words), ("vectors", exact_near), ("hybrid", exact_both)):
        shares = [
            len(set(found) & set(best[:TOP])) / TOP
            for found, best in zip(ours[name], exact, strict=True)
        ]
        results[f"semqa {name}"]["recall"] = float(np.mean(shares))
        if results[f"semqa {name}"]["recall"] < MIN_RECALL:
            sys.exit(f"{name}: recall {np.mean(shares):.3f} is below {MIN_RECALL}; no results")
    print(f"{'':<16}{'build /s':>10}{'p50 ms':>10}{'p99 ms':>10}{'recall@10':>11}{'MB':>8}")
    for name, row in results.items():
        shown = [row.get(key) for key in ("rate", "p50", "p99", "recall", "mb")]
        print(
            f"{name:<16}"
            + "".join(
                f"{'' if value is None else format(value, form):>{width}}"
                for value, form, width in zip(
                    shown, (",.0f", ".1f", ".1f", ".3f", ",.0f"), (10, 10, 10, 11, 8), strict=True
                )
            )
        )
    record = {
        "benchmark": "retrieval",
        "passages": count,
        "queries": queries,
        "results": results,
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "seconds": round(time.perf_counter() - started),
    }
    print(json.dumps({**record, **machine}))


def _semqa(
    generated: Generated,
    questions: Sequence[tuple[str, NDArray[np.float32]]],
    where: Path,
    results: dict[str, Any],
) -> dict[str, list[list[int]]]:
    encoder = GeneratedEncoder(generated)
    encoder.questions = dict(questions)
    library = Library(where, encoder=False)
    library.dense = DenseEncoder(encoder)  # type: ignore[arg-type]
    collection = library.obtain("", "generated")
    writing, cpu_seconds = 0.0, time.process_time()
    for batch in _documents(generated):
        started = time.perf_counter()
        collection.commit(batch, more=True)
        writing += time.perf_counter() - started
    started = time.perf_counter()
    collection.optimize()
    indexing = time.perf_counter() - started
    if collection.info().passages != generated.count:
        sys.exit(f"Passages are missing: {collection.info()}")
    size = sum(path.stat().st_size for path in where.rglob("*") if path.is_file()) / 2**20
    cpu_seconds = time.process_time() - cpu_seconds
    print(
        f"semqa: {writing:.1f} s writing, {indexing:.1f} s final indexing, "
        f"{cpu_seconds:.1f} CPU seconds",
        flush=True,
    )
    search = Search(collection._passages, collection._rows, "generated", library.dense)
    column = library.dense.column

    def words(i: int) -> list[int]:
        return _numbers(search._by_words(questions[i][0], TOP, None)["searched"].to_pylist())

    def near(i: int) -> list[int]:
        return _numbers(search._by_vector(questions[i][1], TOP, column)["searched"].to_pylist())

    def both(i: int) -> list[int]:
        return _numbers(each.source.text for each in collection.search(questions[i][0], TOP))

    rate = generated.count / (writing + indexing)
    found = {}
    for name, ask in (("words", words), ("vectors", near), ("hybrid", both)):
        times, found[name] = _timed(ask, len(questions))
        results[f"semqa {name}"] = {"rate": rate, "mb": size, **times}
    return found


def _numbers(texts: Iterable[str]) -> list[int]:
    return [int(text.rpartition(" n")[2]) for text in texts]


def _ranked(
    generated: Generated,
    question: tuple[str, NDArray[np.float32]],
    words: list[int],
    near: list[int],
) -> list[int]:
    """Apply our ranking to the exact results."""
    candidates: dict[int, Candidate] = {}
    for found in (words, near):
        for place, number in enumerate(found):
            name = f"{number - number % PASSAGES_PER_DOCUMENT}.txt"
            source = Source(generated.texts[number], name)
            candidate = candidates.setdefault(
                number, Candidate(Found(source, "", name, number, 0, None, 0.0))
            )
            candidate.ranks.append(place)
            candidate.similarity = float(generated.vectors[number] @ question[1])
    kept = drop_duplicates(rank(question[0], list(candidates.values())), TOP)
    return [candidate.found.start for candidate in kept]


def _documents(generated: Generated) -> Iterator[list[Prepared]]:
    batch = []
    for first in range(0, generated.count, PASSAGES_PER_DOCUMENT):
        texts = generated.texts[first : first + PASSAGES_PER_DOCUMENT]
        ends = np.cumsum([len(text) + 2 for text in texts]) - 2
        text = "\n\n".join(texts)
        name = f"{first}.txt"
        digest = hashlib.sha256(text.encode()).hexdigest()
        passages = [
            Passage(int(end) - len(each), int(end)) for end, each in zip(ends, texts, strict=True)
        ]
        info = DocumentInfo(digest[:24], name, "txt", name, len(text), len(passages), digest, "")
        batch.append(Prepared(info, Document(name, "txt", name, text), passages))
        if len(batch) == DOCUMENTS_PER_COMMIT:
            yield batch
            batch = []
    yield batch


def _bm25s(
    generated: Generated,
    questions: Sequence[tuple[str, NDArray[np.float32]]],
    results: dict[str, Any],
) -> list[list[int]]:
    import bm25s

    started = time.perf_counter()
    tokens = bm25s.tokenize(generated.texts, stopwords=None, show_progress=False)
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(tokens, show_progress=False)
    del tokens
    seconds = time.perf_counter() - started

    def ask(number: int, count: int = TOP) -> list[int]:
        query = bm25s.tokenize(questions[number][0], stopwords=None, show_progress=False)
        found, _ = index.retrieve(query, k=count, show_progress=False)
        return [int(each) for each in found[0]]

    times, _ = _timed(ask, len(questions))
    results["bm25s"] = {"rate": generated.count / seconds, "recall": 1.0, **times}
    return [ask(number, MIN_CANDIDATES) for number in range(len(questions))]


def _faiss(
    generated: Generated,
    questions: Sequence[tuple[str, NDArray[np.float32]]],
    results: dict[str, Any],
) -> list[list[int]]:
    import faiss

    started = time.perf_counter()
    flat = faiss.IndexFlatIP(WIDTH)
    flat.add(generated.vectors)
    rate = generated.count / (time.perf_counter() - started)
    times, _ = _timed(
        lambda i: flat.search(questions[i][1][None], TOP)[1][0].tolist(),
        min(EXACT_QUESTIONS, len(questions)),
    )
    exact: list[list[int]] = flat.search(np.stack([near for _, near in questions]), MIN_CANDIDATES)[
        1
    ].tolist()
    results["faiss flat"] = {"rate": rate, "recall": 1.0, **times}
    lists = max(4, int(generated.count**0.5))
    started = time.perf_counter()
    index: Any = faiss.index_factory(WIDTH, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.train(generated.vectors[: 64 * lists])
    index.add(generated.vectors)
    index.nprobe = max(1, lists // 40)
    rate = generated.count / (time.perf_counter() - started)
    times, rows = _timed(
        lambda i: index.search(questions[i][1][None], TOP)[1][0].tolist(), len(questions)
    )
    shares = [len(set(a) & set(b[:TOP])) / TOP for a, b in zip(rows, exact, strict=True)]
    results["faiss IVF SQ8"] = {"rate": rate, "recall": float(np.mean(shares)), **times}
    return exact


def _timed(ask: Callable[[int], Any], count: int) -> tuple[dict[str, float], list[Any]]:
    for i in range(min(count, 5)):
        ask(i)
    times, found = [], []
    for i in range(count):
        started = time.perf_counter()
        found.append(ask(i))
        times.append((time.perf_counter() - started) * 1000)
    return {"p50": float(np.percentile(times, 50)), "p99": float(np.percentile(times, 99))}, found


if __name__ == "__main__":
    main()
