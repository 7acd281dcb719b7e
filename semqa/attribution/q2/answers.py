"""Two answers to one question compared: by their words, and by entailment.

Source: Honovich et al. 2021 (Q²), and its released code. The default compares as SQuAD does. With ``official`` it
compares as the released code does, which differs in four ways: *in* and *our* are dropped too; an
answer without a word left is worth 0; equal bags of words are worth 1 without entailment being
asked, whatever their order; and the text ``nan`` (an answer that a table read as missing) keeps the
overlap.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import TYPE_CHECKING

from semqa.attribution.judges.base import Pair
from semqa.metrics.short_answers import normalise_answer, token_f1

if TYPE_CHECKING:
    from semqa.attribution.judges.base import Entailment

__all__ = [
    "CONTRADICTED",
    "ENTAILED",
    "NEUTRAL",
    "answers_agree",
    "compared",
    "entailment_pair",
    "entailment_score",
    "needs_entailment",
    "overlap_of_answers",
]

ENTAILED, NEUTRAL, CONTRADICTED = 1.0, 0.5, 0.0
"""What a whole response is worth by entailment; between answers, neutral is worth their overlap."""

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DROPPED = re.compile(r"\b(a|an|the|in|our)\b")
_NO_ANSWER = "[CLS]"


def clean_officially(text: str) -> str:
    """Normalise an answer as the released code does.

    Example:
        >>> clean_officially("In our well-known House!")
        'wellknown house'
    """
    # Only spaces are squeezed there: a tab between two words stays, and parts them all the same.
    found = _DROPPED.sub(" ", text.lower().translate(_PUNCTUATION))
    return re.sub(" +", " ", found).strip()


def answers_agree(span: str, answer: str, *, official: bool = False) -> bool:
    """Return whether the answer to a question is the span that it was asked for.

    Example:
        >>> answers_agree("The U.S.", "US"), answers_agree("well-known", "well known")
        (True, False)
    """
    if official:
        return answer != _NO_ANSWER and clean_officially(span) == clean_officially(answer)
    left = normalise_answer(span)
    return bool(left) and left == normalise_answer(answer)


def overlap_of_answers(span: str, answer: str, *, official: bool = False) -> float:
    """Return the F1 of the words of two answers, in [0, 1].

    Example:
        >>> overlap_of_answers("in our house", "house", official=True)
        1.0
    """
    if not official:
        return token_f1(span, answer)
    left, right = clean_officially(span).split(), clean_officially(answer).split()
    common = (Counter(left) & Counter(right)).total()
    if not common:
        return 0.0
    precision, recall = 1.0 * common / len(right), 1.0 * common / len(left)
    return (2 * precision * recall) / (precision + recall)


def needs_entailment(span: str, answer: str, overlap: float, *, official: bool = False) -> bool:
    """Return whether entailment has a say in how two answers compare."""
    if official:
        return overlap < 1 and _NO_ANSWER not in answer and answer not in ("", "nan")
    return normalise_answer(span) != normalise_answer(answer)


def entailment_pair(question: str, span: str, answer: str) -> Pair:
    """Return what is asked: whether the answer of the knowledge entails that of the response."""
    return Pair(f"{question} {answer}.", f"{question} {span}.")


def compared(overlap: float, entailment: Entailment | None) -> float:
    """Return what a pair of answers is worth: entailment decides, neutral leaves the overlap.

    Args:
        overlap: of their words.
        entailment: what the judge said; None where it was not asked.
    """
    if entailment is None:
        return overlap
    worth = entailment_score(entailment)
    return overlap if worth == NEUTRAL else worth


def entailment_score(entailment: Entailment) -> float:
    """Return 1 for entailment, 0 for contradiction, and 0.5 if neither is most probable."""
    worth = {"entailment": ENTAILED, "neutral": NEUTRAL, "contradiction": CONTRADICTED}
    return worth[entailment.relation]
