"""Data sets of related tasks as training data: their labels and columns in AttrScore's terms.

Fact-checking (FEVER and its like), natural language inference (SNLI, MultiNLI, ANLI) and
faithfulness of summaries. Labels are compared without case, blanks and punctuation; numbers are
those of the Hugging Face versions of the NLI sets.

Source: Yue et al. 2023, repurposed data, for which task's label is which; the spellings are those of
the data sets.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from semqa.attribution.attrscore.files import column_of, read_table
from semqa.attribution.attrscore.labels import LABELS, Example
from semqa.attribution.records import must_be
from semqa.data.jsonl import describe
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from semqa.attribution.attrscore.labels import Label
    from semqa.data.jsonl import Row

_NO_LABEL: Final = frozenset({"", "-", "1-", "none", "nan"})


@dataclass(frozen=True, slots=True)
class Task:
    """A related task: the columns of its claims, references and labels, likeliest first.

    `words` has the label of each spelling, and None for one that is none of the three.
    """

    name: str
    claims: tuple[str, ...]
    references: tuple[str, ...]
    labels: tuple[str, ...]
    words: Mapping[str, Label | None]


def _spellings(
    attributable: str, extrapolatory: str, contradictory: str, none: str = ""
) -> dict[str, Label | None]:
    words: dict[str, Label | None] = {}
    meant: tuple[tuple[str, Label | None], ...] = (
        (attributable, "Attributable"),
        (extrapolatory, "Extrapolatory"),
        (contradictory, "Contradictory"),
        (none, None),
    )
    for spelled, label in meant:
        words |= dict.fromkeys(spelled.split(), label)
    return words


_LABEL_COLUMNS = ("label", "gold_label", "verdict", "labels")

TASKS: Final[Mapping[str, Task]] = {
    task.name: task
    for task in (
        Task(
            "fact-checking",
            ("claim", "query", "hypothesis", "statement"),
            ("evidence", "evidence_text", "context", "premise", "reference", "abstract"),
            _LABEL_COLUMNS,
            _spellings(
                "supports supported support true",
                "notenoughinfo notenoughinformation notenoughevidence nei unproven mixture",
                "refutes refuted refute contradict contradicts false",
                "conflictingevidencecherrypicking conflictingevidence disputed",
            ),
        ),
        Task(
            "nli",
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
        Task(
            "summarization",
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
    )
}
"""The tasks by name."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """Rows in AttrScore's terms, and how many were skipped, by reason."""

    examples: tuple[Example, ...]
    skipped: Counter[str]


def map_examples(
    path: Path | str, task: Task, words: Mapping[str, Label | None] | None = None
) -> Mapped:
    """Read a data set of a related task: CSV, TSV, JSON lines or a JSON array.

    `words` are further spellings of labels; None skips rows. A reference of several texts is joined.

    Raises:
        InputError: the file or a row is invalid, or a label is of no known spelling; the message
            names file and line.
    """
    known = {**task.words, **{_key(word): meant for word, meant in (words or {}).items()}}
    examples: list[Example] = []
    skipped: Counter[str] = Counter()
    for number, row in enumerate(read_table(path), start=1):
        column = column_of(row, task.labels, "label")
        spelled = _spelling(row, column)
        if spelled in _NO_LABEL:
            skipped["no label that annotators agree on"] += 1
            continue
        if spelled not in known:
            raise InputError(
                f"is unknown: {describe(row.fields[column])}. Known are {', '.join(sorted(word for word in known if word))}.",
                field=column,
                where=row.where,
                hint="Say what it stands for with --label-word WORD=LABEL.",
            )
        meant = known[spelled]
        if meant is None:
            skipped[f"the label {spelled} is none of the three"] += 1
            continue
        claim = column_of(row, task.claims, "claim")
        said = _text(row, claim)
        references = [name for name in task.references if name != claim]
        against = _text(row, column_of(row, references, "reference"))
        if not said or not against:
            skipped["no claim or no reference"] += 1
            continue
        examples.append(
            Example(
                id=str(number),
                query="",
                answer=said,
                reference=against,
                label=meant,
                how={"made": f"mapped from {task.name}", "label": row.fields[column]},
            )
        )
    return Mapped(tuple(examples), skipped)


def balanced(examples: Sequence[Example], per_label: int | None, seed: int) -> tuple[Example, ...]:
    """Return equally many examples of each label, and at most `per_label`, in a seeded order.

    Raises:
        InputError: a label has no example.
    """
    by_label = {label: [each for each in examples if each.label == label] for label in LABELS}
    missing = [label for label, some in by_label.items() if not some]
    if missing:
        raise InputError(
            f"No example is {missing[0]}, so labels cannot be balanced.",
            hint="Leave out --per-label and --balance.",
        )
    count = min(len(some) for some in by_label.values())
    count = count if per_label is None else min(count, per_label)
    rng = Random(seed)  # noqa: S311  (no secret)
    kept = [each for some in by_label.values() for each in rng.sample(some, count)]
    rng.shuffle(kept)
    return tuple(kept)


def _key(word: str) -> str:
    return re.sub(r"[\W_]+", "", word).lower()


def _spelling(row: Row, column: str) -> str:
    value = row.fields[column]
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise must_be(row, column, "a word or a number")
    if isinstance(value, int) or value.strip().lstrip("-").isdigit():
        return "" if int(value) < 0 else str(int(value))
    return _key(value) if value.strip() != "-" else "-"


def _text(row: Row, column: str) -> str:
    value = row.fields.get(column)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return " ".join(text for part in value if (text := str(part).strip()))
    if not isinstance(value, str):
        raise must_be(
            row,
            column,
            "a string or an array of strings (FEVER's own files have numbers of sentences: join the sentences in first)",
        )
    return value.strip()
