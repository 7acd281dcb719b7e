"""Sentence-level citation recall and precision (ALCE), and Disambig-F1 (ASQA)."""

from semqa.attribution.citations.reading import CitedAnswer, CitedSentence, cited_sentences
from semqa.attribution.citations.scores import citation_scores, score_citations

__all__ = ["CitedAnswer", "CitedSentence", "citation_scores", "cited_sentences", "score_citations"]
