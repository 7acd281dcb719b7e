"""What the labels of a classifier mean: entailment, neutral, contradiction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.attribution.judges.base import Relation

__all__ = ["read_labels"]

_NAMES: dict[str, Relation] = {
    "entailment": "entailment",
    "entails": "entailment",
    "entailed": "entailment",
    "attributable": "entailment",
    "supported": "entailment",
    "supports": "entailment",
    "support": "entailment",
    "consistent": "entailment",
    "neutral": "neutral",
    "extrapolatory": "neutral",
    "notentailment": "neutral",
    "nonentailment": "neutral",
    "notentailed": "neutral",
    "unsupported": "neutral",
    "notsupported": "neutral",
    "notenoughinfo": "neutral",
    "notenoughinformation": "neutral",
    "nei": "neutral",
    "inconsistent": "neutral",
    "unattributable": "neutral",
    "notattributable": "neutral",
    "contradiction": "contradiction",
    "contradicts": "contradiction",
    "contradictory": "contradiction",
    "refuted": "contradiction",
    "refutes": "contradiction",
    "refute": "contradiction",
}
"""Names by their letters alone. Of two labels, the other one is all that does not follow: neutral."""


def read_labels(
    model: str, named: Mapping[int, str], given: str | None
) -> tuple[Relation | None, ...]:
    """Return what each output of a classifier stands for.

    Args:
        model: its name, for messages.
        named: the labels that its configuration names, by their numbers.
        given: what the user says of them, in order, between slashes; None for what the names say.

    Raises:
        InputError: a label means nothing that is known, or none means entailment.

    Example:
        >>> read_labels("m", {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}, None)
        ('contradiction', 'neutral', 'entailment')
    """
    names = [named[number] for number in sorted(named)]
    words = names if given is None else [word.strip() for word in given.split("/")]
    if len(words) != len(names):
        raise InputError(
            f"labels: got {len(words)} in {given!r}, expected {len(names)}, as many as the model "
            f"{model} has; write such as contradiction/neutral/entailment"
        )
    read = tuple(_NAMES.get(re.sub(r"[^a-z]", "", word.casefold())) for word in words)
    if None in read or read.count("entailment") != 1:
        raise InputError(
            f"model {model}: labels of unknown meaning: got {', '.join(words)}, expected names such "
            "as entailment, neutral and contradiction; say what they mean, in their order, such as "
            "labels=contradiction/neutral/entailment after the model"
        )
    return read
