"""What passes the filters, in numbers, and what each rests on.

The defaults are ours. The paper (Schuster et al. 2024, section 4.1) names the filters, but we have not
had its text to compare numbers with, so none here claims to be the paper's. "Dev" is what QuoteSum's
dev split holds, which people have approved: 91 questions, 280 passages, 354 pairs of answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from semqa.errors import InputError

MOST_SOURCES = 8
"""A QuoteSum row has columns for so many."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What passes.

    What the defaults rest on: by the lexical judge, a score is the share of the question's words in the
    best sentence of a passage; 0.5 keeps 82% of dev's 217 PAQ passages, which have 83 to 200 words
    (AmbigQA's have 17 to 107). 1% of dev's 354 pairs of answers differ in less than 0.31 of the longer
    one's characters, and 99% share 0.33 of their words or fewer (intersection over union), one 0.5. The
    lexical judge takes 2 pairs for equal.

    Attributes:
        qa: the QA model: lexical, transformers:qa=MODEL or engine:SPEC.
        least_score: by the QA model.
        one_per_page: keep one passage a page, else all that do not overlap.
        least_words, most_words: of a passage.
        least_edits: answers that differ in a smaller share of their characters are equal.
        most_overlap: answers that share so many of their words are equal.
        equivalence: what finds equal answers: lexical, transformers:nli=MODEL, engine:SPEC or empty.
        least_equivalence: probability from which it finds answers equal, both ways.
        similar: TF-IDF cosine at which questions are merged.
        most_sources: passages of a question.
        device: of models; by default a GPU if there is one.
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
"""For PAQ: they keep 59 of dev's 65 PAQ questions. None of these has two passages of one page."""

AMBIGQA = Rules(least_score=0.0, least_words=15, one_per_page=False)
"""For AmbigQA, whose answers people found, so that the score only chooses between passages. They are
paragraphs, of 17 to 107 words in dev, and 14 of dev's 26 questions have two of one page."""

DOCUMENTS = Rules(least_words=15, least_score=0.7)
"""For one's own documents, in which the lexical judge reads too much into what is about another thing."""
