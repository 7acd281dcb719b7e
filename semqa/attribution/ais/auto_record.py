"""The record of an AutoAIS run: what was judged, by whom, and what came of it; and reading it back.

A record holds all answers and the probabilities of all sentences, so that it can be scored again,
with another margin, without any judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.attribution.ais.auto import AnswerCheck
from semqa.attribution.ais.auto_report import summarise_checks
from semqa.attribution.records import read_record, versions
from semqa.data.jsonl import as_row
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["CheckedExample", "CheckedRun", "read_run"]

KIND = "auto-ais"


class CheckedExample(NamedTuple):
    """One answer and what a judge says of it.

    Attributes:
        key: names it in the run.
        question: what it answers.
        answer: with its marks.
        verdict: what checking its quotes showed, which is no judgement; None in older records.
        check: the judgement.
    """

    key: str
    question: str
    answer: str
    verdict: str | None
    check: AnswerCheck


class CheckedRun(NamedTuple):
    """Answers that one judge judged.

    Attributes:
        judge: its name, identity and how many of its replies could not be read.
        margin: how near to one half a probability is unclear.
        with_question: whether the question stood before each sentence.
        seed: of the bootstrap.
        examples: the answers.
    """

    judge: Mapping[str, Any]
    margin: float
    with_question: bool
    seed: int
    examples: Sequence[CheckedExample]

    def to_dict(self) -> dict[str, Any]:
        """Return the record, ready for JSON."""
        return {
            "kind": KIND,
            "results": summarise_checks([each.check for each in self.examples], seed=self.seed),
            "judge": dict(self.judge),
            "margin": self.margin,
            "with_question": self.with_question,
            "seed": self.seed,
            "versions": versions(),
            "rows": [
                {
                    "id": each.key,
                    "question": each.question,
                    "answer": each.answer,
                    "verdict": each.verdict,
                    "checks": each.check.to_dict(),
                }
                for each in self.examples
            ],
        }


def read_run(path: Path, margin: float | None = None) -> CheckedRun:
    """Read a record, and judge its probabilities anew.

    Args:
        path: what `CheckedRun.to_dict` was written to; ``-`` is standard input.
        margin: another margin; None for that of the record.

    Raises:
        InputError: it is no such record.
    """
    record = read_record(path, KIND)
    fields = record.fields
    if not (
        isinstance(fields.get("judge"), dict)
        and _is_margin(fields.get("margin"))
        and isinstance(fields.get("with_question"), bool)
    ):
        raise InputError(
            f"{record.name}: no record of AutoAIS: got no usable 'judge', 'margin' or "
            "'with_question', expected what semqa eval auto-ais --out writes; name such a file"
        )
    used = float(fields["margin"]) if margin is None else margin
    seed = fields.get("seed")
    found = []
    for one in record.rows:
        checks = as_row(one.fields.get("checks"), f"{one.where}: checks")
        found.append(
            CheckedExample(
                one.text("id"),
                one.text("question", ""),
                one.text("answer"),
                one.text("verdict") if one.fields.get("verdict") is not None else None,
                AnswerCheck.read(checks, used),
            )
        )
    return CheckedRun(
        fields["judge"],
        used,
        fields["with_question"],
        seed if isinstance(seed, int) and seed >= 0 else 0,
        found,
    )


def _is_margin(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 0.5
