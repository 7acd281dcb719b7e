"""Finds similar questions by the cosine of their TF-IDF vectors.

All pairs with at least a threshold are found without comparing every pair, by prefix filtering
(Bayardo et al. 2007). The part of a vector on its most frequent words is shorter than the
threshold. So a similar pair must also share a rarer word, and only such pairs are compared.

Source: Schuster et al. 2024, section 4.1, for merging by TF-IDF; the algorithm and threshold are
ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from semqa.extras import require

ROWS = 2_000
"""Number of questions per matrix multiplication."""

_WORD = r"(?u)\b\w+\b"

_EXACT = 1e-9
_PURPOSE = "grouping questions"


def similar_pairs(questions: Sequence[str], least: float) -> Iterator[tuple[int, int]]:
    """Yield the pairs of questions whose cosine is at least `least`, each once, lower index first.

    Vectors are scikit-learn's default TF-IDF, but include words of one letter.
    """
    text: Any = require("sklearn.feature_extraction.text", extra="questions", purpose=_PURPOSE)
    if len(questions) < 2:
        return
    weighted = text.TfidfVectorizer(token_pattern=_WORD).fit_transform(questions).tocsr()
    frequency = np.diff(weighted.tocsc().indptr)
    rare = _rare_part(weighted, frequency, least)
    columns = weighted.T.tocsr()
    for start in range(0, len(questions), ROWS):
        block = slice(start, start + ROWS)
        shared = (rare[block] @ columns).tocoo()
        ones, others = shared.row + start, shared.col
        below = ones < others
        ones, others = ones[below], others[below]
        cosines = np.asarray(weighted[ones].multiply(weighted[others]).sum(axis=1)).ravel()
        for place in np.flatnonzero(cosines >= least - _EXACT):
            yield int(ones[place]), int(others[place])


def _rare_part(weighted: Any, frequency: Any, least: float) -> Any:
    """Remove the most frequent words of each vector, as long as their part is below `least`.

    Two unit vectors that share only the removed words have a cosine below `least`.
    """
    sparse: Any = require("scipy.sparse", extra="questions", purpose=_PURPOSE)
    kept_rows, kept_columns = [], []
    for row in range(weighted.shape[0]):
        start, end = weighted.indptr[row], weighted.indptr[row + 1]
        columns, values = weighted.indices[start:end], weighted.data[start:end]
        order = np.lexsort((columns, -frequency[columns]))  # the most frequent first
        left_out = np.cumsum(values[order] ** 2) < (least - _EXACT) ** 2
        kept = columns[order][~left_out]
        kept_rows.append(np.full(len(kept), row))
        kept_columns.append(kept)
    rows, columns = np.concatenate(kept_rows), np.concatenate(kept_columns)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=weighted.shape)


def groups(count: int, pairs: Iterator[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components of at least two members, sorted by their first members.

    Example:
        >>> groups(5, iter([(0, 3), (3, 4)]))
        [[0, 3, 4]]
    """
    sparse: Any = require("scipy.sparse", extra="questions", purpose=_PURPOSE)
    graph: Any = require("scipy.sparse.csgraph", extra="questions", purpose=_PURPOSE)
    ends = np.fromiter(chain.from_iterable(pairs), np.int32).reshape(-1, 2).T
    edges = sparse.coo_matrix((np.ones(ends.shape[1]), tuple(ends)), shape=(count, count))
    found: dict[int, list[int]] = {}
    for at, label in enumerate(graph.connected_components(edges, directed=False)[1]):
        found.setdefault(int(label), []).append(at)
    return [members for members in found.values() if len(members) > 1]
