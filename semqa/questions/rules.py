"""What passes the filters, in numbers, and what each rests on.

The defaults are ours. The paper (Schuster et al. 2024, section 4.1) names the filters, but we have not
had its text to compare numbers with, so none here claims to be the paper's. "Dev" is what QuoteSum's
dev split holds, which people have approved: 91 questions, 280 passages, 354 pairs of answers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from semqa.errors import InputError

MOST_SOURCES = 8
"""A QuoteSum row has columns for so many."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What passes. The defaults are ours: "dev" below is what QuoteSum's dev split holds (91 questions).

    Attributes:
        least_score: least score of an answer. The lexical judge's score is the share of the question's
            words in the best sentence; it keeps 82% of dev's 217 PAQ passages at 0.5.
        one_per_page: keep one passage a page, else all that do not overlap.
        least_words: fewest words of a passage; dev's PAQ passages have 83 to 200, AmbigQA's 17 to 107.
        least_edits: edits that make one answer the other, as a share of the longer one's characters;
            below it they are equal. 1% of dev's 354 pairs of answers are below 0.31.
        most_overlap: share of words that two answers have in common (intersection over union); at it
            or above they are equal. 99% of dev's pairs are at 0.33 or below, one at 0.5.
        equivalence: judge of entailment, by name; empty for none.
        least_equivalence: probability, in both directions, from which two answers are equal. The
            lexical judge takes 2 of dev's 354 pairs for equal.
        similar: cosine of two questions' TF-IDF vectors from which they are merged; 1 merges only those of
            the same words.
        most_sources: answers that a question keeps, at most QuoteSum's eight columns.
        device: where models of the judges run; None for their default.
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

    def to_dict(self) -> dict[str, object]:
        """Return the rules for a record."""
        return asdict(self)


PAQ = Rules()
"""For PAQ: they keep 59 of dev's 65 PAQ questions. None of these has two passages of one page."""

AMBIGQA = Rules(least_score=0.0, least_words=15, one_per_page=False)
"""For AmbigQA, whose answers people found, so that the score only chooses between passages. They are
paragraphs, of 17 to 107 words in dev, and 14 of dev's 26 questions have two of one page."""

DOCUMENTS = Rules(least_words=15, least_score=0.7)
"""For one's own documents, in which the lexical judge reads too much into what is about another thing."""
