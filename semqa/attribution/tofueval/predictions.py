"""Predictions of evaluators: verdicts or scores of sentences and summaries, from JSON lines.

A line has the columns of the release that name a sentence (``doc_id``, ``topic``, ``model_name``,
``sent_idx``; without the last it is a whole summary) and a ``label``: ``yes`` or 1 or true where it is
consistent, null where the evaluator's reply was not readable; or a ``score``, high for what looks
consistent; ``dataset`` and ``run`` may be there too. Without ``dataset`` it holds for the dataset that
has the document.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING

from semqa.attribution.tofueval.annotations import SummaryKey
from semqa.data.jsonl import describe, read_rows, shown
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from semqa.data.jsonl import Row

__all__ = ["Evaluator", "Prediction", "Run", "evaluator_of", "read_evaluator"]

_YES = frozenset({"yes", "1", "true", "consistent"})
_NO = frozenset({"no", "0", "false", "inconsistent"})


@dataclass(frozen=True, slots=True)
class Prediction:
    """What an evaluator said of a sentence or summary.

    Attributes:
        inconsistent: the verdict; None where it could not be read, or there is only a score.
        score: of consistency; None where there is only a verdict.
    """

    inconsistent: bool | None
    score: float | None = None

    @property
    def unread(self) -> bool:
        """Whether it says nothing."""
        return self.inconsistent is None and self.score is None


@dataclass(slots=True)
class Run:
    """The predictions of one run.

    Attributes:
        sentences: by summary and number.
        summaries: by summary.
    """

    sentences: dict[tuple[SummaryKey, int], Prediction] = field(default_factory=dict)
    summaries: dict[SummaryKey, Prediction] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evaluator:
    """All that one evaluator said.

    Attributes:
        name: that of the file.
        runs: by name, in order; repeated runs of one evaluator on the same texts.
        scored: whether it gives scores: verdicts then come from a threshold.
    """

    name: str
    runs: Mapping[str, Run]
    scored: bool


def read_evaluator(path: Path | str, *, name: str = "", labels: bool = False) -> Evaluator:
    """Read the predictions of one evaluator.

    Args:
        path: the file; ``-`` is standard input.
        name: by default the file's name without its ending.
        labels: where lines have both, take the labels and leave the scores.

    Raises:
        InputError: the file or a line is not usable; the message names file and line.
    """
    return evaluator_of(read_rows(path), name or PurePath(path).stem, labels=labels)


def evaluator_of(rows: Iterable[Row], name: str, *, labels: bool = False) -> Evaluator:
    """Make an evaluator of rows; see `read_evaluator`."""
    runs: dict[str, Run] = {}
    scored: dict[bool, str] = {}
    for row in rows:
        prediction = _prediction(row, labels=labels)
        if not prediction.unread:
            scored.setdefault(prediction.score is not None, row.where)
        if len(scored) > 1:
            raise InputError(
                f"{row.where}: mixed predictions: got a {'score' if prediction.score is not None else 'label'} "
                f"where {scored[prediction.score is None]} has none, expected all alike; write one kind"
            )
        named = SummaryKey(
            row.text("dataset", "").casefold(),
            row.text("doc_id").strip(),
            row.text("topic").strip(),
            row.text("model_name").strip(),
        )
        run = runs.setdefault(_run_name(row), Run())
        if row.fields.get("sent_idx") is None:
            known = run.summaries.setdefault(named, prediction)
        else:
            known = run.sentences.setdefault((named, _index(row)), prediction)
        if known != prediction:
            raise InputError(
                f"{row.where}: doubled prediction: got another one for the same text, expected one "
                'a run; drop it, or give each run its name in a field "run"'
            )
    return Evaluator(name, runs, scored=next(iter(scored), False))


def _prediction(row: Row, *, labels: bool) -> Prediction:
    score, label = row.fields.get("score"), row.fields.get("label", row.fields.get("sent_label"))
    if score is not None and not (labels and label is not None):
        if (
            isinstance(score, bool)
            or not isinstance(score, int | float)
            or not math.isfinite(score)
        ):
            raise InputError(
                f"{row.where}: not a score: got {describe(score)}, expected a number; correct it"
            )
        return Prediction(None, float(score))
    if "label" not in row.fields and "sent_label" not in row.fields:
        raise InputError(
            f"{row.where}: no prediction: got neither 'label' nor 'score', expected one; add it"
        )
    if label is None:
        return Prediction(None)
    word = str(label).strip().casefold()
    if word not in _YES | _NO:
        raise InputError(
            f"{row.where}: not a label: got {describe(label)}, expected yes (consistent), no, or "
            "null; correct it"
        )
    return Prediction(word in _NO)


def _run_name(row: Row) -> str:
    run = row.fields.get("run", "")
    if isinstance(run, bool) or not isinstance(run, str | int):
        raise InputError(
            f"{row.where}: not a run: got {describe(run)}, expected a number or a name; correct it"
        )
    return str(run)


def _index(row: Row) -> int:
    index = row.fields["sent_idx"]
    text = str(index).strip()
    if isinstance(index, bool) or not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise InputError(
            f"{row.where}: not a number: got {shown(text)} as 'sent_idx', expected the sentence's "
            "number; correct it"
        )
    return int(text)
