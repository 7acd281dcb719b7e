"""Convert data sets of related tasks to AttrScore's columns and labels, as training data.

The tasks are fact-checking (FEVER and similar), natural language inference (SNLI, MultiNLI, ANLI)
and faithfulness of summaries. Labels are matched ignoring case, blanks and punctuation. Numeric
labels are those of the Hugging Face versions of the NLI data sets.

Source: the mapping of labels is from Yue et al. 2023, repurposed data; the spellings are from the
data sets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from semqa.attribution.attrscore.examples import Example, Label, column_of
from semqa.attribution.records import invalid_field, read_table
from semqa.data.jsonl import Row, describe
from semqa.errors import InputError

_NO_LABEL: Final = frozenset({"", "-", "1-", "none", "nan"})


@dataclass(frozen=True, slots=True)
class Task:
    """A related task: possible columns of claims, references and labels, most likely first.

    `words` maps spellings to labels, or to None if no label corresponds.
    """

    claims: tuple[str, ...]
    references: tuple[str, ...]
    labels: tuple[str, ...]
    words: Mapping[str, Label | None]


def _spellings(*spelled: str) -> dict[str, Label | None]:
    """Return the label of each spelling: attributable ones first, extrapolatory, contradictory, none."""
    labels: tuple[Label | None, ...] = ("Attributable", "Extrapolatory", "Contradictory", None)
    pairs = zip(spelled, labels, strict=True)
    return {word: label for words, label in pairs for word in words.split()}


TASKS: Final = {
    "fact-checking": Task(
        ("claim", "query", "hypothesis", "statement"),
        ("evidence", "evidence_text", "context", "premise", "reference", "abstract"),
        ("label", "gold_label", "verdict", "labels"),
        _spellings(
            "supports supported support true",
            "notenoughinfo notenoughinformation notenoughevidence nei unproven mixture",
            "refutes refuted refute contradict contradicts false",
            "conflictingevidencecherrypicking conflictingevidence disputed",
        ),
    ),
    "nli": Task(
        ("hypothesis", "sentence2"),
        ("premise", "sentence1", "context"),
        ("gold_label", "label"),
        _spellings(
            "entailment entail entails e 0",
            "neutral n 1",
            "contradiction contradict contradicts c 2",
            "notentailment nonentailment",
        ),
    ),
    "summarization": Task(
        ("summary", "claim", "hypothesis", "sentence"),
        ("source", "document", "article", "reference", "premise", "text"),
        ("label", "hallucination_type", "gold_label"),
        _spellings(
            "factual faithful consistent correct support supported supports attributable"
            " nonhallucinated",
            "extrinsic extrinsichallucination extrinsicerror notenoughinformation neutral"
            " incorrect nonfactualhallucination factualhallucination",
            "intrinsic intrinsichallucination intrinsicerror contradict contradicts refuted"
            " contradiction",
            "inconsistent unfaithful",
        ),
    ),
}
"""All tasks by name."""


def map_examples(
    path: Path | str, name: str, words: Mapping[str, Label | None] | None = None
) -> tuple[list[Example], Counter[str]]:
    """Read a data set of one of `TASKS`: CSV, TSV, JSON lines or a JSON array.

    `words` has additional spellings of labels; rows with a label mapped to None are skipped. If a
    reference has several texts, they are joined.

    Returns:
        The converted examples, and the numbers of skipped rows by reason.
    """
    task = TASKS[name]
    known = {**task.words, **{_key(word): label for word, label in (words or {}).items()}}
    examples: list[Example] = []
    skipped: Counter[str] = Counter()
    for number, row in enumerate(read_table(path), start=1):
        column = column_of(row, task.labels, "label")
        spelled = _spelling(row, column)
        if spelled in _NO_LABEL:
            skipped["no agreed label"] += 1
            continue
        if spelled not in known:
            raise InputError(
                f"is unknown: {describe(row.fields[column])}. Known labels: {', '.join(sorted(word for word in known if word))}.",
                field=column,
                where=row.where,
                hint="Add it with --label-word WORD=LABEL.",
            )
        label = known[spelled]
        if label is None:
            skipped[f"no label corresponds to {spelled}"] += 1
            continue
        claim = column_of(row, task.claims, "claim")
        answer = _text(row, claim)
        references = [name for name in task.references if name != claim]
        reference = _text(row, column_of(row, references, "reference"))
        if not answer or not reference:
            skipped["no claim or no reference"] += 1
            continue
        examples.append(Example(str(number), "", answer, reference, label))
    return examples, skipped


def _key(word: str) -> str:
    return re.sub(r"[\W_]+", "", word).lower()


def _spelling(row: Row, column: str) -> str:
    value = row.fields[column]
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise invalid_field(row, column, "a word or a number")
    if isinstance(value, int) or value.strip().lstrip("-").isdigit():
        return "" if int(value) < 0 else str(int(value))
    return _key(value) if value.strip() != "-" else "-"


def _text(row: Row, column: str) -> str:
    value = row.fields.get(column)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return " ".join(text for part in value if (text := str(part).strip()))
    if not isinstance(value, str):
        raise invalid_field(
            row,
            column,
            "a string or an array of strings (FEVER's own files have sentence numbers: replace them with the sentences first)",
        )
    return value.strip()
