"""Measures of consistency by the names that the paper gives them."""

from __future__ import annotations

__all__ = ["shown_name"]

_SHOWN = {
    "q2": "Q²",
    "q2_no_nli": "Q² without NLI",
    "overlap": "overlap",
    "words": "overlap of all words",
    "bleu": "BLEU",
    "bertscore": "BERTScore",
    "nli": "end-to-end NLI",
}


def shown_name(measure: str) -> str:
    """Return a measure's name for a table or a picture; a user's own is its own name.

    Example:
        >>> shown_name("q2"), shown_name("mine")
        ('Q²', 'mine')
    """
    return _SHOWN.get(measure, measure)
