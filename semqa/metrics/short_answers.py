"""Short answers compared as SQuAD compares them: normalised, then equal, contained, or by tokens.

Source: Rajpurkar et al. 2016, section 6.1, and the evaluation script of SQuAD 1.1; Q², ASQA
(Disambig-F1) and ALCE (string exact match) all use it.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["bag_f1", "exact_match", "normalise_answer", "token_f1"]

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise_answer(text: str) -> str:
    """Lower-case, without ASCII punctuation and English articles, words joined by one space.

    Punctuation goes without leaving a space: ``U.S.`` is ``us``, and ``well-known`` is
    ``wellknown``, not ``well known``.

    Example:
        >>> normalise_answer("The  U.S. flag!")
        'us flag'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(a: str, b: str) -> bool:
    """Return whether two answers are equal once normalised.

    Example:
        >>> exact_match("The U.S.", "US")
        True
    """
    return normalise_answer(a) == normalise_answer(b)


def token_f1(a: str, b: str) -> float:
    """Return the F1 of the bags of normalised tokens, in [0, 1].

    Where one of the two has no token left, it is 1 if neither has, else 0 (as SQuAD 2.0).

    Example:
        >>> token_f1("New York City", "in New York")
        0.6666666666666666
    """
    left, right = normalise_answer(a).split(), normalise_answer(b).split()
    if not left or not right:
        return float(left == right)
    return bag_f1(left, right)


def bag_f1(a: Sequence[str], b: Sequence[str]) -> float:
    """Return the F1 of two bags of words, in [0, 1]; 0 where they share none.

    Example:
        >>> bag_f1(["a", "a", "b"], ["a"])
        0.5
    """
    common = (Counter(a) & Counter(b)).total()
    if not common:
        return 0.0
    precision, recall = common / len(a), common / len(b)
    return 2 * precision * recall / (precision + recall)
