"""Thresholds of the filters, and the data behind their defaults.

The defaults are ours. The paper (Schuster et al. 2024, section 4.1) names the filters, but we could
not compare with its numbers. "Dev" is QuoteSum's dev split, which people have approved: 91
questions, 280 passages, 354 pairs of answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from semqa.errors import InputError

MOST_SOURCES = 8
"""Maximum number of sources in a QuoteSum row."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Thresholds of the filters.

    Basis of the defaults: the lexical judge's score is the proportion of the question's words in
    the best sentence of a passage. A threshold of 0.5 keeps 82% of dev's 217 PAQ passages, which
    have 83 to 200 words (AmbigQA's have 17 to 107). Of dev's 354 pairs of answers, 1% have an edit
    distance below 0.31 of the longer answer, and 99% have a word overlap (intersection over union)
    of at most 0.33; one has 0.5. The lexical judge finds 2 pairs equal.

    Attributes:
        qa: QA model: lexical, transformers:qa=MODEL or engine:SPEC.
        least_score: minimum score of the QA model.
        one_per_page: keep one passage per page; else all that do not overlap.
        least_words, most_words: minimum and maximum length of a passage.
        least_edits: answers are equal if their edit distance, relative to the longer one, is lower.
        most_overlap: answers are equal if their word overlap is at least this.
        equivalence: judge of equal answers: lexical, transformers:nli=MODEL, engine:SPEC or empty.
        least_equivalence: minimum entailment probability of equal answers, in both directions.
        similar: minimum TF-IDF cosine of questions that are merged.
        most_sources: maximum passages per question.
        device: device of the models; by default a GPU if available.
    """

    qa: str = "lexical"
    least_score: float = 0.5
    one_per_page: bool = True
    least_words: int = 80
    most_words: int = 200
    least_edits: float = 0.3
    most_overlap: float = 0.5
    equivalence: str = "lexical"
    least_equivalence: float = 0.5
    similar: float = 0.9
    most_sources: int = MOST_SOURCES
    device: str | None = None

    def __post_init__(self) -> None:
        for name in ("least_score", "least_edits", "most_overlap", "least_equivalence"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"must be from 0 to 1, got {getattr(self, name)}.", field=name)
        if not 0 < self.similar <= 1:
            raise InputError(f"must be above 0 and at most 1, got {self.similar}.", field="similar")
        if not 0 <= self.least_words <= self.most_words:
            raise InputError(
                f"must be at most most_words ({self.most_words}), got {self.least_words}.",
                field="least_words",
            )
        if not 2 <= self.most_sources <= MOST_SOURCES:
            raise InputError(
                f"must be from 2 to {MOST_SOURCES}, got {self.most_sources}.", field="most_sources"
            )


PAQ = Rules()
"""Rules for PAQ. They keep 59 of dev's 65 PAQ questions.

None of these has two passages of the same page.
"""

AMBIGQA = Rules(least_score=0.0, least_words=15, one_per_page=False)
"""Rules for AmbigQA. Its answers were found by people, so the score only chooses between passages.

Passages are paragraphs, of 17 to 107 words in dev. 14 of dev's 26 questions have two of the same
page.
"""

DOCUMENTS = Rules(least_words=15, least_score=0.7)
"""Rules for own documents, where the lexical judge scores unrelated passages too high."""
