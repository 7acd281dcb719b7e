"""The three labels of AttrScore, and how they stand to the relations of entailment.

Source: Yue et al. 2023, the definition of the problem. *Attributable*: the reference supports the claim in full.
*Extrapolatory*: it holds too little to say whether the claim is so. *Contradictory*: it says
otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.attribution.judges import Entailment
    from semqa.attribution.judges.base import Relation

__all__ = ["LABELS", "LABEL_OF", "RELATIONS", "Label", "label_named", "label_of_relation"]

Label = Literal["Attributable", "Contradictory", "Extrapolatory"]
"""A label as the paper and its data write it."""

LABELS: Final[tuple[Label, ...]] = ("Attributable", "Contradictory", "Extrapolatory")
"""In the order of the paper's table."""

RELATIONS: Final[Mapping[Label, Relation]] = {
    "Attributable": "entailment",
    "Contradictory": "contradiction",
    "Extrapolatory": "neutral",
}
"""The relation of entailment that each label names."""

LABEL_OF: Final[Mapping[Relation, Label]] = {name: label for label, name in RELATIONS.items()}

_BY_NAME: Final[Mapping[str, Label]] = {label.lower(): label for label in LABELS}


def label_named(name: str) -> Label | None:
    """Return the label with this name, in any case and with blanks around it, or None.

    Example:
        >>> label_named(" extrapolatory ")
        'Extrapolatory'
    """
    return _BY_NAME.get(name.strip().lower())


def label_of_relation(found: Entailment) -> Label:
    """Return the label of an entailment judge's probabilities: the most probable relation.

    A tie is never attributable, and contradictory only where nothing is as probable: a judge that
    is undecided has found too little.

    Example:
        >>> from semqa.attribution.judges import Entailment
        >>> label_of_relation(Entailment(0.4, 0.2, 0.4))
        'Extrapolatory'
    """
    return LABEL_OF[found.relation]
