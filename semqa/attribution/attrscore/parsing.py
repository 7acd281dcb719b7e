"""The label that a model's output states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.attribution.attrscore.family import DEFAULT_FAMILY
from semqa.attribution.attrscore.label import LABEL_OF
from semqa.attribution.attrscore.official import official_label
from semqa.attribution.judges.replies import read_relation

if TYPE_CHECKING:
    from semqa.attribution.attrscore.label import Label

__all__ = ["parse_label"]


def parse_label(
    output: str, family: str = DEFAULT_FAMILY, *, official: bool = False
) -> Label | None:
    """Return the label that an output states, or None if it is unparsed.

    Args:
        output: what a model wrote.
        family: the prompt family, by our name or the released code's; needed by `official` alone.
        official: parse as the released code does, defects and all.

    Raises:
        InputError: the family is unknown.

    Example:
        >>> parse_label("It is not attributable; it is contradictory.")
        'Contradictory'
        >>> parse_label("I cannot decide") is None
        True
    """
    if official:
        return official_label(output, family)
    relation = read_relation(output)
    return None if relation is None else LABEL_OF[relation]
