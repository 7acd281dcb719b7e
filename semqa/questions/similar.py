"""Questions that ask the same in other words, merged by the cosine of their TF-IDF vectors.

All pairs at or above a threshold are found, without comparing all with all: the parts of two vectors
on frequent words alone are shorter than the threshold, so such a pair shares one of the rarer words of
either (prefix filtering; Bayardo et al. 2007). Only questions that do are compared.

Source: Schuster et al. 2024, section 4.1, for merging by TF-IDF; how, and the threshold, is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROWS = 2_000
"""Questions that are compared with all at once."""

_WORD = r"(?u)\b\w+\b"

_EXACT = 1e-9


def similar_pairs(questions: Sequence[str], least: float) -> Iterator[tuple[int, int]]:
    """Yield the pairs of questions whose cosine is at least a threshold, each once, lower number first.

    Words are weighted by scikit-learn's TF-IDF with its defaults, words of one letter included.
    """
    np: Any = require("numpy", extra="questions", purpose="merging similar questions")
    sparse: Any = require("scipy.sparse", extra="questions", purpose="merging similar questions")
    text: Any = require(
        "sklearn.feature_extraction.text", extra="questions", purpose="merging similar questions"
    )
    if len(questions) < 2:
        return
    weighted = text.TfidfVectorizer(token_pattern=_WORD).fit_transform(questions).tocsr()
    frequency = np.diff(weighted.tocsc().indptr)
    rare = _rare_part(np, sparse, weighted, frequency, least)
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


def _rare_part(np: Any, sparse: Any, weighted: Any, frequency: Any, least: float) -> Any:
    """Return the vectors without their most frequent words, as many as stay shorter than `least`.

    Two vectors of length 1 that share only such words have a cosine below `least`.
    """
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
    """Return the groups of at least two that pairs connect, each in order, by their first members.

    Example:
        >>> groups(5, iter([(0, 3), (3, 4)]))
        [[0, 3, 4]]
    """
    parent = list(range(count))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for one, other in pairs:
        a, b = root(one), root(other)
        parent[max(a, b)] = min(a, b)
    found: dict[int, list[int]] = {}
    for at in range(count):
        found.setdefault(root(at), []).append(at)
    return [members for members in found.values() if len(members) > 1]
