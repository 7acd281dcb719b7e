"""Sentence-level citation recall and precision (ALCE), and Disambig-F1 (ASQA)."""

from semqa.attribution.citations.reading import CitedAnswer, CitedSentence, cited_sentences
from semqa.attribution.citations.scores import (
    CitationScores,
    SentenceScore,
    citation_scores,
    score_citations,
)

__all__ = [
    "CitationScores",
    "CitedAnswer",
    "CitedSentence",
    "SentenceScore",
    "citation_scores",
    "cited_sentences",
    "score_citations",
]
