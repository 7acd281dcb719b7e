"""The error types of TofuEval: what can be wrong with a sentence of a summary.

Source: Tang et al. 2024, TofuEval, section 6 and its appendix: names and distinctions; the wording is
ours.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["ERROR_TYPES", "ErrorType", "error_types", "find_error_types"]


class ErrorType(NamedTuple):
    """One type of error.

    Attributes:
        name: as the released annotations write it.
        definition: what a sentence of this type does, after the words "the sentence".
        example: a document and a sentence with this error.
    """

    name: str
    definition: str
    example: tuple[str, str]


ERROR_TYPES = (
    ErrorType(
        "Extrinsic Information",
        "tells something that the document does not mention at all, whether true or false",
        ("The vote is on Monday.", "The vote, which nine members attend, is on Monday."),
    ),
    ErrorType(
        "Mis-Referencing",
        "takes a property, a statement or an event from the document and gives it to the wrong "
        "person or thing",
        ("Lee praised the plan that Ortiz wrote.", "Lee wrote the plan."),
    ),
    ErrorType(
        "Stating Opinion as Fact",
        "gives as plain fact what the document gives as somebody's view, claim or guess",
        ("Lee: I think the bridge is unsafe.", "The bridge is unsafe."),
    ),
    ErrorType(
        "Reasoning Error",
        "draws a conclusion (a cause, a sum, a comparison, a general rule) that the document does "
        "not bear out",
        ("Rents rose. The mill closed.", "Rents rose because the mill closed."),
    ),
    ErrorType(
        "Tense/Modality Error",
        "changes when something happens or how certain, possible or required it is",
        ("The council may buy the lot.", "The council bought the lot."),
    ),
    ErrorType(
        "Contradiction",
        "says the opposite of what the document says",
        ("The motion failed.", "The motion passed."),
    ),
    ErrorType(
        "Nuanced Meaning Shift",
        "keeps close to the words of the document but turns their meaning a little: in degree, "
        "scope or emphasis",
        ("The mayor had doubts about the tax.", "The mayor rejected the tax."),
    ),
)
"""The seven types, the most frequent first but for the last."""

_LETTERS = re.compile(r"[^a-z]+")
_MARKS = re.compile(r"[,;|\n]+")
_NONE = ("", "-", "na", "n/a", "nan", "none")


def error_types(cell: str) -> tuple[str, ...]:
    """Read the types of a sentence as the annotations write them, parted by commas.

    Known names come back as they are in `ERROR_TYPES`, whatever their case and hyphens; others as they
    are, for annotators may have had their reasons.

    Example:
        >>> error_types("Mis-referencing, stating opinion as fact , Odd")
        ('Mis-Referencing', 'Stating Opinion as Fact', 'Odd')
    """
    parts = (part.strip() for part in _MARKS.split(cell))
    named = (part for part in parts if part.casefold() not in _NONE)
    return tuple(dict.fromkeys(_KNOWN.get(_plain(part), part) for part in named))


def find_error_types(text: str) -> tuple[str, ...]:
    r"""Find the types that a model names, in the order in which it names them first.

    Example:
        >>> find_error_types("1. **Reasoning error**\n2. tense / modality")
        ('Reasoning Error', 'Tense/Modality Error')
    """
    found = []
    for error in ERROR_TYPES:
        stem = re.sub(r" (error|information)$", "", error.name, flags=re.IGNORECASE)
        words = r"[\W_]*".join(map(re.escape, re.split(r"[\W_]+", stem)))
        match = re.search(rf"(?<!\bno )(?<!\bnot a )(?<!\bnot )\b{words}\b", text, re.IGNORECASE)
        if match is not None:
            found.append((match.start(), error.name))
    return tuple(name for _, name in sorted(found))


def _plain(name: str) -> str:
    return _LETTERS.sub("", name.casefold()).removesuffix("error")


_KNOWN = {_plain(error.name): error.name for error in ERROR_TYPES}
_KNOWN["extrinsicinfo"] = _KNOWN["extrinsicinformation"]  # as the paper's tables have it
