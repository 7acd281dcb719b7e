"""Similar questions: the same pairs as comparing all with all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from semqa.questions import similar
from semqa.questions.similar import similar_pairs
from tests.effort import effort

WORDS = [
    "who", "won", "the", "cup", "of", "norval", "lincoln", "battle", "when", "was", "a", "1998"
]  # fmt: skip
questions = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), max_size=20
)
thresholds = st.sampled_from((0.05, 0.3, 0.5, 0.75, 0.9, 1.0))


def cosines(texts: list[str]) -> Any:
    weighted = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b").fit_transform(texts)
    return (weighted @ weighted.T).toarray()


@settings(max_examples=effort(60), deadline=None)
@given(questions, thresholds, st.integers(1, 7))
def test_pairs_are_those_of_all_with_all(texts: list[str], least: float, rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similar, "ROWS", rows)
        found = sorted(similar_pairs(texts, least))
    expected = cosines(texts) if len(texts) > 1 else np.zeros((len(texts), len(texts)))
    # A cosine at the threshold may be rounded up or down.
    sure = {(a, b) for a, b in np.argwhere(expected >= least + 1e-6) if a < b}
    perhaps = {(a, b) for a, b in np.argwhere(expected >= least - 1e-6) if a < b}
    assert len(found) == len(set(found))
    assert sure <= set(found) <= perhaps
