"""What the released code makes of a model's output and of the labels, defects and all.

Kept so that figures made with that code can be compared; nothing else should use it. Its parser
takes the first label word that occurs, in a word ("Unattributable") or after a "not"; it looks the
word up with a capital first letter and the rest small, under which "Not Enough Information" is not
known, so that two families can never say Extrapolatory. Its scores leave out what was not parsed
and are NaN for a class that is never predicted.

Source: inference code at github.com/OSU-NLP-Group/AttrScore, June 2023.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semqa.attribution.attrscore.family import family_named
from semqa.attribution.attrscore.label import LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.attrscore.label import Label

__all__ = ["OfficialScores", "official_label", "official_scores"]


def official_label(output: str, family: str) -> Label | None:
    """Return the label that the released code reads from an output, or None.

    Example:
        >>> official_label("Unattributable", "attribution")
        'Attributable'
        >>> official_label("Not Enough Information", "fact-checking") is None
        True
    """
    words = family_named(family).words
    found = re.search("|".join(words), output, re.IGNORECASE)
    return None if found is None else words.get(found[0].capitalize())


@dataclass(frozen=True, slots=True)
class OfficialScores:
    """The released code's figures, in the order of `LABELS`; NaN where it divides by zero.

    Attributes:
        confusion: rows are true labels, columns predicted ones; outputs without a label are in
            none.
        micro_f1: the accuracy over outputs with a label, contrary to the paper's over all.
    """

    confusion: tuple[tuple[int, ...], ...]
    precision: tuple[float, ...]
    recall: tuple[float, ...]
    f1: tuple[float, ...]
    micro_f1: float
    macro_f1: float


def official_scores(true: Sequence[Label], predicted: Sequence[Label | None]) -> OfficialScores:
    """Score as the released code does.

    Args:
        true: the gold labels.
        predicted: a label for each, or None where there was none to read.

    Raises:
        ValueError: the two differ in length.
    """
    pairs = list(zip(true, predicted, strict=True))
    confusion = tuple(tuple(pairs.count((gold, guess)) for guess in LABELS) for gold in LABELS)
    precision, recall, f1 = [], [], []
    for i in range(len(LABELS)):
        hits = confusion[i][i]
        p = _ratio(hits, sum(row[i] for row in confusion))
        r = _ratio(hits, sum(confusion[i]))
        precision.append(p)
        recall.append(r)
        f1.append(_ratio(2 * p * r, p + r))
    return OfficialScores(
        confusion=confusion,
        precision=tuple(precision),
        recall=tuple(recall),
        f1=tuple(f1),
        micro_f1=_ratio(sum(confusion[i][i] for i in range(len(LABELS))), sum(map(sum, confusion))),
        macro_f1=sum(f1) / len(f1),
    )


def _ratio(part: float, whole: float) -> float:
    """Divide; 0/0 and everything with NaN in it is NaN."""
    return part / whole if whole else math.nan
