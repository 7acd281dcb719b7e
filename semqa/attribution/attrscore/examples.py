"""AttrScore's examples with their files, labels and prompt families, and the parsing of outputs.

*Attributable*: the reference fully supports the claim. *Extrapolatory*: the reference is not
sufficient. *Contradictory*: the reference contradicts the claim. `semqa.attribution.judges.replies`
parses outputs.

Files are CSV, TSV, JSON or JSON lines with the columns of the released data sets: ``query``,
``answer``, ``reference``, ``label`` and optionally ``id`` and ``domain``; others are ignored.

`official_label` reproduces the released code, defects included, to make results comparable; do not
use it for anything else. It returns the first label word, even inside a word ("Unattributable") or
after "not". With two of the families, it can never return Extrapolatory.

Source: Yue et al. 2023; github.com/OSU-NLP-Group/AttrScore, June 2023; AttrEval-GenSearch and
AttrEval-Simulation on Hugging Face, osunlp/AttrScore. The label words are from the paper; the
prompts in ``prompts/judge/attrscore-*.jinja`` are ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from semqa.attribution.judges.base import Relation
from semqa.attribution.judges.replies import read_relation
from semqa.attribution.records import filled_text, read_table
from semqa.data.jsonl import Row, describe
from semqa.errors import InputError

Label = Literal["Attributable", "Contradictory", "Extrapolatory"]
"""A label, as spelled in the paper and its data."""

LABELS: Final[tuple[Label, ...]] = ("Attributable", "Contradictory", "Extrapolatory")
"""All labels, in the order of the paper's table."""

RELATIONS: Final[Mapping[Label, Relation]] = {
    "Attributable": "entailment",
    "Contradictory": "contradiction",
    "Extrapolatory": "neutral",
}
"""The entailment relation of each label."""

LABEL_OF: Final[Mapping[Relation, Label]] = {name: label for label, name in RELATIONS.items()}
"""The label of each relation; a tie is extrapolatory, because the evidence is not sufficient."""


def label_named(name: str) -> Label | None:
    """Return a label by name, ignoring case and surrounding blanks; None if unknown.

    Example:
        >>> label_named(" extrapolatory ")
        'Extrapolatory'
    """
    return next((label for label in LABELS if label.lower() == name.strip().lower()), None)


DEFAULT_FAMILY = "attribution-defined"
"""As in the paper, where the attribution prompt defines the labels."""

PAPER_FAMILIES = (DEFAULT_FAMILY, "fact-checking", "nli", "summarization")
"""The four prompt families that the paper averages over."""


@dataclass(frozen=True, slots=True)
class Family:
    """A prompt family and the label of each word, in the order of the released code's search."""

    name: str
    words: Mapping[str, Label]

    @property
    def prompt(self) -> str:
        return f"attrscore-{self.name}"

    def word(self, label: Label) -> str:
        """Return the family's word for a label.

        Example:
            >>> FAMILIES["nli"].word("Extrapolatory")
            'Neutral'
        """
        return next(word for word, its_label in self.words.items() if its_label == label)


_ORDER: Final[tuple[Label, ...]] = ("Attributable", "Extrapolatory", "Contradictory")
_WORDS: Final = {
    "attribution": _ORDER,
    DEFAULT_FAMILY: _ORDER,
    "fact-checking": ("Supported", "Not Enough Information", "Refuted"),
    "nli": ("Entailment", "Neutral", "Contradiction"),
    "summarization": ("Support", "Not Enough Information", "Contradict"),
}
FAMILIES: Final[Mapping[str, Family]] = {
    name: Family(name, dict(zip(words, _ORDER, strict=True))) for name, words in _WORDS.items()
}
"""All families by name."""


