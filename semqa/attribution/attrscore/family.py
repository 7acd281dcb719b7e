"""The prompt families of AttrScore: what each calls claim and reference, and its label words.

Source: Yue et al. 2023, prompting, and the released prompts. The label words are the paper's; the
prompts in ``prompts/judge/attrscore-*.jinja`` are ours.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.attribution.attrscore.label import Label

__all__ = ["DEFAULT_FAMILY", "FAMILIES", "PAPER_FAMILIES", "Family", "family_named"]

DEFAULT_FAMILY = "attribution-defined"
"""As in the paper, whose attribution prompt defines its labels."""

PAPER_FAMILIES = (DEFAULT_FAMILY, "fact-checking", "nli", "summarization")
"""The four prompts over which the paper averages."""


@dataclass(frozen=True, slots=True)
class Family:
    """One way to put the question.

    Attributes:
        name: as on the command line.
        official: what the released code calls it.
        words: the label words, in the order in which the released code looks for them, and the
            label of each.
    """

    name: str
    official: str
    words: Mapping[str, Label]

    @property
    def prompt(self) -> str:
        """The name of the shipped prompt."""
        return f"attrscore-{self.name}"

    def word(self, label: Label) -> str:
        """Return the word that stands for a label.

        Example:
            >>> FAMILIES["nli"].word("Extrapolatory")
            'Neutral'
        """
        return next(word for word, meant in self.words.items() if meant == label)


_OWN: Final[Mapping[str, Label]] = {
    "Attributable": "Attributable",
    "Extrapolatory": "Extrapolatory",
    "Contradictory": "Contradictory",
}

FAMILIES: Final[Mapping[str, Family]] = {
    family.name: family
    for family in (
        Family("attribution", "attribution-no-definition", _OWN),
        Family("attribution-defined", "attribution-with-definition", _OWN),
        Family(
            "fact-checking",
            "fact-checking",
            {
                "Supported": "Attributable",
                "Not Enough Information": "Extrapolatory",
                "Refuted": "Contradictory",
            },
        ),
        Family(
            "nli",
            "nli",
            {
                "Entailment": "Attributable",
                "Neutral": "Extrapolatory",
                "Contradiction": "Contradictory",
            },
        ),
        Family(
            "summarization",
            "summarization",
            {
                "Support": "Attributable",
                "Not Enough Information": "Extrapolatory",
                "Contradict": "Contradictory",
            },
        ),
    )
}
"""All families by name."""

_BY_NAME: Final[Mapping[str, Family]] = {
    **FAMILIES,
    **{family.official: family for family in FAMILIES.values()},
}


def family_named(name: str) -> Family:
    """Return a family by its name, or by that of the released code.

    Raises:
        InputError: there is none.

    Example:
        >>> family_named("attribution-no-definition").name
        'attribution'
    """
    found = _BY_NAME.get(name)
    if found is None:
        close = difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.5)
        raise InputError(
            f"prompt family: got {name!r}, expected one of {', '.join(FAMILIES)}; "
            f"{f'did you mean {close[0]}?' if close else 'choose one'}"
        )
    return found