@dataclass(frozen=True, slots=True)
class Example:
    """A row of AttrEval-GenSearch, of AttrEval-Simulation, or of a training set.

    Attributes:
        id: id of the row; by default its number, from 1.
        answer: the answer to the question, or the whole claim.
        domain: the group that the example is also scored in, such as a subject; can be empty.
        where: ``file:line``, for error messages.
    """

    id: str
    query: str
    answer: str
    reference: str
    label: Label | None = None
    where: str = ""
    domain: str = ""

    def claim(self, with_query: bool = True) -> str:
        """Return the claim as in the paper: the query and the answer, joined by a space.

        Example:
            >>> Example("1", "Who sang it?", "Bing Crosby", "…").claim()
            'Who sang it? Bing Crosby'
        """
        parts = (self.query, self.answer) if with_query else (self.answer,)
        return " ".join(text for part in parts if (text := " ".join(part.split())))

    def to_dict(self) -> dict[str, object]:
        """Return a row for a data file, without missing fields."""
        row = {name: getattr(self, name) for name in ("id", "query", "answer", "reference")}
        more = {"label": self.label, "domain": self.domain}
        return row | {name: value for name, value in more.items() if value}


def official_label(output: str, family: str) -> Label | None:
    """Return the label that the released code parses from an output, or None.

    Example:
        >>> official_label("Unattributable", "attribution")
        'Attributable'
        >>> official_label("Not Enough Information", "fact-checking") is None
        True
    """
    words = FAMILIES[family].words
    found = re.search("|".join(words), output, re.IGNORECASE)
    return None if found is None else words.get(found[0].capitalize())


def parse_label(output: str) -> Label | None:
    """Return the label that an output states; None if unparsed.

    Example:
        >>> parse_label("It is not attributable; it is contradictory.")
        'Contradictory'
        >>> parse_label("I cannot decide") is None
        True
    """
    relation = read_relation(output)
    return None if relation is None else LABEL_OF[relation]


def column_of(row: Row, names: Sequence[str], what: str) -> str:
    """Return the first of several column names that a row has."""
    for name in names:
        if name in row.fields:
            return name
    present = ", ".join(map(repr, row.fields)) or "none"
    raise InputError(
        f"The {what} is missing: expected one of {', '.join(map(repr, names))}. The fields are {present}.",
        where=row.where,
    )


_MISSING = "nan"
"""An empty cell as written by pandas; the released code treats it as empty, too."""


def read_examples(path: Path | str, *, labelled: bool = False) -> list[Example]:
    """Read a file of examples with `read_table`; with `labelled`, each must have a label."""
    examples = []
    places: dict[str, str] = {}
    for number, row in enumerate(read_table(path), start=1):
        example = _example(row, number, labelled)
        if example.id in places:
            raise InputError(
                f"The id {example.id!r} is already used at {places[example.id]}.", where=row.where
            )
        places[example.id] = row.where
        examples.append(example)
    if not examples:
        raise InputError("The file has no examples.", where=str(path))
    return examples


def _example(row: Row, number: int, labelled: bool) -> Example:
    query = row.text("query", "")
    answer, reference = filled_text(row, "answer"), filled_text(row, "reference")
    key = row.fields.get("id")
    if key in (None, ""):
        key = number
    elif type(key) is not int:
        key = row.text("id")
    return Example(
        id=str(key),
        query="" if query.strip().lower() == _MISSING else query,
        answer=answer,
        reference=reference,
        label=_label(row, labelled),
        where=row.where,
        domain=row.text("domain", "").strip(),
    )


def _label(row: Row, labelled: bool) -> Label | None:
    given = row.fields.get("label")
    if given in (None, "") and not labelled:
        return None
    found = label_named(given) if isinstance(given, str) else None
    if found is None:
        what = "no field 'label'" if "label" not in row.fields else describe(given)
        raise InputError(
            f"must be one of {', '.join(LABELS)}, got {what}.",
            field="label",
            where=row.where,
            hint="To convert labels of other data sets, use semqa eval attrscore map.",
        )
    return found
